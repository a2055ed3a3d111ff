//! The methods that a client calls: an introduction in either era, the list of tools, and calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use agentry_rpc::{RpcAnswer, RpcError, RpcFuture, RpcPeer, RpcRequest, RpcService, codes};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::caller::{CallerEvent, CallerPort};
use super::waiting_calls::{WaitingCall, WaitingCalls};
use super::{CallResult, ServedTool, ServedTools};
use crate::connection::UNSUPPORTED_VERSION;
use crate::elicitation::ElicitationAnswer;
use crate::protocol_era::{ProtocolEra, is_spoken};

/// The time after which a caller is notified that the call runs: clients give up silent calls.
const REMINDER: Duration = Duration::from_secs(15);

/// Answers a client.
pub struct ServerService<H> {
    host: Arc<H>,
    /// What the model of the client gets to know about all tools.
    instructions: String,
    /// Whether questions may be put to the user of the client at all.
    may_ask: bool,
    /// Set by `initialize`: whether the client can ask its user.
    session: OnceLock<bool>,
    waiting: Arc<WaitingCalls>,
    /// The requests that are under way, by their id as text; a dropped sender cancels.
    open: Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>,
}

/// What a request says about its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ClientTerms {
    era: ProtocolEra,
    can_ask: bool,
}

impl<H: ServedTools> ServerService<H> {
    /// A service for one client.
    pub fn new(host: Arc<H>, instructions: String) -> Self {
        Self::with_waiting(host, instructions, Arc::default())
    }

    /// A service for one request of the newer era; what waits for an answer outlives it.
    pub(super) fn with_waiting(
        host: Arc<H>,
        instructions: String,
        waiting: Arc<WaitingCalls>,
    ) -> Self {
        let (session, open) = (OnceLock::new(), Arc::default());
        Self { host, instructions, may_ask: true, session, waiting, open }
    }

    /// The same for a client whose user may answer questions, or may not.
    #[must_use]
    pub(super) fn asking(self, may_ask: bool) -> Self {
        Self { may_ask, ..self }
    }

    /// Gives up all calls of this client; what other clients began goes on.
    pub(super) fn give_up(&self) {
        self.waiting.clear();
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn dispatch(
        &self,
        asked: RpcRequest,
        peer: &RpcPeer,
    ) -> Result<RpcFuture<RpcAnswer>, RpcError> {
        let RpcRequest { id, method, params } = asked;
        let stateless = self.stateless_terms(&params)?;
        match (method.as_str(), stateless) {
            ("initialize", None) => return Ok(ready(self.initialize(&params))),
            ("ping", None) => return Ok(ready(json!({}))),
            ("server/discover", _) => return Ok(ready(self.discovered())),
            _ => {}
        }
        let terms = match stateless {
            Some(terms) => terms,
            None => self.session_terms()?,
        };
        match method.as_str() {
            "tools/list" => Ok(ready(self.listed(terms.era))),
            "tools/call" => self.call(&id, &params, (terms, peer.clone())),
            other => Err(RpcError::no_method(other)),
        }
    }

    fn initialize(&self, params: &Value) -> Value {
        let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let newest = ProtocolEra::Initialized.version();
        let version = if is_spoken(asked) { asked } else { newest };
        let _ = self.session.set(self.may_ask && can_ask(params.get("capabilities")));
        json!({
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": server_info(),
            "instructions": self.instructions,
        })
    }

    fn discovered(&self) -> Value {
        let result = json!({
            "supportedVersions": [ProtocolEra::Stateless.version()],
            "capabilities": {"tools": {}},
            "instructions": self.instructions,
        });
        cacheable(result)
    }

    /// What a request of the newer era says about its client; `None` for one of a session.
    fn stateless_terms(&self, params: &Value) -> Result<Option<ClientTerms>, RpcError> {
        let meta = |name: &str| params.get("_meta")?.get(format!("io.modelcontextprotocol/{name}"));
        match meta("protocolVersion") {
            Some(version) if version == ProtocolEra::Stateless.version() => {
                let can_ask = self.may_ask && can_ask(meta("clientCapabilities"));
                Ok(Some(ClientTerms { era: ProtocolEra::Stateless, can_ask }))
            }
            Some(version) => {
                let supported = [ProtocolEra::Stateless.version()];
                let message = format!("the version {version} is not spoken");
                let error = RpcError::new(UNSUPPORTED_VERSION, message);
                Err(error.with_data(json!({"supported": supported, "requested": version})))
            }
            None => Ok(None),
        }
    }

    /// What `initialize` said about the client.
    fn session_terms(&self) -> Result<ClientTerms, RpcError> {
        let message = "the request has no version in `_meta`, and `initialize` was not called";
        let missing = || RpcError::new(codes::INVALID_REQUEST, message);
        let can_ask = *self.session.get().ok_or_else(missing)?;
        Ok(ClientTerms { era: ProtocolEra::Initialized, can_ask })
    }

    fn listed(&self, era: ProtocolEra) -> Value {
        let tools: Vec<Value> = self.host.tools().iter().map(ServedTool::to_json).collect();
        let result = json!({"tools": tools});
        if era == ProtocolEra::Stateless { cacheable(result) } else { result }
    }

    fn call(
        &self,
        id: &Value,
        params: &Value,
        (terms, peer): (ClientTerms, RpcPeer),
    ) -> Result<RpcFuture<RpcAnswer>, RpcError> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !self.host.tools().iter().any(|tool| tool.name == name) {
            return Err(RpcError::invalid(format!("there is no tool `{name}`")));
        }
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(_) => return Err(RpcError::invalid("`arguments` is no object")),
        };
        let call = (name, arguments);
        let events = match self.waiting.go_on(params, &call)? {
            Some(events) => events,
            None => self.begin(&call, terms.can_ask),
        };
        let (cancel, cancelled) = oneshot::channel();
        let (open, key) = (Arc::clone(&self.open), id.to_string());
        open.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), cancel);
        let token = params.pointer("/_meta/progressToken").cloned();
        let round = CallRound { peer, terms, token, call, waiting: Arc::clone(&self.waiting) };
        Ok(Box::pin(async move {
            let answer = tokio::select! {
                answer = round.run(events) => answer,
                _ = cancelled => Err(RpcError::new(codes::CANCELLED, "the request was cancelled")),
            };
            open.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            answer
        }))
    }

    /// Starts the task of a call. It runs on its own, and its port reports when the caller has
    /// left.
    fn begin(
        &self,
        call: &(String, Map<String, Value>),
        can_ask: bool,
    ) -> mpsc::Receiver<CallerEvent> {
        let (port, events) = CallerPort::new(can_ask);
        let carried_out = self.host.call(&call.0, call.1.clone(), port.clone());
        tokio::spawn(async move { port.done(carried_out.await).await });
        events
    }
}

