//! The rules about fields: a document against its field table.

use crate::diagnostic::Severity::{Error, Warning};
use crate::rule::{LintRule, RuleExample};

/// Every rule about fields, in code order.
pub const RULES: &[&LintRule] = &[
    &UNKNOWN_FIELD,
    &MISSING_FIELD,
    &WRONG_TYPE,
    &UNKNOWN_VALUE,
    &UNEXPECTED_VALUE,
    &OUT_OF_RANGE,
    &EXCLUDED_FIELD,
    &SEVERAL_LINES,
    &NOT_A_VERSION,
    &NOT_A_MAP,
    &SAME_FIELD_TWICE,
];

/// A key that the format does not have.
pub static UNKNOWN_FIELD: LintRule = LintRule {
    code: "AG0101",
    name: "unknown-field",
    severity: Warning,
    why: "A key that the format does not have is ignored by every reader, so a misspelt field \
          silently does nothing. Keys that start with `x-` are extensions and never reported.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nlisence: MIT\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nlicense: MIT\n",
    ),
};

/// A required field that is missing.
pub static MISSING_FIELD: LintRule = LintRule {
    code: "AG0102",
    name: "missing-field",
    severity: Error,
    why: "The format requires the field; without it the agent cannot be identified or run.",
    bad: RuleExample::File("helper.agent", "description: Answers questions\nsoul: You answer questions.\n"),
    good: RuleExample::File("helper.agent", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
};

/// A value of a wrong type.
pub static WRONG_TYPE: LintRule = LintRule {
    code: "AG0103",
    name: "wrong-type",
    severity: Error,
    why: "A value of another type is not converted: guessing what was meant could change what the \
          agent does.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntags: research\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntags: [research]\n",
    ),
};

/// A word that the field does not allow.
pub static UNKNOWN_VALUE: LintRule = LintRule {
    code: "AG0104",
    name: "unknown-value",
    severity: Error,
    why: "The field takes one of a few words. Another word is refused rather than replaced by a \
          default, because not understood means not allowed.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {filesystem: readwrite}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {filesystem: read-only}\n",
    ),
};

/// A word that has no meaning, in a field that allows any text.
pub static UNEXPECTED_VALUE: LintRule = LintRule {
    code: "AG0105",
    name: "unexpected-value",
    severity: Warning,
    why: "The format takes any text here, but only some words have a meaning; another one is \
          probably misspelt.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nmodel: {context: 129k}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nmodel: {context: 128k}\n",
    ),
};

/// A number outside the bounds of its field.
pub static OUT_OF_RANGE: LintRule = LintRule {
    code: "AG0106",
    name: "out-of-range",
    severity: Error,
    why: "A limit that is negative, zero where something must happen, or not a number at all \
          limits nothing.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nbehavior: {max_steps: -1}\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nbehavior: {max_steps: 10}\n",
    ),
};

/// A field that the format excludes on purpose.
pub static EXCLUDED_FIELD: LintRule = LintRule {
    code: "AG0107",
    name: "excluded-field",
    severity: Error,
    why: "`agent.toml` says what an agent is, not how it is deployed; fields such as `model` or \
          `mcp` belong to the machine that runs it.",
    bad: RuleExample::Files(&[
        (
            "helper/agent.toml",
            "name = \"helper\"\ndescription = \"Answers questions\"\nmodel = \"gpt-5\"\n",
        ),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
    good: RuleExample::Files(&[
        ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
};

/// A text with several lines in a one-line field.
pub static SEVERAL_LINES: LintRule = LintRule {
    code: "AG0108",
    name: "several-lines",
    severity: Error,
    why: "The text is shown in a list or written into a one-line field of a harness; a line break \
          would cut it or break the file.",
    bad: RuleExample::Files(&[
        ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers\\nquestions\"\n"),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
    good: RuleExample::Files(&[
        ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
};

/// A version that is not a semantic version.
pub static NOT_A_VERSION: LintRule = LintRule {
    code: "AG0109",
    name: "not-a-version",
    severity: Error,
    why: "Versions are compared, so they must be semantic versions (`1.2.3`) and strings: the \
          number `0.1` has lost its last part.",
    bad: RuleExample::File(
        "agents/help_helper.agent.md",
        "---\nversion: 0.1\n---\n# Helper\n\nAnswers questions.\n",
    ),
    good: RuleExample::File(
        "agents/help_helper.agent.md",
        "---\nversion: 0.1.0\n---\n# Helper\n\nAnswers questions.\n",
    ),
};

/// A document that is not a map.
pub static NOT_A_MAP: LintRule = LintRule {
    code: "AG0110",
    name: "not-a-map",
    severity: Error,
    why: "A definition is a set of fields; a list or a bare word at the top says nothing about an \
          agent.",
    bad: RuleExample::File("helper.agent", "- name: helper\n- description: Answers questions\n"),
    good: RuleExample::File("helper.agent", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
};

/// Two spellings of one field.
pub static SAME_FIELD_TWICE: LintRule = LintRule {
    code: "AG0111",
    name: "same-field-twice",
    severity: Error,
    why: "Where case or spelling of a key does not matter, two spellings of one key contradict \
          each other; readers differ in which one they take.",
    bad: RuleExample::File(
        "agents/help_helper.agent.md",
        "---\nicon: 🤖\nIcon: 🧭\n---\n# Helper\n\nAnswers questions.\n",
    ),
    good: RuleExample::File(
        "agents/help_helper.agent.md",
        "---\nicon: 🤖\n---\n# Helper\n\nAnswers questions.\n",
    ),
};
