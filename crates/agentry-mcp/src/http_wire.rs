//! The wire of streamable HTTP: each message is a request; answers come as a body or as a stream of events.

mod headers;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use agentry_rpc::{PeerMessage, RpcError};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, watch};
use tokio::task::AbortHandle;
use url::Url;

use crate::ClientFuture;
use crate::clean_text::clean_start;
use crate::client::HttpAddress;
use crate::dispatch::{Dispatcher, MessageWire, WireMessage};
use crate::event_stream::EventStream;
use crate::failure::McpFailure;
use crate::limits;
pub(crate) use headers::own_headers;
use headers::{ACCEPT_BOTH, ACCEPT_EVENTS, LAST_EVENT, SESSION, VERSION, message_headers};

/// The most bytes of the body of an error.
const ERROR_BODY: usize = 64 << 10;
/// The most times that a broken stream is continued.
const CONTINUATIONS: usize = 5;
/// The pause before a broken stream is continued, unless the server wishes another one.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Decides about connections to a server.
pub trait HttpGate: Send + Sync {
    /// Returns a client that connects to this address and follows no redirects, or why none may.
    fn client<'a>(&'a self, url: &'a Url) -> ClientFuture<'a, Result<Client, String>>;
}

/// The wire.
pub(crate) struct HttpWire {
    own: Weak<Self>,
    requests: HttpRequests,
    dispatcher: Arc<Dispatcher>,
    runtime: Handle,
    agreed: Mutex<AgreedSession>,
    /// The tasks of open requests, and of the stream of notifications.
    tasks: Mutex<HashMap<u64, AbortHandle>>,
    /// Whether the stream of notifications is open, or the server has none.
    listening: watch::Sender<bool>,
}

/// Makes requests to the address of a server.
pub(crate) struct HttpRequests {
    pub(crate) address: HttpAddress,
    pub(crate) gate: Arc<dyn HttpGate>,
    client: OnceCell<Client>,
}

#[derive(Default)]
struct AgreedSession {
    id: Option<String>,
    version: Option<String>,
}

/// The number of the stream of notifications among the tasks; requests begin with 1.
const NOTICES: u64 = 0;

impl HttpRequests {
    pub(crate) fn new(address: HttpAddress, gate: Arc<dyn HttpGate>) -> Self {
        Self { address, gate, client: OnceCell::new() }
    }

    /// A request with the headers of the definition.
    pub(crate) async fn request(
        &self,
        method: Method,
        url: &Url,
    ) -> Result<RequestBuilder, McpFailure> {
        let client = self.client.get_or_try_init(|| self.gate.client(url)).await;
        let client = client.map_err(McpFailure::Unstartable)?;
        let request = client.request(method, url.clone());
        let request = request.headers(own_headers(&self.address.headers)?);
        let token = match &self.address.login {
            Some(login) => login.header(url).await,
            None => None,
        };
        Ok(match token {
            Some(token) => request.header(AUTHORIZATION, token),
            None => request,
        })
    }

    /// Whether a refused request is worth another try, with a new token.
    pub(crate) async fn is_renewed(&self, status: StatusCode) -> bool {
        match &self.address.login {
            Some(login) if status == StatusCode::UNAUTHORIZED => login.renew().await.is_ok(),
            _ => false,
        }
    }
}

