//! Measures `agentry serve`: its memory with thousands of parked runs and many active ones, requests to the list of
//! runs, and the time until an event is on an open page. Each active run is a process of its own, which is measured
//! apart.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::measure::median;
use crate::report::{Row, Table, bytes, seconds};

/// The runs that wait for a person.
const PARKED: usize = 2_000;
/// The runs that wait for their model.
const ACTIVE: usize = 200;
/// The most memory of the server.
const MEMORY: u64 = 300_000_000;
/// The measured requests, and how many of them a second of processor time must be enough for.
const REQUESTS: u32 = 2_000;
const PER_SECOND: f64 = 1_000.0;
/// The measured events, and the longest median time until one is on an open page.
const EVENTS: usize = 21;
const ARRIVAL: Duration = Duration::from_millis(50);
/// The ticks of a second in `/proc/PID/stat`.
const TICKS: u64 = 100;
/// The prompts that the model knows. No tool or instruction has these words.
const PARK: &str = "PROMPT-PARK";
const ANSWER: &str = "PROMPT-ANSWER";
const SILENCE: &str = "PROMPT-SILENCE";
pub(crate) const QUICK: &str = "PROMPT-QUICK";
/// The longest wait for anything.
const WAIT: Duration = Duration::from_secs(120);

pub(crate) const AGENT: &str =
    "name = \"writer\"\ndescription = \"Writes\"\n\n[permissions.read]\nintent = \"ask\"\n";

/// Measures the server. Without `/proc` nothing is measured, and the reason is shown.
pub(crate) fn measuring(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    if !Path::new("/proc/self/smaps_rollup").exists() {
        table.skip("agentry serve".to_owned(), "memory is read from `/proc`".to_owned());
        return Ok(());
    }
    let folder = folder.join("serve");
    let failed = |error: std::io::Error| format!("no server to measure: {error}");
    fs::create_dir_all(folder.join("writer")).map_err(failed)?;
    fs::create_dir_all(folder.join(".git")).map_err(failed)?;
    fs::write(folder.join("writer/agent.toml"), AGENT).map_err(failed)?;
    fs::write(folder.join("writer/system-prompt.md"), "You write.\n").map_err(failed)?;
    let model = Model::start()?;
    eprintln!("parking {PARKED} runs");
    park(program, &folder, &model)?;
    let server = ServeProcess::start(program, &folder, &model)?;
    server.consent()?;
    eprintln!("starting {ACTIVE} runs");
    let runs = (0..ACTIVE).map(|_| server.start_run(SILENCE)).collect::<Result<Vec<_>, _>>()?;
    server.request("GET", "/v1/approvals", &Value::Null)?;
    memory(&server, table)?;
    requests(&server, table)?;
    events(&server, &model, table)?;
    for run in runs {
        server.request("POST", &format!("/v1/runs/{run}/cancel"), &json!({}))?;
    }
    Ok(())
}

