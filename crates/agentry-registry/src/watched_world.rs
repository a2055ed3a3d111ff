//! A world that records which files are read. Every file that the compiler read is a part of the agent, in
//! every format and with any number of bases.

use agentry_compile::SessionMemo;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use agentry_compile::{
    BaseMemo, EntryKind, FetchError, FileLayer, FileTree, MachineFacts, ModelsEndpoint, ReadError,
    StoreRef, StoredAgent, World, WorldServices,
};

/// A world, and the record of what was read from it.
pub(crate) struct UsageRecorder<'w> {
    world: &'w dyn World,
    asked: Mutex<WatchedReads>,
}

/// The files and bases that were found.
#[derive(Debug, Default)]
pub(crate) struct WatchedReads {
    /// Files by the path that was asked for. Without bytes if only the existence was checked.
    pub(crate) files: BTreeMap<String, Option<Vec<u8>>>,
    /// The full digests of the bases from the store.
    pub(crate) bases: BTreeSet<String>,
}

impl<'w> UsageRecorder<'w> {
    pub(crate) fn new(world: &'w dyn World) -> Self {
        Self { world, asked: Mutex::default() }
    }

    /// Everything recorded so far.
    pub(crate) fn asked(self) -> WatchedReads {
        self.asked.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, note: impl FnOnce(&mut WatchedReads)) {
        note(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl FileLayer for UsageRecorder<'_> {
    fn below(&self) -> &dyn FileTree {
        self.world
    }

    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let bytes = self.world.read(root, path, limit)?;
        self.note(|asked| {
            asked.files.insert(path.to_owned(), Some(bytes.clone()));
        });
        Ok(bytes)
    }

    fn kind(&self, path: &str) -> EntryKind {
        let kind = self.world.kind(path);
        if kind == EntryKind::File {
            self.note(|asked| {
                asked.files.entry(path.to_owned()).or_default();
            });
        }
        kind
    }
}

impl World for UsageRecorder<'_> {
    fn machine(&self) -> &MachineFacts {
        self.world.machine()
    }

    fn services(&self) -> &dyn WorldServices {
        self
    }

    fn memo(&self) -> &SessionMemo {
        self.world.memo()
    }

    /// Returns `None`: a memoised base would not be recorded.
    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}

impl WorldServices for UsageRecorder<'_> {
    fn has_env(&self, name: &str) -> bool {
        self.world.services().has_env(name)
    }

    fn fetch(&self, reference: &StoreRef) -> Result<StoredAgent, FetchError> {
        let stored = self.world.services().fetch(reference)?;
        self.note(|asked| {
            asked.bases.insert(stored.digest.clone());
        });
        Ok(stored)
    }

    fn local_models(&self, url: &str) -> Option<Vec<String>> {
        self.world.services().local_models(url)
    }

    fn hosted_models(&self, endpoint: &ModelsEndpoint) -> Result<Vec<String>, String> {
        self.world.services().hosted_models(endpoint)
    }
}
