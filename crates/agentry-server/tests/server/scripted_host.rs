//! A host with fixed answers, and a server in front of it.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentry_mcp::serving::{HttpSessions, ServedHttp};
use agentry_server::{
    EventBatch, HostCall, HostError, HostReply, LiveSignal, RunHost, ServerLimits, ServerSetup,
    TlsFiles, TokenScope, TokenStore,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::{broadcast, watch};

use crate::mcp::ScriptedTools;

/// The limit of every wait.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);

/// What the host shows.
pub(crate) struct ScriptedHost {
    pub(crate) calls: Mutex<Vec<HostCall>>,
    pub(crate) events: Mutex<Vec<Value>>,
    pub(crate) ended: Mutex<Option<Value>>,
    pub(crate) signals: broadcast::Sender<LiveSignal>,
    /// Stands in every text that the host returns.
    text: String,
    first_answer: Mutex<Option<String>>,
    mcp: Arc<HttpSessions<ScriptedTools>>,
}

impl ScriptedHost {
    fn run(&self) -> Value {
        let text = &self.text;
        json!({
            "id": "r1", "agent": text, "name": text, "state": "parked", "detail": text, "started": text,
            "prompt": text, "cost": 0.0125, "parent": null, "models": [text], "waiting": true,
            "spent": { "turns": 1, "steps": 2, "usage": { "input": 3, "output": 4, "cost": 5 }, "time": 6 },
        })
    }

    fn approval(&self) -> Value {
        let text = &self.text;
        json!({
            "id": "r1.c1", "run": "r1", "agent": text, "kind": "call", "tool": text,
            "arguments": { (text): text, "command": text }, "rule": text, "places": [text],
            "diff": format!("--- {text}\n+++ {text}\n@@ {text}\n-{text}\n+{text}\n"),
            "covers": [text], "since": text, "question": text,
        })
    }

    fn agent(&self) -> Value {
        let text = &self.text;
        json!({
            "id": "helper", "name": text, "description": text, "format": text, "path": text, "digest": text,
            "consented": false, "may": [{ "what": text, "rule": text }],
            "schedules": [{ "schedule": text, "state": text, "cron": text, "upcoming": [text, text] }],
            "proposals": [self.proposal("pending"), self.proposal(text)],
            "memory": [{ "type": text, "importance": text, "text": text }],
        })
    }

    fn proposal(&self, state: &str) -> Value {
        let text = &self.text;
        json!({
            "id": text, "state": state, "risk": text, "files": [text], "reason": text, "outcome": text,
            "diff": format!("--- {text}\n+++ {text}\n@@ {text}\n-{text}\n+{text}\n"),
        })
    }

    fn answer(&self, answer: &str) -> Result<Value, HostError> {
        let mut first = self.first_answer.lock().expect("no panic");
        let first = first.get_or_insert_with(|| answer.to_owned());
        if first == answer {
            return Ok(json!({ "id": "r1.c1", "answer": answer }));
        }
        Err(HostError::Conflict(json!({ "error": "answered", "answer": first })))
    }
}

impl RunHost for ScriptedHost {
    fn call(&self, call: HostCall) -> Result<HostReply, HostError> {
        self.calls.lock().expect("no panic").push(call.clone());
        let missing = |id: &str| HostError::Missing(format!("there is no `{id}`"));
        Ok(HostReply::from(match call {
            HostCall::Agents => json!([self.agent()]),
            HostCall::Agent(_) => self.agent(),
            HostCall::Runs(window) if window.before.is_none() => {
                return Ok(HostReply { body: json!([self.run()]), next: Some("r1".to_owned()) });
            }
            HostCall::Run(id) if id == "r1" => self.run(),
            HostCall::Run(id) | HostCall::Cancel(id) => return Err(missing(&id)),
            HostCall::Start { agent, .. } if agent == "unknown" => {
                return Err(HostError::Conflict(
                    json!({ "error": "consent", "digest": "sha256:0" }),
                ));
            }
            HostCall::Start { .. } => json!({ "id": "r1" }),
            HostCall::Approvals => json!([self.approval()]),
            HostCall::Waiting => json!(1),
            HostCall::Answer { answer, .. } => self.answer(&answer)?,
            HostCall::Changes(_) => json!(format!("--- {0}\n+{0}\n", self.text)),
            HostCall::Export(_) => json!("a transcript\n"),
            HostCall::Receipts(_) => {
                let text = &self.text;
                json!([{ "id": text, "run": text, "status": text, "started": text, "cost": 0.01 }])
            }
            HostCall::Metrics => json!({ "runs": { "done": 3 }, "approvals": 1 }),
            HostCall::Undo(_) => panic!("a defect of the host"),
            _ => json!([]),
        }))
    }

    fn events(&self, _run: &str, after: u64, most: usize) -> Result<EventBatch, HostError> {
        let events = self.events.lock().expect("no panic");
        let numbered = (1..).zip(events.iter().cloned());
        let events: Vec<_> = numbered.filter(|(at, _)| *at > after).take(most).collect();
        let ended = self.ended.lock().expect("no panic").clone();
        Ok(EventBatch { ended: ended.filter(|_| events.len() < most), events })
    }

    fn signals(&self, _run: &str) -> Option<broadcast::Receiver<LiveSignal>> {
        Some(self.signals.subscribe())
    }

    fn mcp(&self) -> Arc<dyn ServedHttp> {
        Arc::clone(&self.mcp) as Arc<dyn ServedHttp>
    }
}

/// A server that ends with the value.
pub(crate) struct TestServer {
    pub(crate) host: Arc<ScriptedHost>,
    pub(crate) address: SocketAddr,
    pub(crate) socket: PathBuf,
    pub(crate) tokens: TokenStore,
    stop: watch::Sender<bool>,
    serving: Option<tokio::task::JoinHandle<()>>,
    runtime: Runtime,
    _directory: tempfile::TempDir,
}

impl TestServer {
    pub(crate) fn new() -> Self {
        Self::showing("text")
    }

    /// A server whose host returns `text` in every field.
    pub(crate) fn showing(text: &str) -> Self {
        Self::start(text, None).expect("a free address")
    }

    /// A server with a certificate.
    pub(crate) fn with_tls(files: TlsFiles) -> Self {
        Self::try_with_tls(files).expect("a certificate")
    }

    pub(crate) fn try_with_tls(files: TlsFiles) -> std::io::Result<Self> {
        Self::start("text", Some(files))
    }

    /// A server for few clients.
    pub(crate) fn limited(connections: usize, streams: usize) -> Self {
        let limits = ServerLimits { connections, streams, patience: LIMIT };
        Self::start_limited("text", None, limits).expect("a server")
    }

    /// A server that waits for slow clients only this long.
    pub(crate) fn impatient(patience: Duration) -> Self {
        let limits = ServerLimits { connections: 64, streams: 8, patience };
        Self::start_limited("text", None, limits).expect("a server")
    }

    fn start(text: &str, tls: Option<TlsFiles>) -> std::io::Result<Self> {
        let limits = ServerLimits { connections: 2_048, streams: 1_000, patience: LIMIT };
        Self::start_limited(text, tls, limits)
    }

    fn start_limited(
        text: &str,
        tls: Option<TlsFiles>,
        limits: ServerLimits,
    ) -> std::io::Result<Self> {
        let directory = tempfile::tempdir().expect("a writable directory");
        let serve = directory.path().join("serve");
        let tokens = TokenStore::open(&serve).expect("a store");
        let host = Arc::new(ScriptedHost {
            calls: Mutex::default(),
            events: Mutex::default(),
            ended: Mutex::default(),
            signals: broadcast::channel(16).0,
            text: text.to_owned(),
            first_answer: Mutex::default(),
            mcp: Arc::new(HttpSessions::new(Arc::new(ScriptedTools), "Tools.".to_owned())),
        });
        let runtime = Runtime::new().expect("a runtime");
        let socket = serve.join("socket");
        let setup = ServerSetup {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls,
            names: vec!["https://agents.example".to_owned()],
            socket: socket.clone(),
            tokens: tokens.clone(),
            limits,
        };
        let bound = runtime.block_on(setup.bind())?;
        let url = bound.url();
        let address = url.split("//").nth(1).expect("a host").trim_end_matches('/');
        let address = address.parse().expect("an address");
        let (stop, stopped) = watch::channel(false);
        let shared: Arc<dyn RunHost> = Arc::clone(&host) as Arc<dyn RunHost>;
        let serving = runtime.spawn(bound.serve(shared, stopped));
        let serving = Some(serving);
        Ok(Self { host, address, socket, tokens, stop, serving, runtime, _directory: directory })
    }

    pub(crate) fn token(&self, scope: TokenScope) -> String {
        self.tokens.issue("test", scope).expect("a token").1
    }

    /// Sends bytes and returns the status and everything that comes back until the server closes.
    pub(crate) fn raw(&self, request: &str) -> (u16, String) {
        let stream = TcpStream::connect(self.address).expect("a server");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        exchange(stream, request.as_bytes())
    }

    /// The same through the Unix socket.
    pub(crate) fn raw_unix(&self, request: &str) -> (u16, String) {
        let stream = UnixStream::connect(&self.socket).expect("a server");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        exchange(stream, request.as_bytes())
    }

    /// A request with a token and the right host.
    pub(crate) fn send(&self, line: &str, token: &str, body: Option<&Value>) -> (u16, String) {
        self.send_with(line, token, "", body)
    }

    pub(crate) fn send_with(
        &self,
        line: &str,
        token: &str,
        headers: &str,
        body: Option<&Value>,
    ) -> (u16, String) {
        let body = body.map(ToString::to_string).unwrap_or_default();
        self.raw(&format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        ))
    }

    /// Stops the server and waits until it has ended.
    pub(crate) fn stop(mut self) {
        self.stop.send_replace(true);
        let serving = self.serving.take().expect("a server");
        let ended = async { tokio::time::timeout(LIMIT, serving).await };
        self.runtime.block_on(ended).expect("it ends in time").expect("no panic");
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

fn exchange(mut stream: impl std::io::Read + std::io::Write, request: &[u8]) -> (u16, String) {
    // The server may refuse before it has read everything.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, text)
}
