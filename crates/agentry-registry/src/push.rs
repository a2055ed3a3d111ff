//! Putting an agent into the store: whole or not at all.
//!
//! Under the lock: stage the object and sync it, claim its name, give it its place. Killed before the
//! last step, the claim leads nowhere and counts for nothing; after it, all is there.

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

/// What became of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushOutcome {
    /// The agent is in the store now.
    New,
    /// It was there already.
    Already,
    /// It was there with damage, and is whole again.
    Mended,
}

impl AgentStore {
    /// Puts an agent into the store.
    pub fn push(&self, gathered: &GatheredObject) -> Result<PushOutcome, StoreError> {
        let _lock = self.lock()?;
        let ObjectManifest { digest, name, version, .. } = &gathered.manifest;
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

    /// Stages the object, claims its name, gives it its place.
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
            // Only a damaged object can be in the way.
            match fs::rename(&place, &old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            rename(&object, &place)
        };
        put().map_err(StoreError::writing(&place))
    }

    /// A name that was given up means what it meant, once its content is back.
    fn take_back(&self, manifest: &ObjectManifest) -> Result<(), StoreError> {
        if self.given_up(&manifest.name, &manifest.version)?.is_none() {
            return Ok(());
        }
        let path = self.drop_record(&manifest.name, &manifest.version);
        step();
        fs::remove_file(&path).map_err(StoreError::io("removed", &path))
    }
}

/// Refuses to take one content for another that the digest alone cannot tell apart.
fn same(object: &StoreObject, gathered: &GatheredObject) -> Result<(), StoreError> {
    let ObjectManifest { name, version, files, .. } = &object.manifest;
    let new = &gathered.manifest;
    if (name, version) != (&new.name, &new.version) {
        return Err(StoreError::OtherName { name: name.clone(), version: version.clone() });
    }
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

/// Writes all of an object, the manifest last, and syncs it.
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
    let mut dirs: Vec<_> = gathered.files.iter().map(|(path, _)| root.join(path)).collect();
    dirs = dirs.iter().filter_map(|file| file.parent().map(Path::to_path_buf)).collect();
    dirs.sort();
    dirs.dedup();
    dirs.iter().try_for_each(|dir| sync_dir(dir))?;
    let manifest = ObjectManifest { created: now(), ..gathered.manifest.clone() };
    write_new(&dir.join("manifest.json"), manifest.to_text().as_bytes())?;
    sync_dir(dir)
}

/// The time in UTC, as RFC 3339. It is for people; nothing is decided by it.
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
    fn times() {
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
