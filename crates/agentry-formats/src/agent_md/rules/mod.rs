//! The lint rules of an agent file, beyond those of its field table.

mod abilities;
mod document;
mod tools;

pub(super) use abilities::*;
pub(super) use document::*;
pub(super) use tools::*;

pub(crate) use tools::STARTUP_MISSING;

use agentry_text::LintRule;

/// Every rule of the format, in code order.
pub(super) const RULES: &[&LintRule] = &[
    &FILE_NAME,
    &NO_TITLE,
    &CONFLICT,
    &SECTION_TWICE,
    &EMPTY_SECTION,
    &MISPLACED_SECTION,
    &NOT_ONE_EMOJI,
    &ENV_NAME,
    &LATE_METADATA,
    &UNKNOWN_ABILITY,
    &ABILITY_SCOPE,
    &ABILITY_COMMAND,
    &ABILITY_WILDCARD,
    &ABILITY_OVERLAP,
    &ABILITIES_CONTRADICT,
    &ABILITY_TWICE,
    &TEXT_NOT_SENT,
    &UNCLOSED_FENCE,
    &CODE_OUTSIDE_FENCE,
    &OTHER_LANGUAGE,
    &JAVASCRIPT_SYNTAX,
    &JAVASCRIPT_NESTING,
    &NO_RETURN,
    &NOT_STATIC,
    &TOOL_SHAPE,
    &TOOL_FUNCTION,
    &SCHEME,
    &SCHEME_NAME,
    &PARAMETERS,
    &TOOL_TWICE,
    &STARTUP_MISSING,
    &ENV_NOT_REQUIRED,
];

/// The path of the examples.
const PATH: &str = "agents/help_helper.agent.md";

/// Makes an agent file with these metadata lines.
macro_rules! with_metadata {
    ($lines:literal) => {
        agentry_text::RuleExample::File(
            $crate::agent_md::rules::PATH,
            concat!("---\n", $lines, "---\n# Helper\n\nAnswers questions.\n"),
        )
    };
}

/// Makes an agent file with this text after its first paragraph.
macro_rules! with_body {
    ($text:expr) => {
        agentry_text::RuleExample::File(
            $crate::agent_md::rules::PATH,
            concat!("# Helper\n\nAnswers questions.\n\n", $text),
        )
    };
}

/// Makes an agent file with one tools block.
macro_rules! with_tools {
    ($code:expr) => {
        with_body!(concat!("## Tools\n\n```js\n", $code, "```\n"))
    };
}

/// Makes the code of a valid tool, with this object as its parameters.
macro_rules! greet {
    ($parameters:literal) => {
        concat!(
            "const scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: ",
            $parameters,
            ",\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n"
        )
    };
    () => {
        greet!("{ type: \"object\", properties: {} }")
    };
}

use {greet, with_body, with_metadata, with_tools};
