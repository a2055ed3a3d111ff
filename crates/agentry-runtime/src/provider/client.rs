//! Sends requests and reads answers, for every wire.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentry_mcp::{EventStream, StreamEvent};
use reqwest::header::CONTENT_TYPE;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::wire_conversation::WireConversation;
use super::{
    AnswerDelta, AnswerReader, ModelAnswer, ProviderRequest, ProviderWire, fault, http, repair,
};
use crate::context_window::BYTES_PER_TOKEN;
use crate::conversation::{Message, MessageBlock, TokenUsage};
use crate::event::ModelFailure;

/// The longest silence of a server.
const PATIENCE: Duration = Duration::from_mins(2);
/// The longest time for a whole answer.
const LONGEST: Duration = Duration::from_mins(30);
/// How long to wait for the end of a stream after the answer is complete.
const GRACE: Duration = Duration::from_millis(500);
/// The most bytes of an answer on the wire.
const MOST_BYTES: usize = 256 << 20;
/// The most bytes of one event of a stream.
const MOST_OF_EVENT: usize = 32 << 20;
/// The most bytes of an error response that are read.
const MOST_ERROR: usize = 64 << 10;
/// How often a request is repaired because the server rejects a field.
const MOST_REPAIRS: usize = 4;

/// A connection to one provider.
pub struct ModelClient {
    /// The protocol.
    pub wire: &'static dyn ProviderWire,
    /// The address, without the path.
    pub base: String,
    /// The key, if one is required.
    pub key: Option<SecretString>,
    /// The variable that the key came from.
    pub key_name: Option<String>,
    /// The HTTP client.
    pub http: reqwest::Client,
    /// The longest silence.
    pub patience: Duration,
    /// The longest time that an answer takes.
    pub longest: Duration,
    /// The complaints of the server so far: later requests are repaired before they are sent.
    complaints: Mutex<Vec<String>>,
    /// The conversation of the last request, as written for the wire.
    conversation: Mutex<WireConversation>,
}

/// Why there is no answer.
enum RequestRefusal {
    /// The server rejected the request, with this text.
    Complaint(String, ModelFailure),
    /// Any other failure.
    Failed(ModelFailure),
}

/// Why an answer is incomplete.
enum BrokenAnswer {
    /// The connection ended.
    Connection(ModelFailure),
    /// The content is invalid.
    Answer(ModelFailure),
}

impl From<ModelFailure> for BrokenAnswer {
    fn from(failure: ModelFailure) -> Self {
        Self::Answer(failure)
    }
}

impl From<ModelFailure> for RequestRefusal {
    fn from(failure: ModelFailure) -> Self {
        Self::Failed(failure)
    }
}

impl ModelClient {
    /// Creates a connection to a provider.
    pub fn new(
        wire: &'static dyn ProviderWire,
        base: impl Into<String>,
        http: reqwest::Client,
    ) -> Self {
        Self {
            wire,
            base: base.into(),
            key: None,
            key_name: None,
            http,
            patience: PATIENCE,
            longest: LONGEST,
            complaints: Mutex::default(),
            conversation: Mutex::default(),
        }
    }

    /// Asks a model. Sends the pieces of its answer to `show`. Dropping the future closes the connection.
    pub async fn ask(
        &self,
        request: &ProviderRequest<'_>,
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<ModelAnswer, ModelFailure> {
        let end = Instant::now() + self.longest;
        let mut frame = self.wire.frame(request);
        // Earlier complaints of this server apply to every later request.
        for complaint in &*self.complaints.lock().unwrap_or_else(PoisonError::into_inner) {
            self.wire.repair(&mut frame, complaint);
        }
        let mut repairs = 0;
        loop {
            let body = self.body(request, &frame);
            match self.send(request, body, end, show).await {
                Ok(answered) => return Ok(answered),
                Err(RequestRefusal::Failed(failure)) => return Err(failure),
                Err(RequestRefusal::Complaint(words, failure)) => {
                    repairs += 1;
                    if repairs > MOST_REPAIRS || !self.repair(&mut frame, words) {
                        return Err(failure);
                    }
                }
            }
        }
    }

    fn body(&self, request: &ProviderRequest<'_>, frame: &Value) -> String {
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        conversation.body(self.wire, request, frame)
    }

    /// Repairs a body that the server rejected; returns whether it was changed.
    fn repair(&self, body: &mut Value, words: String) -> bool {
        if !self.wire.repair(body, &words) {
            // The possible output depends on the length of the conversation, so this repair is not
            // remembered.
            return repair::lower_output(body, &words);
        }
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).push(words);
        true
    }

