//! Undoes the changes of one turn of a conversation, and records that as a change of its own: so the turn
//! before, or the whole run, can still be undone. The turns are kept in a file, so that a later process that
//! continues the run can undo them too.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::changes::{RunFileChange, compared_with_now};
use super::index::UndoIndex;
use super::restore::{PlacedChange, undo_changes};
use super::{BeforeImages, UndoOutcome};
use crate::journal::FileUplink;
use crate::private_files;

/// The number of changes that a run and its delegates had made at some time, by the directory of their images
/// below the directory of all runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnMark(BTreeMap<PathBuf, usize>);

/// The changes between two marks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnChanges {
    /// Before the turn.
    pub from: TurnMark,
    /// After it.
    pub to: TurnMark,
}

impl TurnMark {
    /// Counts the changes so far in these directories below `runs`. Counts are used and not times, because a
    /// clock may be set back.
    pub fn now(runs: &Path, directories: &[PathBuf]) -> io::Result<Self> {
        let count = |directory: &PathBuf| {
            Ok((directory.clone(), UndoIndex::look(&runs.join(directory))?.lines.len()))
        };
        Ok(Self(directories.iter().map(count).collect::<io::Result<_>>()?))
    }

    /// Whether all directories are below the directory of runs.
    fn is_inside(&self) -> bool {
        let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
        self.0.keys().all(|directory| directory.components().all(is_name))
    }
}

/// The turns of a run that changed files and are not undone, the oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TurnLedger {
    /// The state before the turn under way.
    #[serde(default)]
    begun: Option<TurnMark>,
    #[serde(default)]
    ended: Vec<TurnChanges>,
}

impl TurnLedger {
    /// Reads the turns from the directory of a journal. A file that cannot be read has no turns: they are then
    /// undone with the whole run.
    pub fn read(journal: &Path) -> Self {
        let text = std::fs::read_to_string(file(journal)).unwrap_or_default();
        let read: Self = serde_json::from_str(&text).unwrap_or_default();
        let marks = read.ended.iter().flat_map(|turn| [&turn.from, &turn.to]).chain(&read.begun);
        if marks.into_iter().all(TurnMark::is_inside) { read } else { Self::default() }
    }

    /// Notes the state before a turn. A turn that a killed process began goes on.
    pub fn begin(&mut self, journal: &Path, now: Option<TurnMark>) {
        if self.begun.is_none() {
            self.begun = now;
            self.write(journal);
        }
    }

    /// Notes the state after the turn; returns its changes if there are any.
    pub fn end(&mut self, journal: &Path, now: Option<TurnMark>) -> Option<TurnChanges> {
        // A turn whose changes cannot be counted cannot be undone alone.
        let turn = self.begun.take().zip(now).filter(|(from, to)| from != to);
        let turn = turn.map(|(from, to)| TurnChanges { from, to });
        self.ended.extend(turn.clone());
        self.write(journal);
        turn
    }

    /// The last turn.
    pub fn last(&self) -> Option<&TurnChanges> {
        self.ended.last()
    }

    /// Removes the last turn, because it is undone.
    pub fn pop(&mut self, journal: &Path) {
        self.ended.pop();
        self.write(journal);
    }

    /// Keeps the turns for a later process. Without the file this process still has them, and the run goes on.
    fn write(&self, journal: &Path) {
        let text = serde_json::to_string(self).unwrap_or_default();
        let _ = private_files::replace(&file(journal), &text);
    }
}

fn file(journal: &Path) -> PathBuf {
    journal.join("turns.json")
}

/// Undoes the changes of one turn where the files are still as the turn left them. `own` is the directory of the
/// images of the run itself, and `files` the engine that has them too.
pub fn undo_turn(
    runs: &Path,
    own: &Path,
    turn: &TurnChanges,
    files: Option<Arc<dyn FileUplink>>,
) -> io::Result<Vec<(PathBuf, UndoOutcome)>> {
    let directories = directories(runs, turn);
    let would = undo_changes(changes(&directories)?, false, true);
    let images = BeforeImages::new(own)?.shared_by(files);
    for (path, _) in would.iter().filter(|(_, outcome)| is_restored(outcome)) {
        images.keep(path)?;
    }
    let undone = undo_changes(changes(&directories)?, false, false);
    images.settle()?;
    Ok(undone)
}

