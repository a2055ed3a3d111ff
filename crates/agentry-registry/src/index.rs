//! The index of the store: which digest a name with a version has, and which a short digest has. It can be
//! rebuilt from the objects. A record whose object is missing is ignored.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentry_compile::StoreRef;
use agentry_compile::text::digest::{PREFIX, digits};

use crate::durable_write::{replace, step, sync_dir};
use crate::error::StoreError;
use crate::manifest::ObjectManifest;
use crate::reference::{AgentReference, file_name, text_of};
use crate::store::{AgentStore, names};
use crate::version;

/// One name of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredName {
    /// The name of the agent.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its full digest.
    pub digest: String,
}

impl AgentStore {
    /// The full digest of the agent that a reference names.
    pub fn resolve(&self, reference: &AgentReference) -> Result<String, StoreError> {
        let missing = || StoreError::Missing(reference.to_string());
        let digest = match reference {
            AgentReference::Exact(StoreRef::Full(digest)) => Some(digest.clone()),
            // An agent of a registry lies in the cache, not in the store.
            AgentReference::Exact(StoreRef::Remote(_)) => None,
            AgentReference::Exact(StoreRef::Short(short)) => self.by_short(short)?,
            AgentReference::Exact(StoreRef::Named { name, version }) => {
                self.named(name, version)?
            }
            // A bare name means the latest version.
            AgentReference::Latest(name) => {
                let versions = self.versions(name)?;
                let latest = version::latest(versions.iter().map(|(version, _)| version.as_str()));
                let found = latest.and_then(|latest| versions.iter().find(|(it, _)| it == latest));
                found.map(|(_, digest)| digest.clone())
            }
        };
        let digest = digest.ok_or_else(missing)?;
        if self.object(&digest)?.is_dir() { Ok(digest) } else { Err(missing()) }
    }

    /// Lists every name with version and digest, by name and then by version.
    pub fn list(&self) -> Result<Vec<StoredName>, StoreError> {
        let mut listed = Vec::new();
        for file in names(&self.index().join("names"))? {
            let Some(name) = text_of(&file) else { continue };
            for (version, digest) in self.versions(&name)? {
                listed.push(StoredName { name: name.clone(), version, digest });
            }
        }
        listed.sort_by(|left, right| {
            let by_version = || version::compare(&left.version, &right.version);
            left.name.cmp(&right.name).then_with(by_version)
        });
        Ok(listed)
    }

    /// The digest of a name and version, or `None` if no object has them.
    pub(crate) fn named(&self, name: &str, version: &str) -> Result<Option<String>, StoreError> {
        let Some(digest) = record(&self.name_record(name, version))? else { return Ok(None) };
        Ok(self.object(&digest)?.is_dir().then_some(digest))
    }

    /// The digest that a name and version had when they were dropped.
    pub(crate) fn given_up(&self, name: &str, version: &str) -> Result<Option<String>, StoreError> {
        record(&self.drop_record(name, version))
    }

    /// Writes the index records of an object.
    pub(crate) fn enter(&self, manifest: &ObjectManifest) -> Result<(), StoreError> {
        for (path, digest) in self.records(manifest) {
            self.put_record(&path, &digest)?;
        }
        Ok(())
    }

    /// Rebuilds the index so that it matches the objects exactly.
    pub(crate) fn rebuild_index(&self) -> Result<(), StoreError> {
        let mut wanted = BTreeMap::new();
        for digest in self.digests()? {
            // An object without a readable manifest has no name.
            let Ok(manifest) = self.manifest(&digest) else { continue };
            wanted.extend(self.records(&manifest));
        }
        self.clear_index(&wanted)?;
        for (path, digest) in &wanted {
            if record(path).ok().flatten().as_ref() != Some(digest) {
                self.put_record(path, digest)?;
            }
        }
        Ok(())
    }

