//! The rules about what an agent names: missing skills, and files that are too large.

use agentry_text::{LintRule, RuleExample, Severity};

/// Every rule about resolving, in code order.
pub(crate) const RULES: &[&LintRule] = &[&UNRESOLVED_SKILL, &CONTEXT_TOO_LARGE];

/// A skill that nothing provides.
pub(crate) static UNRESOLVED_SKILL: LintRule = LintRule {
    code: "AG0040",
    name: "unresolved-skill",
    severity: Severity::Warning,
    why: "A skill is a pack (`SKILL.md`) of the agent, the workspace or the home, or stands for a \
          built-in tool or an MCP server. One that is none of these is an error when the agent is \
          resolved, locked or run, unless it is marked `optional`.",
    bad: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nskills: [web-search]\n",
    ),
    good: RuleExample::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nsoul: You answer questions.\nskills: [{name: web-search, optional: true}]\n",
    ),
};

/// A file that is too large for the prompt.
pub(crate) static CONTEXT_TOO_LARGE: LintRule = LintRule {
    code: "AG0041",
    name: "context-too-large",
    severity: Severity::Error,
    why: "A context or rule file goes into the prompt whole. One of more than 256 KiB is not read, \
          and the agent would work without it.",
    bad: RuleExample::Made("a context file of more than 256 KiB", || {
        let definition = "name = \"helper\"\ndescription = \"Answers questions\"\n\
                          context = [\"notes.md\"]\n";
        vec![
            ("helper/agent.toml".to_owned(), definition.into()),
            ("helper/system-prompt.md".to_owned(), b"You answer questions.\n".to_vec()),
            ("helper/notes.md".to_owned(), vec![b'x'; 256 * 1024 + 1]),
        ]
    }),
    good: RuleExample::Files(&[
        (
            "helper/agent.toml",
            "name = \"helper\"\ndescription = \"Answers questions\"\ncontext = [\"notes.md\"]\n",
        ),
        ("helper/system-prompt.md", "You answer questions.\n"),
        ("helper/notes.md", "Prefers short answers.\n"),
    ]),
};
