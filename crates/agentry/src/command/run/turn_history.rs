//! What the turns of a conversation changed, so that the user can undo the last one: also one of an earlier
//! process that this one continues.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use agentry_runtime::RunEnding;
use agentry_runtime::driver::BrokenRun;
use agentry_runtime::journal;
use agentry_runtime::undo::{TurnMark, UndoOutcome, turn_files, undo_turn};

use super::session::RunSession;

impl RunSession<'_> {
    /// Sends a message as a turn of its own, and shows what the turn changed.
    pub(super) async fn send_message(&mut self, message: String) -> Result<RunEnding, BrokenRun> {
        self.begin_turn();
        let ending = self.driver.send_message(message).await?;
        self.end_turn();
        Ok(ending)
    }

    /// Notes what was changed before a turn.
    pub(super) fn begin_turn(&mut self) {
        let (now, directory) = (self.mark(), self.directory());
        self.turns.begin(&directory, now);
    }

    /// Notes what was changed in the turn, and shows it.
    pub(super) fn end_turn(&mut self) {
        let (now, directory) = (self.mark(), self.directory());
        if let Some(turn) = self.turns.end(&directory, now) {
            // Only shown: a file that cannot be read now is left out, and the run goes on.
            let changed = turn_files(&journal::runs(&self.ground.home), &turn);
            self.show_changes(&changed.unwrap_or_default());
        }
    }

    /// Undoes the last turn that changed files; `None` if there is none.
    pub(super) fn undo_last(&mut self) -> Option<Result<Vec<(PathBuf, UndoOutcome)>, String>> {
        let turn = self.turns.last()?;
        let directory = self.directory();
        let runs = journal::runs(&self.ground.home);
        let files = self.journal.files();
        let undone = undo_turn(&runs, &journal::images(&directory), turn, files);
        let undone = undone.map_err(|error| error.to_string());
        let is_kept = |(_, it): &(PathBuf, UndoOutcome)| matches!(it, UndoOutcome::Kept(_));
        // What was kept can be tried again.
        if undone.as_ref().is_ok_and(|undone| !undone.iter().any(is_kept)) {
            self.turns.pop(&directory);
        }
        Some(undone)
    }

    /// A path as the user names it: relative to the workspace if it is in it.
    pub(super) fn short_path<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.ground.workspace).unwrap_or(path)
    }

    fn directory(&self) -> PathBuf {
        let journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        journal.directory().to_path_buf()
    }

    /// Counts the changes of the run and of its delegates.
    fn mark(&self) -> Option<TurnMark> {
        let id = {
            let journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
            journal.id().to_owned()
        };
        let home = &self.ground.home;
        let tree = journal::tree(home, &id).ok()?;
        let images: Vec<PathBuf> = tree.iter().map(|id| journal::images(Path::new(id))).collect();
        TurnMark::now(&journal::runs(home), &images).ok()
    }
}
