//! A server that can be called: connected when it is needed, and again after it ended.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Mutex;
use url::Url;

use crate::catalogue::ToolCatalogue;
use crate::connection::{CallListener, DatedRequest, McpConnection, OpenWire, ServerWelcome};
use crate::dispatch::{Dispatcher, MessageWire};
use crate::failure::McpFailure;
use crate::http_wire::{HttpGate, HttpRequests, HttpWire};
use crate::limits;
use crate::login::ServerLogin;
use crate::param_headers::headers;
use crate::pins::ServerPin;
use crate::protocol_era::ProtocolEra;
use crate::sse_wire::SseWire;
use crate::stdio_wire::{ProgramStarter, StdioWire};

/// The thread on which the wires of all servers run.
pub struct ClientRuntime {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl ClientRuntime {
    /// Starts the thread.
    pub fn new() -> io::Result<Arc<Self>> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("mcp")
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Arc::new(Self { runtime: Some(runtime), handle }))
    }
}

impl Drop for ClientRuntime {
    fn drop(&mut self) {
        // A plain drop would wait for blocking tasks, and is not allowed within another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// How a server is reached.
pub struct ServerConfig {
    /// Its name, for messages.
    pub name: String,
    /// Its program or address.
    pub endpoint: ServerEndpoint,
    /// Whether a user can be asked during calls.
    pub can_ask: bool,
    /// The era of the protocol, if it is known from an earlier run.
    pub era: Option<ProtocolEra>,
    /// How long its starts may take, and how they are spaced.
    pub pace: StartPace,
}

/// How long the starts of a server may take, and how they are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartPace {
    /// The time until it has announced its tools.
    pub longest: Duration,
    /// The first pause before it is started again after it ended; it doubles.
    pub first_pause: Duration,
}

impl Default for StartPace {
    fn default() -> Self {
        // Each era of the protocol may be tried.
        Self { longest: limits::START * 2, first_pause: limits::FIRST_PAUSE }
    }
}

/// A program or an address.
#[derive(Clone)]
pub enum ServerEndpoint {
    /// A program, spoken to on its standard streams.
    Program(Arc<dyn ProgramStarter>),
    /// Streamable HTTP.
    Http(HttpAddress, Arc<dyn HttpGate>),
    /// The older HTTP transport with server-sent events.
    Events(HttpAddress, Arc<dyn HttpGate>),
}

/// The address of a server.
#[derive(Clone)]
pub struct HttpAddress {
    /// The URL.
    pub url: Url,
    /// The headers of every request, with secrets.
    pub headers: Vec<(String, String)>,
    /// The login of the user.
    pub login: Option<Arc<ServerLogin>>,
}

impl fmt::Debug for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpAddress").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// A server that can be called.
pub struct McpClient {
    runtime: Arc<ClientRuntime>,
    config: ServerConfig,
    state: Mutex<ClientState>,
}

/// The connection of now, and how it went before.
struct ClientState {
    live: LiveServer,
    /// Restarts since the last successful call.
    restarts: u32,
    started: Instant,
}

/// A connection and what it announced.
#[derive(Clone)]
pub(crate) struct LiveServer {
    pub(crate) connection: Arc<McpConnection>,
    catalogue: Arc<ToolCatalogue>,
}

impl McpClient {
    /// Connects to a server and asks for its tools.
    pub async fn connect(
        runtime: &Arc<ClientRuntime>,
        config: ServerConfig,
    ) -> Result<Arc<Self>, McpFailure> {
        let live = start(runtime, &config).await?;
        let state = ClientState { live, restarts: 0, started: Instant::now() };
        Ok(Arc::new(Self { runtime: Arc::clone(runtime), config, state: Mutex::new(state) }))
    }

    /// The name of the server.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// How the server introduced itself.
    pub async fn welcome(&self) -> ServerWelcome {
        self.state.lock().await.live.connection.welcome.clone()
    }

    /// What can be pinned: the server as it announces itself now. `place` is its command or address.
    pub async fn pin(&self, place: &str) -> ServerPin {
        let state = self.state.lock().await;
        let LiveServer { connection, catalogue } = &state.live;
        ServerPin {
            server: self.config.name.clone(),
            place: place.to_owned(),
            era: connection.era,
            instructions: connection.welcome.instructions.clone(),
            tools: catalogue.tools.clone(),
        }
    }

    /// Returns the tools as they are now: starts a server that ended, and asks again after a change.
    pub async fn catalogue(&self) -> Result<Arc<ToolCatalogue>, McpFailure> {
        Ok(self.live().await?.catalogue)
    }

    /// Calls a tool. A call that fails is never repeated: it may have had its effect.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &Value,
        time: Duration,
        listener: &dyn CallListener,
    ) -> Result<Value, McpFailure> {
        let live = self.live().await?;
        let mut params = Map::new();
        params.insert("name".to_owned(), json!(tool));
        params.insert("arguments".to_owned(), arguments.clone());
        let mut asked = DatedRequest::new("tools/call", params, time);
        let announced = live.catalogue.tools.iter().find(|it| it.name == tool);
        asked.mirrored = announced.map_or(Vec::new(), |it| headers(&it.input, arguments));
        let outcome = live.connection.request_with(asked, listener).await;
        match &outcome {
            Ok(_) | Err(McpFailure::Answered { .. }) => self.state.lock().await.restarts = 0,
            Err(failure) if failure.is_fatal() => live.connection.wire.close(),
            Err(_) => {}
        }
        outcome
    }

