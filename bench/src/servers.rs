//! Measures MCP servers on standard streams: what the client adds to a call, and how long a run waits for two
//! servers. This program is also the server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentry_mcp::{
    CallListener, ClientFuture, ClientRuntime, ElicitationAnswer, ElicitationRequest, McpClient,
    ProgramStarter, ProgramStreams, ServerConfig, ServerEndpoint, StartPace, StartedProgram,
};
use serde_json::{Value, json};

use crate::growing;
use crate::measure::{median, quiet};
use crate::report::{Row, Table, seconds};

/// The argument with which this program is a server; the next one is the time of its start in milliseconds.
pub(crate) const SERVER: &str = "--mcp-server";
/// The number of measured calls.
const CALLS: usize = 1_000;
/// The most time that the client adds to a call.
const ADDED: Duration = Duration::from_micros(500);
/// The starts of two servers, the slower one last.
const STARTS: [Duration; 2] = [Duration::from_millis(150), Duration::from_millis(200)];
/// The most time from the start of the slower server to the first request.
const LATER: Duration = Duration::from_millis(30);
/// The number of measured starts.
const ROUNDS: usize = 9;
/// The longest wait for a request.
const WAIT: Duration = Duration::from_secs(30);

/// Answers on standard output until the input ends.
pub(crate) fn serve(start: &str) -> Result<bool, String> {
    std::thread::sleep(Duration::from_millis(start.parse().unwrap_or(0)));
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let asked: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        let Some(id) = asked.get("id") else { continue };
        let mut answer = match asked["method"].as_str() {
            Some("initialize") => {
                json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}})
            }
            Some("tools/list") => {
                let tool = json!({"name": "echo", "inputSchema": {"type": "object"}});
                json!({"result": {"tools": [tool]}})
            }
            Some("tools/call") => json!({"result": {"content": [{"type": "text", "text": "x"}]}}),
            _ => json!({"error": {"code": -32601, "message": "there is no such method"}}),
        };
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        let written = writeln!(out, "{answer}").and_then(|()| out.flush());
        written.map_err(|error| error.to_string())?;
    }
    Ok(true)
}

/// Measures calls and starts.
pub(crate) fn serving(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| format!("who am I: {error}"))?;
    eprintln!("calling a tool of a server {CALLS} times");
    calls(&own, table)?;
    eprintln!("starting two servers");
    starts(&own, program, &folder.join("servers"), table)
}

/// A server that is driven without a client.
struct DirectServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl DirectServer {
    fn start(program: &Path, start: Duration) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.arg(SERVER).arg(start.as_millis().to_string());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("no server: {error}"))?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (input, output) = streams.ok_or("a server without streams")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, method: &str, params: &Value) -> Result<(), String> {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        // One write: the pipe is not buffered, and a write for each part would slow the baseline.
        let asked = format!("{asked}\n");
        let mut line = String::new();
        let written = self.input.write_all(asked.as_bytes());
        let answered = written.and_then(|()| self.output.read_line(&mut line));
        answered.map_err(|error| format!("no answer: {error}"))?;
        serde_json::from_str(&line).map(|_: Value| ()).map_err(|error| error.to_string())
    }
}

impl Drop for DirectServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts this program as a server, unconfined: a sandbox is not part of a call.
struct PlainStarter(PathBuf);

impl ProgramStarter for PlainStarter {
    fn start(&self, streams: ProgramStreams) -> std::io::Result<StartedProgram> {
        let ProgramStreams { input, output, errors } = streams;
        let mut command = Command::new(&self.0);
        command.args([SERVER, "0"]).stdin(input).stdout(output).stderr(errors);
        let mut child = command.spawn()?;
        let ended = async move {
            let ended = tokio::task::spawn_blocking(move || child.wait()).await;
            ended.map_err(std::io::Error::other)?.map(|status| status.code())
        };
        // The server ends with its input.
        Ok(StartedProgram { ended: Box::pin(ended), guard: Box::new(()) })
    }
}

/// A listener that is never asked.
struct NoListener;

impl CallListener for NoListener {
    fn progress(&self, _: &str) {}

    fn ask(&self, _: ElicitationRequest) -> ClientFuture<'_, ElicitationAnswer> {
        Box::pin(std::future::pending())
    }
}

