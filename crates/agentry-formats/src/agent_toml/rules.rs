//! The lint rules of `agent.toml`, beyond those of its field table.

use agentry_text::Severity::{Error, Warning};
use agentry_text::{LintRule, RuleExample};

/// Every rule of the format, in code order.
pub const RULES: &[&LintRule] = &[
    &NOT_KEBAB_CASE,
    &NAME_IS_NOT_DIRECTORY,
    &TRAILING_PERIOD,
    &EMPTY_DESCRIPTION,
    &MISSING_PROMPT,
    &EMPTY_PROMPT,
    &DATETIME,
    &MISSING_CONTEXT,
    &MISSING_RULE_FILE,
    &OUTSIDE_WORKSPACE,
    &MISSING_SKILL,
    &MALFORMED_RULE,
    &UNKNOWN_ACTION,
    &SHADOWED_RULE,
    &DUPLICATE_RULE,
    &CONTRADICTING_RULES,
];

/// Makes an agent `helper` with these lines after its name and description.
macro_rules! helper {
    ($text:literal) => {
        helper!($text,)
    };
    ($text:literal, $($more:expr),*) => {
        RuleExample::Files(&[
            (
                "helper/agent.toml",
                concat!("name = \"helper\"\ndescription = \"Answers questions\"\n", $text),
            ),
            ("helper/system-prompt.md", "You answer questions.\n"),
            $($more),*
        ])
    };
}

/// Makes an agent in `helper/` with this `agent.toml`.
macro_rules! whole {
    ($text:literal) => {
        RuleExample::Files(&[
            ("helper/agent.toml", $text),
            ("helper/system-prompt.md", "You answer questions.\n"),
        ])
    };
}

/// A name that is not in kebab case.
pub(super) static NOT_KEBAB_CASE: LintRule = LintRule {
    code: "AG2001",
    name: "not-kebab-case",
    severity: Error,
    why: "Harnesses use the name as an identifier and as a file name, and refuse spaces, capitals \
          and anything else than `a-z`, `0-9` and `-`.",
    bad: RuleExample::Files(&[
        ("Helper/agent.toml", "name = \"Helper\"\ndescription = \"Answers questions\"\n"),
        ("Helper/system-prompt.md", "You answer questions.\n"),
    ]),
    good: helper!(""),
};

/// A name that differs from that of the agent's directory.
pub(super) static NAME_IS_NOT_DIRECTORY: LintRule = LintRule {
    code: "AG2002",
    name: "name-is-not-directory",
    severity: Warning,
    why: "Some programs call the agent by its directory, others by its `name`; when the two differ \
          the agent has two names.",
    bad: whole!("name = \"assistant\"\ndescription = \"Answers questions\"\n"),
    good: helper!(""),
};

/// A description that ends with a full stop.
pub(super) static TRAILING_PERIOD: LintRule = LintRule {
    code: "AG2003",
    name: "trailing-period",
    severity: Warning,
    why: "The format's descriptions end without a full stop; renderers add one of their own, and \
          two would follow each other.",
    bad: whole!("name = \"helper\"\ndescription = \"Answers questions.\"\n"),
    good: helper!(""),
};

/// An empty description.
pub(super) static EMPTY_DESCRIPTION: LintRule = LintRule {
    code: "AG2004",
    name: "empty-description",
    severity: Error,
    why: "The description is required because an agent is picked by it; an empty one says nothing.",
    bad: whole!("name = \"helper\"\ndescription = \"\"\n"),
    good: helper!(""),
};

/// No `system-prompt.md` beside `agent.toml`.
pub(super) static MISSING_PROMPT: LintRule = LintRule {
    code: "AG2005",
    name: "missing-system-prompt",
    severity: Error,
    why: "The system prompt is the file `system-prompt.md` beside `agent.toml`; without it the \
          agent has no instructions.",
    bad: RuleExample::File(
        "helper/agent.toml",
        "name = \"helper\"\ndescription = \"Answers questions\"\n",
    ),
    good: helper!(""),
};

/// An empty `system-prompt.md`.
pub(super) static EMPTY_PROMPT: LintRule = LintRule {
    code: "AG2006",
    name: "empty-system-prompt",
    severity: Error,
    why: "An agent whose `system-prompt.md` holds no text has no instructions.",
    bad: RuleExample::Files(&[
        ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
        ("helper/system-prompt.md", "\n"),
    ]),
    good: helper!(""),
};

/// A date or time that is not a string.
pub(super) static DATETIME: LintRule = LintRule {
    code: "AG2007",
    name: "datetime",
    severity: Error,
    why: "Not every program that reads this format knows the dates and times of TOML, and one that \
          does not refuses the whole file.",
    bad: helper!("x-created = 2026-04-13\n"),
    good: helper!("x-created = \"2026-04-13\"\n"),
};