impl<H: ServedTools> RpcService for ServerService<H> {
    fn request(&self, asked: RpcRequest, peer: &RpcPeer) -> RpcFuture<RpcAnswer> {
        self.dispatch(asked, peer).unwrap_or_else(|error| Box::pin(async move { Err(error) }))
    }

    fn notice(&self, method: &str, params: Value) {
        if method == "notifications/cancelled" {
            let key = params.get("requestId").unwrap_or(&Value::Null).to_string();
            self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        }
    }

    /// The protocol wants no answer to a request that was cancelled.
    fn is_answered(&self, error: &RpcError) -> bool {
        error.code != codes::CANCELLED
    }

    fn close(&self) -> RpcFuture<()> {
        self.give_up();
        self.host.close()
    }
}

/// One request for a call: the first one, or one with the answer of the user.
struct CallRound {
    peer: RpcPeer,
    terms: ClientTerms,
    /// What progress is reported with; without it none is.
    token: Option<Value>,
    call: (String, Map<String, Value>),
    waiting: Arc<WaitingCalls>,
}

impl CallRound {
    async fn run(self, mut events: mpsc::Receiver<CallerEvent>) -> RpcAnswer {
        let gone = || RpcError::new(codes::INTERNAL, "the call ended without a result");
        let mut count = 0_u64;
        loop {
            let event = match tokio::time::timeout(REMINDER, events.recv()).await {
                Err(_) => CallerEvent::Progress("still under way".to_owned()),
                Ok(event) => event.ok_or_else(gone)?,
            };
            match event {
                CallerEvent::Progress(text) => {
                    count += 1;
                    self.report(count, &text).await;
                }
                CallerEvent::Done(result) => return result.map(|result| self.complete(&result)),
                CallerEvent::Question(question, reply) => match self.terms.era {
                    ProtocolEra::Initialized => {
                        let answer = self.peer.ask("elicitation/create", &question.to_json()).await;
                        let answer = answer.unwrap_or(Value::Null);
                        let _ = reply.send(ElicitationAnswer::from_json(&answer));
                    }
                    ProtocolEra::Stateless => {
                        let waiting = WaitingCall { events, reply, call: self.call };
                        return self.waiting.hold(waiting, &question);
                    }
                },
            }
        }
    }

    async fn report(&self, count: u64, text: &str) {
        if let Some(token) = &self.token {
            let params = json!({"progressToken": token, "progress": count, "message": text});
            self.peer.notify("notifications/progress", &params).await;
        }
    }

    fn complete(&self, result: &CallResult) -> Value {
        let result = result.to_json();
        if self.terms.era == ProtocolEra::Stateless { completed(result) } else { result }
    }
}

fn ready(answer: Value) -> RpcFuture<RpcAnswer> {
    Box::pin(async move { Ok(answer) })
}

/// Whether a client with these capabilities can put a question with fields to its user.
fn can_ask(capabilities: Option<&Value>) -> bool {
    let asks = capabilities.and_then(|all| all.get("elicitation")).and_then(Value::as_object);
    // Without a mode, a client of an older version means fields.
    asks.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

fn server_info() -> Value {
    json!({"name": "agentry", "title": "Agentry", "version": env!("CARGO_PKG_VERSION")})
}

/// Adds what every result of the newer era has.
fn completed(mut result: Value) -> Value {
    if let Some(fields) = result.as_object_mut() {
        fields.insert("resultType".to_owned(), json!("complete"));
        let meta = json!({"io.modelcontextprotocol/serverInfo": server_info()});
        fields.insert("_meta".to_owned(), meta);
    }
    result
}

/// The same for a result that a client may keep; this one should not.
fn cacheable(result: Value) -> Value {
    let mut result = completed(result);
    if let Some(fields) = result.as_object_mut() {
        fields.insert("ttlMs".to_owned(), json!(0));
        fields.insert("cacheScope".to_owned(), json!("private"));
    }
    result
}
