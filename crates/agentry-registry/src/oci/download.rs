//! Pulls an artifact: resolves its tag, and downloads its blobs.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::artifact::{AgentArtifact, BlobDescriptor};
use super::cache::RemoteCache;
use super::connection::RegistryConnection;
use super::error::OciError;
use super::location::OciReference;
use super::referrers::is_fallback_tag;
use super::upload::AT_ONCE;
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

/// Downloads an artifact. Nothing of it is used before every byte is verified.
pub(crate) async fn download(
    connection: &RegistryConnection,
    (bytes, digest): (Vec<u8>, &str),
    progress: &PullProgress<'_>,
) -> Result<(StoreObject, FreshArtifact), OciError> {
    let reference = connection.reference.pinned(digest);
    let artifact = AgentArtifact::parse(&bytes, &reference)?;
    let config = connection.blob(&artifact.config).await?;
    // Paths are checked here, before any file is downloaded.
    let manifest = artifact.object(&config, &reference)?;
    let total = artifact.layers.iter().map(|layer| layer.size).sum();
    let mut blobs = stream::iter(artifact.layers.iter().map(|layer| fetch(connection, layer)))
        .buffered(AT_ONCE);
    let (mut files, mut done) = (Vec::with_capacity(manifest.files.len()), 0);
    while let Some(file) = blobs.try_next().await? {
        done += file.1.len() as u64;
        progress(done, total);
        files.push(file);
    }
    drop(blobs);
    Ok((StoreObject { manifest, files }, FreshArtifact { manifest: bytes, config }))
}

async fn fetch(
    connection: &RegistryConnection,
    layer: &BlobDescriptor,
) -> Result<(String, Vec<u8>), OciError> {
    Ok((layer.title.clone().unwrap_or_default(), connection.blob(layer).await?))
}
