//! The files that a line writes: a program that is one of them is not known before it runs.

use std::collections::BTreeSet;

use super::{Part, What};
use crate::argv::{Arg, Piece, Word};
use crate::tables::builtins::WRITERS;

/// So many ends are told apart; then every name may be one.
const MAX_ENDS: usize = 64;

/// File names, without directories: those may be reached in many ways.
#[derive(Debug, Default)]
pub(super) struct Written {
    names: BTreeSet<String>,
    /// Ends of names whose start is not known.
    ends: BTreeSet<String>,
}

impl Written {
    /// By any of the parts, in whatever order they run.
    pub(super) fn by(parts: &[Part]) -> Self {
        let mut written = Self::default();
        for part in parts {
            match &part.what {
                What::Write(word) => written.add(word),
                What::Command(command) => written.arguments(&command.argv),
                _ => {}
            }
        }
        written
    }

    /// Whether the program `path` may be one of them.
    pub(super) fn may_be(&self, path: &str) -> bool {
        let name = base(path);
        self.names.contains(name) || self.ends.iter().any(|end| name.ends_with(end.as_str()))
    }

    fn arguments(&mut self, argv: &[Arg]) {
        let Some((first, rest)) = argv.split_first() else { return };
        let is_writer = first.literal().is_some_and(|name| WRITERS.contains(&base(name)));
        if is_writer {
            for argument in rest {
                let (Arg::One(word) | Arg::Some(word) | Arg::Many(word)) = argument;
                self.add(word);
            }
        }
    }

    fn add(&mut self, word: &Word) {
        match word.pieces.as_slice() {
            [] => {}
            [Piece::Text(text)] => {
                let value = text.rsplit(['=', '?']).next().unwrap_or_default();
                self.names.extend([base(text).to_owned(), base(value).to_owned()]);
            }
            [.., Piece::Text(text)] if text.contains('/') => {
                self.names.insert(base(text).to_owned());
            }
            [.., Piece::Text(text)] if self.ends.len() < MAX_ENDS => {
                self.ends.insert(text.clone());
            }
            _ => {
                self.ends.insert(String::new());
            }
        }
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
