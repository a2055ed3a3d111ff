//! The store on disk.
//!
//! ```text
//! <home>/store/
//!   format                      the version of this layout: `1`
//!   lock                        held while writing
//!   objects/<2 digits>/<digest>/
//!     manifest.json             what the object is, with the digest of every file
//!     files/…                   the files, unchanged
//!     signatures/<public key>   one signature each
//!   index/names/<name>/<version>, index/short/<ag1>/<digest>
//!   dropped/<name>/<version>    dropped names: they never get other content
//!   temporary/                  unfinished or removed files
//! ```

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use agentry_compile::text::digest::{PREFIX, digits};
use agentry_compile::{FetchError, StoredAgent};

use crate::durable_write::{make_dirs, rename, replace, sync_dir};
use crate::error::StoreError;

/// The version of the layout that this build writes.
const FORMAT: u64 = 1;

/// The store of one home.
#[derive(Debug, Clone)]
pub struct AgentStore {
    root: PathBuf,
    /// Fetches the bases that lie in registries.
    pub(crate) remote: Option<RemoteFetch>,
}

/// Fetches an agent of a registry by its reference.
pub type RemoteFetch = fn(&str) -> Result<StoredAgent, FetchError>;

/// The lock that writers hold. The system releases it when the process ends.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file: File,
}

impl AgentStore {
    /// Opens the store of a home. Migrates an older layout.
    pub fn open(home: &Path) -> Result<Self, StoreError> {
        let store = Self { root: home.join("store"), remote: None };
        match store.format()? {
            Some(FORMAT) => Ok(store),
            // There is no store, or its creation was interrupted.
            // Layout 0 has objects but no `format` file; it is migrated below.
            None if !store.objects().is_dir() => {
                Err(StoreError::NoStore(store.root.display().to_string()))
            }
            Some(_) | None => store.migrated(),
        }
    }

    /// Opens the store of a home, and creates it if there is none.
    pub fn create(home: &Path) -> Result<Self, StoreError> {
        let store = Self { root: home.join("store"), remote: None };
        if store.format()? == Some(FORMAT) {
            return Ok(store);
        }
        make_dirs(&store.root).map_err(StoreError::writing(&store.root))?;
        store.migrated()
    }

    /// The same store, whose agents may have bases in registries.
    #[must_use]
    pub fn with_remote(self, remote: RemoteFetch) -> Self {
        Self { remote: Some(remote), ..self }
    }

    /// The directory of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.root.join("objects")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    pub(crate) fn dropped(&self) -> PathBuf {
        self.root.join("dropped")
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("temporary")
    }

    /// The path of the object with this full digest, whether it exists or not.
    pub(crate) fn object(&self, digest: &str) -> Result<PathBuf, StoreError> {
        let Some(digits) = digits(digest) else {
            return Err(StoreError::damaged(digest, "this is not a digest"));
        };
        Ok(self.objects().join(digits.get(..2).unwrap_or_default()).join(digits))
    }

    /// Waits until no other process writes.
    pub(crate) fn lock(&self) -> Result<StoreLock, StoreError> {
        let path = self.root.join("lock");
        let open = || {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
            file.lock()?;
            Ok(StoreLock { _file: file })
        };
        open().map_err(StoreError::io("locked", &path))
    }

    /// The version of the layout, or `None` if there is no `format` file.
    fn format(&self) -> Result<Option<u64>, StoreError> {
        let path = self.root.join("format");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::reading(&path)(error)),
        };
        let number = text.strip_suffix('\n').and_then(|line| line.parse().ok());
        let Some(found) = number else {
            let shown = path.display().to_string();
            return Err(StoreError::damaged(&shown, "it should hold the number of a format"));
        };
        if found > FORMAT {
            let path = self.root.display().to_string();
            return Err(StoreError::Newer { path, found, known: FORMAT });
        }
        Ok(Some(found))
    }

    /// Creates the layout, or migrates an older one. Safe to repeat after an interruption.
    fn migrated(self) -> Result<Self, StoreError> {
        let _lock = self.lock()?;
        // Another process may have migrated while this one waited for the lock.
        if self.format()? == Some(FORMAT) {
            return Ok(self);
        }
        for dir in [self.objects(), self.index(), self.dropped(), self.temporary()] {
            make_dirs(&dir).map_err(StoreError::writing(&dir))?;
        }
        self.sort_flat_objects()?;
        self.rebuild_index()?;
        // Written last: an interrupted migration leaves no number and is repeated.
        let path = self.root.join("format");
        replace(&path, format!("{FORMAT}\n").as_bytes(), &self.temporary())
            .map_err(StoreError::writing(&path))?;
        Ok(self)
    }

    /// Migrates layout 0, which had all objects in one directory and no `format` file.
    fn sort_flat_objects(&self) -> Result<(), StoreError> {
        for name in names(&self.objects())? {
            let digest = format!("{PREFIX}{name}");
            if digits(&digest).is_none() {
                continue;
            }
            let (from, to) = (self.objects().join(&name), self.object(&digest)?);
            let moved = to.parent().map_or(Ok(()), make_dirs).and_then(|()| rename(&from, &to));
            moved.map_err(StoreError::writing(&to))?;
        }
        sync_dir(&self.objects()).map_err(StoreError::writing(&self.objects()))
    }

    /// The full digest of every object, sorted. Damaged objects are included.
    pub fn digests(&self) -> Result<Vec<String>, StoreError> {
        let mut found = Vec::new();
        for shard in names(&self.objects())? {
            let dir = self.objects().join(&shard);
            if shard.len() != 2 || !dir.is_dir() {
                continue;
            }
            let digests = names(&dir)?.into_iter();
            let digests = digests.map(|name| format!("{PREFIX}{name}"));
            found.extend(digests.filter(|digest| digits(digest).is_some()));
        }
        Ok(found)
    }
}

/// The names in a directory, sorted. A missing directory has none. Names that are not UTF-8 are
/// skipped, because the store never writes them.
pub(crate) fn names(dir: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::reading(dir)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(StoreError::reading(dir))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_store_formats_are_refused() {
        let home = tempfile::tempdir().unwrap();
        assert!(matches!(AgentStore::open(home.path()), Err(StoreError::NoStore(_))));
        AgentStore::create(home.path()).unwrap();
        let file = home.path().join("store/format");
        assert_eq!(fs::read_to_string(&file).unwrap(), "1\n");
        AgentStore::open(home.path()).unwrap();
        let cases =
            [("2\n", "format 2"), ("999\n", "format 999"), ("x\n", "damaged"), ("", "damaged")];
        for (text, expected) in cases {
            fs::write(&file, text).unwrap();
            for found in [AgentStore::open(home.path()), AgentStore::create(home.path())] {
                let message = found.unwrap_err().to_string();
                assert!(message.contains(expected), "{text:?}: {message}");
            }
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "nothing was changed");
        }
    }
}