/// A file of `context` that does not exist.
pub(super) static MISSING_CONTEXT: LintRule = LintRule {
    code: "AG2008",
    name: "missing-context",
    severity: Error,
    why: "A context file that is not there cannot be put into the context, so the agent would work \
          without what its author counts on.",
    bad: helper!("context = [\"profile.md\"]\n"),
    good: helper!(
        "context = [\"profile.md\"]\n",
        ("helper/profile.md", "Prefers short answers.\n")
    ),
};

/// An entry of `rules` without its file.
pub(super) static MISSING_RULE_FILE: LintRule = LintRule {
    code: "AG2009",
    name: "missing-rule-file",
    severity: Error,
    why: "An entry of `rules` is the file `rules/<entry>.md` of the workspace; if it is not there \
          the agent would work without that rule.",
    bad: helper!("rules = [\"languages/nix\"]\n"),
    good: helper!("rules = [\"languages/nix\"]\n", ("rules/languages/nix.md", "Use flakes.\n")),
};

/// A path that leaves the workspace.
pub(super) static OUTSIDE_WORKSPACE: LintRule = LintRule {
    code: "AG2010",
    name: "outside-workspace",
    severity: Error,
    why: "A file outside the workspace is another one on every machine, and could be anything that \
          the user can read; an agent does not pull it into its context.",
    bad: helper!("context = [\"../../profile.md\"]\n"),
    good: helper!(
        "context = [\"profile.md\"]\n",
        ("helper/profile.md", "Prefers short answers.\n")
    ),
};

/// A skill that does not exist.
pub(super) static MISSING_SKILL: LintRule = LintRule {
    code: "AG2011",
    name: "missing-skill",
    severity: Warning,
    why: "A skill that is neither with the agent nor in the workspace is only there if the harness \
          brings it; a misspelt one is never loaded.",
    bad: helper!("skills = [\"git-master\"]\n"),
    good: helper!(
        "skills = [\"git-master\"]\n",
        (
            "skills/git-master/SKILL.md",
            "---\nname: git-master\ndescription: Works with Git\n---\nCommit often.\n"
        )
    ),
};

/// A rule without a pattern or without an action.
pub(super) static MALFORMED_RULE: LintRule = LintRule {
    code: "AG2012",
    name: "malformed-rule",
    severity: Error,
    why: "A rule is `pattern:action`, split at its last colon. One that lacks a part is not guessed \
          at: the agent would be allowed something else than its author meant.",
    bad: helper!("\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push*\"]\n"),
    good: helper!("\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push*:deny\"]\n"),
};

/// A rule whose action is unknown.
pub(super) static UNKNOWN_ACTION: LintRule = LintRule {
    code: "AG2013",
    name: "unknown-action",
    severity: Error,
    why: "The action of a rule is `allow`, `ask` or `deny`, in lower case. Another word is refused, \
          because not understood means not allowed.",
    bad: helper!("\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push*:block\"]\n"),
    good: helper!("\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push*:deny\"]\n"),
};

/// A rule that earlier ones cover.
pub(super) static SHADOWED_RULE: LintRule = LintRule {
    code: "AG2014",
    name: "shadowed-rule",
    severity: Warning,
    why: "The first rule that matches decides. A rule after a wider one never does, so a `deny` \
          that was meant as an exception has no effect. Lists written for harnesses in which the \
          last match wins have to be turned around.",
    bad: helper!(
        "\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push *:ask\", \"git push origin main:deny\"]\n"
    ),
    good: helper!(
        "\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push origin main:deny\", \"git push *:ask\"]\n"
    ),
};

/// A rule that is written twice.
pub(super) static DUPLICATE_RULE: LintRule = LintRule {
    code: "AG2015",
    name: "duplicate-rule",
    severity: Warning,
    why: "A rule that was written already has no effect; perhaps another one was meant.",
    bad: helper!(
        "\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git log *:allow\", \"git log *:allow\"]\n"
    ),
    good: helper!("\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git log *:allow\"]\n"),
};

/// One pattern with two actions.
pub(super) static CONTRADICTING_RULES: LintRule = LintRule {
    code: "AG2016",
    name: "contradicting-rules",
    severity: Warning,
    why: "The same pattern has two answers. Here the first one holds, in harnesses in which the \
          last match wins the other one.",
    bad: helper!(
        "\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push *:ask\", \"git push *:deny\"]\n"
    ),
    good: helper!("\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git push *:deny\"]\n"),
};
