//! A world with some files added or replaced: the files of a fix or of a conversion before they are written.

use std::collections::BTreeMap;

use crate::inherit::BaseMemo;
use crate::memo::SessionMemo;
use crate::world::{
    DirectoryEntry, EntryKind, FileLayer, FileTree, MachineFacts, ReadError, World, WorldServices,
};

/// A world in which some files have other bytes. Paths are those that a reader asks for.
pub(crate) struct OverlayWorld<'w> {
    pub(crate) world: &'w dyn World,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl OverlayWorld<'_> {
    /// The entries of a directory that only the overlay has.
    fn entries(&self, path: &str) -> Vec<DirectoryEntry> {
        let prefix = directory_prefix(path);
        let entry = |file: &String| {
            let rest = file.strip_prefix(&prefix)?;
            Some(match rest.split_once('/') {
                Some((dir, _)) => {
                    DirectoryEntry { name: dir.to_owned(), kind: EntryKind::Directory }
                }
                None => DirectoryEntry { name: rest.to_owned(), kind: EntryKind::File },
            })
        };
        self.files.keys().filter_map(entry).collect()
    }
}

fn directory_prefix(path: &str) -> String {
    let path = path.trim_end_matches('/');
    if path.is_empty() { String::new() } else { format!("{path}/") }
}

impl FileLayer for OverlayWorld<'_> {
    fn below(&self) -> &dyn FileTree {
        self.world
    }

    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.files
            .get(path)
            .map_or_else(|| self.world.read(root, path, limit), |bytes| Ok(bytes.clone()))
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError> {
        let own = self.entries(path);
        match self.world.list(root, path) {
            Err(error) if own.is_empty() => Err(error),
            below => {
                let mut all = below.unwrap_or_default();
                all.extend(own);
                all.sort();
                all.dedup_by(|one, other| one.name == other.name);
                Ok(all)
            }
        }
    }

    fn kind(&self, path: &str) -> EntryKind {
        if self.files.contains_key(path) {
            EntryKind::File
        } else if !path.is_empty() && !self.entries(path).is_empty() {
            EntryKind::Directory
        } else {
            self.world.kind(path)
        }
    }
}

impl World for OverlayWorld<'_> {
    fn machine(&self) -> &MachineFacts {
        self.world.machine()
    }

    fn services(&self) -> &dyn WorldServices {
        self.world.services()
    }

    fn memo(&self) -> &SessionMemo {
        self.world.memo()
    }

    /// Returns `None`: the overlay may have changed a memoised base.
    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}
