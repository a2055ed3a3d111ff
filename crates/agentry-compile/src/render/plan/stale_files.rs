//! Plans the removal of rendered files that are no longer wanted.

use super::{
    FilePlanner, LedgerEntry, PlannedChange, PlannedChangeKind, PresentFile, RefusedFile,
    UnmergedFile, sha256, unmerge,
};

impl FilePlanner<'_> {
    /// Plans the change of a rendered file that is not wanted now.
    pub(super) fn unwanted(&mut self, entry: &LedgerEntry) {
        if self.is_blocked(&entry.target, &entry.agent) {
            return;
        }
        let is_held = self.situation.held.contains(&entry.agent)
            || (entry.agent.is_empty() && self.is_shared_with_others(&entry.target));
        if is_held || !(self.situation.covers)(entry) {
            self.kept.push(entry.clone());
            return;
        }
        let bytes = match (self.situation.present)(&entry.path) {
            PresentFile::Nothing => return,
            PresentFile::File(bytes) => bytes,
            PresentFile::Blocked(why) => {
                self.keep(entry, format!("`{}` {why}", entry.path), "remove it by hand");
                return;
            }
        };
        let untouched = sha256(&bytes) == entry.sha256;
        let text = String::from_utf8_lossy(&bytes);
        let (kind, after) = match &entry.merge {
            None if untouched || self.situation.force => (PlannedChangeKind::Remove, None),
            None => {
                let path = &entry.path;
                let message =
                    format!("`{path}` is not rendered any more, and was edited before that");
                self.keep(entry, message, "remove it by hand, or pass `--force`");
                return;
            }
            Some(merge) => match unmerge(merge, &text, untouched) {
                UnmergedFile::Nothing => (PlannedChangeKind::Remove, None),
                UnmergedFile::Text(rest) => (PlannedChangeKind::Update, Some(rest.into_bytes())),
                UnmergedFile::Unknown => {
                    let message = format!("what was rendered into `{}` was edited", entry.path);
                    self.keep(entry, message, "take it out by hand");
                    return;
                }
            },
        };
        let LedgerEntry { path, target, agent, .. } = entry.clone();
        let forced = entry.merge.is_none() && !untouched;
        let before = Some(bytes.clone());
        self.changes.push(PlannedChange { path, target, agent, kind, before, after, forced });
    }

    /// Keeps an unwanted file and reports why.
    fn keep(&mut self, entry: &LedgerEntry, message: String, hint: &'static str) {
        let LedgerEntry { path, target, agent, .. } = entry.clone();
        self.kept.push(entry.clone());
        self.refused.push(RefusedFile { path, target, agent, message, hint, instead: None });
    }
}
