//! The rules about the file as a whole: its name, metadata and headings.

use agentry_text::Severity::{Error, Warning};
use agentry_text::{LintRule, RuleExample};

use super::{PATH, with_body, with_metadata};

/// A file name without category and name.
pub(crate) static FILE_NAME: LintRule = LintRule {
    code: "AG1001",
    name: "agent-file-name",
    severity: Warning,
    why: "The name of the file says the category and the name of the agent, \
          `agents/<category>_<agent-name>.agent.md`. Under another name the agent is called after \
          its title, so that a changed title changes what programs call it.",
    bad: RuleExample::File("agents/helper.agent.md", "# Helper\n\nAnswers questions.\n"),
    good: RuleExample::File(PATH, "# Helper\n\nAnswers questions.\n"),
};

/// Neither a `title` nor a top-level heading.
pub(crate) static NO_TITLE: LintRule = LintRule {
    code: "AG1002",
    name: "no-title",
    severity: Warning,
    why: "Without `title` and without a `# Heading` people see the name of the file.",
    bad: RuleExample::File(
        PATH,
        "---\ndescription: Answers questions\n---\n## System\n\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        PATH,
        "# Helper\n\nAnswers questions.\n\n## System\n\nYou answer questions.\n",
    ),
};

/// Different values in the metadata and under a heading.
pub(crate) static CONFLICT: LintRule = LintRule {
    code: "AG1003",
    name: "metadata-conflict",
    severity: Error,
    why: "A value may stand in the metadata or under its heading. When it stands in both and \
          differs (case and white space aside), it is not clear which one is meant.",
    bad: with_metadata!("title: Assistant\n"),
    good: with_metadata!("title: helper\n"),
};

/// A defined heading that occurs twice.
pub(crate) static SECTION_TWICE: LintRule = LintRule {
    code: "AG1004",
    name: "section-twice",
    severity: Error,
    why: "`## System`, `## Rules`, `## Tools` and `# Avatar` each have one meaning. Readers differ \
          in which of two they take, so a second one is refused.",
    bad: with_body!("## Rules\n\n- Be brief\n\n## rules\n\n- Be kind\n"),
    good: with_body!("## Rules\n\n- Be brief\n- Be kind\n"),
};

/// A defined heading without content.
pub(crate) static EMPTY_SECTION: LintRule = LintRule {
    code: "AG1005",
    name: "empty-section",
    severity: Warning,
    why: "A section that has a meaning but says nothing counts as absent, which is seldom what was \
          meant.",
    bad: with_body!("## System\n\n## Rules\n\n- Be brief\n"),
    good: with_body!("## System\n\nYou answer questions.\n\n## Rules\n\n- Be brief\n"),
};

/// A defined heading at the wrong level.
pub(crate) static MISPLACED_SECTION: LintRule = LintRule {
    code: "AG1006",
    name: "misplaced-section",
    severity: Warning,
    why: "System, rules and tools are read from second-level headings and the avatar from a \
          top-level one. At another level the section is text without an effect.",
    bad: with_body!("# Rules\n\n- Be brief\n"),
    good: with_body!("## Rules\n\n- Be brief\n"),
};

/// An icon that is not one emoji.
pub(crate) static NOT_ONE_EMOJI: LintRule = LintRule {
    code: "AG1007",
    name: "not-one-emoji",
    severity: Error,
    why: "The icon is drawn in one place of a list: it is exactly one emoji, and neither a word nor \
          two of them.",
    bad: with_metadata!("icon: robot\n"),
    good: with_metadata!("icon: 🤖\n"),
};

/// A name that is not valid for an environment variable.
pub(crate) static ENV_NAME: LintRule = LintRule {
    code: "AG1008",
    name: "not-a-variable-name",
    severity: Error,
    why: "A required variable with a name that no shell can set would keep the agent from ever \
          starting.",
    bad: with_metadata!("required:\n  env:\n    - API-KEY\n"),
    good: with_metadata!("required:\n  env:\n    - API_KEY\n"),
};

/// Metadata that does not stand first.
pub(crate) static LATE_METADATA: LintRule = LintRule {
    code: "AG1009",
    name: "late-metadata",
    severity: Error,
    why: "Metadata is read only at the top of the file. A block further down has no effect: what it \
          denies would be allowed.",
    bad: with_body!("---\ndeny: [sh]\n---\n\n## System\n\nYou answer questions.\n"),
    good: RuleExample::File(
        PATH,
        "---\ndeny: [sh]\n---\n# Helper\n\nAnswers questions.\n\n## System\n\nYou answer questions.\n",
    ),
};

/// Text that belongs to no section.
pub(crate) static TEXT_NOT_SENT: LintRule = LintRule {
    code: "AG1017",
    name: "text-not-sent",
    severity: Warning,
    why: "The model gets the text under `## System` and `## Rules`. Text under any other heading is \
          kept, but it is not sent.",
    bad: with_body!("## Style\n\nBe brief.\n"),
    good: with_body!("## Rules\n\nBe brief.\n"),
};
