//! What the turns of a conversation changed, so that the user can undo the last one.

use std::path::PathBuf;
use std::sync::PoisonError;

use agentry_runtime::journal;
use agentry_runtime::undo::{TurnChanges, TurnMark, UndoOutcome, undo_turn};

use super::session::RunSession;

/// The turns of this process that changed files, the oldest first.
#[derive(Debug, Default)]
pub(super) struct TurnHistory {
    /// The state before the turn under way.
    begun: Option<TurnMark>,
    ended: Vec<TurnChanges>,
}

impl RunSession<'_> {
    /// Notes what was changed before a turn.
    pub(super) fn begin_turn(&mut self) {
        self.turns.begun = self.mark();
    }

    /// Notes what was changed in the turn.
    pub(super) fn end_turn(&mut self) {
        // A turn whose changes cannot be counted cannot be undone alone.
        if let (Some(from), Some(to)) = (self.turns.begun.take(), self.mark())
            && from != to
        {
            self.turns.ended.push(TurnChanges { from, to });
        }
    }

    /// Undoes the last turn that changed files; `None` if there is none.
    pub(super) fn undo_last(&mut self) -> Option<Result<Vec<(PathBuf, UndoOutcome)>, String>> {
        let turn = self.turns.ended.last()?;
        let own = {
            let journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
            journal.images()
        };
        let undone = undo_turn(&own, turn).map_err(|error| error.to_string());
        let is_kept = |(_, it): &(PathBuf, UndoOutcome)| matches!(it, UndoOutcome::Kept(_));
        // What was kept can be tried again.
        if undone.as_ref().is_ok_and(|undone| !undone.iter().any(is_kept)) {
            self.turns.ended.pop();
        }
        Some(undone)
    }

    /// Counts the changes of the run and of its delegates.
    fn mark(&self) -> Option<TurnMark> {
        let id = {
            let journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
            journal.id().to_owned()
        };
        let home = &self.ground.home;
        let runs = journal::runs(home);
        let tree = journal::tree(home, &id).ok()?;
        let images: Vec<PathBuf> = tree.iter().map(|id| journal::images(&runs.join(id))).collect();
        TurnMark::now(&images).ok()
    }
}
