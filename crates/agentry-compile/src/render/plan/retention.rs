//! Finds outdated files of agents that stay, and the shared files that must stay with them.

use std::collections::BTreeMap;

use agentry_targets::front_matter::MARK;

use super::{FilePlanner, HELD, LedgerEntry, PresentFile, STAYS, WantedFile, sha256};

impl FilePlanner<'_> {
    /// Files of single agents that stay although they are outdated. Shared rules were written for them too,
    /// and may be the only limit on them.
    pub(super) fn those_that_stay(&self, wanted: &[&WantedFile]) -> BTreeMap<String, String> {
        let by_path: BTreeMap<&str, &WantedFile> =
            wanted.iter().map(|file| (file.path.as_str(), *file)).collect();
        let ledger = self.situation.ledger;
        let stays = |entry: &&LedgerEntry| match by_path.get(entry.path.as_str()) {
            _ if entry.agent.is_empty() || is_skill(&entry.path) => false,
            Some(file) => self.is_kept_from(file, |_| true),
            None => self.is_blocked(&entry.target, &entry.agent) || self.is_left(entry),
        };
        let listed = ledger.entries().iter().filter(stays);
        let listed = listed.map(|entry| (entry.target.clone(), entry.path.clone()));
        // The ledger may be lost, but rendered files have a mark.
        let marked = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(MARK);
        let unlisted = wanted.iter().filter(|file| {
            let is_own = !file.shared && !is_skill(&file.path);
            is_own && ledger.get(&file.path).is_none() && self.is_kept_from(file, marked)
        });
        let unlisted = unlisted.map(|file| (file.target.clone(), file.path.clone()));
        unlisted.chain(listed).collect()
    }

    /// Whether a wanted file is blocked while a different file of ours is at its path.
    fn is_kept_from(&self, file: &WantedFile, is_ours: impl Fn(&[u8]) -> bool) -> bool {
        self.is_blocked(&file.target, &file.agent)
            && match (self.situation.present)(&file.path) {
                PresentFile::Nothing => false,
                PresentFile::File(bytes) => bytes != file.bytes && is_ours(&bytes),
                PresentFile::Blocked(_) => true,
            }
    }

    /// Whether an unwanted file stays, because it was edited or cannot be removed.
    fn is_left(&self, entry: &LedgerEntry) -> bool {
        let goes = (self.situation.covers)(entry) && !self.situation.held.contains(&entry.agent);
        goes && match (self.situation.present)(&entry.path) {
            PresentFile::Nothing => false,
            PresentFile::File(bytes) => !self.situation.force && sha256(&bytes) != entry.sha256,
            PresentFile::Blocked(_) => true,
        }
    }

    /// Why a shared file must not change, with a hint.
    pub(super) fn why_it_must_not_change(
        &self,
        file: &WantedFile,
    ) -> Option<(String, &'static str)> {
        let WantedFile { path, target, .. } = file;
        let held = self.situation.held_for(target);
        let held =
            held.map(|it| (format!("`{path}` is for `{it}` too, which was not rendered"), HELD));
        let stays = || {
            let other = self.staying.get(target)?;
            let message = format!("`{path}` is for `{other}` too, which stays as it is");
            Some((message, STAYS))
        };
        held.or_else(stays).filter(|_| file.shared)
    }

    /// Refuses shared files that are not wanted any more but must stay for others: the wanted files were
    /// rendered as if these were gone, and what they allow would hold for them too.
    pub(super) fn refuse_outlived(&mut self, wanted: &[&WantedFile]) {
        let is_outlived = |entry: &&LedgerEntry| {
            entry.agent.is_empty()
                && (self.situation.covers)(entry)
                && wanted.iter().any(|file| file.target == entry.target)
                && wanted.iter().all(|file| file.path != entry.path)
                && !matches!((self.situation.present)(&entry.path), PresentFile::Nothing)
        };
        let outlived = self.situation.ledger.entries().iter().filter(is_outlived);
        let files: Vec<WantedFile> = outlived.map(shared_file).collect();
        for file in files {
            if let Some((message, hint)) = self.why_it_must_not_change(&file) {
                self.refuse(&file, message, hint);
                self.blocked.insert((file.target, file.agent));
            }
        }
    }

    /// Whether the target has files that stay without being rendered now.
    pub(super) fn is_shared_with_others(&self, target: &str) -> bool {
        self.situation.held_for(target).is_some() || self.staying.contains_key(target)
    }
}

/// A shared file of the ledger, without its content.
fn shared_file(entry: &LedgerEntry) -> WantedFile {
    let LedgerEntry { path, target, agent, .. } = entry.clone();
    WantedFile { path, bytes: Vec::new(), target, agent, shared: true }
}

/// Whether a path belongs to a skill, and not to an agent.
fn is_skill(path: &str) -> bool {
    path.contains("/skills/")
}
