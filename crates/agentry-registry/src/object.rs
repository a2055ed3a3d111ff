//! Reads objects and verifies them: every file against its digest, and then the agent as a whole, which is
//! compiled again and must have the digest that names the object.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use agentry_compile::formats::info;
use agentry_compile::text::digest;
use agentry_compile::text::limits;
use agentry_compile::{FetchError, StoreRef, StoredAgent, World};

use crate::error::StoreError;
use crate::manifest::{ObjectFile, ObjectManifest};
use crate::object_world::ObjectWorld;
use crate::reference::AgentReference;
use crate::store::AgentStore;
use crate::trust::SignatureTrust;

/// The most bytes of a manifest.
const MANIFEST_BYTES: u64 = 16 * 1024 * 1024;

/// An object that was read and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreObject {
    /// The manifest.
    pub manifest: ObjectManifest,
    /// Its files, in the order of the manifest.
    pub files: Vec<(String, Vec<u8>)>,
}

impl StoreObject {
    /// The digest of the agent with its files moved to the paths that `place` returns.
    pub fn digest_at(
        &self,
        world: &dyn World,
        place: impl Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let files = self.files.iter().map(|(path, bytes)| Some((place(path)?, bytes.as_slice())));
        let files: Vec<_> = files.collect::<Option<_>>()?;
        let fetch = |reference: &StoreRef| world.services().fetch(reference);
        let main = place(&self.manifest.main)?;
        Some(ObjectWorld::new(files, &fetch).digest(&main, self.manifest.format))
    }
}

impl AgentStore {
    /// The directory with the files of an object, which must have been verified.
    pub fn files(&self, manifest: &ObjectManifest) -> Result<PathBuf, StoreError> {
        Ok(self.object(&manifest.digest)?.join("files"))
    }

    /// The tags of an agent, inherited ones included.
    pub fn tags(&self, digest: &str) -> Result<Vec<String>, StoreError> {
        let reading = ObjectReading { store: self, known: Mutex::default() };
        let object = reading.object(digest, 0)?;
        let fetch = |reference: &StoreRef| reading.base(reference, 0);
        let bytes = object.files.iter().map(|(path, bytes)| (path.clone(), bytes.as_slice()));
        let world = ObjectWorld::new(bytes, &fetch);
        let compiled = world.compiled(&object.manifest.main, object.manifest.format);
        let tags = compiled.whole().identity.tags.iter().flatten();
        Ok(tags.map(|tag| tag.value.clone()).collect())
    }

    /// Reads an object by its full digest and verifies it.
    pub fn read(&self, digest: &str) -> Result<StoreObject, StoreError> {
        ObjectReading { store: self, known: Mutex::default() }.object(digest, 0)
    }

    /// Reads the object that a reference names, if the user's signature settings accept it.
    pub fn read_trusted(
        &self,
        reference: &AgentReference,
        trust: &SignatureTrust,
    ) -> Result<StoreObject, StoreError> {
        let object = self.read(&self.resolve(reference)?)?;
        self.accept(&object.manifest, trust)?;
        Ok(object)
    }

    /// Reads a base for the compiler, if the user's signature settings accept it.
    pub fn fetch(
        &self,
        reference: &StoreRef,
        trust: &SignatureTrust,
    ) -> Result<StoredAgent, FetchError> {
        let reference = AgentReference::Exact(reference.clone());
        self.read_trusted(&reference, trust).map(stored).map_err(fetch_error)
    }

    /// Reads the manifest of an object, but not its files.
    pub fn manifest(&self, digest: &str) -> Result<ObjectManifest, StoreError> {
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
        let manifest =
            ObjectManifest::parse(&bytes).map_err(|why| StoreError::damaged(digest, why))?;
        if manifest.digest != digest {
            let why = format!("its manifest is that of `{}`", manifest.digest);
            return Err(StoreError::damaged(digest, why));
        }
        Ok(manifest)
    }
}

/// One read of an object with all its bases. Each base is verified once.
struct ObjectReading<'s> {
    store: &'s AgentStore,
    known: Mutex<BTreeMap<String, StoredAgent>>,
}

