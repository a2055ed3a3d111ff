//! The files that a line writes: a program that is one of them is not known before it runs.

use std::collections::BTreeSet;

use agentry_commands::{
    FileRow, ProgramFacts, ProgramTrait, base_name as base, program, subcommand,
};

use super::{CurrentDirs, LinePart, PartEffect};
use crate::argv::{ShellArg, ShellWord, WordPiece};

/// So many ends are kept apart; then every name may be one.
const MAX_ENDS: usize = 64;

/// File names, without directories: those may be reached in many ways.
#[derive(Debug, Default)]
pub(super) struct WrittenNames {
    names: BTreeSet<String>,
    /// Names that may be directories, with everything inside.
    trees: BTreeSet<String>,
    /// Ends of names whose start is not known.
    ends: BTreeSet<String>,
    /// Whether every file may be one.
    all: bool,
}

impl WrittenNames {
    /// By any of the parts, in whatever order they run.
    pub(super) fn by(parts: &[LinePart]) -> Self {
        let mut written = Self::default();
        for part in parts {
            match &part.what {
                PartEffect::Write(word) => written.add(word),
                PartEffect::Command(command) => written.arguments(&command.argv),
                _ => {}
            }
        }
        written
    }

    /// Whether the program `path` may be one of them, or lie inside of one.
    pub(super) fn may_be(&self, path: &str, bases: &CurrentDirs) -> bool {
        let name = base(path);
        self.all
            || self.names.contains(name)
            || self.ends.iter().any(|end| name.ends_with(end.as_str()))
            || self.is_inside(path, bases)
    }

    fn is_inside(&self, path: &str, bases: &CurrentDirs) -> bool {
        if self.trees.is_empty() {
            return false;
        }
        let has = |path: &str| path.split('/').any(|part| self.trees.contains(part));
        match bases {
            _ if has(path) => true,
            CurrentDirs::Known(all) => !path.starts_with('/') && all.iter().any(|base| has(base)),
            CurrentDirs::Unknown => !path.starts_with('/'),
        }
    }

    fn arguments(&mut self, argv: &[ShellArg]) {
        let Some((first, rest)) = argv.split_first() else { return };
        let Some(facts) = first.literal().map(base).and_then(program) else { return };
        let row = facts.file_row(None);
        self.all |= row == Some(FileRow::Unpacks) || facts.has(ProgramTrait::WritesUnknownFiles);
        self.all |= row == Some(FileRow::Tree) && changes_checkout(facts, argv);
        if !facts.writes_arguments() {
            return;
        }
        let moves_trees = row.is_some_and(FileRow::is_copy);
        for (at, argument) in rest.iter().enumerate() {
            let (ShellArg::One(word) | ShellArg::Some(word) | ShellArg::Many(word)) = argument;
            self.add(word);
            if moves_trees {
                self.add_tree(word, at + 1 == rest.len());
            }
        }
    }

    /// A file or a directory with all that is in it.
    fn add_tree(&mut self, word: &ShellWord, is_last: bool) {
        let Some(text) = word.literal() else { return };
        // What is inside of it goes into another directory, under names that are not known.
        self.all |=
            !is_last && text.ends_with(['/', '.']) && text.trim_end_matches('.').ends_with('/');
        self.trees.insert(base(text.trim_end_matches('/')).to_owned());
    }

    fn add(&mut self, word: &ShellWord) {
        match word.pieces.as_slice() {
            [] => {}
            [WordPiece::Text(text)] => {
                let value = text.rsplit(['=', '?']).next().unwrap_or_default();
                self.names.extend([base(text).to_owned(), base(value).to_owned()]);
            }
            [.., WordPiece::Text(text)] if text.contains('/') => {
                self.names.insert(base(text).to_owned());
            }
            [.., WordPiece::Text(text)] if self.ends.len() < MAX_ENDS => {
                self.ends.insert(text.clone());
            }
            _ => self.all = true,
        }
    }
}

/// Whether a call may change files of a checkout: every subcommand that is not known to leave them
/// alone, and one that is not literal.
fn changes_checkout(facts: &ProgramFacts, argv: &[ShellArg]) -> bool {
    let Some(at) = subcommand(facts.name, argv) else {
        return argv.iter().any(|arg| arg.literal().is_none());
    };
    let name = argv.get(at).and_then(ShellArg::literal);
    !facts.file_row(name).is_some_and(FileRow::keeps_checkout)
}
