//! The clients: their names, packages and drivers.

use crate::clients::{Driver, claude_code, codex, gemini, opencode, pi};

/// A client that agents are rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Client {
    /// OpenCode.
    OpenCode,
    /// Claude Code.
    ClaudeCode,
    /// Pi with pi-subagents.
    Pi,
    /// Gemini CLI.
    Gemini,
    /// Codex.
    Codex,
}

impl Client {
    /// Every client, in the order of reports.
    pub(crate) const ALL: [Self; 5] =
        [Self::OpenCode, Self::ClaudeCode, Self::Pi, Self::Gemini, Self::Codex];

    /// Its name as a target of `agentry render`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenCode => "opencode",
            Self::ClaudeCode => "claude-code",
            Self::Pi => "pi",
            Self::Gemini => "gemini",
            Self::Codex => "codex",
        }
    }

    /// The client with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }

    /// The packages it is installed from; `clients/package.json` has their versions.
    pub(crate) fn packages(self) -> &'static [&'static str] {
        match self {
            Self::OpenCode => &["opencode-ai"],
            Self::ClaudeCode => &["@anthropic-ai/claude-code"],
            // It needs a newer Node than many machines have.
            Self::Pi => &["@earendil-works/pi-coding-agent", "pi-subagents", "node"],
            Self::Gemini => &["@google/gemini-cli"],
            Self::Codex => &["@openai/codex"],
        }
    }

    /// The name of its program.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::OpenCode => "opencode",
            Self::ClaudeCode => "claude",
            Self::Pi => "pi",
            Self::Gemini => "gemini",
            Self::Codex => "codex",
        }
    }

    /// The driver, which configures, starts and interprets it.
    pub(crate) fn driver(self) -> &'static dyn Driver {
        match self {
            Self::OpenCode => &opencode::OpenCode,
            Self::ClaudeCode => &claude_code::ClaudeCode,
            Self::Pi => &pi::Pi,
            Self::Gemini => &gemini::Gemini,
            Self::Codex => &codex::Codex,
        }
    }
}
