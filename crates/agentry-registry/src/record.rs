//! A world that remembers which files took part: whatever a reader asked for and got is a part of the
//! agent, in whichever format and however many bases it has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use agentry_compile::{Entry, EntryKind, FetchError, ReadError, StoreRef, Stored, Walked, World};

/// A world, and what was asked of it.
pub(crate) struct Recorder<'w> {
    below: &'w dyn World,
    asked: Mutex<Asked>,
}

/// What a reader asked for and got.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Files by the path that was asked for; no bytes where a reader only looked whether it is there.
    pub(crate) files: BTreeMap<String, Option<Vec<u8>>>,
    /// The full digests of agents of the store.
    pub(crate) bases: BTreeSet<String>,
}

impl<'w> Recorder<'w> {
    pub(crate) fn new(below: &'w dyn World) -> Self {
        Self { below, asked: Mutex::default() }
    }

    /// What was asked so far.
    pub(crate) fn asked(self) -> Asked {
        self.asked.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, note: impl FnOnce(&mut Asked)) {
        note(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl World for Recorder<'_> {
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let bytes = self.below.read(root, path, limit)?;
        self.note(|asked| {
            asked.files.insert(path.to_owned(), Some(bytes.clone()));
        });
        Ok(bytes)
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<Entry>, ReadError> {
        self.below.list(root, path)
    }

    fn kind(&self, path: &str) -> EntryKind {
        let kind = self.below.kind(path);
        if kind == EntryKind::File {
            self.note(|asked| {
                asked.files.entry(path.to_owned()).or_default();
            });
        }
        kind
    }

    fn walk(&self, path: &str, visit: &mut (dyn FnMut(Walked<'_>) + Send)) {
        self.below.walk(path, visit);
    }

    fn workspace(&self, path: &str) -> String {
        self.below.workspace(path)
    }

    fn inside(&self, root: &str, path: &str) -> bool {
        self.below.inside(root, path)
    }

    fn has_env(&self, name: &str) -> bool {
        self.below.has_env(name)
    }

    fn absolute(&self, path: &str) -> String {
        self.below.absolute(path)
    }

    fn real(&self, path: &str) -> Option<String> {
        self.below.real(path)
    }

    fn ignores_case(&self, path: &str) -> bool {
        self.below.ignores_case(path)
    }

    fn home(&self) -> Option<String> {
        self.below.home()
    }

    fn user_config(&self) -> Option<String> {
        self.below.user_config()
    }

    fn fetch(&self, reference: &StoreRef) -> Result<Stored, FetchError> {
        let stored = self.below.fetch(reference)?;
        self.note(|asked| {
            asked.bases.insert(stored.digest.clone());
        });
        Ok(stored)
    }
}
