//! Files of agents that stay although they are not what would be rendered now, and what must stay with
//! them.

use std::collections::BTreeMap;

use super::{Entry, HELD, Planner, Present, STAYS, Wanted, sha256};

impl Planner<'_> {
    /// Files of single agents that stay though they are not what would be rendered now. Rules that are
    /// shared were written for them too, and may be all that keeps them within their source.
    pub(super) fn those_that_stay(&self, wanted: &[Wanted]) -> BTreeMap<String, String> {
        let wanted: BTreeMap<&str, &Wanted> =
            wanted.iter().map(|file| (file.path.as_str(), file)).collect();
        let stays = |entry: &&Entry| match wanted.get(entry.path.as_str()) {
            // No skill is an agent.
            _ if entry.agent.is_empty() || entry.path.contains("/skills/") => false,
            Some(file) if self.is_blocked(&entry.target, &entry.agent) => {
                sha256(&file.bytes) != entry.sha256
            }
            Some(_) => false,
            None => self.is_blocked(&entry.target, &entry.agent) || self.is_left(entry),
        };
        let staying = self.situation.ledger.entries().iter().filter(stays);
        staying.map(|entry| (entry.target.clone(), entry.path.clone())).collect()
    }

    /// Whether a file that should go stays, as somebody edited it or something is in its place.
    fn is_left(&self, entry: &Entry) -> bool {
        let goes = (self.situation.covers)(entry) && !self.situation.held.contains(&entry.agent);
        goes && match (self.situation.present)(&entry.path) {
            Present::Nothing => false,
            Present::File(bytes) => !self.situation.force && sha256(&bytes) != entry.sha256,
            Present::Blocked(_) => true,
        }
    }

    /// Why a file of all agents must not change, and what to do.
    pub(super) fn why_it_must_not_change(&self, file: &Wanted) -> Option<(String, &'static str)> {
        let Wanted { path, target, .. } = file;
        let held = self.situation.held_for(target);
        let held =
            held.map(|it| (format!("`{path}` is for `{it}` too, which was not rendered"), HELD));
        let stays = || {
            let other = self.staying.get(target)?;
            let message = format!("`{path}` is for `{other}` too, which was edited and stays");
            Some((message, STAYS))
        };
        held.or_else(stays).filter(|_| file.shared)
    }

    /// Whether files of a target stay that were not rendered now.
    pub(super) fn is_shared_with_others(&self, target: &str) -> bool {
        self.situation.held_for(target).is_some() || self.staying.contains_key(target)
    }
}
