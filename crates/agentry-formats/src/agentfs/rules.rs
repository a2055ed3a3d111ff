//! The lint rules of an agent of AgentFS.

use agentry_text::Severity::{Error, Note, Warning};
use agentry_text::{LintRule, RuleExample};

pub(super) const AGENT: &str =
    "{\n  \"name\": \"Helper\",\n  \"description\": \"Answers questions\"\n}\n";
pub(super) const PERSONA: &str = "Give the answer first, then the reasons.\n";
pub(super) const PRINCIPLES: &str = "## Never Do\n- Never send a message without being asked to\n";

/// Makes an agent with these fields in `agent.json` and the usual texts.
macro_rules! definition {
    ($($field:literal),+ $(,)?) => {
        RuleExample::Files(&[
            (
                "helper/agent.json",
                concat!("{\n  \"description\": \"Answers questions\"", $(",\n  ", $field,)+ "\n}\n"),
            ),
            ("helper/persona.md", PERSONA),
            ("helper/principles.md", PRINCIPLES),
        ])
    };
}

/// Makes the usual agent with these texts.
macro_rules! texts {
    ($(($path:literal, $text:expr)),* $(,)?) => {
        RuleExample::Files(&[("helper/agent.json", AGENT), $((concat!("helper/", $path), $text),)*])
    };
}

/// Makes the usual agent with one schedule.
macro_rules! schedule {
    ($times:literal) => {
        RuleExample::Files(&[
            ("helper/agent.json", AGENT),
            ("helper/persona.md", PERSONA),
            ("helper/principles.md", PRINCIPLES),
            (
                "helper/schedules/report.json",
                concat!(
                    "{\n  \"schedule\": {",
                    $times,
                    "},\n  \"action\": {\"type\": \"query\", \"prompt\": \"Write the report.\"}\n}\n",
                ),
            ),
        ])
    };
}

const USUAL: RuleExample = texts![("persona.md", PERSONA), ("principles.md", PRINCIPLES)];

/// A missing or empty `persona.md`.
pub(super) static NO_PERSONA: LintRule = LintRule {
    code: "AG4001",
    name: "no-persona",
    severity: Warning,
    why: "`persona.md` describes how the agent speaks and behaves; without it, it \
          behaves like any other.",
    bad: texts![("principles.md", PRINCIPLES)],
    good: USUAL,
};

/// A missing or empty `principles.md`.
pub(super) static NO_PRINCIPLES: LintRule = LintRule {
    code: "AG4002",
    name: "no-principles",
    severity: Warning,
    why: "`principles.md` holds the rules that the agent may not unlearn; without it, nothing is \
          forbidden and nothing protected.",
    bad: texts![("persona.md", PERSONA)],
    good: USUAL,
};

/// Principles without a protected section.
pub(super) static NOTHING_PROTECTED: LintRule = LintRule {
    code: "AG4003",
    name: "nothing-protected",
    severity: Warning,
    why: "Only the section `Never Do` (also `Must Not`, `Never` or `绝不做`) is protected against \
          the agent changing itself; rules under another heading can be unlearnt.",
    bad: texts![
        ("persona.md", PERSONA),
        ("principles.md", "## Forbidden\n- Never send a message without being asked to\n"),
    ],
    good: USUAL,
};

/// A persona of more than 10,000 characters.
pub(super) static LONG_PERSONA: LintRule = LintRule {
    code: "AG4004",
    name: "long-persona",
    severity: Note,
    why: "The persona is read by the model at every turn. It should be short, hard and testable; \
          knowledge belongs into `memory/`, know-how into `skills/`.",
    bad: RuleExample::Made("a persona of 12,000 characters", || {
        with_persona("Give the answer first. ".repeat(522).trim_end())
    }),
    good: USUAL,
};

fn with_persona(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = USUAL.files();
    for (path, bytes) in &mut files {
        if path.ends_with("persona.md") {
            *bytes = text.as_bytes().to_vec();
        }
    }
    files
}

/// A name of more than 50 characters.
pub(super) static NAME_TOO_LONG: LintRule = LintRule {
    code: "AG4005",
    name: "agent-name-too-long",
    severity: Warning,
    why: "Names are shown in lists; one of more than 50 characters is refused when the agent is \
          changed.",
    bad: definition!("\"name\": \"Helper that answers every question there is about anything\""),
    good: definition!("\"name\": \"Helper\""),
};

/// A description of more than 200 characters.
pub(super) static DESCRIPTION_TOO_LONG: LintRule = LintRule {
    code: "AG4006",
    name: "agent-description-too-long",
    severity: Warning,
    why: "The description is one sentence for lists and for other agents; one of more than 200 \
          characters is refused when the agent is changed.",
    bad: RuleExample::Made("an agent whose description has 240 characters", || {
        let mut files = USUAL.files();
        let text = AGENT.replace("Answers questions", &"word ".repeat(48));
        if let Some((_, bytes)) = files.first_mut() {
            *bytes = text.into_bytes();
        }
        files
    }),
    good: USUAL,
};

