//! Copies of pulled agents, by the digest of their OCI manifest.
//!
//! ```text
//! <home>/remote/
//!   artifacts/<2 digits>/<digest>/   artifact.json, manifest.json, files/…, signatures/<key>
//!   tags/<reference>                 the digest that a tag had last, for times without a network
//!   urls/<digest>/<file>             pinned files of the web, by the digest of the agent
//!   temporary/                       unfinished copies
//! ```
//!
//! A copy is renamed into place as a whole. It is verified to the last byte whenever it is read, so that it
//! needs no sync: what a crash damaged is pulled again.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use agentry_compile::text::digest;

use super::artifact::AgentArtifact;
use super::error::OciError;
use super::location::OciReference;
use crate::durable_write::step;
use crate::error::StoreError;
use crate::manifest::ObjectFile;
use crate::object::{StoreObject, contents, plain_file};
use crate::reference::file_name;
use crate::sign::ObjectSignature;

/// The most bytes of a manifest in the cache.
const MANIFEST_BYTES: u64 = 16 * 1024 * 1024;
/// The most bytes of a signature file.
const SIGNATURE_BYTES: u64 = 4096;

/// The cache of one home.
#[derive(Debug, Clone)]
pub(crate) struct RemoteCache {
    root: PathBuf,
}

impl RemoteCache {
    pub(crate) fn new(home: &Path) -> Self {
        Self { root: home.join("remote") }
    }

    /// The directory with the files of a copy.
    pub(crate) fn files(&self, digest: &str) -> PathBuf {
        self.place(digest).join("files")
    }

    fn place(&self, digest: &str) -> PathBuf {
        let digits = digest::digits(digest).unwrap_or("none");
        self.root.join("artifacts").join(digits.get(..2).unwrap_or("no")).join(digits)
    }

    fn temporary(&self) -> PathBuf {
        self.root.join("temporary")
    }

    /// The copy of an artifact; `None` if there is none that is intact.
    pub(crate) fn read(&self, digest: &str) -> Option<StoreObject> {
        let place = self.place(digest);
        let bytes = plain_file(&place.join("artifact.json"), MANIFEST_BYTES).ok()?;
        if digest::of(&bytes) != digest {
            return None;
        }
        let artifact = AgentArtifact::parse(&bytes, &digest).ok()?;
        let config = plain_file(&place.join("manifest.json"), MANIFEST_BYTES).ok()?;
        if digest::of(&config) != artifact.config.digest {
            return None;
        }
        let manifest = artifact.object(&config, &digest).ok()?;
        let dir = place.join("files");
        let file =
            |file: &ObjectFile| Some((file.path.clone(), contents(&dir, file, digest).ok()?));
        let files = manifest.files.iter().map(file).collect::<Option<_>>()?;
        Some(StoreObject { manifest, files })
    }

    /// Adds a copy whose bytes were verified. Another process may have added the same meanwhile.
    pub(crate) fn write(
        &self,
        digest: &str,
        (artifact, config): (&[u8], &[u8]),
        files: &[(String, Vec<u8>)],
    ) -> Result<(), OciError> {
        let place = self.place(digest);
        let staged = self.stage(|dir| {
            fs::write(dir.join("artifact.json"), artifact)?;
            fs::write(dir.join("manifest.json"), config)?;
            let root = dir.join("files");
            for (path, bytes) in files {
                step();
                let path = root.join(path);
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(path, bytes)?;
            }
            fs::create_dir_all(dir.join("signatures"))
        });
        let stage = staged.map_err(StoreError::writing(&place))?;
        put(&stage, &place).map_err(StoreError::writing(&place))?;
        Ok(())
    }

    /// A temporary directory with `object` in it, which `fill` has filled.
    fn stage(&self, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<tempfile::TempDir> {
        step();
        fs::create_dir_all(self.temporary())?;
        let stage = tempfile::Builder::new().prefix("pull-").tempdir_in(self.temporary())?;
        let object = stage.path().join("object");
        fs::create_dir(&object)?;
        fill(&object)?;
        Ok(stage)
    }

    /// The digest that a tag had last.
    pub(crate) fn tag(&self, reference: &OciReference) -> Option<String> {
        let text = fs::read_to_string(self.tag_file(reference)).ok()?;
        text.strip_suffix('\n').filter(|text| digest::digits(text).is_some()).map(str::to_owned)
    }

    /// Records the digest of a tag.
    pub(crate) fn set_tag(&self, reference: &OciReference, digest: &str) -> Result<(), OciError> {
        let path = self.tag_file(reference);
        if self.tag(reference).as_deref() == Some(digest) {
            return Ok(());
        }
        let put = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let stage = self.stage(|dir| fs::write(dir.join("tag"), format!("{digest}\n")))?;
            fs::rename(stage.path().join("object/tag"), &path)
        };
        Ok(put().map_err(StoreError::writing(&path))?)
    }

