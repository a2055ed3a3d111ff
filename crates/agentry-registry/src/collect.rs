//! Garbage collection of the store: files that a killed process left behind, index records without an
//! object, and objects that no name, no lock and no other object refers to.
//!
//! A name is removed only when the user drops it. It can never be given to other content.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::durable_write::{rename, step};
use crate::error::StoreError;
use crate::manifest::ObjectManifest;
use crate::reference::{AgentReference, file_name};
use crate::store::{AgentStore, names};

/// A request to collect garbage.
#[derive(Debug, Clone, Default)]
pub struct GarbageCollection {
    /// References whose names are dropped.
    pub drop: Vec<AgentReference>,
    /// The digests that locks refer to.
    pub locked: BTreeSet<String>,
    /// Whether garbage is only listed, and nothing is deleted.
    pub dry_run: bool,
}

/// The result of a collection: what was removed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectedGarbage {
    /// Digests of objects or paths of other files, each with the reason.
    pub removed: Vec<(String, RemovalReason)>,
    /// Objects without a name that stay.
    pub kept: Vec<(String, KeepReason)>,
    /// Objects that cannot be read. They stay unless they are dropped by digest.
    pub damaged: Vec<String>,
    /// Display names of the listed objects: `name@version` by digest.
    pub names: BTreeMap<String, String>,
}

/// Why a file or object is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalReason {
    /// A killed process left it behind.
    Leftover,
    /// An index record without an object.
    Record,
    /// No name, no lock and no other object refers to it.
    Unreferenced,
}

/// Why an object without a name stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepReason {
    /// A lock refers to it.
    Locked,
    /// Another object inherits from it.
    Base,
}

impl RemovalReason {
    /// The reason as shown to the user.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Leftover => "left behind",
            Self::Record => "leads nowhere",
            Self::Unreferenced => "unreferenced",
        }
    }
}

impl KeepReason {
    /// The reason as shown to the user.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Locked => "locked",
            Self::Base => "a base",
        }
    }
}

impl AgentStore {
    /// Removes everything that is not needed, or only lists it in a dry run.
    pub fn collect(&self, collection: &GarbageCollection) -> Result<CollectedGarbage, StoreError> {
        let _lock = self.lock()?;
        let mut out = CollectedGarbage::default();
        // First, because a refused drop must end the call before anything is removed.
        let dropped = self.given_up_now(collection)?;
        self.sort_out(collection, &dropped, &mut out)?;
        let listed = out.removed.iter().map(|(digest, _)| digest);
        let listed = listed.chain(out.kept.iter().map(|(digest, _)| digest));
        // Names must be read now: the manifests are gone after the removal below.
        out.names = listed.map(|digest| (digest.clone(), self.name_of(digest))).collect();
        out.names.retain(|digest, name| digest != name);
        for name in names(&self.temporary())? {
            out.removed.push((format!("temporary/{name}"), RemovalReason::Leftover));
        }
        for path in self.stale_records()? {
            out.removed.push((self.shown(&path), RemovalReason::Record));
        }
        if collection.dry_run {
            return Ok(out);
        }
        for (digest, _) in out.removed.iter().filter(|(_, why)| *why == RemovalReason::Unreferenced)
        {
            self.remove_object(digest)?;
        }
        self.rebuild_index()?;
        for name in names(&self.temporary())? {
            remove(&self.temporary().join(name))?;
        }
        Ok(out)
    }

    /// The digests whose names this call drops. Fails if a lock or another object needs one of them,
    /// because it may refer to it by that name.
    fn given_up_now(&self, collection: &GarbageCollection) -> Result<BTreeSet<String>, StoreError> {
        let resolved = collection.drop.iter().map(|reference| self.exactly(reference));
        let digests = resolved.collect::<Result<BTreeSet<_>, _>>()?;
        if let Some(locked) = digests.iter().find(|digest| collection.locked.contains(*digest)) {
            let (name, by) = (self.name_of(locked), "agentry.lock".to_owned());
            return Err(StoreError::Needed { name, by });
        }
        for other in self.digests()?.into_iter().filter(|other| !digests.contains(other)) {
            // An object without a readable manifest must be pushed again anyway.
            let Ok(manifest) = self.manifest(&other) else { continue };
            if let Some(base) = manifest.bases.iter().find(|base| digests.contains(*base)) {
                let (name, by) = (self.name_of(base), self.name_of(&other));
                return Err(StoreError::Needed { name, by });
            }
        }
        if !collection.dry_run {
            digests.iter().try_for_each(|digest| self.give_up(digest))?;
        }
        Ok(digests)
    }

