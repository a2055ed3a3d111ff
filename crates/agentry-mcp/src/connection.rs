//! One connection to a server: the introduction, and requests with a deadline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentry_rpc::PeerMessage;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::ClientFuture;
use crate::clean_text::clean_start;
use crate::dispatch::{AnswerReceiver, CallEvent, Dispatcher, MessageWire, WireMessage};
use crate::elicitation::{ElicitationAnswer, ElicitationRequest};
use crate::failure::McpFailure;
use crate::limits;
use crate::protocol_era::{ProtocolEra, capabilities, client_info, is_spoken};

/// The code for a version that a server does not speak.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// Receives progress and questions during a call.
pub trait CallListener: Send + Sync {
    /// Receives a text about the progress.
    fn progress(&self, text: &str);

    /// Puts a question of the server to the user.
    fn ask(&self, asked: ElicitationRequest) -> ClientFuture<'_, ElicitationAnswer>;
}

/// How a server introduced itself.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "the capabilities of the protocol")]
pub struct ServerWelcome {
    /// The version of the protocol that is spoken.
    pub version: String,
    /// Its instructions for the model, cleaned and cut.
    pub instructions: Option<String>,
    /// How many characters were removed from them.
    pub removed: usize,
    /// Whether it has tools, resources and prompts.
    pub has_tools: bool,
    /// Whether it has resources.
    pub has_resources: bool,
    /// Whether it has prompts.
    pub has_prompts: bool,
    /// Whether it announces changes of its list of tools.
    pub(crate) announces_tools: bool,
}

/// A connection that is introduced.
pub(crate) struct McpConnection {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) wire: Arc<dyn MessageWire>,
    pub(crate) era: ProtocolEra,
    pub(crate) welcome: ServerWelcome,
    can_ask: bool,
}

/// A wire before the introduction.
pub(crate) struct OpenWire {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) wire: Arc<dyn MessageWire>,
    pub(crate) can_ask: bool,
}

/// A request and when it must be answered.
#[derive(Clone)]
pub(crate) struct DatedRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Map<String, Value>,
    pub(crate) time: Duration,
    /// Arguments that are sent as headers, too.
    pub(crate) mirrored: Vec<(String, String)>,
}

impl<'a> DatedRequest<'a> {
    pub(crate) fn new(method: &'a str, params: Map<String, Value>, time: Duration) -> Self {
        Self { method, params, time, mirrored: Vec::new() }
    }
}

/// What came of `server/discover`.
enum ProbeOutcome {
    Welcome(ServerWelcome),
    /// The server does not know the method; the connection is still good.
    Unknown,
    /// There was no answer in time.
    Silent,
}

impl OpenWire {
    /// Introduces the client: the newer way first, unless the era is known.
    pub(crate) async fn introduce(
        self,
        known: Option<ProtocolEra>,
    ) -> Result<McpConnection, McpFailure> {
        if known == Some(ProtocolEra::Initialized) {
            let welcome = self.initialize().await?;
            return Ok(self.into_connection(ProtocolEra::Initialized, welcome));
        }
        let mut probed = self.probe(limits::PROBE).await?;
        if !matches!(probed, ProbeOutcome::Welcome(_)) {
            match self.initialize().await {
                Ok(welcome) => {
                    return Ok(self.into_connection(ProtocolEra::Initialized, welcome));
                }
                // A server that starts slowly was only too late for the first question.
                Err(McpFailure::Answered { .. }) if matches!(probed, ProbeOutcome::Silent) => {
                    probed = self.probe(limits::START).await?;
                }
                Err(failure) => return Err(failure),
            }
        }
        let ProbeOutcome::Welcome(welcome) = probed else {
            return Err(McpFailure::Protocol("it speaks no known version".to_owned()));
        };
        self.wire.agreed(ProtocolEra::Stateless.version());
        Ok(self.into_connection(ProtocolEra::Stateless, welcome))
    }

    async fn probe(&self, time: Duration) -> Result<ProbeOutcome, McpFailure> {
        let mut params = Map::new();
        ProtocolEra::Stateless.complete(&mut params, self.can_ask);
        let mut found = self.request("server/discover", params.clone(), time).await;
        if matches!(found, Err(McpFailure::Answered { code: UNSUPPORTED_VERSION, .. })) {
            // It knows the method; a part of it that is being updated may not know the version yet.
            found = self.request("server/discover", params, time).await;
        }
        match found {
            Ok(found) => {
                let versions = found.get("supportedVersions").and_then(Value::as_array);
                let stateless = ProtocolEra::Stateless.version();
                let is_spoken = versions.is_some_and(|all| all.iter().any(|it| it == stateless));
                if !is_spoken {
                    return Ok(ProbeOutcome::Unknown);
                }
                Ok(ProbeOutcome::Welcome(ServerWelcome::read(&found, stateless)))
            }
            Err(McpFailure::Answered { .. }) => Ok(ProbeOutcome::Unknown),
            Err(McpFailure::TimedOut(_)) => Ok(ProbeOutcome::Silent),
            // A server of the older era answers an unknown method with a status.
            Err(McpFailure::Status { status: 400 | 404 | 405 | 406 | 415 | 422 | 501, .. }) => {
                Ok(ProbeOutcome::Unknown)
            }
            Err(failure) => Err(failure),
        }
    }

