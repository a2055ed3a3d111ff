//! A part of a line as a person reads it: what it does, not the whole segment that does it.

use std::fmt;

use crate::argv::{Arg, Piece, Word};

use super::{Part, What};

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Command(command) => f.write_str(&shown(&command.argv)),
            What::Read(word) => write!(f, "< {}", text(word)),
            What::Write(word) => write!(f, "> {}", text(word)),
            What::Enter(word) => write!(f, "cd {}", text(word)),
            What::Set { name, value, .. } => write!(f, "{name}={}", text(value)),
            What::Unclear { .. } => f.write_str(&self.text),
        }
    }
}

/// A command.
pub(crate) fn shown(argv: &[Arg]) -> String {
    let word = |arg: &Arg| match arg {
        Arg::One(word) | Arg::Some(word) => text(word),
        Arg::Many(_) => "…".to_owned(),
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The word with `*` for what a glob stands for and `…` for what nobody knows, in quotes if it holds
/// something that a shell would read.
pub(crate) fn text(word: &Word) -> String {
    let pieces = word.pieces.iter().map(|piece| match piece {
        Piece::Text(text) => quoted(text),
        Piece::Segment => "*".to_owned(),
        Piece::Any => "…".to_owned(),
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
