//! Collects the files that a line writes, because a program among them is unknown before the line runs.

use std::collections::BTreeSet;

use agentry_commands::hazard::RUNS;
use agentry_commands::{
    FileRow, FileUse, ProgramFacts, ProgramTrait, base_name as base, effects, program, subcommand,
};

use super::{CurrentDirs, LinePart, PartEffect};
use crate::argv::{ShellArg, ShellWord, WordPiece};

/// How many suffixes are stored; with more, any file may be written.
const MAX_ENDS: usize = 64;

/// The names of written files, without directories, because a file can be reached by many paths.
#[derive(Debug, Default)]
pub(super) struct WrittenNames {
    names: BTreeSet<String>,
    /// Names that may be directories, with everything in them.
    trees: BTreeSet<String>,
    /// Suffixes of names whose start is unknown.
    ends: BTreeSet<String>,
    /// Whether any file may be written.
    all: bool,
}

impl WrittenNames {
    /// Collects the files that any of the parts writes, in whatever order they run.
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

    /// Whether the program `path` may be one of them, or be inside one.
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
        let effects = effects(argv);
        let written = effects
            .uses()
            .into_iter()
            .filter(|(used, _)| matches!(used, FileUse::Write | FileUse::MayWrite));
        written.for_each(|(_, word)| self.add(&word));
        // An option such as `--output=x` writes a file that the rows of operands may not name.
        let has_output = effects.own_rules().iter().any(|hazard| hazard.does != RUNS);
        if !facts.writes_arguments() && !has_output {
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

    /// Adds a file, or a directory with everything in it.
    fn add_tree(&mut self, word: &ShellWord, is_last: bool) {
        let Some(text) = word.literal() else { return };
        // The contents are copied into another directory, under unknown names.
        self.all |=
            !is_last && text.ends_with(['/', '.']) && text.trim_end_matches('.').ends_with('/');
        self.trees.insert(base(text.trim_end_matches('/')).to_owned());
    }

    fn add(&mut self, word: &ShellWord) {
        match word.pieces.as_slice() {
            [] => {}
            [WordPiece::Text(text)] => {
                // The name may be the value of an option or a setting, such as `of=x`.
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

/// Whether a call may change files of a checkout: every subcommand that is not known to leave them unchanged,
/// and one that is not literal.
fn changes_checkout(facts: &ProgramFacts, argv: &[ShellArg]) -> bool {
    let Some(at) = subcommand(facts.name, argv) else {
        return argv.iter().any(|arg| arg.literal().is_none());
    };
    let name = argv.get(at).and_then(ShellArg::literal);
    !facts.file_row(name).is_some_and(FileRow::keeps_checkout)
}
