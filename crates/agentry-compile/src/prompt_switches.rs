//! `[prompt]`: which parts the system prompt of a run has.

use agentry_text::{Field, FieldKind, FieldTable, TableRecord};

/// `[prompt]`.
pub(crate) static PROMPT: FieldTable = FieldTable::new(
    "`[prompt]`",
    &[
        Field::default(
            "persona",
            FieldKind::Bool,
            "true",
            "Whether it has the persona: `persona.md`, `SOUL.md`, `behavior.persona`.",
        ),
        Field::default("traits", FieldKind::Bool, "true", "Whether it has the traits."),
        Field::default("rules", FieldKind::Bool, "true", "Whether it has the rules."),
        Field::default(
            "environment",
            FieldKind::Bool,
            "true",
            "Whether it has the working directory, the date, the platform and the Git branch.",
        ),
        Field::default(
            "agents_md",
            FieldKind::Bool,
            "true",
            "Whether it has the `AGENTS.md` of the workspace.",
        ),
        Field::default(
            "memory",
            FieldKind::Bool,
            "true",
            "Whether it has what the agent remembers. Without it, the tool `recall` still finds memories.",
        ),
    ],
);

/// The parts that the system prompt of a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the configuration")]
pub struct PromptSwitches {
    /// Who the agent is.
    pub persona: bool,
    /// Its traits.
    pub traits: bool,
    /// Its rules.
    pub rules: bool,
    /// Where and when it runs.
    pub environment: bool,
    /// The instructions of the workspace.
    pub agents_md: bool,
    /// What the agent remembers.
    pub memory: bool,
}

impl Default for PromptSwitches {
    fn default() -> Self {
        Self {
            persona: true,
            traits: true,
            rules: true,
            environment: true,
            agents_md: true,
            memory: true,
        }
    }
}

impl PromptSwitches {
    /// Reads the switches of one file.
    pub(crate) fn read(prompt: &TableRecord<'_>) -> Self {
        let is_on = |name| prompt.bool(name).is_none_or(|on| on.value);
        Self {
            persona: is_on("persona"),
            traits: is_on("traits"),
            rules: is_on("rules"),
            environment: is_on("environment"),
            agents_md: is_on("agents_md"),
            memory: is_on("memory"),
        }
    }
}
