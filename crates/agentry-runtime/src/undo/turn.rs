//! Undoes the changes of one turn of a conversation, and records that as a change of its own: so the turn
//! before, or the whole run, can still be undone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::index::UndoIndex;
use super::restore::{PlacedChange, undo_changes};
use super::{BeforeImages, UndoOutcome};

/// The number of changes that a run and its delegates had made at some time, by the directory of their images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnMark(BTreeMap<PathBuf, usize>);

/// The changes between two marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnChanges {
    /// Before the turn.
    pub from: TurnMark,
    /// After it.
    pub to: TurnMark,
}

impl TurnMark {
    /// Counts the changes so far. Counts are used and not times, because a clock may be set back.
    pub fn now(directories: &[PathBuf]) -> io::Result<Self> {
        let count =
            |directory: &PathBuf| Ok((directory.clone(), UndoIndex::look(directory)?.lines.len()));
        Ok(Self(directories.iter().map(count).collect::<io::Result<_>>()?))
    }
}

/// Undoes the changes of one turn where the files are still as the turn left them. `own` is the directory of the
/// images of the run itself.
pub fn undo_turn(own: &Path, turn: &TurnChanges) -> io::Result<Vec<(PathBuf, UndoOutcome)>> {
    let would = undo_changes(changes(turn)?, false, true);
    let images = BeforeImages::new(own)?;
    for (path, _) in would.iter().filter(|(_, outcome)| is_restored(outcome)) {
        images.keep(path)?;
    }
    let undone = undo_changes(changes(turn)?, false, false);
    images.settle()?;
    Ok(undone)
}

/// Whether the file has another content than before the undo.
const fn is_restored(outcome: &UndoOutcome) -> bool {
    matches!(outcome, UndoOutcome::Back | UndoOutcome::Partly)
}

fn changes(turn: &TurnChanges) -> io::Result<Vec<PlacedChange<'_>>> {
    let mut changes = Vec::new();
    for (images, end) in &turn.to.0 {
        // A delegate that began in this turn had changed nothing before.
        let start = turn.from.0.get(images).copied().unwrap_or_default();
        let lines = UndoIndex::look(images)?.lines.into_iter();
        let lines = lines.take(*end).skip(start);
        changes.extend(lines.map(|change| PlacedChange { images, change }));
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::undo::undo;

    struct Turns {
        _folder: tempfile::TempDir,
        root: PathBuf,
        images: PathBuf,
    }

    impl Turns {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            Self { _folder: folder, images: root.join("images"), root }
        }

        fn mark(&self) -> TurnMark {
            TurnMark::now(std::slice::from_ref(&self.images)).unwrap()
        }

        /// Writes files in one turn.
        fn turn(&self, files: &[(&str, &str)]) -> TurnChanges {
            let from = self.mark();
            let images = BeforeImages::new(&self.images).unwrap();
            for (name, text) in files {
                let path = self.root.join(name);
                images.keep(&path).unwrap();
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
                images.settle().unwrap();
            }
            TurnChanges { from, to: self.mark() }
        }

        fn undo(&self, turn: &TurnChanges) -> Vec<UndoOutcome> {
            undo_turn(&self.images, turn).unwrap().into_iter().map(|(_, outcome)| outcome).collect()
        }

        fn text(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.root.join(name)).ok()
        }
    }

    #[test]
    fn turns_are_undone_one_after_the_other_and_then_the_run() {
        let run = Turns::new();
        fs::write(run.root.join("a"), "user\n").unwrap();
        let first = run.turn(&[("a", "one\n"), ("a", "two\n")]);
        let second = run.turn(&[("a", "three\n"), ("new/b", "b\n"), ("a", "four\n")]);
        assert_eq!(run.undo(&second), [UndoOutcome::Back, UndoOutcome::Back]);
        assert_eq!(run.text("a").as_deref(), Some("two\n"));
        assert!(!run.root.join("new").exists());
        let third = run.turn(&[("a", "five\n")]);
        assert_eq!(run.undo(&third), [UndoOutcome::Back]);
        assert_eq!(run.undo(&first), [UndoOutcome::Back]);
        assert_eq!(run.text("a").as_deref(), Some("user\n"));
        assert_eq!(run.undo(&first), [UndoOutcome::Same]);
        let last = run.turn(&[("a", "six\n")]);
        assert_eq!(run.undo(&last), [UndoOutcome::Back]);
        run.turn(&[("a", "seven\n")]);
        undo(std::slice::from_ref(&run.images), false, false).unwrap();
        assert_eq!(run.text("a").as_deref(), Some("user\n"));
    }

    #[test]
    fn what_others_changed_since_is_kept() {
        let run = Turns::new();
        let turn = run.turn(&[("a", "run\n"), ("b", "run\n")]);
        fs::write(run.root.join("a"), "user\n").unwrap();
        let kept = UndoOutcome::Kept("it was changed since".to_owned());
        assert_eq!(run.undo(&turn), [kept, UndoOutcome::Back]);
        assert_eq!(run.text("a").as_deref(), Some("user\n"));
        assert_eq!(run.text("b"), None);
    }
}
