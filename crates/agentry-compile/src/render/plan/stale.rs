//! Files that were rendered once and are not wanted any more.

use super::{Change, ChangeKind, Entry, Planner, Present, Refused, Unmerged, sha256, unmerge};

impl Planner<'_> {
    /// What happens to a file that was rendered once and is not wanted now.
    pub(super) fn unwanted(&mut self, entry: &Entry) {
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
            Present::Nothing => return,
            Present::File(bytes) => bytes,
            Present::Blocked(why) => {
                self.keep(entry, format!("`{}` {why}", entry.path), "remove it by hand");
                return;
            }
        };
        let untouched = sha256(&bytes) == entry.sha256;
        let text = String::from_utf8_lossy(&bytes);
        let (kind, after) = match &entry.merge {
            None if untouched || self.situation.force => (ChangeKind::Remove, None),
            None => {
                let path = &entry.path;
                let message =
                    format!("`{path}` is not rendered any more, and was edited before that");
                self.keep(entry, message, "remove it by hand, or pass `--force`");
                return;
            }
            Some(merge) => match unmerge(merge, &text, untouched) {
                Unmerged::Nothing => (ChangeKind::Remove, None),
                Unmerged::Text(rest) => (ChangeKind::Update, Some(rest.into_bytes())),
                Unmerged::Unknown => {
                    let message = format!("what was rendered into `{}` was edited", entry.path);
                    self.keep(entry, message, "take it out by hand");
                    return;
                }
            },
        };
        let Entry { path, target, agent, .. } = entry.clone();
        let forced = entry.merge.is_none() && !untouched;
        let before = Some(bytes.clone());
        self.changes.push(Change { path, target, agent, kind, before, after, forced });
    }

    /// Leaves a file that should go.
    fn keep(&mut self, entry: &Entry, message: String, hint: &'static str) {
        let Entry { path, target, agent, .. } = entry.clone();
        self.kept.push(entry.clone());
        self.refused.push(Refused { path, target, agent, message, hint, instead: None });
    }
}