    /// Resolves a reference to drop. A bare name is refused: which version it means would change
    /// after each drop.
    fn exactly(&self, reference: &AgentReference) -> Result<String, StoreError> {
        let digest = self.resolve(reference)?;
        match reference {
            AgentReference::Exact(_) => Ok(digest),
            AgentReference::Latest(name) => {
                let of_name = self.list()?.into_iter().filter(|listed| listed.name == *name);
                let versions = of_name.map(|listed| format!("{name}@{}", listed.version)).collect();
                Err(StoreError::NoVersion { name: name.clone(), versions })
            }
        }
    }

    /// Drops the name of an object for good.
    fn give_up(&self, digest: &str) -> Result<(), StoreError> {
        // An object without a readable manifest has no name to drop.
        let Ok(ObjectManifest { name, version, .. }) = self.manifest(digest) else { return Ok(()) };
        // The drop record is written first: the name must never look free.
        self.put_record(&self.drop_record(&name, &version), digest)?;
        step();
        // If the process is killed before this line, the next collection removes the record.
        let _ = fs::remove_file(self.name_record(&name, &version));
        Ok(())
    }

    /// The display name of an object: `name@version`, or the digest if the manifest is unreadable.
    fn name_of(&self, digest: &str) -> String {
        let manifest = self.manifest(digest);
        manifest.map_or(digest.to_owned(), |it| format!("{}@{}", it.name, it.version))
    }

    /// Decides for every object whether it stays.
    fn sort_out(
        &self,
        collection: &GarbageCollection,
        dropped: &BTreeSet<String>,
        out: &mut CollectedGarbage,
    ) -> Result<(), StoreError> {
        let (mut live, mut nameless) = (Vec::new(), Vec::new());
        for digest in self.digests()? {
            match self.manifest(&digest) {
                Ok(manifest) if dropped.contains(&digest) => nameless.push(manifest),
                Ok(manifest) => {
                    let is_named = self.given_up(&manifest.name, &manifest.version)?.is_none();
                    if is_named { live.push(manifest) } else { nameless.push(manifest) }
                }
                Err(_) if dropped.contains(&digest) => {
                    out.removed.push((digest, RemovalReason::Unreferenced));
                }
                Err(_) => out.damaged.push(digest),
            }
        }
        // A locked object stays, together with all its bases.
        let is_locked = |manifest: &ObjectManifest| collection.locked.contains(&manifest.digest);
        let (locked, mut rest): (Vec<_>, Vec<_>) = nameless.into_iter().partition(is_locked);
        out.kept
            .extend(locked.iter().map(|manifest| (manifest.digest.clone(), KeepReason::Locked)));
        live.extend(locked);
        // Follow the bases of each live object. Whatever is left in `rest` is unreachable.
        while let Some(manifest) = live.pop() {
            let is_base = |other: &ObjectManifest| manifest.bases.contains(&other.digest);
            let (bases, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_base);
            out.kept.extend(bases.iter().map(|base| (base.digest.clone(), KeepReason::Base)));
            live.extend(bases);
            rest = others;
        }
        // The bases of a damaged object are unknown, so every object that could be one stays.
        let is_needed = |manifest: &ObjectManifest| {
            !out.damaged.is_empty() && !dropped.contains(&manifest.digest)
        };
        let (kept, gone): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_needed);
        out.kept.extend(kept.into_iter().map(|manifest| (manifest.digest, KeepReason::Base)));
        let gone = gone.into_iter().map(|manifest| (manifest.digest, RemovalReason::Unreferenced));
        out.removed.extend(gone);
        Ok(())
    }

    /// Moves an object out of `objects/` in one rename, so that no reader sees half of it; dropping
    /// the temporary directory then deletes it.
    fn remove_object(&self, digest: &str) -> Result<(), StoreError> {
        let place = self.object(digest)?;
        let stage = tempfile::Builder::new().prefix("gone-").tempdir_in(self.temporary());
        let stage = stage.map_err(StoreError::writing(&self.temporary()))?;
        rename(&place, &stage.path().join("object")).map_err(StoreError::io("removed", &place))
    }

    pub(crate) fn drop_record(&self, name: &str, version: &str) -> std::path::PathBuf {
        self.dropped().join(file_name(name)).join(file_name(version))
    }

    /// A path relative to the store.
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.root()).unwrap_or(path).display().to_string()
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    step();
    let is_dir = fs::symlink_metadata(path).is_ok_and(|at| at.is_dir());
    let removed = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(StoreError::io("removed", path))
}
