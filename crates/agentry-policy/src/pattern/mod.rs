//! The pattern language of all rules: `*`, `**`, everything else literal.

use crate::{Action, Places, Section};

/// What kind of subject a pattern is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An argument list.
    Command,
    /// An absolute path.
    Path,
    /// A web address in canonical form.
    Web,
    /// A name, or two joined by `/`.
    Name,
}

/// One pattern of one rule, ready to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// As written.
    pub text: String,
}

impl Section {
    /// The kind of subjects that the section's patterns are about.
    pub fn kind(self) -> Kind {
        match self {
            Self::Bash => Kind::Command,
            Self::Edit | Self::Read | Self::ExternalDirectory => Kind::Path,
            Self::Webfetch => Kind::Web,
            Self::Websearch
            | Self::Question
            | Self::Mcp
            | Self::Tool
            | Self::Skill
            | Self::Delegate
            | Self::Env => Kind::Name,
        }
    }
}

impl Pattern {
    /// Reads a pattern. What it means depends on the action: a deny reaches further than an allow.
    pub fn new(kind: Kind, text: &str, action: Action, places: &Places) -> Self {
        let _ = (kind, action, places);
        Self { text: text.to_owned() }
    }
}
