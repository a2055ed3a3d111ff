//! Sends requests and reads their answers, whatever the wire.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::StatusCode;
use secrecy::{ExposeSecret as _, SecretString};

use super::sse::Events;
use super::{Answered, Delta, Request, Wire};
use crate::event::{Failure, FailureKind};

/// A place where models answer.
pub struct Client {
    /// How it is talked to.
    pub wire: &'static dyn Wire,
    /// Its address, without the path.
    pub base: String,
    /// The key, if it wants one.
    pub key: Option<SecretString>,
    /// Sends.
    pub http: reqwest::Client,
    /// The longest silence.
    pub patience: Duration,
}

impl Client {
    /// Asks a model; pieces of its answer go to `show` as they come.
    pub async fn ask(
        &self,
        request: &Request<'_>,
        show: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answered, Failure> {
        let url = format!("{}{}", self.base.trim_end_matches('/'), self.wire.path(request));
        let mut builder = self.http.post(url).json(&self.wire.body(request));
        for (name, value) in self.wire.headers(self.key.as_ref().map(|key| key.expose_secret())) {
            builder = builder.header(name, value);
        }
        let sent = tokio::time::timeout(self.patience, builder.send()).await;
        let response = sent.map_err(|_| stalled())?.map_err(|error| broken(&error))?;
        if !response.status().is_success() {
            return Err(refused(response).await);
        }
        let mut reader = self.wire.reader();
        let mut events = Events::default();
        let mut bytes = response.bytes_stream();
        while let Some(piece) =
            tokio::time::timeout(self.patience, bytes.next()).await.map_err(|_| stalled())?
        {
            let piece = piece.map_err(|error| broken(&error))?;
            let found = events.take(&piece).map_err(|_| temporary("the answer is too long"))?;
            for event in &found {
                reader.take(event, show)?;
            }
        }
        reader.finish()
    }
}

fn temporary(message: impl Into<String>) -> Failure {
    Failure { kind: FailureKind::Temporary, message: message.into(), retry_after: None }
}

fn stalled() -> Failure {
    temporary("the server fell silent")
}

fn broken(error: &reqwest::Error) -> Failure {
    temporary(format!("the connection broke: {}", error.without_url_text()))
}

/// What a status other than success means.
async fn refused(response: reqwest::Response) -> Failure {
    let status = response.status();
    let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let retry_after = after.and_then(|value| value.parse::<f64>().ok());
    let retry_after = retry_after.map(|seconds| (seconds.max(0.0) * 1_000.0) as u64);
    let body = response.text().await.unwrap_or_default();
    let body: String = body.chars().take(500).collect();
    let too_long = ["context_length", "too long", "maximum context", "exceeds the context"]
        .iter()
        .any(|words| body.contains(words));
    let kind = match status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS | StatusCode::CONFLICT => {
            FailureKind::Temporary
        }
        status if status.is_server_error() => FailureKind::Temporary,
        _ if too_long => FailureKind::TooLong,
        _ => FailureKind::Permanent,
    };
    Failure { kind, message: format!("the server answered {status}: {body}"), retry_after }
}

trait WithoutUrl {
    fn without_url_text(&self) -> String;
}

impl WithoutUrl for reqwest::Error {
    /// The reason without the address, which may carry a key.
    fn without_url_text(&self) -> String {
        let mut reason = String::from("no reason given");
        let mut source: Option<&dyn std::error::Error> = std::error::Error::source(self);
        while let Some(inner) = source {
            reason = inner.to_string();
            source = inner.source();
        }
        reason
    }
}
