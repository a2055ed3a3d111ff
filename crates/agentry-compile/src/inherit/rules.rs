//! The rules about bases.

use agentry_text::{LintRule, RuleExample, Severity};

/// Every rule about bases, in code order.
pub(crate) const RULES: &[&LintRule] = &[
    &NO_BASE,
    &ENDLESS_BASES,
    &BAD_BASE_ENTRY,
    &OTHER_DIGEST,
    &WIDER_THAN_BASE,
    &BROKEN_BASE,
    &BASE_STAYS,
    &SERVER_REPLACED,
    &POLICY_WIDENED,
];

const BASE: (&str, &str) =
    ("base.agent", "name: base\ndescription: Answers questions\nsoul: You answer questions.\n");

const GOOD: RuleExample = RuleExample::Files(&[
    BASE,
    ("helper.agent", "name: helper\ndescription: Answers hard questions\nbase: ./base.agent\n"),
]);

pub(crate) static NO_BASE: LintRule = LintRule {
    code: "AG0031",
    name: "no-base",
    severity: Severity::Error,
    why: "An agent means what its file and its base say together. Without the base it is not known \
          what it is or may do, so it is not used.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers hard questions\nbase: ./basis.agent\n",
    ),
    good: GOOD,
};

pub(crate) static ENDLESS_BASES: LintRule = LintRule {
    code: "AG0032",
    name: "endless-bases",
    severity: Severity::Error,
    why: "Bases that lead back to the agent itself have no beginning, and more than 16 above one \
          another cannot be followed by a person who reviews the last one.",
    bad: RuleExample::Files(&[
        ("helper.agent", "name: helper\ndescription: Answers questions\nbase: ./writer.agent\n"),
        ("writer.agent", "name: writer\ndescription: Writes letters\nbase: ./helper.agent\n"),
    ]),
    good: GOOD,
};

pub(crate) static BAD_BASE_ENTRY: LintRule = LintRule {
    code: "AG0033",
    name: "bad-base-entry",
    severity: Severity::Error,
    why: "An entry of `[bases]` in `agentry.toml` names an agent that is there and has no base of its \
          own. Otherwise the agent that was meant stays without the limits of its base.",
    bad: RuleExample::Files(&[
        ("agentry.toml", "[bases]\n\"helper.agent\" = \"./base.agent\"\n"),
        BASE,
        ("helper.agent", "name: helper\ndescription: Answers hard questions\nbase: ./base.agent\n"),
    ]),
    good: RuleExample::Files(&[
        ("agentry.toml", "[bases]\n\"helper\" = \"./base.agent\"\n"),
        BASE,
        ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers hard questions\"\n"),
        ("helper/system-prompt.md", "You answer hard questions.\n"),
    ]),
};

pub(crate) static OTHER_DIGEST: LintRule = LintRule {
    code: "AG0034",
    name: "other-digest",
    severity: Severity::Error,
    why: "A base that is pinned by its digest was reviewed as it was then; what is there now is \
          something else.",
    bad: RuleExample::Files(&[
        BASE,
        (
            "helper.agent",
            "name: helper\ndescription: Answers hard questions\nbase: ./base.agent#sha256:0000000000000000000000000000000000000000000000000000000000000000\n",
        ),
    ]),
    good: RuleExample::Files(&[
        BASE,
        (
            "helper.agent",
            "name: helper\ndescription: Answers hard questions\nbase: ./base.agent#sha256:c1bbb5c3fe32a45530d1cc5fa420b56ea5e3689a1a542ef73b774ed13b60876d\n",
        ),
    ]),
};

pub(crate) static WIDER_THAN_BASE: LintRule = LintRule {
    code: "AG0035",
    name: "wider-than-base",
    severity: Severity::Error,
    why: "Trust only narrows on the way from a base to the agents that are built on it: an axis is at \
          most the base's, `scope` and `hosts` lie inside the base's. What is left out is inherited.",
    bad: RuleExample::Files(&[
        (
            "base.agent",
            "name: base\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {filesystem: read-only}\n",
        ),
        (
            "helper.agent",
            "name: helper\ndescription: Answers hard questions\nbase: ./base.agent\ntrust: {filesystem: scoped, scope: [./notes]}\n",
        ),
    ]),
    good: RuleExample::Files(&[
        (
            "base.agent",
            "name: base\ndescription: Answers questions\nsoul: You answer questions.\ntrust: {filesystem: scoped, scope: [.]}\n",
        ),
        (
            "helper.agent",
            "name: helper\ndescription: Answers hard questions\nbase: ./base.agent\ntrust: {filesystem: scoped, scope: [./notes]}\n",
        ),
    ]),
};

