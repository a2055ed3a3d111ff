//! The rules about the JavaScript under `## Tools`, and about references to it.

use agentry_text::Severity::{Error, Note, Warning};
use agentry_text::{LintRule, RuleExample};

use super::{PATH, greet, with_body, with_tools};

/// A code fence under `## Tools` that is never closed.
pub(crate) static UNCLOSED_FENCE: LintRule = LintRule {
    code: "AG1020",
    name: "unclosed-tools-fence",
    severity: Error,
    why: "A fence that is never closed takes everything up to the end of the file for code.",
    bad: with_body!(concat!("## Tools\n\n```js\n", greet!())),
    good: with_tools!(greet!()),
};

/// Code under `## Tools` without a fence.
pub(crate) static CODE_OUTSIDE_FENCE: LintRule = LintRule {
    code: "AG1021",
    name: "code-outside-fence",
    severity: Error,
    why: "Tools are read from fenced `js` blocks. Code that stands in the text is formatted as \
          Markdown, which changes it, and is never run.",
    bad: with_body!(concat!("## Tools\n\n", greet!())),
    good: with_tools!(greet!()),
};

/// A fence of another language under `## Tools`.
pub(crate) static OTHER_LANGUAGE: LintRule = LintRule {
    code: "AG1022",
    name: "other-tools-language",
    severity: Warning,
    why: "Tools are written in JavaScript: a block of another language is not read.",
    bad: with_body!("## Tools\n\n```python\ndef greet(): ...\n```\n"),
    good: with_tools!(greet!()),
};

/// JavaScript that does not parse.
pub(crate) static JAVASCRIPT_SYNTAX: LintRule = LintRule {
    code: "AG1023",
    name: "javascript-syntax",
    severity: Error,
    why: "A block that does not parse cannot be run, and none of its tools exists.",
    bad: with_tools!("return { greet: { fn: () => \"hello\", scheme: } };\n"),
    good: with_tools!(greet!()),
};

/// JavaScript that is nested too deeply to parse.
pub(crate) static JAVASCRIPT_NESTING: LintRule = LintRule {
    code: "AG1024",
    name: "javascript-nesting",
    severity: Error,
    why: "Code that is nested thousands of levels deep is not a tool but an attempt to exhaust its \
          reader.",
    bad: RuleExample::Made("a tools block with 20,000 opening parentheses", deep),
    good: with_tools!(greet!()),
};

fn deep() -> Vec<(String, Vec<u8>)> {
    let deep = "(".repeat(20_000);
    let text = format!("# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\n{deep}\n```\n");
    vec![(PATH.to_owned(), text.into_bytes())]
}

/// A block that returns no tools.
pub(crate) static NO_RETURN: LintRule = LintRule {
    code: "AG1025",
    name: "tools-not-returned",
    severity: Error,
    why: "A block is the body of a function: its tools are what its top-level `return` gives back. \
          A `return` inside one of its functions does not count.",
    bad: with_tools!("function greet() {\n  return { ok: true };\n}\n"),
    good: with_tools!(greet!()),
};

/// Tools that only running the code would show.
pub(crate) static NOT_STATIC: LintRule = LintRule {
    code: "AG1026",
    name: "tools-not-static",
    severity: Warning,
    why: "`check` reads tools without running them. What is computed can only be known by running \
          the code, so neither its scheme nor `required.startup` can be verified.",
    bad: with_tools!(
        "const tools = {};\ntools[\"gre\" + \"et\"] = { fn: () => \"hello\", scheme: {} };\nreturn tools;\n"
    ),
    good: with_tools!(greet!()),
};

/// A tool that is not `{ fn, scheme }`.
pub(crate) static TOOL_SHAPE: LintRule = LintRule {
    code: "AG1027",
    name: "tool-shape",
    severity: Error,
    why: "Each tool is an object with `fn`, what is called, and `scheme`, what the model gets.",
    bad: with_tools!("return { greet: { fn: () => \"hello\" } };\n"),
    good: with_tools!(greet!()),
};

