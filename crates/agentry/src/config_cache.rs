//! Reads the `agentry.toml` of each workspace once.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use agentry_compile::{FileTree as _, WorkspaceConfig};

use crate::disk::DiskWorld;

/// The configurations of the visited workspaces.
#[derive(Debug, Default)]
pub(crate) struct ConfigCache {
    known: RwLock<BTreeMap<String, Arc<WorkspaceConfig>>>,
}

impl ConfigCache {
    /// The configuration of the workspace that a directory belongs to.
    pub(crate) fn of(&self, disk: &DiskWorld, dir: &str) -> Arc<WorkspaceConfig> {
        let root = disk.workspace(dir);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&root).cloned();
        known.unwrap_or_else(|| {
            let config = Arc::new(WorkspaceConfig::read(disk, dir));
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.entry(root).or_insert(config).clone()
        })
    }

    pub(crate) fn all(&self) -> Vec<Arc<WorkspaceConfig>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
