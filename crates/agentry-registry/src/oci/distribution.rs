//! The requests of the distribution API: manifests, blobs and tags.

use agentry_compile::text::digest;
use reqwest::header::{HeaderMap, HeaderName, LINK, LOCATION};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;

use super::artifact::{BlobDescriptor, INDEX};
use super::connection::{ByteWatch, RegistryConnection, RegistryRequest};
use super::error::OciError;
use crate::durable_write::step;

/// The most bytes of an OCI manifest or index, as the specification recommends.
const MANIFEST_BYTES: u64 = 4 * 1024 * 1024;
/// The most pages of tags.
const PAGES: usize = 200;
/// Every kind of manifest that is read.
const KINDS: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";
/// How often a blob is asked for if its bytes are wrong or end early.
const BLOB_TRIES: usize = 3;

impl RegistryConnection {
    /// The manifest of a tag or digest, and its digest. `None` if there is none.
    pub(crate) async fn manifest(&self, name: &str) -> Result<Option<(Vec<u8>, String)>, OciError> {
        let url = self.url(&format!("manifests/{name}"))?;
        let response = self.send(RegistryRequest::new(Method::GET, url).accept(KINDS)).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let response = self.success(response, "read")?;
        let bytes = self.body(response, MANIFEST_BYTES).await?;
        // The header with the digest is not believed.
        let found = digest::of(&bytes);
        if name.starts_with(digest::PREFIX) && found != name {
            return Err(self.protocol(format!("sent a manifest with another digest than `{name}`")));
        }
        Ok(Some((bytes, found)))
    }

    /// Puts a manifest under a tag or its digest. Returns the answer's headers.
    pub(crate) async fn put_manifest(
        &self,
        name: &str,
        kind: &'static str,
        bytes: Vec<u8>,
    ) -> Result<HeaderMap, OciError> {
        step();
        let url = self.url(&format!("manifests/{name}"))?;
        let request = RegistryRequest::new(Method::PUT, url).body(kind, bytes);
        let response = self.success(self.send(request).await?, "write")?;
        step();
        Ok(response.headers().clone())
    }

    /// The bytes of a blob. Never other bytes than its descriptor announces.
    pub(crate) async fn blob(&self, blob: &BlobDescriptor) -> Result<Vec<u8>, OciError> {
        self.watched_blob(blob, &|_| {}).await
    }

    /// The same, and calls `arrived` with the bytes of each piece. What is sent again is not counted twice.
    pub(crate) async fn watched_blob(
        &self,
        blob: &BlobDescriptor,
        arrived: &ByteWatch<'_>,
    ) -> Result<Vec<u8>, OciError> {
        let mut last = self.protocol("sent no blob");
        for attempt in 0..BLOB_TRIES {
            let watch = if attempt == 0 { arrived } else { &|_| {} };
            match self.blob_once(blob, watch).await {
                Err(error @ OciError::Protocol { .. }) => last = error,
                other => return other,
            }
        }
        Err(last)
    }

    async fn blob_once(
        &self,
        blob: &BlobDescriptor,
        arrived: &ByteWatch<'_>,
    ) -> Result<Vec<u8>, OciError> {
        let url = self.url(&format!("blobs/{}", blob.digest))?;
        let response = self.send(RegistryRequest::new(Method::GET, url)).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Err(self.protocol(format!("has lost `{}`, a part of the agent", blob.digest)));
        }
        let response = self.success(response, "read")?;
        let bytes = self.watched_body(response, blob.size, arrived).await?;
        if bytes.len() as u64 == blob.size && digest::of(&bytes) == blob.digest {
            return Ok(bytes);
        }
        Err(self.protocol(format!("sent other bytes than those of `{}`", blob.digest)))
    }

    /// Uploads a blob, unless the registry has it.
    pub(crate) async fn put_blob(&self, bytes: &[u8]) -> Result<(), OciError> {
        let digest = digest::of(bytes);
        let url = self.url(&format!("blobs/{digest}"))?;
        let there = self.send(RegistryRequest::new(Method::HEAD, url)).await?;
        if there.status().is_success() {
            return Ok(());
        }
        step();
        let start = RegistryRequest::new(Method::POST, self.url("blobs/uploads/")?);
        let start = start.body("application/octet-stream", Vec::new());
        let from = start.url.clone();
        let response = self.success(self.send(start).await?, "write")?;
        if !response.headers().contains_key(LOCATION) {
            return Err(self.protocol("starts an upload without an address"));
        }
        let mut url = self.redirected(&from, response.headers())?;
        url.query_pairs_mut().append_pair("digest", &digest);
        let upload = RegistryRequest::new(Method::PUT, url);
        let upload = upload.body("application/octet-stream", bytes.to_owned());
        self.success(self.send(upload).await?, "write")?;
        Ok(())
    }

    /// Every tag of the repository.
    pub(crate) async fn tags(&self) -> Result<Vec<String>, OciError> {
        let mut url = self.url("tags/list?n=1000")?;
        let mut tags = Vec::new();
        for _ in 0..PAGES {
            let response = self.send(RegistryRequest::new(Method::GET, url.clone())).await?;
            let response = self.success(response, "read")?;
            let next = next_page(response.headers());
            let bytes = self.body(response, MANIFEST_BYTES).await?;
            let page: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let list = page["tags"].as_array().into_iter().flatten();
            tags.extend(list.filter_map(|tag| tag.as_str().map(str::to_owned)));
            let Some(next) = next else { return Ok(tags) };
            // Another host would need a login of its own, and could list what it likes.
            let next = url.join(&next).ok().filter(|next| next.origin() == url.origin());
            url = next.ok_or_else(|| self.protocol("has a bad address of a next page"))?;
        }
        Err(self.protocol(format!("has more than {PAGES} pages of tags")))
    }

    /// The index of what refers to a manifest. `None` if the registry has no API for it.
    pub(crate) async fn referrers(&self, digest: &str) -> Result<Option<Vec<u8>>, OciError> {
        let url = self.url(&format!("referrers/{digest}"))?;
        let response = self.send(RegistryRequest::new(Method::GET, url).accept(INDEX)).await?;
        if !response.status().is_success() {
            return Ok(None);
        }
        self.body(response, MANIFEST_BYTES).await.map(Some)
    }

    /// The answer, if it is a success.
    fn success(&self, response: Response, act: &'static str) -> Result<Response, OciError> {
        let place = self.reference.place();
        match response.status() {
            status if status.is_success() => Ok(response),
            StatusCode::FORBIDDEN => Err(OciError::Denied { host: self.host(), act, place }),
            StatusCode::UNAUTHORIZED => {
                Err(OciError::Login { host: self.host(), why: "wants a login".to_owned() })
            }
            StatusCode::NOT_FOUND => Err(OciError::Missing(self.reference.to_string())),
            status => Err(self.protocol(format!("answers with the status {}", status.as_u16()))),
        }
    }
}

/// Whether the registry lists what refers to a manifest by itself.
pub(crate) fn lists_referrers(headers: &HeaderMap) -> bool {
    headers.contains_key(HeaderName::from_static("oci-subject"))
}

/// The address of the next page: `</v2/…>; rel="next"`.
fn next_page(headers: &HeaderMap) -> Option<String> {
    let link = headers.get(LINK)?.to_str().ok()?;
    let (address, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then(|| address.to_owned())
}