fn memory(server: &ServeProcess, table: &mut Table) -> Result<(), String> {
    let used = proportional_memory(server.child.id())?;
    table.add(Row {
        what: format!("memory of serve, {PARKED} runs parked and {ACTIVE} active"),
        measured: format!("{} (limit {})", bytes(used), bytes(MEMORY)),
        ratio: format!("{:.2}", ratio(used, MEMORY)),
        target: "≤ 1.00".to_owned(),
        is_met: used <= MEMORY,
    });
    let mut runs: Vec<u64> =
        server.runs()?.into_iter().filter_map(|it| proportional_memory(it).ok()).collect();
    runs.sort_unstable();
    if let Some(middle) = runs.get(runs.len() / 2) {
        table.note(format!(
            "an active run is a process of its own: {} (median of {})",
            bytes(*middle),
            runs.len()
        ));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
fn ratio(measured: u64, limit: u64) -> f64 {
    measured as f64 / limit as f64
}

fn requests(server: &ServeProcess, table: &mut Table) -> Result<(), String> {
    let mut client = KeptConnection::open(&server.address)?;
    client.get("/v1/runs", &server.token)?;
    let before = processor_time(server.child.id())?;
    for _ in 0..REQUESTS {
        client.get("/v1/runs", &server.token)?;
    }
    let time = processor_time(server.child.id())?.saturating_sub(before);
    let per_second = f64::from(REQUESTS) / time.as_secs_f64().max(0.001);
    table.add(Row {
        what: "requests to the list of runs in a second of one core".to_owned(),
        measured: format!("{per_second:.0}, {} each", seconds(time / REQUESTS)),
        ratio: format!("{:.2}", PER_SECOND / per_second),
        target: "≤ 1.00".to_owned(),
        is_met: per_second >= PER_SECOND,
    });
    Ok(())
}

/// From the answer of the model to its event on the page: an upper bound of the time since it was appended.
fn events(server: &ServeProcess, model: &Model, table: &mut Table) -> Result<(), String> {
    let mut times = Vec::new();
    for _ in 0..EVENTS {
        let run = server.start_run(ANSWER)?;
        let stream = server.open("GET", &format!("/page/runs/{run}/events"), "")?;
        let mut lines = BufReader::new(stream).lines();
        let is_turn = |line: &std::io::Result<String>| {
            line.as_ref().map_or(true, |line| line.contains("\"turn\":true"))
        };
        let line = lines.find(is_turn).ok_or("the stream ended without an answer")?;
        let arrived = Instant::now();
        line.map_err(|error| format!("no event: {error}"))?;
        let answered = model.answered.recv_timeout(WAIT).map_err(|_| "the model was not asked")?;
        times.push(arrived.saturating_duration_since(answered));
    }
    let arrival = median(times);
    table.add(Row {
        what: "from the answer of the model to its event on an open page".to_owned(),
        measured: format!("{} (limit {})", seconds(arrival), seconds(ARRIVAL)),
        ratio: format!("{:.2}", arrival.as_secs_f64() / ARRIVAL.as_secs_f64()),
        target: "≤ 1.00".to_owned(),
        is_met: arrival <= ARRIVAL,
    });
    Ok(())
}

/// Parks one run, and copies its journal under other names.
fn park(program: &Path, folder: &Path, model: &Model) -> Result<(), String> {
    let mut command = command(program, folder, model);
    command.args(["run", "writer", PARK, "--on-ask", "park", "--yes"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map_err(|error| format!("no run: {error}"))?;
    let runs = folder.join("home/runs");
    let failed = |error: std::io::Error| format!("`{}`: {error}", runs.display());
    let first = fs::read_dir(&runs).map_err(failed)?.flatten().next().ok_or("no run is parked")?;
    for number in 0..PARKED - 1 {
        let name = format!("20260101-{:02}{:02}00-000-bbbb", number / 60 % 24, number % 60);
        let name = if number < 24 * 60 { name } else { name.replace("bbbb", "cccc") };
        let copy = runs.join(name);
        fs::create_dir(&copy).map_err(failed)?;
        for file in ["journal.db", "lock"] {
            fs::copy(first.path().join(file), copy.join(file)).map_err(failed)?;
        }
    }
    Ok(())
}

pub(crate) fn command(program: &Path, folder: &Path, model: &Model) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("AGENTRY_HOME", folder.join("home")).env("HOME", folder);
    command.env("OPENAI_BASE_URL", &model.base).env("OPENAI_API_KEY", "none");
    command
}

/// A model that does what its prompt says: it reads a file, answers in words, or never answers.
pub(crate) struct Model {
    base: String,
    /// When an answer in words was sent.
    answered: Receiver<Instant>,
}

impl Model {
    pub(crate) fn start() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("no model: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let base = format!("http://{}/v1", listener.local_addr().map_err(failed)?);
        let (sent, answered) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sent = sent.clone();
                // A client that disconnects is finished.
                std::thread::spawn(move || answer(&stream, &sent));
            }
        });
        Ok(Self { base, answered })
    }
}

fn answer(mut stream: &TcpStream, sent: &Sender<Instant>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let body = read_body(&mut reader)?;
        let (delta, stop) = if body.contains(PARK) {
            let function =
                json!({ "name": "read", "arguments": "{\"path\": \"writer/agent.toml\"}" });
            let call = json!({ "index": 0, "id": "call_1", "function": function });
            (json!({ "tool_calls": [call] }), "tool_calls")
        } else if body.contains(ANSWER) {
            // The page opens its stream meanwhile.
            std::thread::sleep(Duration::from_millis(300));
            (json!({ "content": "all done" }), "stop")
        } else if body.contains(QUICK) {
            std::thread::sleep(Duration::from_millis(50));
            (json!({ "content": "all done" }), "stop")
        } else {
            std::thread::sleep(WAIT * 10);
            return Ok(());
        };
        let choice = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": stop }] });
        let usage =
            json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5 } });
        let body = format!("data: {choice}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
        let head = format!("content-type: text/event-stream\r\ncontent-length: {}", body.len());
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").as_bytes())?;
        if stop == "stop" {
            let _ = sent.send(Instant::now());
        }
    }
}

