//! Pushes an agent into a registry: blobs, manifest, signatures, and the tag last.
//!
//! A push that ends in between leaves the tag as it was. The registry collects the rest.

use std::collections::BTreeMap;

use agentry_compile::text::digest;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;

use super::artifact::{self, AGENT, BlobDescriptor, MANIFEST};
use super::connection::RegistryConnection;
use super::error::OciError;
use super::referrers::{self, PROVENANCE, SIGNATURE};
use crate::manifest::ObjectManifest;
use crate::sign::ObjectSignature;

/// How many blobs are transferred at once.
pub(crate) const AT_ONCE: usize = 8;

/// What is pushed.
#[derive(Debug)]
pub struct ArtifactUpload<'u> {
    /// The manifest of the object.
    pub manifest: &'u ObjectManifest,
    /// Its files, in the order of the manifest.
    pub files: &'u [(String, Vec<u8>)],
    /// Its signatures.
    pub signatures: &'u [ObjectSignature],
    /// Whether a tag with other content is replaced.
    pub force: bool,
    /// Whether an agent that says it is private is pushed.
    pub private_ok: bool,
}

/// The result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadOutcome {
    /// The tag that has the agent now.
    pub tag: String,
    /// The digest of its OCI manifest.
    pub digest: String,
    /// Whether the tag is new or has new content.
    pub is_new: bool,
}

/// Uploads an agent, and gives it the tag.
pub(crate) async fn upload(
    connection: &RegistryConnection,
    tag: &str,
    upload: &ArtifactUpload<'_>,
) -> Result<UploadOutcome, OciError> {
    let manifest = artifact::manifest(upload.manifest);
    let mut subject = BlobDescriptor::new(MANIFEST, &manifest);
    subject.artifact = Some(AGENT.to_owned());
    let digest = subject.digest.clone();
    let reference = connection.reference.tagged(tag).to_string();
    let before = connection.manifest(tag).await?.map(|(_, digest)| digest);
    let is_new = before.as_ref() != Some(&digest);
    if let Some(other) = before.filter(|_| is_new && !upload.force) {
        return Err(OciError::Taken { reference, digest: other });
    }
    if is_new {
        put_blobs(connection, upload).await?;
        connection.put_manifest(&digest, MANIFEST, manifest.clone()).await?;
    }
    // Signed before it is visible: who requires a signature never sees the tag without it.
    referrers::attach(connection, &subject, &attachments(upload, &digest)).await?;
    if is_new {
        connection.put_manifest(tag, MANIFEST, manifest).await?;
        let now = connection.manifest(tag).await?.map(|(_, digest)| digest);
        if let Some(other) = now.filter(|now| *now != digest) {
            // Another push was later; its content stays.
            return Err(OciError::Taken { reference, digest: other });
        }
    }
    Ok(UploadOutcome { tag: tag.to_owned(), digest, is_new })
}

async fn put_blobs(
    connection: &RegistryConnection,
    upload: &ArtifactUpload<'_>,
) -> Result<(), OciError> {
    let config = artifact::config(upload.manifest);
    let files = upload.files.iter().map(|(_, bytes)| bytes.as_slice());
    // Each content once: two uploads of the same blob at once may disturb each other.
    let blobs: BTreeMap<_, _> =
        files.chain([config.as_slice()]).map(|bytes| (digest::of(bytes), bytes)).collect();
    let puts = blobs.into_values().map(|bytes| connection.put_blob(bytes));
    stream::iter(puts).buffer_unordered(AT_ONCE).try_collect().await
}

fn attachments(upload: &ArtifactUpload<'_>, digest: &str) -> Vec<(&'static str, Vec<u8>)> {
    let signature = |signature: &ObjectSignature| (SIGNATURE, signature.to_text().into_bytes());
    let mut all: Vec<_> = upload.signatures.iter().map(signature).collect();
    all.push((PROVENANCE, provenance(upload, digest).into_bytes()));
    all
}

/// Where the agent comes from, as an in-toto statement. Without a time, so that it is pushed once.
fn provenance(upload: &ArtifactUpload<'_>, digest: &str) -> String {
    let ObjectManifest { name, version, format, main, bases, digest: agent, .. } = upload.manifest;
    let sha256 = |digest: &str| json!({"sha256": digest::digits(digest)});
    let origins: Vec<_> = bases.iter().map(|base| json!({"digest": sha256(base)})).collect();
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": format!("{name}@{version}"), "digest": sha256(digest)}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:agentry:push:v1",
                "externalParameters": {"agent": agent, "format": format.as_str(), "main": main},
                "resolvedDependencies": origins,
            },
            "runDetails": {"builder": {"id": concat!("urn:agentry:", env!("CARGO_PKG_VERSION"))}},
        },
    });
    statement.to_string()
}
