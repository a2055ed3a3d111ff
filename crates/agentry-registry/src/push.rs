//! Pushes an agent into the store: completely or not at all.
//!
//! Under the lock: stage the object and sync it, write its index records, rename it to its final path. If
//! the process is killed before the rename, the records have no object and are ignored.

use std::fs;
use std::io;
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::durable_write::{make_dirs, rename, step, sync_dir, write_new};
use crate::error::StoreError;
use crate::gather::GatheredObject;
use crate::manifest::ObjectManifest;
use crate::object::StoreObject;
use crate::store::AgentStore;

/// The result of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushOutcome {
    /// The agent is in the store now.
    New,
    /// It was there already.
    Already,
    /// It was there but damaged, and is repaired.
    Mended,
}

impl AgentStore {
    /// Pushes an agent into the store.
    pub fn push(&self, gathered: &GatheredObject) -> Result<PushOutcome, StoreError> {
        let _lock = self.lock()?;
        let ObjectManifest { digest, name, version, .. } = &gathered.manifest;
        // A dropped name keeps its digest too: other content never gets it.
        for taken in [self.named(name, version)?, self.given_up(name, version)?] {
            if let Some(other) = taken.filter(|other| other != digest) {
                let (name, version) = (name.clone(), version.clone());
                return Err(StoreError::Taken { name, version, digest: other });
            }
        }
        let mut outcome = PushOutcome::New;
        if self.object(digest)?.is_dir() {
            match self.read(digest) {
                Ok(object) => {
                    same(&object, gathered)?;
                    self.take_back(&gathered.manifest)?;
                    self.enter(&gathered.manifest)?;
                    return Ok(PushOutcome::Already);
                }
                Err(StoreError::Damaged { .. }) => outcome = PushOutcome::Mended,
                Err(error) => return Err(error),
            }
        }
        self.take_back(&gathered.manifest)?;
        self.place(gathered)?;
        Ok(outcome)
    }

    /// Stages the object, writes its index records, and renames it to its final path.
    fn place(&self, gathered: &GatheredObject) -> Result<(), StoreError> {
        let place = self.object(&gathered.manifest.digest)?;
        let temporary = self.temporary();
        step();
        let stage = tempfile::Builder::new().prefix("push-").tempdir_in(&temporary);
        let stage = stage.map_err(StoreError::writing(&temporary))?;
        let object = stage.path().join("object");
        write_object(&object, gathered).map_err(StoreError::writing(&place))?;
        self.enter(&gathered.manifest)?;
        let old = stage.path().join("old");
        let put = || {
            if let Some(shard) = place.parent() {
                make_dirs(shard)?;
            }
            // Only a damaged object can be at this path; `push` returned early for a good one.
            match fs::rename(&place, &old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            rename(&object, &place)
        };
        put().map_err(StoreError::writing(&place))
    }

    /// Restores a dropped name; its content has just been pushed again.
    fn take_back(&self, manifest: &ObjectManifest) -> Result<(), StoreError> {
        if self.given_up(&manifest.name, &manifest.version)?.is_none() {
            return Ok(());
        }
        let path = self.drop_record(&manifest.name, &manifest.version);
        step();
        fs::remove_file(&path).map_err(StoreError::io("removed", &path))
    }
}

/// Refuses a push whose digest is already stored under another name or with other files.
fn same(object: &StoreObject, gathered: &GatheredObject) -> Result<(), StoreError> {
    let ObjectManifest { name, version, files, .. } = &object.manifest;
    let new = &gathered.manifest;
    if (name, version) != (&new.name, &new.version) {
        return Err(StoreError::OtherName { name: name.clone(), version: version.clone() });
    }
    // The digest covers these files, so a different spelling of the same meaning is accepted.
    let is_free = |path: &String| gathered.covered.contains(path);
    let known = |list: &[crate::ObjectFile], file: &crate::ObjectFile| {
        list.contains(file) || is_free(&file.path)
    };
    let added = new.files.iter().find(|file| !known(files, file));
    let gone = || files.iter().find(|file| !known(&new.files, file));
    match added.or_else(gone) {
        Some(file) => Err(StoreError::OtherFile {
            name: name.clone(),
            version: version.clone(),
            path: file.path.clone(),
        }),
        None => Ok(()),
    }
}

/// Writes all files of an object, the manifest last, and syncs them.
fn write_object(dir: &Path, gathered: &GatheredObject) -> io::Result<()> {
    let root = dir.join("files");
    make_dirs(&root)?;
    make_dirs(&dir.join("signatures"))?;
    for (path, bytes) in &gathered.files {
        let file = root.join(path);
        if let Some(parent) = file.parent() {
            make_dirs(parent)?;
        }
        write_new(&file, bytes)?;
    }
    // The files are synced already. Now their directories, each once.
    let mut dirs: Vec<_> = gathered.files.iter().map(|(path, _)| root.join(path)).collect();
    dirs = dirs.iter().filter_map(|file| file.parent().map(Path::to_path_buf)).collect();
    dirs.sort();
    dirs.dedup();
    dirs.iter().try_for_each(|dir| sync_dir(dir))?;
    let manifest = ObjectManifest { created: now(), ..gathered.manifest.clone() };
    write_new(&dir.join("manifest.json"), manifest.to_text().as_bytes())?;
    sync_dir(dir)
}

/// The time in UTC, as RFC 3339. Informative only.
fn now() -> String {
    rfc3339(Utc::now())
}

fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
        ];
        for (seconds, expected) in cases {
            let time = DateTime::from_timestamp(seconds, 0).expect("a moment");
            assert_eq!(rfc3339(time), expected);
        }
    }
}