/// A `fn` that is not a function.
pub(crate) static TOOL_FUNCTION: LintRule = LintRule {
    code: "AG1028",
    name: "tool-function",
    severity: Error,
    why: "`fn` is called with the arguments and the context; anything but a function fails at the \
          first call.",
    bad: with_tools!(
        "const scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: \"hello\", scheme } };\n"
    ),
    good: with_tools!(greet!()),
};

/// A scheme that lacks a required part.
pub(crate) static SCHEME: LintRule = LintRule {
    code: "AG1029",
    name: "incomplete-scheme",
    severity: Error,
    why: "A model gets a tool as its `name`, `description` and `parameters`; providers refuse \
          a function without them.",
    bad: with_tools!(
        "const scheme = {\n  name: \"greet\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: () => \"hello\", scheme } };\n"
    ),
    good: with_tools!(greet!()),
};

/// A scheme whose name differs from its key.
pub(crate) static SCHEME_NAME: LintRule = LintRule {
    code: "AG1030",
    name: "scheme-name",
    severity: Error,
    why: "The model calls the tool by `scheme.name`, the file finds it by its key: when they \
          differ, the call goes nowhere.",
    bad: with_tools!(
        "const scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { welcome: { fn: () => \"hello\", scheme } };\n"
    ),
    good: with_tools!(greet!()),
};

/// Parameters that are not a JSON Schema.
pub(crate) static PARAMETERS: LintRule = LintRule {
    code: "AG1031",
    name: "broken-parameters",
    severity: Error,
    why: "Arguments are checked against `parameters` before the tool is called, so it must be a \
          valid JSON Schema of an object.",
    bad: with_tools!(greet!("{ type: \"objekt\", properties: {} }")),
    good: with_tools!(greet!()),
};

/// Two tools with the same name.
pub(crate) static TOOL_TWICE: LintRule = LintRule {
    code: "AG1032",
    name: "tool-twice",
    severity: Error,
    why: "Tool names are compared without regard to case; of two tools with one name only one could \
          ever be called.",
    bad: with_body!(concat!(
        "## Tools\n\n```js\n",
        greet!(),
        "```\n\n```js\n",
        "const scheme = {\n  name: \"Greet\",\n  description: \"Greets again.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { Greet: { fn: () => \"hi\", scheme } };\n",
        "```\n"
    )),
    good: with_tools!(greet!()),
};

/// `required.startup` that names no tool.
pub(crate) static STARTUP_MISSING: LintRule = LintRule {
    code: "AG1033",
    name: "startup-tool-missing",
    severity: Error,
    why: "The start-up tool is a hard gate: when it does not exist, the agent can never start.",
    bad: RuleExample::File(
        PATH,
        concat!(
            "---\nrequired:\n  startup: great\n---\n",
            "# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\n",
            greet!(),
            "```\n"
        ),
    ),
    good: RuleExample::File(
        PATH,
        concat!(
            "---\nrequired:\n  startup: greet\n---\n",
            "# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\n",
            greet!(),
            "```\n"
        ),
    ),
};

/// A variable that a tool reads and that `required.env` does not list.
pub(crate) static ENV_NOT_REQUIRED: LintRule = LintRule {
    code: "AG1034",
    name: "variable-not-required",
    severity: Note,
    why: "A tool sees only the variables of `required.env`, or all that the `env` ability grants; \
          any other one is undefined when the tool runs.",
    bad: with_tools!(
        "const scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: (_, { env }) => env.USER_NAME, scheme } };\n"
    ),
    good: RuleExample::File(
        PATH,
        concat!(
            "---\nrequired:\n  env: [USER_NAME]\n---\n",
            "# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\n",
            "const scheme = {\n  name: \"greet\",\n  description: \"Greets somebody.\",\n  parameters: { type: \"object\", properties: {} },\n};\nreturn { greet: { fn: (_, { env }) => env.USER_NAME, scheme } };\n",
            "```\n"
        ),
    ),
};
