//! A difference between a replay and its cassette, as it is reported.

use std::fmt::{self, Write as _};

use similar::TextDiff;

/// The most lines of a difference that are shown.
const MOST_LINES: usize = 60;

/// The first difference between a run and its cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CassetteDifference {
    /// The kind of difference.
    pub kind: DifferenceKind,
    /// A summary in one line.
    pub message: String,
    /// The lines: `-` is recorded, `+` is now; empty if the message says it all.
    pub diff: String,
}

/// The kinds of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The system prompt or the conversation.
    Prompt,
    /// The tools that the model has.
    Tools,
    /// The verdict about a call.
    Verdict,
    /// The calls that are made, and their results.
    Calls,
    /// One of the two continues where the other ends.
    Length,
}

impl DifferenceKind {
    /// The name in machine-readable output.
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

    /// Adds a diff between the recorded text and the present one.
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
