//! Where a run goes another way than the recorded one.

use std::fmt::{self, Write as _};

use similar::TextDiff;

/// The most lines of a difference that are shown.
const MOST_LINES: usize = 60;

/// The first difference between a run and its cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CassetteDifference {
    /// What differs.
    pub kind: DifferenceKind,
    /// In one line.
    pub message: String,
    /// Line by line: `-` is recorded, `+` is now; empty if the message says it all.
    pub diff: String,
}

/// What may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// What the model is told: its instructions, or what was said.
    Prompt,
    /// The tools that it is given.
    Tools,
    /// What the policy says of a call.
    Verdict,
    /// The calls that are made, and what becomes of them.
    Calls,
    /// One of the two goes on where the other ends.
    Length,
}

impl DifferenceKind {
    /// What programs read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Tools => "tools",
            Self::Verdict => "verdict",
            Self::Calls => "calls",
            Self::Length => "length",
        }
    }
}

impl CassetteDifference {
    pub(super) fn new(kind: DifferenceKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), diff: String::new() }
    }

    /// Shows what was recorded and what is there now.
    pub(super) fn between(mut self, recorded: &str, now: &str) -> Self {
        let diff = TextDiff::from_lines(recorded, now);
        let diff = diff.unified_diff().context_radius(2).header("recorded", "now").to_string();
        let mut lines: Vec<&str> = diff.lines().collect();
        let more = lines.len().saturating_sub(MOST_LINES);
        lines.truncate(MOST_LINES);
        self.diff = lines.join("\n");
        if more > 0 {
            let _ = write!(self.diff, "\n… {more} more lines");
        }
        self
    }
}

impl fmt::Display for CassetteDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.diff.is_empty() { Ok(()) } else { write!(f, "\n{}", self.diff) }
    }
}

impl std::error::Error for CassetteDifference {}
