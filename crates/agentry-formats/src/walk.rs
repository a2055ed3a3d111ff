//! A walk through the directories of an agent, with an end whatever the disk holds.

use agentry_text::path::join;
use agentry_text::{Findings, limits};

use crate::{ListedName, PackageFiles};

/// The directories below one of the agent's that are still to be looked at.
pub(crate) struct DirectoryWalk {
    start: String,
    open: Vec<(String, usize)>,
}

/// One directory on the way.
pub(crate) struct WalkedFolder {
    /// Its path from where the walk starts; empty for the start itself.
    path: String,
    /// How many directories lie above it, up to the start.
    pub(crate) depth: usize,
    listed: Vec<ListedName>,
}

impl DirectoryWalk {
    /// A walk that starts at `start`, relative to the agent's directory.
    pub(crate) fn new(start: &str) -> Self {
        Self { start: start.to_owned(), open: vec![(String::new(), 0)] }
    }

    /// The next directory.
    pub(crate) fn next(
        &mut self,
        files: &mut dyn PackageFiles,
        findings: &mut Findings,
    ) -> Option<WalkedFolder> {
        let (path, depth) = self.open.pop()?;
        let listed = files.list(&join(&self.start, &path), findings);
        Some(WalkedFolder { path, depth, listed })
    }

    /// Goes on below `folder`, unless that is too deep.
    pub(crate) fn enter(&mut self, folder: &WalkedFolder) {
        if folder.depth < limits::DEPTH {
            let below = folder.listed.iter().filter(|item| item.is_dir);
            self.open.extend(below.map(|item| (folder.path_of(&item.name), folder.depth + 1)));
        }
    }
}

impl WalkedFolder {
    /// The names of its files, sorted.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.listed.iter().filter(|item| !item.is_dir).map(|item| item.name.as_str())
    }

    /// The path of something in it, from where the walk starts.
    pub(crate) fn path_of(&self, name: &str) -> String {
        join(&self.path, name)
    }
}