/// A name that is reserved for the home.
pub(super) static RESERVED_ID: LintRule = LintRule {
    code: "AG4007",
    name: "reserved-id",
    severity: Warning,
    why: "`core` and `desirecore` are the home's own agent, which can be neither published nor \
          cloned; another agent of that name would be taken for it.",
    bad: definition!("\"id\": \"core\"", "\"name\": \"Helper\""),
    good: definition!("\"id\": \"helper\"", "\"name\": \"Helper\""),
};

/// An id that is neither a slug nor a UUID.
pub(super) static ODD_ID: LintRule = LintRule {
    code: "AG4008",
    name: "odd-id",
    severity: Warning,
    why: "The id is the name of the agent's folder and of its repository, so it is lower-case \
          words with hyphens. Older agents have a UUID.",
    bad: definition!("\"id\": \"The Helper\"", "\"name\": \"Helper\""),
    good: definition!("\"id\": \"the-helper\"", "\"name\": \"Helper\""),
};

/// The block `llm` under its older name.
pub(super) static LEGACY_RUNTIME: LintRule = LintRule {
    code: "AG4009",
    name: "legacy-runtime",
    severity: Warning,
    why: "The block was renamed to `llm`; the older name is still read, but new programs need not \
          do so.",
    bad: definition!("\"name\": \"Helper\"", "\"runtime\": {\"model\": \"small\"}"),
    good: definition!("\"name\": \"Helper\"", "\"llm\": {\"model\": \"small\"}"),
};

/// A tool that is in both lists.
pub(super) static TOOL_ALLOWED_AND_DENIED: LintRule = LintRule {
    code: "AG4010",
    name: "tool-allowed-and-denied",
    severity: Warning,
    why: "A tool that is denied stays denied; that it is allowed too has no effect and was \
          probably meant otherwise.",
    bad: definition!(
        "\"name\": \"Helper\"",
        "\"tool_permissions\": {\"allowed\": [\"Read\", \"Bash\"], \"denied\": [\"Bash\"]}"
    ),
    good: definition!(
        "\"name\": \"Helper\"",
        "\"tool_permissions\": {\"allowed\": [\"Read\"], \"denied\": [\"Bash\"]}"
    ),
};

/// A schedule that Agentry keeps but does not run.
pub(super) static SCHEDULE_NOT_RUN: LintRule = LintRule {
    code: "AG4011",
    name: "schedule-not-run",
    severity: Note,
    why: "Schedules with a cron expression and a prompt are run; the other kinds are kept for the \
          programs that know them.",
    bad: schedule!("\"kind\": \"interval\", \"interval\": \"30m\""),
    good: schedule!("\"kind\": \"cron\", \"cron\": \"*/30 * * * *\""),
};

/// A schedule of kind `cron` without an expression.
pub(super) static NO_CRON: LintRule = LintRule {
    code: "AG4012",
    name: "schedule-without-cron",
    severity: Error,
    why: "A schedule of kind `cron` says by its cron expression when it runs; without one it never \
          does.",
    bad: schedule!("\"kind\": \"cron\""),
    good: schedule!("\"kind\": \"cron\", \"cron\": \"0 9 * * *\""),
};

/// A cron expression that cannot be parsed.
pub(super) static NOT_A_CRON: LintRule = LintRule {
    code: "AG4013",
    name: "schedule-with-bad-cron",
    severity: Error,
    why: "A schedule whose expression cannot be read never runs, without a message.",
    bad: schedule!("\"kind\": \"cron\", \"cron\": \"every morning\""),
    good: schedule!("\"kind\": \"cron\", \"cron\": \"0 9 * * *\""),
};

/// An empty section «Never Do».
pub(super) static EMPTY_NEVER_DO: LintRule = LintRule {
    code: "AG4014",
    name: "empty-never-do",
    severity: Warning,
    why: "The section is protected, but it says nothing: the agent may do everything.",
    bad: texts![
        ("persona.md", PERSONA),
        ("principles.md", "## Never Do\n\n## Must Do\n- Name the sources\n"),
    ],
    good: USUAL,
};

/// An empty name.
pub(super) static EMPTY_NAME: LintRule = LintRule {
    code: "AG4015",
    name: "empty-agent-name",
    severity: Error,
    why: "The name is what people call the agent and what its id is made of; an empty one is none.",
    bad: definition!("\"name\": \" \""),
    good: definition!("\"name\": \"Helper\""),
};