impl HttpWire {
    pub(crate) fn open(
        requests: HttpRequests,
        dispatcher: Arc<Dispatcher>,
        runtime: Handle,
    ) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            own: own.clone(),
            requests,
            dispatcher,
            runtime,
            agreed: Mutex::default(),
            tasks: Mutex::default(),
            listening: watch::Sender::new(false),
        })
    }

    async fn request(&self, method: Method) -> Result<RequestBuilder, McpFailure> {
        let url = &self.requests.address.url;
        let mut request = self.requests.request(method, url).await?;
        let (id, version) = {
            let agreed = locked(&self.agreed);
            (agreed.id.clone(), agreed.version.clone())
        };
        if let Some(id) = id {
            request = request.header(SESSION, id);
        }
        if let Some(version) = version {
            request = request.header(VERSION, version);
        }
        Ok(request)
    }

    /// Sends a message and reads what comes back.
    async fn exchange(&self, message: &WireMessage) -> Result<(), McpFailure> {
        let mut response = self.post(message).await?;
        // A refused request was not carried out, so it may be sent again.
        if self.requests.is_renewed(response.status()).await {
            response = self.post(message).await?;
        }
        self.keep_session(message, response.headers());
        let response = self.admitted(response).await?;
        let Some(id) = message.request() else { return Ok(()) };
        match content_type(&response) {
            "text/event-stream" => self.read_events(response, id).await,
            "application/json" => {
                let body = body(response, limits::MESSAGE_BYTES).await?;
                self.deliver(&body);
                Ok(())
            }
            other => {
                let other = clean_start(other, 100).text;
                Err(McpFailure::Protocol(format!("it answers with the content type `{other}`")))
            }
        }
    }

    async fn post(&self, message: &WireMessage) -> Result<Response, McpFailure> {
        let request = self.request(Method::POST).await?;
        let request = request.header("accept", ACCEPT_BOTH).headers(message_headers(message)?);
        request.json(&message.message.to_json()).send().await.map_err(unsent)
    }

    fn keep_session(&self, message: &WireMessage, headers: &HeaderMap) {
        if matches!(&message.message, PeerMessage::Request { method, .. } if method == "initialize")
            && let Some(id) = headers.get(SESSION).and_then(|id| id.to_str().ok())
        {
            locked(&self.agreed).id = Some(id.to_owned());
        }
    }

    /// Turns a status that is no success into a failure.
    async fn admitted(&self, response: Response) -> Result<Response, McpFailure> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::NOT_FOUND && locked(&self.agreed).id.is_some() {
            let failure = McpFailure::Ended(": its session is over".to_owned());
            self.dispatcher.end(failure.clone());
            return Err(failure);
        }
        Err(status_failure(response).await)
    }

    fn deliver(&self, text: &[u8]) {
        if let Some(own) = self.own.upgrade() {
            let wire: Arc<dyn MessageWire> = own;
            self.dispatcher.deliver_text(text, &wire);
        }
    }

    /// Reads the events of a response. A stream that breaks off before the answer is continued where the
    /// server numbered its events.
    async fn read_events(&self, response: Response, id: u64) -> Result<(), McpFailure> {
        let mut stream = EventStream::new(limits::MESSAGE_BYTES);
        let mut response = response;
        for _ in 0..=CONTINUATIONS {
            let broke = self.read_stream(response, &mut stream).await;
            if !self.dispatcher.is_waiting(id) {
                return Ok(());
            }
            let Some(last) = stream.last_id.clone() else {
                broke?;
                return Err(McpFailure::Ended(": the response broke off".to_owned()));
            };
            tokio::time::sleep(pause(&stream)).await;
            response = self.notices(Some(&last)).await?;
        }
        Err(McpFailure::Ended(": the response broke off again and again".to_owned()))
    }

    async fn read_stream(
        &self,
        mut response: Response,
        stream: &mut EventStream,
    ) -> Result<(), McpFailure> {
        while let Some(piece) = response.chunk().await.map_err(unsent)? {
            for event in stream.take(&piece)? {
                self.deliver(event.data.as_bytes());
            }
        }
        Ok(())
    }

    /// Opens the stream of what the server sends by itself, or continues a stream.
    async fn notices(&self, last: Option<&str>) -> Result<Response, McpFailure> {
        let mut request = self.request(Method::GET).await?.header("accept", ACCEPT_EVENTS);
        if let Some(last) = last {
            request = request.header(LAST_EVENT, last);
        }
        let response = request.send().await.map_err(unsent)?;
        let response = self.admitted(response).await?;
        match content_type(&response) {
            "text/event-stream" => Ok(response),
            _ => Err(McpFailure::Protocol("it has no stream of events".to_owned())),
        }
    }

    /// Reads the notifications of a session, as far as the server offers them.
    async fn read_notifications(&self) {
        let mut stream = EventStream::new(limits::MESSAGE_BYTES);
        for _ in 0..=CONTINUATIONS {
            let last = stream.last_id.clone();
            let response = self.notices(last.as_deref()).await;
            self.listening.send_replace(true);
            let Ok(response) = response else { return };
            if self.read_stream(response, &mut stream).await.is_err() {
                return;
            }
            tokio::time::sleep(pause(&stream)).await;
        }
    }

    fn spawn(&self, key: u64, task: impl Future<Output = ()> + Send + 'static) {
        let task = self.runtime.spawn(task);
        locked(&self.tasks).insert(key, task.abort_handle());
    }
}