    /// Removes every record that is not in `wanted`.
    fn clear_index(&self, wanted: &BTreeMap<PathBuf, String>) -> Result<(), StoreError> {
        for path in self.all_records()?.into_iter().filter(|path| !wanted.contains_key(path)) {
            step();
            fs::remove_file(&path).map_err(StoreError::io("removed", &path))?;
            // The directory can be removed only if it is empty now; otherwise it is synced.
            if let Some(dir) = path.parent()
                && fs::remove_dir(dir).is_err()
            {
                sync_dir(dir).map_err(StoreError::writing(dir))?;
            }
        }
        Ok(())
    }

    /// The path of every record.
    fn all_records(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut paths = Vec::new();
        for kind in ["names", "short"] {
            for outer in names(&self.index().join(kind))? {
                let dir = self.index().join(kind).join(outer);
                paths.extend(names(&dir)?.into_iter().map(|inner| dir.join(inner)));
            }
        }
        Ok(paths)
    }

    /// The records whose object is missing, because a push was killed before its last step.
    pub(crate) fn stale_records(&self) -> Result<Vec<PathBuf>, StoreError> {
        let is_stale = |path: &PathBuf| {
            let digest = record(path).ok().flatten();
            let object = digest.and_then(|digest| self.object(&digest).ok());
            !object.is_some_and(|object| object.is_dir())
        };
        Ok(self.all_records()?.into_iter().filter(is_stale).collect())
    }

    /// The versions of a name, with their digests.
    fn versions(&self, name: &str) -> Result<Vec<(String, String)>, StoreError> {
        let mut found = Vec::new();
        for file in names(&self.index().join("names").join(file_name(name)))? {
            let Some(version) = text_of(&file) else { continue };
            let digest = self.named(name, &version)?;
            found.extend(digest.map(|digest| (version, digest)));
        }
        Ok(found)
    }

    /// The only agent with this short digest; more than one is an error.
    fn by_short(&self, short: &str) -> Result<Option<String>, StoreError> {
        let mut digests = Vec::new();
        for file in names(&self.index().join("short").join(file_name(short)))? {
            let digest = format!("{PREFIX}{file}");
            // Records without an object are ignored, as left by an interrupted push.
            if digits(&digest).is_some() && self.object(&digest)?.is_dir() {
                digests.push(digest);
            }
        }
        if digests.len() > 1 {
            return Err(StoreError::Ambiguous { reference: short.to_owned(), digests });
        }
        Ok(digests.pop())
    }

    /// The records that an object should have. A dropped name has none.
    fn records(&self, manifest: &ObjectManifest) -> Vec<(PathBuf, String)> {
        let ObjectManifest { digest, short, name, version, .. } = manifest;
        let mut out = Vec::new();
        if self.given_up(name, version).ok().flatten().is_none() {
            out.push((self.name_record(name, version), digest.clone()));
        }
        if let (Some(short), Some(digits)) = (short, digits(digest)) {
            let path = self.index().join("short").join(file_name(short)).join(digits);
            out.push((path, digest.clone()));
        }
        out
    }

    pub(crate) fn name_record(&self, name: &str, version: &str) -> PathBuf {
        self.index().join("names").join(file_name(name)).join(file_name(version))
    }

    /// Writes one record in one rename.
    pub(crate) fn put_record(&self, path: &Path, digest: &str) -> Result<(), StoreError> {
        let text = format!("{digest}\n");
        replace(path, text.as_bytes(), &self.temporary()).map_err(StoreError::writing(path))
    }
}

/// The digest in a record, or `None` if the record does not exist.
fn record(path: &Path) -> Result<Option<String>, StoreError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::reading(path)(error)),
    };
    // Anything but one digest and a line end is damage.
    let digest = text.strip_suffix('\n').filter(|text| digits(text).is_some());
    match digest {
        Some(digest) => Ok(Some(digest.to_owned())),
        None => Err(StoreError::damaged(&path.display().to_string(), "it should hold a digest")),
    }
}
