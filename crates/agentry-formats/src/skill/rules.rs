//! The lint rules about skills.

use agentry_text::Severity::{Error, Note, Warning};
use agentry_text::{LintRule, RuleExample};

/// Every rule about skills, in code order.
pub const RULES: &[&LintRule] = &[
    &SKILL_WITHOUT_METADATA,
    &ODD_SKILL_NAME,
    &SKILL_NAME_AND_FOLDER,
    &DESCRIPTION_TOO_LONG,
    &EMPTY_SKILL_FIELD,
    &EMPTY_SKILL,
    &UNKNOWN_STEP,
    &SAME_SKILL_NAME,
    &MISPLACED_SKILL,
    &SKILL_WITHOUT_DESCRIPTION,
];

/// An agent of AgentFS with some skills.
macro_rules! skills {
    ($(($path:literal, $text:expr)),+ $(,)?) => {
        RuleExample::Files(&[
            ("helper/agent.json", "{\n  \"name\": \"Helper\",\n  \"description\": \"Answers questions\"\n}\n"),
            ("helper/persona.md", "Give the answer first, then the reasons.\n"),
            ("helper/principles.md", "## Never Do\n- Never send a message without being asked to\n"),
            $((concat!("helper/skills/", $path), $text),)+
        ])
    };
}

/// A skill of an agent directory.
macro_rules! directory {
    ($text:literal) => {
        RuleExample::Files(&[
            ("helper/instructions.md", "You answer questions.\n"),
            ("helper/skills/review.md", $text),
        ])
    };
}

const REVIEW: &str =
    "---\nname: review\ndescription: Reviews a text\n---\n\nRead the text twice.\n";

/// A skill file without a metadata block.
pub static SKILL_WITHOUT_METADATA: LintRule = LintRule {
    code: "AG6001",
    name: "skill-without-metadata",
    severity: Error,
    why: "A skill is found by its name and chosen by its description; both stand in the metadata \
          at the head of the file. In an agent directory the name is that of the file, so there \
          this is a warning.",
    bad: skills![("review/SKILL.md", "# Review\n\nRead the text twice.\n")],
    good: skills![("review/SKILL.md", REVIEW)],
};

/// A name that the Agent Skills standard does not allow.
pub static ODD_SKILL_NAME: LintRule = LintRule {
    code: "AG6002",
    name: "odd-skill-name",
    severity: Warning,
    why: "The Agent Skills standard allows lower-case letters, digits and single hyphens, at most \
          64 of them, and reserves two names; programs that follow it do not load such a skill.",
    bad: skills![(
        "review/SKILL.md",
        "---\nname: Text Review\ndescription: Reviews a text\n---\n\nRead the text twice.\n"
    )],
    good: skills![("review/SKILL.md", REVIEW)],
};

/// A name that differs from that of the folder.
pub static SKILL_NAME_AND_FOLDER: LintRule = LintRule {
    code: "AG6003",
    name: "skill-name-and-folder",
    severity: Warning,
    why: "The Agent Skills standard wants the name of a skill and of its folder to be the same; \
          some programs use the one, some the other.",
    bad: skills![(
        "review/SKILL.md",
        "---\nname: proofread\ndescription: Reviews a text\n---\n\nRead the text twice.\n"
    )],
    good: skills![("review/SKILL.md", REVIEW)],
};

/// A description of more than 1024 characters.
pub static DESCRIPTION_TOO_LONG: LintRule = LintRule {
    code: "AG6004",
    name: "skill-description-too-long",
    severity: Warning,
    why: "The descriptions of all skills are shown to the model all the time, so the Agent Skills \
          standard limits each to 1024 characters; programs cut or refuse a longer one.",
    bad: RuleExample::Made("a skill whose description has 1,200 characters", || {
        with_description(&"word ".repeat(240))
    }),
    good: RuleExample::Made("the same skill with a short description", || {
        with_description("Reviews a text")
    }),
};

fn with_description(description: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = SKILL_WITHOUT_METADATA.good.files();
    let text = REVIEW.replace("Reviews a text", description.trim_end());
    if let Some((_, bytes)) = files.last_mut() {
        *bytes = text.into_bytes();
    }
    files
}

/// A name, id or description that is empty.
pub static EMPTY_SKILL_FIELD: LintRule = LintRule {
    code: "AG6005",
    name: "empty-skill-field",
    severity: Error,
    why: "An empty name cannot be called and an empty description is never chosen, so the skill \
          would not be used at all.",
    bad: skills![(
        "review/SKILL.md",
        "---\nname: review\ndescription: \"\"\n---\n\nRead the text twice.\n"
    )],
    good: skills![("review/SKILL.md", REVIEW)],
};

/// Front matter without any text below it.
pub static EMPTY_SKILL: LintRule = LintRule {
    code: "AG6006",
    name: "empty-skill",
    severity: Warning,
    why: "The text below the metadata is the instruction that the agent gets with the skill; \
          without it, using the skill changes nothing.",
    bad: skills![("review/SKILL.md", "---\nname: review\ndescription: Reviews a text\n---\n")],
    good: skills![("review/SKILL.md", REVIEW)],
};

/// A step label that is almost a known one.
pub static UNKNOWN_STEP: LintRule = LintRule {
    code: "AG6007",
    name: "unknown-step",
    severity: Note,
    why: "The label in parentheses says who decides how a step is done, and a human gate waits for \
          a person. An unknown label is plain text: nothing waits.",
    bad: skills![(
        "review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\n---\n\n### 1. Send it (Humane Gate)\n"
    )],
    good: skills![(
        "review/SKILL.md",
        "---\nname: review\ndescription: Reviews a text\n---\n\n### 1. Send it (Human Gate)\n"
    )],
};

/// Two skills of an agent with the same name.
pub static SAME_SKILL_NAME: LintRule = LintRule {
    code: "AG6008",
    name: "same-skill-name",
    severity: Warning,
    why: "A skill is called by its name; of two with one name only the later one is used.",
    bad: skills![
        (
            "review/SKILL.md",
            "---\nmetadata:\n  id: review\n  version: 1.0.0\n  name: Review\n  description: Reviews a text\n---\n\nRead the text twice.\n"
        ),
        (
            "second/SKILL.md",
            "---\nmetadata:\n  id: review\n  version: 1.0.0\n  name: Second review\n  description: Reviews a text again\n---\n\nRead the text once more.\n"
        ),
    ],
    good: skills![("review/SKILL.md", REVIEW)],
};

/// A file that would be a skill if it were called `SKILL.md`.
pub static MISPLACED_SKILL: LintRule = LintRule {
    code: "AG6009",
    name: "misplaced-skill",
    severity: Warning,
    why: "Only a file called exactly `SKILL.md` makes a folder a skill; another spelling works on \
          some machines and is silently ignored on others.",
    bad: skills![("review/skill.md", REVIEW)],
    good: skills![("review/SKILL.md", REVIEW)],
};

/// A skill that does not state when to use it.
pub static SKILL_WITHOUT_DESCRIPTION: LintRule = LintRule {
    code: "AG6010",
    name: "skill-without-description",
    severity: Warning,
    why: "The model chooses a skill by its description; one without is used only when a person \
          calls it by name.",
    bad: directory!("---\nname: review\n---\n\nRead the text twice.\n"),
    good: directory!(
        "---\nname: review\ndescription: Reviews a text\n---\n\nRead the text twice.\n"
    ),
};