impl ObjectReading<'_> {
    fn object(&self, digest: &str, depth: usize) -> Result<StoreObject, StoreError> {
        let manifest = self.store.manifest(digest)?;
        let dir = self.store.object(digest)?.join("files");
        let mut files = Vec::with_capacity(manifest.files.len());
        for file in &manifest.files {
            files.push((file.path.clone(), contents(&dir, file, digest)?));
        }
        let object = StoreObject { manifest, files };
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

    /// Reads a base of an object.
    fn base(&self, reference: &StoreRef, depth: usize) -> Result<StoredAgent, FetchError> {
        // Bases may form a cycle in a damaged store, so the depth is limited.
        if depth > limits::BASES {
            return Err(FetchError::Damaged(format!("more than {} bases", limits::BASES)));
        }
        if let StoreRef::Remote(text) = reference {
            return self.store.remote.map_or(Err(FetchError::Missing), |fetch| fetch(text));
        }
        let digest = self.store.resolve(&AgentReference::Exact(reference.clone()));
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
pub(crate) fn contents(dir: &Path, file: &ObjectFile, digest: &str) -> Result<Vec<u8>, StoreError> {
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

/// Reads a file of at most `limit` bytes. Refuses links, devices and pipes.
pub(crate) fn plain_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() > limit {
        return Err(io::Error::other("it is larger than it should be"));
    }
    let mut bytes = Vec::new();
    // The file may have grown since: one byte more than the limit shows it.
    fs::File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Converts an object for the compiler. Paths are relative to the agent's directory, unless that
/// directory names the agent or files lie outside it.
pub(crate) fn stored(object: StoreObject) -> StoredAgent {
    let StoreObject { manifest, mut files } = object;
    let ObjectManifest { main, format, digest, .. } = &manifest;
    let prefix = format!("{}/", manifest.dir());
    let is_flat = !info(*format).files.names_agent
        && !manifest.dir().is_empty()
        && files.iter().all(|(path, _)| path.starts_with(&prefix));
    let place = |path: &str| path.get(prefix.len()..).unwrap_or(path).to_owned();
    let (format, digest) = (*format, digest.clone());
    let main = if is_flat { place(main) } else { main.clone() };
    if is_flat {
        files.iter_mut().for_each(|(path, _)| *path = place(path));
    }
    StoredAgent { files, main, format, digest }
}

/// The error as the compiler reports it.
pub(crate) fn fetch_error(error: StoreError) -> FetchError {
    match error {
        StoreError::NoStore(_) => FetchError::NoStore,
        StoreError::Missing(_) => FetchError::Missing,
        StoreError::Ambiguous { digests, .. } => FetchError::Ambiguous(digests),
        StoreError::Untrusted { why, .. } => FetchError::Untrusted(why),
        other => FetchError::Damaged(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use agentry_compile::model::Format;
    use agentry_compile::{FoundAgent, MemoryWorld};

    use super::*;
    use crate::gather::{GatheredObject, gather};
    use crate::keys::KeyRing;
    use crate::push::PushOutcome;

    const TOML: &str = "name = \"writer\"\ndescription = \"Writes texts\"\n";

    /// The agent `dir/main` of these files.
    fn gathered(files: &[(&str, &str)], dir: &str, main: &str, format: Format) -> GatheredObject {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), *text));
        let world = MemoryWorld::new(files);
        let (dir, main) = (dir.to_owned(), main.to_owned());
        gather(&world, &FoundAgent { path: dir.clone(), dir, main, format }, None).unwrap()
    }

    fn writer(rules: &str) -> GatheredObject {
        let files = [
            ("agents/writer/agent.toml", format!("{TOML}{rules}")),
            ("agents/writer/system-prompt.md", "You write.\n".to_owned()),
            ("rules/style.md", "Be brief.\n".to_owned()),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        gathered(&files, "agents/writer", "agent.toml", Format::AgentToml)
    }

    fn paths(stored: &StoredAgent) -> Vec<&str> {
        stored.files.iter().map(|(path, _)| path.as_str()).collect()
    }

    #[test]
    fn a_fetched_agent_has_its_files_and_main_path() {
        let home = tempfile::tempdir().unwrap();
        let store = AgentStore::create(home.path()).unwrap();
        let keeper = gathered(
            &[("a/keeper/instructions.md", "# Keeper\n\nYou keep things.\n")],
            "a/keeper",
            "instructions.md",
            Format::AgentDir,
        );
        let cases: [(GatheredObject, &str, &[&str]); 3] = [
            (writer(""), "agent.toml", &["agent.toml", "system-prompt.md"]),
            (keeper, "keeper/instructions.md", &["keeper/instructions.md"]),
            (
                GatheredObject {
                    manifest: ObjectManifest {
                        version: "2.0.0".to_owned(),
                        ..writer("rules = [\"style\"]\n").manifest
                    },
                    ..writer("rules = [\"style\"]\n")
                },
                "agents/writer/agent.toml",
                &["agents/writer/agent.toml", "agents/writer/system-prompt.md", "rules/style.md"],
            ),
        ];
        for (gathered, main, expected) in cases {
            assert_eq!(store.push(&gathered).unwrap(), PushOutcome::New);
            assert_eq!(store.push(&gathered).unwrap(), PushOutcome::Already);
            let ObjectManifest { digest, name, version, .. } = gathered.manifest;
            let references = [StoreRef::Full(digest.clone()), StoreRef::Named { name, version }];
            for reference in references {
                let stored = store.fetch(&reference, &SignatureTrust::default()).unwrap();
                assert_eq!((stored.main.as_str(), paths(&stored)), (main, expected.to_vec()));
                assert_eq!(stored.digest, digest);
            }
        }
    }

    #[test]
    fn fetch_errors_name_the_reason() {
        let home = tempfile::tempdir().unwrap();
        let store = AgentStore::create(home.path()).unwrap();
        let writer = writer("");
        store.push(&writer).unwrap();
        let digest = writer.manifest.digest;
        let full = StoreRef::Full(digest.clone());
        let missing = StoreRef::Full(digest::of(b"nothing"));
        assert_eq!(store.fetch(&missing, &SignatureTrust::default()), Err(FetchError::Missing));
        let key = KeyRing::new(home.path()).generate("mine").unwrap();
        let trust = SignatureTrust { required: true, keys: vec![key], ..SignatureTrust::default() };
        let refused = store.fetch(&full, &trust);
        assert!(matches!(&refused, Err(FetchError::Untrusted(why)) if why.contains("not signed")));
        store.sign(&digest, &KeyRing::new(home.path()).secret("mine").unwrap()).unwrap();
        assert!(store.fetch(&full, &trust).is_ok());
        let file = store.object(&digest).unwrap().join("files/writer/agent.toml");
        fs::write(file, TOML.replace("texts", "tests")).unwrap();
        let damaged = store.fetch(&full, &trust);
        assert!(matches!(&damaged, Err(FetchError::Damaged(why)) if why.contains(&digest)));
    }

    #[test]
    fn an_ambiguous_short_digest_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let store = AgentStore::create(home.path()).unwrap();
        let agent = |text: &str| {
            let text = format!("name: helper\ndescription: Helps\nsoul: {text}\n");
            gathered(&[("helper.agent", &text)], "", "helper.agent", Format::Manifest)
        };
        let (mut one, mut two) = (agent("One."), agent("Two."));
        two.manifest.version = "2.0.0".to_owned();
        // Only 48 bits: two of them may agree.
        (one.manifest.short, two.manifest.short) = (Some("ag1:00".into()), Some("ag1:00".into()));
        let short = StoreRef::Short("ag1:00".to_owned());
        store.push(&one).unwrap();
        assert_eq!(
            store.fetch(&short, &SignatureTrust::default()).unwrap().digest,
            one.manifest.digest
        );
        store.push(&two).unwrap();
        let mut both = vec![one.manifest.digest, two.manifest.digest];
        both.sort();
        assert_eq!(
            store.fetch(&short, &SignatureTrust::default()),
            Err(FetchError::Ambiguous(both))
        );
    }

    #[test]
    fn gc_keeps_bases_of_other_agents() {
        use crate::collect::{GarbageCollection, RemovalReason};
        let home = tempfile::tempdir().unwrap();
        let store = AgentStore::create(home.path()).unwrap();
        let agent = |name: &str, bases: &[&String]| {
            let text = format!("name: {name}\ndescription: Helps\nsoul: You help.\n");
            let mut it = gathered(&[("x.agent", &text)], "", "x.agent", Format::Manifest);
            it.manifest.bases = bases.iter().map(|&base| base.clone()).collect();
            store.push(&it).unwrap();
            it.manifest.digest
        };
        let parent = agent("parent", &[]);
        let child = agent("child", &[&parent]);
        let drop = |names: &[&str]| {
            let drop = names.iter().map(|name| name.parse().unwrap()).collect();
            store.collect(&GarbageCollection { drop, ..GarbageCollection::default() })
        };
        let message = drop(&["parent"]).unwrap_err().to_string();
        assert_eq!(message, "`parent` names no version; the store has `parent@0.1.0`");
        let message = drop(&["parent@0.1.0"]).unwrap_err().to_string();
        assert_eq!(message, "`parent@0.1.0` is needed by `child@0.1.0`");
        assert_eq!(store.list().unwrap().len(), 2);
        let mut gone =
            vec![(child, RemovalReason::Unreferenced), (parent, RemovalReason::Unreferenced)];
        gone.sort_by(|left, right| left.0.cmp(&right.0));
        assert_eq!(drop(&["parent@0.1.0", "child@0.1.0"]).unwrap().removed, gone);
        assert_eq!(store.digests().unwrap(), [""; 0]);
    }
}