pub(crate) static BROKEN_BASE: LintRule = LintRule {
    code: "AG0036",
    name: "broken-base",
    severity: Severity::Error,
    why: "A base that has errors cannot be used, and neither can what is built on it.",
    bad: RuleExample::Files(&[
        ("team/instructions.md", "\n"),
        ("helper.agent", "name: helper\ndescription: Answers hard questions\nbase: ./team\n"),
    ]),
    good: RuleExample::Files(&[
        ("team/instructions.md", "You answer questions.\n"),
        ("helper.agent", "name: helper\ndescription: Answers hard questions\nbase: ./team\n"),
    ]),
};

pub(crate) static BASE_STAYS: LintRule = LintRule {
    code: "AG0037",
    name: "base-stays",
    severity: Severity::Note,
    why: "Budgets only shrink and gates stay shut: a larger limit, a milder `on_exceed`, `trace: \
          false`, another start-up check or status than the base's changes nothing.",
    bad: RuleExample::Files(&[
        (
            "base.agent",
            "name: base\ndescription: Answers questions\nsoul: You answer questions.\nobservability: {step_limit: 10}\n",
        ),
        (
            "helper.agent",
            "name: helper\ndescription: Answers hard questions\nbase: ./base.agent\nobservability: {step_limit: 20}\n",
        ),
    ]),
    good: RuleExample::Files(&[
        (
            "base.agent",
            "name: base\ndescription: Answers questions\nsoul: You answer questions.\nobservability: {step_limit: 10}\n",
        ),
        (
            "helper.agent",
            "name: helper\ndescription: Answers hard questions\nbase: ./base.agent\nobservability: {step_limit: 5}\n",
        ),
    ]),
};

pub(crate) static SERVER_REPLACED: LintRule = LintRule {
    code: "AG0038",
    name: "server-replaced",
    severity: Severity::Note,
    why: "An MCP server of the same name as one of the base's takes its place: the same calls go to \
          another program or address.",
    bad: RuleExample::Files(&[
        (
            "base.agent",
            "name: base\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [tracker]}\n",
        ),
        (
            "helper.agent",
            "name: helper\ndescription: Answers hard questions\nbase: ./base.agent\ntools: {mcp: [{name: tracker, url: 'https://tracker.example.com/mcp'}]}\n",
        ),
    ]),
    good: RuleExample::Files(&[
        (
            "base.agent",
            "name: base\ndescription: Answers questions\nsoul: You answer questions.\ntools: {mcp: [tracker]}\n",
        ),
        (
            "helper.agent",
            "name: helper\ndescription: Answers hard questions\nbase: ./base.agent\ntools: {mcp: [{name: board, url: 'https://tracker.example.com/mcp'}]}\n",
        ),
    ]),
};

pub(crate) static POLICY_WIDENED: LintRule = LintRule {
    code: "AG0039",
    name: "policy-widened",
    severity: Severity::Error,
    why: "Nothing that an agent inherits may end in more than its base may do. After merging this is \
          proved section by section; the finding shows a call that the base would not let pass, as \
          when a trait that asks before writing is dropped.",
    bad: RuleExample::Files(&[
        (
            "base.agent",
            "name: base\ndescription: Writes notes\ntrust: {filesystem: scoped, scope: [./notes]}\nbehavior: {persona: writer, traits: [ask-before-writing]}\n",
        ),
        (
            "helper.agent",
            "name: helper\ndescription: Writes long notes\nbase: ./base.agent\nbehavior: {persona: careful-writer}\n",
        ),
    ]),
    good: RuleExample::Files(&[
        (
            "base.agent",
            "name: base\ndescription: Writes notes\ntrust: {filesystem: scoped, scope: [./notes]}\nbehavior: {persona: writer, traits: [ask-before-writing]}\n",
        ),
        (
            "helper.agent",
            "name: helper\ndescription: Writes long notes\nbase: ./base.agent\nmerge: {behavior: append}\nbehavior: {persona: careful-writer}\n",
        ),
    ]),
};
