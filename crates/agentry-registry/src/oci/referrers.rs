//! What refers to an agent in a registry: its signatures and its provenance.
//!
//! A registry with the referrers API lists them by itself. For any other one we keep an index under the tag
//! `sha256-…`. Nothing guards that tag, so it is read, merged, written and read again until it has our entries.

use std::time::Duration;

use agentry_compile::text::digest;
use serde_json::{Value, json};

use super::artifact::{self, BlobDescriptor, EMPTY_BYTES, INDEX, MANIFEST};
use super::connection::RegistryConnection;
use super::distribution::lists_referrers;
use super::error::OciError;

/// The kind of a signature.
pub(crate) const SIGNATURE: &str = "application/vnd.agentry.signature.v1";
/// The kind of a statement about the origin.
pub(crate) const PROVENANCE: &str = "application/vnd.in-toto+json";

/// The most bytes of a signature.
const SIGNATURE_BYTES: u64 = 4096;
/// The most referrers of one kind that are read.
const MOST: usize = 64;
/// How often the index is written if another push replaces it.
const TRIES: usize = 16;
/// How often it must still have our entries before the push is done.
const CONFIRMATIONS: u32 = 2;
/// The first pause before it is read once more: another writer that read the old one is done by then.
const SETTLE: Duration = Duration::from_millis(120);

/// Attaches blobs to a manifest, each with its kind.
pub(crate) async fn attach(
    connection: &RegistryConnection,
    subject: &BlobDescriptor,
    blobs: &[(&'static str, Vec<u8>)],
) -> Result<(), OciError> {
    if blobs.is_empty() {
        return Ok(());
    }
    connection.put_blob(EMPTY_BYTES).await?;
    let mut missing = Vec::new();
    for (kind, bytes) in blobs {
        connection.put_blob(bytes).await?;
        let manifest = artifact::referrer(kind, subject, &BlobDescriptor::new(kind, bytes));
        let mut entry = BlobDescriptor::new(MANIFEST, &manifest);
        entry.artifact = Some((*kind).to_owned());
        let headers = connection.put_manifest(&entry.digest, MANIFEST, manifest).await?;
        if !lists_referrers(&headers) {
            missing.push(entry);
        }
    }
    enter(connection, subject, &missing).await
}

/// Adds entries to the index under the fallback tag, and keeps all others.
async fn enter(
    connection: &RegistryConnection,
    subject: &BlobDescriptor,
    entries: &[BlobDescriptor],
) -> Result<(), OciError> {
    let tag = fallback_tag(&subject.digest);
    // How often the entries were found again after they were written.
    let mut confirmed = None;
    for _ in 0..TRIES {
        let mut index = fallback(connection, &tag).await?;
        let count = index.len();
        for entry in entries {
            if !index.iter().any(|value| value["digest"] == json!(entry.digest)) {
                index.push(entry.to_json());
            }
        }
        confirmed = match confirmed {
            _ if index.len() > count => {
                let value = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": index});
                connection.put_manifest(&tag, INDEX, value.to_string().into_bytes()).await?;
                Some(0)
            }
            Some(times) if times + 1 < CONFIRMATIONS => Some(times + 1),
            // They were there before, and every other writer has read them.
            None | Some(_) => return Ok(()),
        };
        tokio::time::sleep(SETTLE * (confirmed.unwrap_or_default() + 1)).await;
    }
    Err(connection.protocol(format!("replaces the index `{tag}` again and again")))
}

/// The tag of the index, as the specification names it.
pub(crate) fn fallback_tag(digest: &str) -> String {
    digest.replace(':', "-")
}

/// Whether a tag is such an index, and no version of an agent.
pub(crate) fn is_fallback_tag(tag: &str) -> bool {
    tag.strip_prefix("sha256-").is_some_and(|digits| digest::is_hex(digits, 64))
}

/// The entries of the index under the fallback tag.
async fn fallback(connection: &RegistryConnection, tag: &str) -> Result<Vec<Value>, OciError> {
    let found = connection.manifest(tag).await?;
    Ok(found.map_or_else(Vec::new, |(bytes, _)| entries(&bytes)))
}

fn entries(index: &[u8]) -> Vec<Value> {
    let value: Value = serde_json::from_slice(index).unwrap_or_default();
    value["manifests"].as_array().cloned().unwrap_or_default()
}

/// The blobs of one kind that refer to a manifest.
pub(crate) async fn attached(
    connection: &RegistryConnection,
    digest: &str,
    kind: &str,
) -> Result<Vec<Vec<u8>>, OciError> {
    let listed = connection.referrers(digest).await?.map_or_else(Vec::new, |index| entries(&index));
    // A registry that got the API later, or a copy, may have only the index.
    let older = fallback(connection, &fallback_tag(digest)).await?;
    let mut found: Vec<BlobDescriptor> = Vec::new();
    for entry in listed.iter().chain(&older).filter_map(BlobDescriptor::parse) {
        let is_new = !found.iter().any(|other| other.digest == entry.digest);
        // Some tools drop the kind when they copy an index; then the manifest has it.
        if is_new && entry.artifact.as_deref().is_none_or(|artifact| artifact == kind) {
            found.push(entry);
        }
    }
    let mut blobs = Vec::new();
    for entry in found.iter().take(MOST) {
        blobs.extend(blob(connection, entry, (digest, kind)).await?);
    }
    Ok(blobs)
}

/// The blob of one referrer; `None` if it is gone or refers to something else.
async fn blob(
    connection: &RegistryConnection,
    entry: &BlobDescriptor,
    (subject, kind): (&str, &str),
) -> Result<Option<Vec<u8>>, OciError> {
    let Some((bytes, _)) = connection.manifest(&entry.digest).await? else { return Ok(None) };
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let layer = BlobDescriptor::parse(&value["layers"][0]);
    let is_about = value["subject"]["digest"].as_str() == Some(subject)
        && value["artifactType"].as_str() == Some(kind);
    match layer.filter(|layer| is_about && layer.size <= SIGNATURE_BYTES) {
        Some(layer) => connection.blob(&layer).await.map(Some),
        None => Ok(None),
    }
}