/// Reads a message with a length: a request, or an answer.
fn read_body(reader: &mut impl std::io::BufRead) -> std::io::Result<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match line.to_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            _ if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;
    Ok(body)
}

/// A running server.
pub(crate) struct ServeProcess {
    child: Child,
    address: String,
    token: String,
}

impl ServeProcess {
    fn start(program: &Path, folder: &Path, model: &Model) -> Result<Self, String> {
        let mut command = command(program, folder, model);
        command.args(["serve", "--listen", "127.0.0.1:0", "--on-stop", "park", "writer"]);
        Self::of(&mut command, &folder.join("home"))
    }

    /// The server of a command, with that home.
    pub(crate) fn of(command: &mut Command, home: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("no server: {error}");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(failed)?;
        let output = child.stdout.take().ok_or("a server without output")?;
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let address =
            lines.find_map(|line| line.strip_prefix("serving on http://").map(str::to_owned));
        let address = address.ok_or("the server has no address")?.trim_end_matches('/').to_owned();
        let token = fs::read_to_string(home.join("serve/token")).map_err(failed)?;
        Ok(Self { child, address, token: token.trim().to_owned() })
    }

    /// Sends a request, whose answer is still to be read.
    fn open(&self, method: &str, path: &str, body: &str) -> Result<TcpStream, String> {
        let failed = |error: std::io::Error| format!("no connection: {error}");
        let mut stream = TcpStream::connect(&self.address).map_err(failed)?;
        stream.set_read_timeout(Some(WAIT)).map_err(failed)?;
        let head = format!("Host: {}\r\nAuthorization: Bearer {}", self.address, self.token);
        let kind = format!("Content-Type: application/json\r\nContent-Length: {}", body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{head}\r\n{kind}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).map_err(failed)?;
        Ok(stream)
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let stream = self.open(method, path, &body)?;
        let answer = read_body(&mut BufReader::new(stream));
        let answer = answer.map_err(|error| format!("{method} {path}: {error}"))?;
        serde_json::from_str(&answer).map_err(|_| format!("{method} {path}: {answer}"))
    }

    pub(crate) fn consent(&self) -> Result<(), String> {
        let agent = self.request("GET", "/v1/agents/writer", &Value::Null)?;
        let digest = json!({ "digest": agent["digest"] });
        self.request("POST", "/v1/agents/writer/consent", &digest).map(drop)
    }

    pub(crate) fn start_run(&self, prompt: &str) -> Result<String, String> {
        let body = json!({ "agent": "writer", "prompt": prompt });
        let started = self.request("POST", "/v1/runs", &body)?;
        started["id"].as_str().map(str::to_owned).ok_or_else(|| format!("no run: {started}"))
    }

    /// The processes of its runs.
    fn runs(&self) -> Result<Vec<u32>, String> {
        let path = format!("/proc/{}/task", self.child.id());
        let failed = |error: std::io::Error| format!("`{path}`: {error}");
        let mut found = Vec::new();
        // Each thread lists the processes that it started.
        for thread in fs::read_dir(&path).map_err(failed)?.flatten() {
            let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(text.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
        }
        Ok(found)
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that stays open between requests.
struct KeptConnection(BufReader<TcpStream>);

impl KeptConnection {
    fn open(address: &str) -> Result<Self, String> {
        let stream =
            TcpStream::connect(address).map_err(|error| format!("no connection: {error}"))?;
        Ok(Self(BufReader::new(stream)))
    }

    fn get(&mut self, path: &str, token: &str) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{path}: {error}");
        let mut stream = self.0.get_ref();
        let host = stream.peer_addr().map_err(failed)?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(failed)?;
        read_body(&mut self.0).map(drop).map_err(failed)
    }
}

/// The memory of a process, each shared page divided by its users.
fn proportional_memory(process: u32) -> Result<u64, String> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = fs::read_to_string(&path).map_err(|error| format!("`{path}`: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map(|it| it * 1024).ok_or_else(|| format!("`{path}` has no `Pss`"))
}

/// The processor time of a process so far.
fn processor_time(process: u32) -> Result<Duration, String> {
    let path = PathBuf::from(format!("/proc/{process}/stat"));
    let text =
        fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    // The name of the program may have spaces; the numbers begin behind it.
    let numbers = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = numbers.skip(11).take(2).filter_map(|it| it.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 1_000 / TICKS))
}