    async fn initialize(&self) -> Result<ServerWelcome, McpFailure> {
        let params = [
            ("protocolVersion", json!(ProtocolEra::Initialized.version())),
            ("capabilities", capabilities(self.can_ask)),
            ("clientInfo", client_info()),
        ];
        let params = params.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        let found = self.request("initialize", params, limits::START).await?;
        let version = found.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if !is_spoken(version) {
            let shown = clean_start(version, 40).text;
            let message = format!("it speaks the version `{shown}`, which is not known");
            return Err(McpFailure::Protocol(message));
        }
        self.wire.agreed(version);
        self.wire.submit(PeerMessage::notice("notifications/initialized", Value::Null).into())?;
        // A question that a server sends before this client listens would be lost.
        let _ = tokio::time::timeout(limits::LISTENING, self.wire.is_listening()).await;
        Ok(ServerWelcome::read(&found, version))
    }

    fn into_connection(self, era: ProtocolEra, welcome: ServerWelcome) -> McpConnection {
        let Self { dispatcher, wire, can_ask } = self;
        McpConnection { dispatcher, wire, era, welcome, can_ask }
    }

    async fn request(
        &self,
        method: &str,
        params: Map<String, Value>,
        time: Duration,
    ) -> Result<Value, McpFailure> {
        let asked = DatedRequest::new(method, params, time);
        let open = OpenRequest::send(&self.dispatcher, &self.wire, asked, None)?;
        open.answer(time).await
    }
}

impl ServerWelcome {
    fn read(found: &Value, version: &str) -> Self {
        let capability = |name: &str| found.get("capabilities").and_then(|all| all.get(name));
        let instructions = found.get("instructions").and_then(Value::as_str);
        let instructions = instructions.filter(|text| !text.trim().is_empty());
        let cleaned = instructions.map(|text| clean_start(text, limits::INSTRUCTIONS_BYTES));
        let announces = capability("tools").and_then(|tools| tools.get("listChanged"));
        Self {
            version: version.to_owned(),
            removed: cleaned.as_ref().map_or(0, |cleaned| cleaned.removed),
            instructions: cleaned.map(|cleaned| cleaned.text),
            has_tools: capability("tools").is_some(),
            has_resources: capability("resources").is_some(),
            has_prompts: capability("prompts").is_some(),
            announces_tools: announces.and_then(Value::as_bool).unwrap_or_default(),
        }
    }
}