/// The same call through the client and without it, by turns.
fn calls(own: &Path, table: &mut Table) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let clients = ClientRuntime::new().map_err(|error| error.to_string())?;
    let config = ServerConfig {
        name: "bench".to_owned(),
        endpoint: ServerEndpoint::Program(Arc::new(PlainStarter(own.to_path_buf()))),
        can_ask: false,
        era: None,
        pace: StartPace::default(),
    };
    let client = runtime.block_on(McpClient::connect(&clients, config));
    let client = client.map_err(|failure| failure.to_string())?;
    let mut direct = DirectServer::start(own, Duration::ZERO)?;
    let arguments = json!({ "text": "x" });
    let params = json!({ "name": "echo", "arguments": arguments });
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        let before = Instant::now();
        direct.ask("tools/call", &params)?;
        theirs.push(before.elapsed());
        let before = Instant::now();
        let called = runtime.block_on(client.call("echo", &arguments, WAIT, &NoListener));
        called.map_err(|failure| failure.to_string())?;
        ours.push(before.elapsed());
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let added = ours.saturating_sub(theirs);
    table.add(Row {
        what: "an MCP call over stdio, beyond the server's own answer".to_owned(),
        measured: format!("{} to {} of the server", seconds(ours), seconds(theirs)),
        ratio: format!("+{}", seconds(added)),
        target: format!("≤ +{}", seconds(ADDED)),
        is_met: added <= ADDED,
    });
    Ok(())
}

/// The first request of a run with two servers, against the slower server alone.
fn starts(own: &Path, program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("no run with servers: {error}");
    std::fs::create_dir_all(folder).map_err(failed)?;
    // A confined server sees its workspace, not the directory of this program.
    std::fs::copy(own, folder.join("server")).map_err(failed)?;
    let server = |(name, start): (&str, Duration)| {
        format!("{{name: {name}, command: ./server, args: [{SERVER}, '{}']}}", start.as_millis())
    };
    let servers = ["fast", "slow"].into_iter().zip(STARTS).map(server).collect::<Vec<_>>();
    let definition = format!(
        "name: helper\nversion: 1.0.0\ndescription: Helps\nsoul: You help.\n\
         trust: {{filesystem: read-only, network: none, exec: sandboxed}}\n\
         tools: {{mcp: [{}]}}\n",
        servers.join(", ")
    );
    std::fs::write(folder.join("helper.agent"), definition).map_err(failed)?;
    let (address, requests) = listen().map_err(failed)?;
    let [_, slow] = STARTS;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let before = Instant::now();
        let mut direct = DirectServer::start(own, slow)?;
        direct.ask("initialize", &json!({}))?;
        let alone = before.elapsed();
        let first = first_request(program, folder, &address, &requests)?;
        // The first round fills the caches and asks for consent.
        if round > 0 {
            theirs.push(alone);
            ours.push(first);
        }
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let later = ours.saturating_sub(theirs);
    table.add(Row {
        what: "first request with two MCP servers, after the slower one's start".to_owned(),
        measured: format!("{} to {} of the server", seconds(ours), seconds(theirs)),
        ratio: format!("+{}", seconds(later)),
        target: format!("≤ +{}", seconds(LATER)),
        is_met: later <= LATER,
    });
    Ok(())
}

/// A model on this machine, and the times of its requests.
fn listen() -> std::io::Result<(String, Receiver<Instant>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let (address_sender, address_receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // The connection may be opened long before the request.
            if stream.peek(&mut [0]).is_ok_and(|size| size > 0) {
                let _ = address_sender.send(Instant::now());
            }
            let _ = growing::answer(&stream, &mut 0, |asked| growing::turn(asked, 0));
        }
    });
    Ok((address, address_receiver))
}

/// The time from the start of a run to its first request.
fn first_request(
    program: &Path,
    folder: &Path,
    address: &str,
    requests: &Receiver<Instant>,
) -> Result<Duration, String> {
    let words = ["run", "helper.agent", "go", "--model", "openai/gpt-5.2", "--yes"];
    let mut command = quiet(program, words);
    command.current_dir(folder).env("AGENTRY_HOME", folder.join("home")).env("HOME", folder);
    command.env("OPENAI_BASE_URL", format!("http://{address}/v1")).env("OPENAI_API_KEY", "none");
    let errors = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let file = errors.reopen().map_err(|error| error.to_string())?;
    let before = Instant::now();
    let status = command.stderr(file).status().map_err(|error| error.to_string())?;
    if !status.success() {
        let why = std::fs::read_to_string(errors.path()).unwrap_or_default();
        return Err(format!("a run with servers ended with {status}: {why}"));
    }
    let asked = requests.recv_timeout(WAIT).map_err(|_| "no request arrived".to_owned())?;
    Ok(asked.saturating_duration_since(before))
}
