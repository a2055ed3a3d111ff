//! Describes a part of a line for the user: its effect, not the whole text around it.

use std::fmt;

use crate::argv::{ShellArg, ShellWord, WordPiece};

use super::{LinePart, PartEffect};

impl fmt::Display for LinePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            PartEffect::Command(command) => f.write_str(&shown(&command.argv)),
            PartEffect::Read(word) => write!(f, "< {}", text(word)),
            PartEffect::Write(word) => write!(f, "> {}", text(word)),
            PartEffect::Enter(word) => write!(f, "cd {}", text(word)),
            PartEffect::Set { name, value, .. } => write!(f, "{name}={}", text(value)),
            PartEffect::Lasting { .. } | PartEffect::Unclear { .. } => f.write_str(&self.text),
        }
    }
}

/// Formats a command.
pub(crate) fn shown(argv: &[ShellArg]) -> String {
    let word = |arg: &ShellArg| match arg {
        ShellArg::One(word) | ShellArg::Some(word) => text(word),
        ShellArg::Many(word) if !word.is_open() => text(word),
        ShellArg::Many(_) => "…".to_owned(),
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Formats a word, with `*` for a glob and `…` for unknown text, quoted if it contains shell syntax.
pub(crate) fn text(word: &ShellWord) -> String {
    let pieces = word.pieces.iter().map(|piece| match piece {
        WordPiece::Text(text) => quoted(text),
        WordPiece::Segment | WordPiece::Number => "*".to_owned(),
        WordPiece::Below => "**".to_owned(),
        WordPiece::Loose => String::new(),
        WordPiece::Label | WordPiece::Any => "…".to_owned(),
    });
    let text: String = pieces.collect();
    if text.is_empty() { "''".to_owned() } else { text }
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,~^".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