    fn tag_file(&self, reference: &OciReference) -> PathBuf {
        // No tag means the last release; no escaped tag is only `%`.
        let tag = reference.tag.as_deref().map_or_else(|| "%".to_owned(), file_name);
        self.root.join("tags").join(file_name(&reference.place())).join(tag)
    }

    /// The signatures that lie with a copy.
    pub(crate) fn signatures(&self, digest: &str) -> Vec<ObjectSignature> {
        let dir = self.place(digest).join("signatures");
        let names = crate::store::names(&dir).unwrap_or_default();
        let read = |name: &String| {
            let bytes = plain_file(&dir.join(name), SIGNATURE_BYTES).ok()?;
            ObjectSignature::parse(&bytes)
        };
        names.iter().filter_map(read).collect()
    }

    /// Keeps signatures with a copy, each under the name of its key.
    pub(crate) fn keep_signatures(
        &self,
        digest: &str,
        signatures: &[ObjectSignature],
    ) -> Result<(), OciError> {
        let dir = self.place(digest).join("signatures");
        for signature in signatures {
            let path = dir.join(signature.key.digits());
            let put = || {
                let stage = self.stage(|dir| fs::write(dir.join("file"), signature.to_text()))?;
                fs::rename(stage.path().join("object/file"), &path)
            };
            put().map_err(StoreError::writing(&path))?;
        }
        Ok(())
    }

    /// The file of a pinned URL, and its bytes if it is there.
    pub(crate) fn url_file(&self, pin: &str, name: &str) -> (PathBuf, Option<Vec<u8>>) {
        let path = self.root.join("urls").join(digest::digits(pin).unwrap_or("none")).join(name);
        let mut bytes = Vec::new();
        let read = fs::File::open(&path)
            .and_then(|file| file.take(MANIFEST_BYTES).read_to_end(&mut bytes));
        (path, read.is_ok().then_some(bytes))
    }

    /// Keeps the file of a pinned URL.
    pub(crate) fn keep_url_file(&self, path: &Path, bytes: &[u8]) -> Result<(), OciError> {
        let put = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let stage = self.stage(|dir| fs::write(dir.join("file"), bytes))?;
            fs::rename(stage.path().join("object/file"), path)
        };
        Ok(put().map_err(StoreError::writing(path))?)
    }

    /// Removes what killed processes left behind.
    pub(crate) fn sweep(&self) -> Result<(), StoreError> {
        let dir = self.temporary();
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("removed", &dir)(error))
            }
            _ => Ok(()),
        }
    }
}

/// Renames a staged directory to its place. What lies there is damaged, and makes room.
fn put(stage: &tempfile::TempDir, place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    let old = stage.path().join("old");
    for _ in 0..8 {
        step();
        match fs::rename(stage.path().join("object"), place) {
            Ok(()) => return Ok(()),
            Err(_) if place.exists() => {}
            Err(error) => return Err(error),
        }
        // Another process may have been faster here as well.
        let _ = fs::remove_dir_all(&old);
        let _ = fs::rename(place, &old);
    }
    Err(io::Error::other("other processes write it again and again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_cached_copy_is_ignored() {
        let home = tempfile::tempdir().expect("a directory");
        let cache = RemoteCache::new(home.path());
        let mut manifest = crate::manifest::tests::manifest();
        manifest.created = String::new();
        let files: Vec<_> =
            manifest.files.iter().map(|file| (file.path.clone(), b"abc".to_vec())).collect();
        let artifact = super::super::artifact::manifest(&manifest);
        let config = super::super::artifact::config(&manifest);
        let digest = digest::of(&artifact);
        assert_eq!(cache.read(&digest), None);
        for name in ["artifact.json", "manifest.json", "files/rules/a.md"] {
            cache.write(&digest, (&artifact, &config), &files).expect("a writable cache");
            let found = cache.read(&digest).expect("an intact copy");
            assert_eq!((found.manifest, found.files), (manifest.clone(), files.clone()));
            fs::write(cache.place(&digest).join(name), "other").expect("a writable file");
            assert_eq!(cache.read(&digest), None, "{name}");
        }
    }
}
