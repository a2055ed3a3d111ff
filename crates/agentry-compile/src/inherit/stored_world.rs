//! The world of one stored agent: its files lie below one directory, and only the store can be reached
//! from there.

use crate::memo::SessionMemo;
use std::collections::BTreeMap;

use crate::inherit::BaseMemo;
use crate::memory_world::MemoryWorld;
use crate::store_reference::StoredAgent;
use crate::world::{
    DirectoryEntry, EntryKind, FileTree, MachineFacts, ReadError, WalkedPath, World, WorldServices,
};
use agentry_text::path::{is_inside, join, normal};

/// The files of a stored agent below `root`.
pub(super) struct StoredWorld<'w> {
    below: &'w dyn World,
    machine: MachineFacts,
    files: MemoryWorld,
    root: String,
}

impl<'w> StoredWorld<'w> {
    /// The files of `stored`, below `root`. A path that leads outside is skipped.
    pub(super) fn new(below: &'w dyn World, root: &str, stored: &StoredAgent) -> Self {
        let path = |path: &str| Some(join(root, &normal(path)?));
        let files: BTreeMap<_, _> = stored
            .files
            .iter()
            .filter_map(|(name, bytes)| Some((path(name)?, bytes.clone())))
            .collect();
        // The user's configuration must not change a stored agent.
        let machine = MachineFacts { user_config: None, ..below.machine().clone() };
        Self { below, machine, files: MemoryWorld::new(files), root: root.to_owned() }
    }

    /// Whether a path stays below `root`.
    fn holds(&self, path: &str) -> bool {
        normal(path).is_some_and(|path| is_inside(&path, &self.root))
    }
}

impl FileTree for StoredWorld<'_> {
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        if self.holds(path) { self.files.read(root, path, limit) } else { Err(ReadError::Escapes) }
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError> {
        if self.holds(path) { self.files.list(root, path) } else { Err(ReadError::Escapes) }
    }

    fn kind(&self, path: &str) -> EntryKind {
        if self.holds(path) { self.files.kind(path) } else { EntryKind::Missing }
    }

    fn walk(&self, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send)) {
        self.files.walk(path, visit);
    }

    fn workspace(&self, _: &str) -> String {
        self.root.clone()
    }

    fn inside(&self, _: &str, path: &str) -> bool {
        self.holds(path)
    }

    fn absolute(&self, path: &str) -> String {
        self.files.absolute(path)
    }

    fn real(&self, path: &str) -> Option<String> {
        self.files.real(path)
    }

    fn ignores_case(&self, _: &str) -> bool {
        false
    }
}

impl World for StoredWorld<'_> {
    fn machine(&self) -> &MachineFacts {
        &self.machine
    }

    fn services(&self) -> &dyn WorldServices {
        self.below.services()
    }

    fn memo(&self) -> &SessionMemo {
        self.below.memo()
    }

    /// Returns `None`: its paths mean something else in the world around it.
    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}
