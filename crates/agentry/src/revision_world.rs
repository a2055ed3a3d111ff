//! The workspace as it was at a commit: files of the repository come from Git, everything else from the disk.

use std::path::Path;

use agentry_compile::text::path;
use agentry_compile::{
    BaseMemo, DirectoryEntry, EntryKind, FileLayer, FileTree, MachineFacts, ReadError, SessionMemo,
    WalkedPath, World, WorldServices,
};
use agentry_home::repository::RepositoryError;
use agentry_home::revision::{RepositoryRevision, RevisionEntry, RevisionReadError};

use crate::disk::{DiskWorld, NEVER};
use crate::output::CliFailure;

/// The files at the commit where the current branch left a reference.
pub(crate) struct RevisionWorld<'w> {
    disk: &'w DiskWorld,
    revision: RepositoryRevision,
    /// The root of the repository, absolute.
    root: String,
}

impl<'w> RevisionWorld<'w> {
    /// Opens the repository of the current directory.
    pub(crate) fn open(disk: &'w DiskWorld, reference: &str) -> Result<Self, CliFailure> {
        let failed = |error: RepositoryError| {
            let hint = error.hint();
            let failure = CliFailure::new(error.to_string());
            match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        };
        let revision = RepositoryRevision::open(Path::new("."), reference).map_err(failed)?;
        let root = revision.root().to_string_lossy().trim_end_matches('/').to_owned();
        Ok(Self { disk, revision, root })
    }

    /// The commit that files are read from.
    pub(crate) fn commit(&self) -> &str {
        self.revision.commit()
    }

    /// A path as the commit names it; `None` outside of the repository, where nothing was committed.
    fn committed(&self, path: &str) -> Option<String> {
        let full = path::absolute(&self.disk.absolute(path));
        // The root has its links resolved, so the start of the path needs the same.
        let (dir, name) = path::split(&full);
        let full = match full.strip_prefix(&self.root) {
            Some(_) => full,
            None => path::join(&self.disk.real(dir)?, name),
        };
        let below = full.strip_prefix(&self.root)?;
        (below.is_empty() || below.starts_with('/')).then(|| below.trim_matches('/').to_owned())
    }

    fn entry_kind(&self, committed: &str) -> EntryKind {
        match self.revision.kind(committed) {
            RevisionEntry::File => EntryKind::File,
            RevisionEntry::Directory => EntryKind::Directory,
            RevisionEntry::Escapes => EntryKind::Other,
            RevisionEntry::Missing => EntryKind::Missing,
        }
    }
}

impl FileLayer for RevisionWorld<'_> {
    fn below(&self) -> &dyn FileTree {
        self.disk
    }

    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let Some(committed) = self.committed(path) else {
            return self.disk.read(root, path, limit);
        };
        match (self.revision.kind(&committed), self.revision.read(&committed, limit)) {
            (RevisionEntry::Escapes, _) => Err(ReadError::Escapes),
            (RevisionEntry::Directory, _) => Err(ReadError::NotAFile),
            (RevisionEntry::Missing, _) | (RevisionEntry::File, None) => Err(ReadError::Missing),
            (RevisionEntry::File, Some(Ok(bytes))) => Ok(bytes),
            (RevisionEntry::File, Some(Err(RevisionReadError::TooLarge(size)))) => {
                Err(ReadError::TooLarge(size))
            }
            (RevisionEntry::File, Some(Err(error @ RevisionReadError::Absent))) => {
                Err(ReadError::Refused(error.to_string()))
            }
        }
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError> {
        let Some(committed) = self.committed(path) else { return self.disk.list(root, path) };
        let names = self.revision.list(&committed).ok_or(ReadError::Missing)?;
        let mut entries: Vec<DirectoryEntry> = names
            .into_iter()
            .map(|name| {
                let kind = self.entry_kind(&path::join(&committed, &name));
                DirectoryEntry { name, kind }
            })
            .collect();
        // No commit has it, and every work tree does.
        if committed.is_empty() {
            let kind = self.disk.kind(&path::join(&self.root, ".git"));
            entries.push(DirectoryEntry { name: ".git".to_owned(), kind });
        }
        entries.sort();
        Ok(entries)
    }

    fn kind(&self, path: &str) -> EntryKind {
        match self.committed(path) {
            Some(committed) if committed == ".git" => self.disk.kind(path),
            Some(committed) => self.entry_kind(&committed),
            None => self.disk.kind(path),
        }
    }

    fn walk(&self, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send)) {
        let Some(committed) = self.committed(path) else { return self.disk.walk(path, visit) };
        let prefix = if committed.is_empty() { committed } else { format!("{committed}/") };
        let start = path.trim_end_matches('/').trim_start_matches("./");
        let start = if start == "." { "" } else { start };
        for file in self.revision.paths() {
            let Some(below) = file.strip_prefix(&prefix) else { continue };
            if below.split('/').any(|part| NEVER.contains(&part)) {
                continue;
            }
            visit(WalkedPath::File(&path::join(start, below)));
        }
    }
}

impl World for RevisionWorld<'_> {
    fn machine(&self) -> &MachineFacts {
        self.disk.machine()
    }

    fn services(&self) -> &dyn WorldServices {
        self.disk.services()
    }

    fn memo(&self) -> &SessionMemo {
        self.disk.memo()
    }

    /// Returns `None`: the bases of the disk are those of today.
    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}