impl McpConnection {
    /// Asks to be notified of changes, where the protocol has a request for that.
    pub(crate) fn listen(&self) {
        if self.era == ProtocolEra::Initialized || !self.welcome.announces_tools {
            return;
        }
        let mut params = Map::new();
        params.insert("notifications".to_owned(), json!({"toolsListChanged": true}));
        self.era.complete(&mut params, self.can_ask);
        // The answer comes at the end of the subscription; it is not awaited.
        let _ = self.dispatcher.register(None).map(|(id, _)| {
            let params = Value::Object(params);
            self.wire.submit(PeerMessage::request(id, "subscriptions/listen", params).into())
        });
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn request(&self, asked: DatedRequest<'_>) -> Result<Value, McpFailure> {
        let mut asked = asked;
        let time = asked.time;
        self.era.complete(&mut asked.params, self.can_ask);
        let open = OpenRequest::send(&self.dispatcher, &self.wire, asked, None)?;
        open.answer(time).await
    }

    /// Sends a request whose server may report progress and ask the user.
    pub(crate) async fn request_with(
        &self,
        asked: DatedRequest<'_>,
        listener: &dyn CallListener,
    ) -> Result<Value, McpFailure> {
        let mut clock = CallClock::new(asked.time);
        let mut more = Map::new();
        for _ in 0..limits::ROUNDS {
            let mut round = asked.clone();
            round.params.extend(more);
            let found = self.one_round(round, &mut clock, listener).await?;
            match found.get("resultType").and_then(Value::as_str) {
                Some("input_required") => more = answers(&found, &mut clock, listener).await?,
                None | Some("complete") => return Ok(found),
                Some(other) => {
                    let shown = clean_start(other, 40).text;
                    let message = format!("a result of the type `{shown}` is not known");
                    return Err(McpFailure::Protocol(message));
                }
            }
        }
        let message = format!("it asked for more than {} rounds of input", limits::ROUNDS);
        Err(McpFailure::Protocol(message))
    }

    async fn one_round(
        &self,
        mut asked: DatedRequest<'_>,
        clock: &mut CallClock,
        listener: &dyn CallListener,
    ) -> Result<Value, McpFailure> {
        let (events, mut happens) = mpsc::channel(limits::QUESTIONS);
        self.era.complete(&mut asked.params, self.can_ask);
        let mut open = OpenRequest::send(&self.dispatcher, &self.wire, asked, Some(events))?;
        loop {
            let event = tokio::select! {
                biased;
                answer = &mut open.receiver => {
                    // Both may be there at once, and progress came before the answer.
                    while let Ok(CallEvent::Progress(text)) = happens.try_recv() {
                        listener.progress(&text);
                    }
                    return open.answered(answer);
                }
                Some(event) = happens.recv() => event,
                () = tokio::time::sleep(clock.left()) => return Err(clock.over()),
            };
            match event {
                CallEvent::Progress(text) => listener.progress(&text),
                CallEvent::Question { asked, reply } => {
                    let answer = clock.paused(listener.ask(asked)).await;
                    let _ = reply.send(answer);
                }
            }
        }
    }
}

/// Puts the questions of a result to the user; returns what the next round carries.
async fn answers(
    found: &Value,
    clock: &mut CallClock,
    listener: &dyn CallListener,
) -> Result<Map<String, Value>, McpFailure> {
    let empty = Map::new();
    let asked = found.get("inputRequests").and_then(Value::as_object).unwrap_or(&empty);
    if asked.len() > limits::QUESTIONS {
        let message = format!("it asked more than {} questions at once", limits::QUESTIONS);
        return Err(McpFailure::Protocol(message));
    }
    let mut replies = Map::new();
    for (key, request) in asked {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        if method != "elicitation/create" {
            let shown = clean_start(method, 100).text;
            return Err(McpFailure::Protocol(format!("it asked for `{shown}`, which is refused")));
        }
        let params = request.get("params").unwrap_or(&Value::Null);
        let question = ElicitationRequest::read(params).map_err(McpFailure::Protocol)?;
        let answer = clock.paused(listener.ask(question)).await;
        replies.insert(key.clone(), answer.to_json());
    }
    let mut more = Map::new();
    more.insert("inputResponses".to_owned(), Value::Object(replies));
    if let Some(state) = found.get("requestState") {
        more.insert("requestState".to_owned(), state.clone());
    }
    Ok(more)
}

/// The time of a call, without the time that the user took to answer.
struct CallClock {
    time: Duration,
    ends: Instant,
}

impl CallClock {
    fn new(time: Duration) -> Self {
        Self { time, ends: Instant::now() + time }
    }

    fn left(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    fn over(&self) -> McpFailure {
        McpFailure::TimedOut(self.time)
    }

    async fn paused<T>(&mut self, waiting: impl Future<Output = T>) -> T {
        let since = Instant::now();
        let found = waiting.await;
        self.ends += since.elapsed();
        found
    }
}

/// A request that is open; given up on drop, and the server is notified.
struct OpenRequest {
    id: u64,
    receiver: AnswerReceiver,
    dispatcher: Arc<Dispatcher>,
    wire: Arc<dyn MessageWire>,
    /// Whether a server may be asked to stop: not an introduction.
    can_cancel: bool,
}

impl OpenRequest {
    fn send(
        dispatcher: &Arc<Dispatcher>,
        wire: &Arc<dyn MessageWire>,
        asked: DatedRequest<'_>,
        events: Option<mpsc::Sender<CallEvent>>,
    ) -> Result<Self, McpFailure> {
        let DatedRequest { method, mut params, time: _, mirrored } = asked;
        let has_progress = events.is_some();
        let (id, receiver) = dispatcher.register(events)?;
        if has_progress
            && let Value::Object(meta) = params.entry("_meta").or_insert_with(|| json!({}))
        {
            meta.insert("progressToken".to_owned(), json!(id));
        }
        let (dispatcher, wire) = (Arc::clone(dispatcher), Arc::clone(wire));
        let can_cancel = method != "initialize";
        let open = Self { id, receiver, dispatcher, wire, can_cancel };
        let message = PeerMessage::request(id, method, Value::Object(params));
        open.wire.submit(WireMessage { message, mirrored })?;
        Ok(open)
    }

    async fn answer(mut self, time: Duration) -> Result<Value, McpFailure> {
        match tokio::time::timeout(time, &mut self.receiver).await {
            Ok(answer) => self.answered(answer),
            Err(_) => Err(McpFailure::TimedOut(time)),
        }
    }

    fn answered(
        &self,
        answer: Result<Result<Value, McpFailure>, tokio::sync::oneshot::error::RecvError>,
    ) -> Result<Value, McpFailure> {
        let ended = || self.dispatcher.failure().unwrap_or(McpFailure::Ended(String::new()));
        answer.unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if !self.dispatcher.remove(self.id) {
            return;
        }
        if self.wire.give_up(self.id) && self.can_cancel {
            let params = json!({"requestId": self.id, "reason": "the client gave up"});
            let notice = PeerMessage::notice("notifications/cancelled", params);
            let _ = self.wire.submit(notice.into());
        }
    }
}
