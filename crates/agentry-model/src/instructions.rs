//! What an agent is told.

use agentry_text::Spanned;

use crate::{Field, ListField};

/// The texts that become the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Identity and task: `## System`, `system-prompt.md`, `SOUL.md`, `persona.md`, `instructions.md`.
    pub system: Field<String>,
    /// Hard rules: `## Rules`, `RULES.md`, `principles.md`.
    pub rules: Field<String>,
    /// The hard rules of its bases, the farthest first: they hold before its own.
    pub base_rules: Vec<Spanned<String>>,
    /// A raw prompt that stands in for persona and traits.
    pub system_override: Field<String>,
    /// Habits, by name or as text.
    pub traits: ListField<String>,
    /// Text of the definition that no reader acts upon.
    pub notes: Field<String>,
    /// Files put into the context, relative to the definition.
    pub context: ListField<String>,
    /// Rule files of the workspace, by reference: `languages/rust`.
    pub rule_files: ListField<String>,
}