    async fn send(
        &self,
        request: &ProviderRequest<'_>,
        body: String,
        end: Instant,
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<ModelAnswer, RequestRefusal> {
        let url = format!("{}{}", self.base.trim_end_matches('/'), self.wire.path(request));
        let length = body.len() as u64;
        let mut builder = self.http.post(url).header(CONTENT_TYPE, "application/json").body(body);
        for (name, value) in self.wire.headers(self.key()) {
            builder = builder.header(name, value);
        }
        // The server may have read and charged the request although it did not answer.
        let unheard =
            TokenUsage { input: length.div_ceil(BYTES_PER_TOKEN as u64), ..TokenUsage::default() };
        let sent = timeout(self.patience, timeout_at(end, builder.send())).await;
        let sent = sent.map_err(|_| stalled()).and_then(|sent| sent.map_err(|_| self.late()));
        let sent = sent.map_err(|failure| ModelFailure { usage: unheard, ..failure })?;
        let response = sent.map_err(|error| {
            let usage = if error.is_connect() { TokenUsage::default() } else { unheard };
            ModelFailure { usage, ..broken(&error) }
        })?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let mut reader = self.wire.reader(request.model);
        let read = timeout_at(end, self.read(response, reader.as_mut(), show)).await;
        let read = read.unwrap_or_else(|_| Err(BrokenAnswer::Connection(self.late())));
        let mut used = reader.used_up();
        // A server that broke off early may not have reported its input yet.
        used.input = if used.input == 0 { unheard.input } else { used.input };
        let mut answered = match (reader.finish(), read) {
            // A broken connection does not matter if the answer is complete.
            (Ok(answered), Ok(()) | Err(BrokenAnswer::Connection(_))) => answered,
            (_, Err(BrokenAnswer::Connection(failure) | BrokenAnswer::Answer(failure)))
            | (Err(failure), Ok(())) => return Err(ModelFailure { usage: used, ..failure }.into()),
        };
        answered.refusal.iter().for_each(|text| show(AnswerDelta::Text(format!("\n{text}"))));
        if answered.usage == TokenUsage::default() {
            answered.usage = estimate(length, &answered.message);
        }
        Ok(answered)
    }

    /// Passes a whole answer to a reader.
    async fn read(
        &self,
        mut response: reqwest::Response,
        reader: &mut (dyn AnswerReader + Send),
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<(), BrokenAnswer> {
        let kind = AnswerKind::of(&response)?;
        let mut events = EventStream::new(MOST_OF_EVENT).with_json_lines();
        let mut whole = Vec::new();
        let mut left = MOST_BYTES;
        loop {
            // The usage may come after the answer, so the end of the stream is awaited for a moment.
            let patience = if reader.is_complete() { GRACE } else { self.patience };
            let next = timeout(patience, response.chunk()).await;
            let next = next.map_err(|_| BrokenAnswer::Connection(stalled()))?;
            let next = next.map_err(|error| BrokenAnswer::Connection(broken(&error)))?;
            let Some(piece) = next else { break };
            left = left.checked_sub(piece.len()).ok_or_else(too_long)?;
            match kind {
                AnswerKind::Whole => whole.extend_from_slice(&piece),
                AnswerKind::Stream => {
                    for event in events.take(&piece).map_err(|_| too_long())? {
                        reader.take(&event, show)?;
                    }
                }
            }
        }
        let last = match kind {
            AnswerKind::Stream => events.last(),
            AnswerKind::Whole => {
                let data = String::from_utf8_lossy(&whole).into_owned();
                Some(StreamEvent { kind: String::new(), data })
            }
        };
        last.map_or(Ok(()), |event| Ok(reader.take(&event, show)?))
    }

    fn late(&self) -> ModelFailure {
        fault::temporary(format!("no answer within {} s", self.longest.as_secs()))
    }

    fn key(&self) -> Option<&str> {
        self.key.as_ref().map(ExposeSecret::expose_secret)
    }

    /// Interprets a status other than success.
    async fn refused(&self, mut response: reqwest::Response) -> RequestRefusal {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        while let Ok(Ok(Some(piece))) = timeout(self.patience, response.chunk()).await {
            body.extend_from_slice(&piece);
            if body.len() > MOST_ERROR {
                break;
            }
        }
        let body = fault::without(&String::from_utf8_lossy(&body), self.key());
        let mut failure = fault::refused(status, &headers, &body);
        match status.as_u16() {
            // Only these statuses can be about a field of the request.
            400 | 422 => RequestRefusal::Complaint(body.to_lowercase(), failure),
            401 | 403 => {
                let name = self.key_name.as_ref();
                let from = name.map_or(String::new(), |name| format!(" (the key is `{name}`)"));
                failure.message.push_str(&from);
                RequestRefusal::Failed(failure)
            }
            _ => RequestRefusal::Failed(failure),
        }
    }
}

/// How an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerKind {
    /// As a stream of events.
    Stream,
    /// In one piece.
    Whole,
}

impl AnswerKind {
    fn of(response: &reqwest::Response) -> Result<Self, ModelFailure> {
        let named = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        // A missing type counts as a stream.
        let named = named.unwrap_or("text/event-stream").to_lowercase();
        match named.split(';').next().unwrap_or_default().trim() {
            "application/json" => Ok(Self::Whole),
            "text/event-stream"
            | "application/x-ndjson"
            | "application/jsonl"
            | "text/plain"
            | "application/stream+json"
            | "application/octet-stream" => Ok(Self::Stream),
            other => Err(fault::permanent(format!(
                "the server answered with `{}`, which is not an answer of a model: is its address \
                 right?",
                fault::shown(other)
            ))),
        }
    }
}

/// Estimates the usage of an answer: a budget must hold even if the server does not report it.
fn estimate(request: u64, message: &Message) -> TokenUsage {
    let length = |block: &MessageBlock| match block {
        MessageBlock::Text { text } | MessageBlock::Thinking { text, .. } => text.len(),
        MessageBlock::Call(call) => call.arguments.to_string().len(),
        MessageBlock::Result { .. } => 0,
    };
    let written: usize = message.blocks.iter().map(length).sum();
    TokenUsage {
        input: request.div_ceil(BYTES_PER_TOKEN as u64),
        output: (written as u64).div_ceil(BYTES_PER_TOKEN as u64),
        ..TokenUsage::default()
    }
}

fn stalled() -> ModelFailure {
    fault::temporary("the server fell silent")
}

fn too_long() -> ModelFailure {
    fault::permanent("the answer is too long")
}

fn broken(error: &reqwest::Error) -> ModelFailure {
    let server = error.url().and_then(|url| url.host_str().map(|host| (host, url.port())));
    let at = match server {
        Some((host, Some(port))) => format!(" at `{host}:{port}`"),
        Some((host, None)) => format!(" at `{host}`"),
        None => String::new(),
    };
    let what = if error.is_connect() { "no server answers" } else { "the connection broke" };
    let failure = fault::temporary(format!("{what}{at}: {}", http::reason(error)));
    ModelFailure { unreachable: error.is_connect(), ..failure }
}
