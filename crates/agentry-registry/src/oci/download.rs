//! Pulls an artifact: resolves its tag, and downloads its blobs.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::artifact::{AgentArtifact, BlobDescriptor};
use super::cache::RemoteCache;
use super::connection::{ByteWatch, RegistryConnection};
use super::error::OciError;
use super::location::OciReference;
use super::referrers::is_fallback_tag;
use super::upload::AT_ONCE;
use crate::manifest::ObjectManifest;
use crate::object::StoreObject;
use crate::version;

/// Called with the bytes that arrived and all bytes.
pub(crate) type PullProgress<'p> = dyn Fn(u64, u64) + Sync + 'p;

/// The manifest that a reference names, and its digest. A tag is resolved once: what it means later is ignored.
pub(crate) async fn resolve(
    connection: &RegistryConnection,
) -> Result<(Vec<u8>, String), OciError> {
    let OciReference { tag, digest, .. } = &connection.reference;
    let name = match (digest, tag) {
        (Some(digest), _) => digest.clone(),
        (None, Some(tag)) => tag.clone(),
        (None, None) => latest(connection).await?,
    };
    let found = connection.manifest(&name).await?;
    found.ok_or_else(|| OciError::Missing(connection.reference.to_string()))
}

/// The tag of the last release, as for a bare name in the store.
async fn latest(connection: &RegistryConnection) -> Result<String, OciError> {
    let tags = tags(connection).await?;
    let latest = version::latest(tags.iter().map(String::as_str)).map(str::to_owned);
    latest.ok_or_else(|| OciError::Missing(connection.reference.to_string()))
}

/// The tags of a repository, in the order of versions.
pub(crate) async fn tags(connection: &RegistryConnection) -> Result<Vec<String>, OciError> {
    let mut tags = connection.tags().await?;
    tags.retain(|tag| !is_fallback_tag(tag));
    tags.sort_by(|left, right| version::compare(left, right));
    tags.dedup();
    Ok(tags)
}

/// An artifact whose bytes are verified, and which is not in the cache yet.
#[derive(Debug)]
pub(crate) struct FreshArtifact {
    manifest: Vec<u8>,
    config: Vec<u8>,
}

impl FreshArtifact {
    /// Adds it to the cache.
    pub(crate) fn keep(
        &self,
        cache: &RemoteCache,
        digest: &str,
        object: &StoreObject,
    ) -> Result<(), OciError> {
        cache.write(digest, (&self.manifest, &self.config), &object.files)
    }
}

/// What a registry announces about an agent, before any of its files is downloaded.
#[derive(Debug)]
pub(crate) struct AnnouncedArtifact {
    bytes: Vec<u8>,
    config: Vec<u8>,
    layers: Vec<BlobDescriptor>,
    object: ObjectManifest,
}

/// Reads what the registry announces. The paths of all files are checked here.
pub(crate) async fn announced(
    connection: &RegistryConnection,
    bytes: Vec<u8>,
    digest: &str,
) -> Result<AnnouncedArtifact, OciError> {
    let reference = connection.reference.pinned(digest);
    let artifact = AgentArtifact::parse(&bytes, &reference)?;
    let config = connection.blob(&artifact.config).await?;
    let object = artifact.object(&config, &reference)?;
    Ok(AnnouncedArtifact { bytes, config, layers: artifact.layers, object })
}

impl AnnouncedArtifact {
    /// The manifest of the agent, which its signatures are over.
    pub(crate) fn manifest(&self) -> &ObjectManifest {
        &self.object
    }

    /// Downloads the files. Nothing of them is used before every byte is verified.
    pub(crate) async fn download(
        self,
        connection: &RegistryConnection,
        progress: &PullProgress<'_>,
    ) -> Result<(StoreObject, FreshArtifact), OciError> {
        let total = self.layers.iter().map(|layer| layer.size).sum();
        progress(0, total);
        let done = AtomicU64::new(0);
        let arrived =
            |more| progress(done.fetch_add(more, Ordering::Relaxed).saturating_add(more), total);
        let blobs = self.layers.iter().map(|layer| fetch(connection, layer, &arrived));
        let files = stream::iter(blobs).buffered(AT_ONCE).try_collect().await?;
        let fresh = FreshArtifact { manifest: self.bytes, config: self.config };
        Ok((StoreObject { manifest: self.object, files }, fresh))
    }
}

async fn fetch(
    connection: &RegistryConnection,
    layer: &BlobDescriptor,
    arrived: &ByteWatch<'_>,
) -> Result<(String, Vec<u8>), OciError> {
    let bytes = connection.watched_blob(layer, arrived).await?;
    Ok((layer.title.clone().unwrap_or_default(), bytes))
}
