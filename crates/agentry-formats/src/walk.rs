//! A walk through the directories of an agent, limited in depth so that it always ends.

use agentry_text::path::join;
use agentry_text::{Findings, limits};

use crate::{ListedName, PackageFiles};

/// The directories below a start directory that are still to be listed.
pub(crate) struct DirectoryWalk {
    start: String,
    open: Vec<(String, usize)>,
}

/// One directory of the walk.
pub(crate) struct WalkedFolder {
    /// The path from the start of the walk; empty for the start itself.
    path: String,
    /// The number of directories between it and the start.
    pub(crate) depth: usize,
    listed: Vec<ListedName>,
}

impl DirectoryWalk {
    /// Starts a walk at `start`, relative to the agent's directory.
    pub(crate) fn new(start: &str) -> Self {
        Self { start: start.to_owned(), open: vec![(String::new(), 0)] }
    }

    /// Lists the next directory; `None` at the end of the walk.
    pub(crate) fn next(
        &mut self,
        files: &mut dyn PackageFiles,
        findings: &mut Findings,
    ) -> Option<WalkedFolder> {
        let (path, depth) = self.open.pop()?;
        let listed = files.list(&join(&self.start, &path), findings);
        Some(WalkedFolder { path, depth, listed })
    }

    /// Adds the subdirectories of `folder` to the walk, up to [`limits::DEPTH`].
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

    /// Returns the path of `name` in this folder, from the start of the walk.
    pub(crate) fn path_of(&self, name: &str) -> String {
        join(&self.path, name)
    }
}