    /// Returns the connection; starts the server again if it ended, with growing pauses.
    pub(crate) async fn live(&self) -> Result<LiveServer, McpFailure> {
        let mut state = self.state.lock().await;
        if let Some(failure) = state.live.connection.dispatcher.failure() {
            if state.restarts >= limits::RESTARTS {
                return Err(McpFailure::GivenUp(state.restarts, failure.to_string()));
            }
            let pause = self.config.pace.first_pause * 2_u32.saturating_pow(state.restarts);
            let next = state.started + pause.min(limits::LONGEST_PAUSE);
            tokio::time::sleep_until(next.into()).await;
            state.restarts += 1;
            state.started = Instant::now();
            state.live = start(&self.runtime, &self.config).await?;
        } else if state.live.connection.dispatcher.take_tools_changed() {
            let connection = Arc::clone(&state.live.connection);
            state.live.catalogue = Arc::new(ToolCatalogue::fetch(&connection).await?);
        }
        Ok(state.live.clone())
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let wire = Arc::clone(&self.state.get_mut().live.connection.wire);
        let (done_sender, done_receiver) = channel();
        self.runtime.handle.spawn(async move {
            wire.finish().await;
            let _ = done_sender.send(());
        });
        // Bounded, whatever the server does.
        let _ = done_receiver.recv_timeout(limits::END * 2);
    }
}

/// Connects on the thread of the wires, and asks for the tools.
async fn start(
    runtime: &Arc<ClientRuntime>,
    config: &ServerConfig,
) -> Result<LiveServer, McpFailure> {
    let (endpoint, era, can_ask) = (config.endpoint.clone(), config.era, config.can_ask);
    let handle = runtime.handle.clone();
    let starting = runtime.handle.spawn(async move {
        let opening = StartingServer { endpoint, era, can_ask, runtime: handle };
        let connection = opening.connect().await?;
        let catalogue = match ToolCatalogue::fetch(&connection).await {
            Ok(catalogue) => Arc::new(catalogue),
            Err(failure) => {
                connection.wire.close();
                return Err(failure);
            }
        };
        connection.listen();
        Ok(LiveServer { connection: Arc::new(connection), catalogue })
    });
    let longest = config.pace.longest;
    let aborts = starting.abort_handle();
    let started = tokio::time::timeout(longest, starting).await.map_err(|_| {
        // Its program ends with the task.
        aborts.abort();
        McpFailure::TimedOut(longest)
    })?;
    started.map_err(|error| McpFailure::Unstartable(error.to_string()))?
}

/// A server that is being connected to.
struct StartingServer {
    endpoint: ServerEndpoint,
    era: Option<ProtocolEra>,
    can_ask: bool,
    runtime: Handle,
}

impl StartingServer {
    async fn connect(&self) -> Result<McpConnection, McpFailure> {
        let first = self.introduced(self.era).await;
        match (&self.endpoint, first) {
            // Some programs of the older era end when they get a request that they do not know.
            (
                ServerEndpoint::Program(_),
                Err(McpFailure::Ended(_) | McpFailure::Answered { .. }),
            ) if self.era != Some(ProtocolEra::Initialized) => {
                self.introduced(Some(ProtocolEra::Initialized)).await
            }
            // The older transport answers like this where it does not expect a message.
            (
                ServerEndpoint::Http(address, gate),
                Err(McpFailure::Status { status: 400 | 404 | 405, .. }),
            ) => {
                let endpoint = ServerEndpoint::Events(address.clone(), Arc::clone(gate));
                let runtime = self.runtime.clone();
                let older = Self { endpoint, era: None, can_ask: self.can_ask, runtime };
                older.introduced(Some(ProtocolEra::Initialized)).await
            }
            (_, outcome) => outcome,
        }
    }

    async fn introduced(&self, era: Option<ProtocolEra>) -> Result<McpConnection, McpFailure> {
        let dispatcher = Dispatcher::new(self.can_ask);
        let shared = Arc::clone(&dispatcher);
        let mut era = era;
        let wire: Arc<dyn MessageWire> = match &self.endpoint {
            ServerEndpoint::Program(starter) => {
                StdioWire::open(Arc::clone(starter), shared).await?
            }
            ServerEndpoint::Http(address, gate) => {
                let requests = HttpRequests::new(address.clone(), Arc::clone(gate));
                HttpWire::open(requests, shared, self.runtime.clone())
            }
            ServerEndpoint::Events(address, gate) => {
                let requests = HttpRequests::new(address.clone(), Arc::clone(gate));
                // This transport belongs to the older era alone.
                era = Some(ProtocolEra::Initialized);
                SseWire::open(requests, shared, self.runtime.clone()).await?
            }
        };
        let open = OpenWire { dispatcher, wire, can_ask: self.can_ask };
        let (dispatcher, wire) = (Arc::clone(&open.dispatcher), Arc::clone(&open.wire));
        let introduced = open.introduce(era).await;
        introduced.map_err(|failure| {
            wire.close();
            with_rubbish(failure, dispatcher.first_rubbish())
        })
    }
}

/// A failure with what the program printed instead of messages.
fn with_rubbish(failure: McpFailure, rubbish: Option<String>) -> McpFailure {
    match (&failure, rubbish) {
        (McpFailure::TimedOut(_) | McpFailure::Ended(_), Some(text)) => {
            McpFailure::Protocol(format!("{failure}; it printed `{text}`, which is no message"))
        }
        _ => failure,
    }
}