/// The files that differ from what they were before the turn.
pub fn turn_files(runs: &Path, turn: &TurnChanges) -> io::Result<Vec<RunFileChange>> {
    compared_with_now(changes(&directories(runs, turn))?)
}

/// Whether the file has another content than before the undo.
const fn is_restored(outcome: &UndoOutcome) -> bool {
    matches!(outcome, UndoOutcome::Back | UndoOutcome::Partly)
}

/// The directories of images, each with the range of its changes in the turn.
fn directories(runs: &Path, turn: &TurnChanges) -> Vec<(PathBuf, std::ops::Range<usize>)> {
    let range = |(images, end): (&PathBuf, &usize)| {
        // A delegate that began in this turn had changed nothing before.
        let start = turn.from.0.get(images).copied().unwrap_or_default();
        (runs.join(images), start..*end)
    };
    turn.to.0.iter().map(range).collect()
}

fn changes(directories: &[(PathBuf, std::ops::Range<usize>)]) -> io::Result<Vec<PlacedChange<'_>>> {
    let mut changes = Vec::new();
    for (images, range) in directories {
        let lines = UndoIndex::look(images)?.lines.into_iter();
        let lines = lines.take(range.end).skip(range.start);
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
            TurnMark::now(&self.root, &["images".into()]).unwrap()
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
            undo_turn(&self.root, &self.images, turn, None)
                .unwrap()
                .into_iter()
                .map(|(_, outcome)| outcome)
                .collect()
        }

        fn text(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.root.join(name)).ok()
        }
    }

    #[test]
    fn turns_can_be_undone_before_the_whole_run() {
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
    fn undoing_a_turn_keeps_files_changed_by_others() {
        let run = Turns::new();
        let turn = run.turn(&[("a", "run\n"), ("b", "run\n")]);
        fs::write(run.root.join("a"), "user\n").unwrap();
        let kept = UndoOutcome::Kept("it was changed since".to_owned());
        assert_eq!(run.undo(&turn), [kept, UndoOutcome::Back]);
        assert_eq!(run.text("a").as_deref(), Some("user\n"));
        assert_eq!(run.text("b"), None);
    }

    #[test]
    fn turns_are_found_again_and_a_killed_one_goes_on() {
        let run = Turns::new();
        let mut turns = TurnLedger::read(&run.root);
        turns.begin(&run.root, Some(run.mark()));
        run.turn(&[("a", "one\n")]);
        assert!(turns.end(&run.root, Some(run.mark())).is_some());
        turns.begin(&run.root, Some(run.mark()));
        run.turn(&[("a", "two\n")]);
        // The process is killed in the turn; the next one continues it.
        let mut turns = TurnLedger::read(&run.root);
        turns.begin(&run.root, Some(run.mark()));
        run.turn(&[("b", "three\n")]);
        let turn = turns.end(&run.root, Some(run.mark())).unwrap();
        let files = turn_files(&run.root, &turn).unwrap();
        let names: Vec<_> =
            files.iter().map(|it| (it.path.file_name().unwrap(), it.added)).collect();
        assert_eq!(names, [("a".as_ref(), 1), ("b".as_ref(), 1)]);
        run.undo(&turn);
        assert_eq!((run.text("a").as_deref(), run.text("b")), (Some("one\n"), None));
        turns.pop(&run.root);
        run.undo(TurnLedger::read(&run.root).last().unwrap());
        assert_eq!(run.text("a"), None);
    }

    #[test]
    fn a_file_of_turns_names_nothing_outside_the_runs() {
        let run = Turns::new();
        for name in ["/etc", "../other", "a/../../b"] {
            let text = format!(r#"{{"ended":[{{"from":{{}},"to":{{"{name}":1}}}}]}}"#);
            std::fs::write(file(&run.root), text).unwrap();
            assert!(TurnLedger::read(&run.root).last().is_none(), "{name}");
        }
    }
}