impl MessageWire for HttpWire {
    fn submit(&self, message: WireMessage) -> Result<(), McpFailure> {
        if let Some(failure) = self.dispatcher.failure() {
            return Err(failure);
        }
        let own = self.own.clone();
        let request = message.request();
        let task = async move {
            let Some(wire) = own.upgrade() else { return };
            let outcome = wire.exchange(&message).await;
            if let Some(id) = message.request() {
                locked(&wire.tasks).remove(&id);
                match outcome {
                    Ok(()) => wire.dispatcher.fail(id, McpFailure::Protocol(SILENT.to_owned())),
                    Err(failure) => wire.dispatcher.fail(id, failure),
                }
            }
        };
        match request {
            Some(id) => self.spawn(id, task),
            None => drop(self.runtime.spawn(task)),
        }
        Ok(())
    }

    fn give_up(&self, request: u64) -> bool {
        if let Some(task) = locked(&self.tasks).remove(&request) {
            task.abort();
        }
        // Without a session, the closed response is the cancellation.
        locked(&self.agreed).version.as_deref() != Some(crate::ProtocolEra::Stateless.version())
    }

    fn is_listening(&self) -> ClientFuture<'_, ()> {
        let mut listening = self.listening.subscribe();
        Box::pin(async move {
            let _ = listening.wait_for(|is_open| *is_open).await;
        })
    }

    fn agreed(&self, version: &str) {
        locked(&self.agreed).version = Some(version.to_owned());
        if version == crate::ProtocolEra::Stateless.version() {
            return;
        }
        let own = self.own.clone();
        self.spawn(NOTICES, async move {
            if let Some(wire) = own.upgrade() {
                wire.read_notifications().await;
            }
        });
    }

    fn close(&self) {
        locked(&self.tasks).drain().for_each(|(_, task)| task.abort());
        self.dispatcher.end(McpFailure::Ended(String::new()));
    }

    fn finish(self: Arc<Self>) -> ClientFuture<'static, ()> {
        Box::pin(async move {
            let has_session = locked(&self.agreed).id.is_some();
            if has_session && let Ok(request) = self.request(Method::DELETE).await {
                let _ = tokio::time::timeout(limits::END, request.send()).await;
            }
            self.close();
        })
    }
}

/// The message for a response without an answer.
const SILENT: &str = "its response has no answer to the request";

fn pause(stream: &EventStream) -> Duration {
    stream.retry.map_or(PAUSE, Duration::from_millis).min(LONGEST_PAUSE)
}

/// The content type without its parameters.
fn content_type(response: &Response) -> &str {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

/// The failure for a status that is no success. A body with an error of JSON-RPC is that error.
pub(crate) async fn status_failure(response: Response) -> McpFailure {
    let status = response.status();
    let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|it| it.to_str().ok());
    let challenge = challenge.map(|it| clean_start(it, limits::ERROR_BYTES).text);
    let to = response.headers().get("location").and_then(|to| to.to_str().ok());
    let to = to.filter(|_| status.is_redirection()).map(|to| clean_start(to, 200).text);
    let body = body(response, ERROR_BODY).await.unwrap_or_default();
    let error = serde_json::from_slice::<Value>(&body).ok();
    let error = error.as_ref().and_then(|body| body.get("error")).filter(|error| error.is_object());
    if let Some(error) = error.filter(|_| !matches!(status.as_u16(), 401 | 403)) {
        return RpcError::read(error).into();
    }
    let detail = match to {
        Some(to) => format!(": it leads to `{to}`; write that address"),
        None => {
            let text = clean_start(String::from_utf8_lossy(&body).trim(), 200).text;
            if text.is_empty() { text } else { format!(": {text}") }
        }
    };
    McpFailure::Status { status: status.as_u16(), detail, challenge }
}

/// Reads a body of at most `most` bytes.
pub(crate) async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, McpFailure> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unsent)? {
        if body.len() + piece.len() > most {
            return Err(McpFailure::TooLong(most));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// The failure of a request that could not be sent. The address is left out: it may have a key.
#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
pub(crate) fn unsent(error: reqwest::Error) -> McpFailure {
    let mut reason = "no reason is given".to_owned();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        reason = inner.to_string();
        source = inner.source();
    }
    McpFailure::Ended(format!(": {reason}"))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
