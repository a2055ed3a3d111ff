//! The instructions of an agent: the texts of its system prompt.

use agentry_text::Spanned;

use crate::{Declared, DeclaredList};

/// The texts that become the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentInstructions {
    /// Identity and task: `## System`, `system-prompt.md`, `SOUL.md`, `persona.md`, `instructions.md`.
    pub system: Declared<String>,
    /// Hard rules: `## Rules`, `RULES.md`, `principles.md`.
    pub rules: Declared<String>,
    /// The hard rules of its bases, the most distant first; they come before its `rules`.
    pub base_rules: Vec<Spanned<String>>,
    /// A complete prompt that replaces persona and traits.
    pub system_override: Declared<String>,
    /// Habits, by name or as text.
    pub traits: DeclaredList<String>,
    /// Text of the definition that has no effect.
    pub notes: Declared<String>,
    /// Files that are added to the context, relative to the definition.
    pub context: DeclaredList<String>,
    /// Rule files of the workspace, by reference: `languages/rust`.
    pub rule_files: DeclaredList<String>,
}
