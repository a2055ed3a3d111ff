//! `https://…/helper.agent#sha256:…`: a definition of one file on the web, pinned to the digest of the agent.

use agentry_compile::text::digest;
use reqwest::Method;
use url::Url;

use super::connection::{RegistryConnection, RegistryRequest};
use super::error::OciError;
use super::location::OciReference;
use crate::path;

/// A file of the web, and the agent that is expected there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PinnedUrl {
    /// The address without the pin.
    pub(crate) url: Url,
    /// The digest of the agent.
    pub(crate) pin: String,
    /// The name of the file.
    pub(crate) name: String,
}

impl PinnedUrl {
    /// Whether a text is meant as such a reference.
    pub(crate) fn is_meant(text: &str) -> bool {
        ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, OciError> {
        let unfit =
            |why: &str| OciError::Unfit(format!("`{}` cannot be used: {why}", text.escape_debug()));
        let (place, pin) = text.split_once('#').unwrap_or((text, ""));
        if digest::digits(pin).is_none() {
            return Err(unfit("a URL needs the digest of the agent: `#sha256:` and 64 digits"));
        }
        let url = Url::parse(place).map_err(|_| unfit("it is not a URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(unfit("a URL with a user is not fetched"));
        }
        let name = url
            .path_segments()
            .and_then(|mut parts| parts.next_back())
            .unwrap_or_default()
            .to_owned();
        if name.contains('%') || path::problem([name.as_str()]).is_some() {
            return Err(unfit("it does not end in the name of a file"));
        }
        Ok(Self { url, pin: pin.to_owned(), name })
    }

    /// The place for trust settings and messages: host and path. Plain HTTP is refused except on this machine.
    pub(crate) fn reference(&self, plain: bool) -> Result<OciReference, OciError> {
        let host = self.url.host_str().unwrap_or_default();
        let host = match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let repository = self.url.path().trim_start_matches('/').to_owned();
        let reference = OciReference { host, repository, tag: None, digest: None, content: None };
        if self.url.scheme() == "https" || plain || reference.is_loopback() {
            return Ok(reference);
        }
        let message = format!("`{}` has no TLS", self.url);
        Err(OciError::Unfit(format!(
            "{message}: use `https://`, or save the file beside the agent"
        )))
    }

    /// Downloads the file.
    pub(crate) async fn download(
        &self,
        connection: &RegistryConnection,
        limit: u64,
    ) -> Result<Vec<u8>, OciError> {
        let response = connection.send(RegistryRequest::new(Method::GET, self.url.clone())).await?;
        match response.status() {
            status if status.is_success() => connection.body(response, limit).await,
            status => {
                Err(connection.protocol(format!("answers with the status {}", status.as_u16())))
            }
        }
    }
}
