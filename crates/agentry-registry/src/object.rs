//! Reading objects. Nothing is believed: every file is digested, and the agent that they make is
//! compiled again and must have the digest that it is called by.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use agentry_compile::text::limits;
use agentry_compile::{FetchError, StoreRef, Stored};

use crate::digest;
use crate::error::StoreError;
use crate::manifest::{File, Manifest};
use crate::reference::Reference;
use crate::sign::Trust;
use crate::store::Store;
use crate::world::ObjectWorld;

/// The most bytes of a manifest.
const MANIFEST_BYTES: u64 = 16 * 1024 * 1024;

/// An object that was read and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub manifest: Manifest,
    /// Its files, in the order of the manifest.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Object {
    /// The digest of the agent if its files lay at other paths.
    pub fn digest_at(
        &self,
        store: &Store,
        place: impl Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let reading = Reading { store, known: Mutex::default() };
        let files = self.files.iter().map(|(path, bytes)| Some((place(path)?, bytes.as_slice())));
        let files: Vec<_> = files.collect::<Option<_>>()?;
        let fetch = |reference: &StoreRef| reading.base(reference, 0);
        let main = place(&self.manifest.main)?;
        Some(ObjectWorld::new(files, &fetch).digest(&main, self.manifest.format))
    }
}

impl Store {
    /// Reads an object by its full digest and verifies it.
    pub fn read(&self, digest: &str) -> Result<Object, StoreError> {
        Reading { store: self, known: Mutex::default() }.object(digest, 0)
    }

    /// The object that a reference means, if the user trusts it.
    pub fn read_trusted(&self, reference: &Reference, trust: &Trust) -> Result<Object, StoreError> {
        let object = self.read(&self.resolve(reference)?)?;
        self.accept(&object.manifest, trust)?;
        Ok(object)
    }

    /// What the pipeline asks for, if the user trusts it.
    pub fn fetch(&self, reference: &StoreRef, trust: &Trust) -> Result<Stored, FetchError> {
        let reference = Reference::Exact(reference.clone());
        self.read_trusted(&reference, trust).map(stored).map_err(fetch_error)
    }

    /// The manifest of an object, without a look at its files.
    pub fn manifest(&self, digest: &str) -> Result<Manifest, StoreError> {
        let path = self.object(digest)?.join("manifest.json");
        if !self.object(digest)?.is_dir() {
            return Err(StoreError::Missing(digest.to_owned()));
        }
        let bytes = match plain_file(&path, MANIFEST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => {
                return Err(StoreError::damaged(digest, format!("its manifest: {error}")));
            }
        };
        let manifest = Manifest::parse(&bytes).map_err(|why| StoreError::damaged(digest, why))?;
        if manifest.digest != digest {
            let why = format!("its manifest is that of `{}`", manifest.digest);
            return Err(StoreError::damaged(digest, why));
        }
        Ok(manifest)
    }
}

/// One reading of an object and of all that it inherits from, each verified once.
struct Reading<'s> {
    store: &'s Store,
    known: Mutex<BTreeMap<String, Stored>>,
}

impl Reading<'_> {
    fn object(&self, digest: &str, depth: usize) -> Result<Object, StoreError> {
        let manifest = self.store.manifest(digest)?;
        let dir = self.store.object(digest)?.join("files");
        let mut files = Vec::with_capacity(manifest.files.len());
        for file in &manifest.files {
            files.push((file.path.clone(), contents(&dir, file, digest)?));
        }
        let object = Object { manifest, files };
        let fetch = |reference: &StoreRef| self.base(reference, depth);
        let bytes = object.files.iter().map(|(path, bytes)| (path.clone(), bytes.as_slice()));
        let world = ObjectWorld::new(bytes, &fetch);
        let found = world.digest(&object.manifest.main, object.manifest.format);
        if found != digest {
            let why = format!("its files make the agent `{found}`");
            return Err(StoreError::damaged(digest, why));
        }
        Ok(object)
    }

    /// A base of an object.
    fn base(&self, reference: &StoreRef, depth: usize) -> Result<Stored, FetchError> {
        if depth > limits::BASES {
            return Err(FetchError::Damaged(format!("more than {} bases", limits::BASES)));
        }
        let digest = self.store.resolve(&Reference::Exact(reference.clone()));
        let digest = digest.map_err(fetch_error)?;
        let known = |reading: &Self| {
            let known = reading.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&digest).cloned()
        };
        if let Some(stored) = known(self) {
            return Ok(stored);
        }
        let stored = self.object(&digest, depth + 1).map(stored).map_err(fetch_error)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(digest, stored.clone());
        Ok(stored)
    }
}

/// The bytes of one file of an object.
fn contents(dir: &Path, file: &File, digest: &str) -> Result<Vec<u8>, StoreError> {
    let damaged =
        |why: &str| StoreError::damaged(digest, format!("its file `{}` {why}", file.path));
    let bytes = match plain_file(&dir.join(&file.path), file.size) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(damaged("is missing")),
        Err(error) => return Err(damaged(&format!("cannot be read: {error}"))),
    };
    if bytes.len() as u64 != file.size {
        return Err(damaged("has another size"));
    }
    if digest::of(&bytes) != file.sha256 {
        return Err(damaged("was changed"));
    }
    Ok(bytes)
}

/// The bytes of a file that is no link, device or pipe, and has at most `limit` bytes.
fn plain_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    if metadata.len() > limit {
        return Err(io::Error::other("it is larger than it should be"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn stored(object: Object) -> Stored {
    let Object { manifest: Manifest { main, format, digest, .. }, files } = object;
    Stored { files, main, format, digest }
}

/// What the pipeline is told.
fn fetch_error(error: StoreError) -> FetchError {
    match error {
        StoreError::NoStore(_) => FetchError::NoStore,
        StoreError::Missing(_) => FetchError::Missing,
        StoreError::Ambiguous { digests, .. } => FetchError::Ambiguous(digests),
        other => FetchError::Damaged(other.to_string()),
    }
}
