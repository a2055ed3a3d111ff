//! `serve`: runs and approvals over HTTP, against a model on loopback.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::run::{keyed, with, write, writer};
use crate::server::{Reply, Server, Turn};
use crate::terminal::wait_for;
use crate::test::Test;

/// The limit of every wait for an answer.
const LIMIT: Duration = Duration::from_mins(2);

/// A running `agentry serve`, which ends with the value.
pub(crate) struct Serving<'a> {
    test: &'a Test,
    /// Its home, below the directory of the test.
    home: &'static str,
    child: Child,
    pub(crate) address: String,
    pub(crate) output: String,
    /// Held, so that the server can print more.
    _lines: BufReader<ChildStdout>,
}

impl<'a> Serving<'a> {
    pub(crate) fn start(test: &'a Test, server: &Server) -> Self {
        Self::start_with(test, server, &[])
    }

    pub(crate) fn start_with(test: &'a Test, server: &Server, options: &[&str]) -> Self {
        let words = [&["serve", "--listen", "127.0.0.1:0"], options].concat();
        Self::of(test, keyed(test, server, &words), "home/.agentry")
    }

    /// The server of a command, with that home.
    pub(crate) fn of(test: &'a Test, mut command: Command, home: &'static str) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut output = String::new();
        // The schedules that it keeps come first.
        let address = loop {
            let start = output.len();
            assert!(lines.read_line(&mut output).expect("a line") > 0, "no address: {output}");
            if let Some(address) = output[start..].trim().strip_prefix("serving on http://") {
                break address.trim_end_matches('/').to_owned();
            }
        };
        Self { test, home, child, address, output, _lines: lines }
    }

    pub(crate) fn token(&self) -> String {
        self.test.read(format!("{}/serve/token", self.home)).trim().to_owned()
    }

    /// Sends a request with the admin token; returns status and body.
    pub(crate) fn send(&self, line: &str, body: &Value) -> (u16, Value) {
        self.send_with(line, "", body)
    }

    fn send_with(&self, line: &str, headers: &str, body: &Value) -> (u16, Value) {
        let (status, body) = self.text(line, headers, body);
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    /// Sends a request, whose answer is still to be read.
    pub(crate) fn open(&self, line: &str, headers: &str, body: &Value) -> TcpStream {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(&self.address).expect("a server");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{headers}Content-Type: \
             application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            self.token(),
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("a connection");
        stream
    }

    pub(crate) fn text(&self, line: &str, headers: &str, body: &Value) -> (u16, String) {
        let mut stream = self.open(line, headers, body);
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("an answer in time");
        let status = reply.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
        let (head, body) = reply.split_once("\r\n\r\n").expect("a body");
        let is_chunked = head.contains("transfer-encoding: chunked");
        (status, if is_chunked { unchunked(body) } else { body.to_owned() })
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = self.send(&format!("GET {path}"), &Value::Null);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let (status, reply) = self.send(&format!("POST {path}"), body);
        assert_eq!(status, 200, "{path} {body}: {reply}");
        reply
    }

    /// Consents to an agent as the page does.
    pub(crate) fn consent(&self, agent: &str) {
        let digest = self.get(&format!("/v1/agents/{agent}"))["digest"].clone();
        self.post(&format!("/v1/agents/{agent}/consent"), &json!({ "digest": digest }));
    }

    /// Starts a run.
    pub(crate) fn run(&self, agent: &str, prompt: &str) -> String {
        let run = self.post("/v1/runs", &json!({ "agent": agent, "prompt": prompt }));
        run["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until something waits for a person.
    pub(crate) fn approval(&self) -> Value {
        let mut found = Value::Null;
        wait_for("an approval", || {
            found = self.get("/v1/approvals")[0].clone();
            !found.is_null()
        });
        found
    }

    pub(crate) fn answer(&self, approval: &Value, body: &Value) -> (u16, Value) {
        let id = approval["id"].as_str().expect("an id");
        self.send(&format!("POST /v1/approvals/{id}"), body)
    }

    pub(crate) fn wait_for_state(&self, run: &str, state: &str) {
        let mut last = Value::Null;
        wait_for(state, || {
            last = self.get(&format!("/v1/runs/{run}"));
            last["state"] == state
        });
    }

    /// All events of a run, to its end.
    fn events(&self, run: &str, headers: &str) -> Vec<(Option<u64>, Value)> {
        let (status, text) =
            self.text(&format!("GET /v1/runs/{run}/events"), headers, &Value::Null);
        assert_eq!(status, 200, "{text}");
        let events = text.split("\n\n").filter_map(|event| {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            let id = field("id: ").and_then(|id| id.parse().ok());
            Some((id, serde_json::from_str(field("data: ")?).expect("JSON")))
        });
        events.collect()
    }

    /// The id of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server as a service manager does.
    pub(crate) fn stop(mut self) {
        let id = i32::try_from(self.child.id()).expect("a process");
        let id = rustix::process::Pid::from_raw(id).expect("a process");
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("a process");
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0));
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn unchunked(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        out.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    out
}

fn kinds(events: &[(Option<u64>, Value)]) -> Vec<&str> {
    let journalled = events.iter().filter(|(id, _)| id.is_some());
    journalled.map(|(_, event)| event["type"].as_str().expect("a type")).collect()
}

#[test]
fn a_run_is_started_approved_and_followed() {
    let server = Server::playing([write("other.txt").into(), Turn::text("All done.").into()]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    assert!(!serving.output.contains(&serving.token()), "the token is not printed");
    let agents = serving.get("/v1/agents");
    assert_eq!(
        (agents[0]["id"].as_str(), agents[0]["name"].as_str()),
        (Some("writer"), Some("writer"))
    );
    // Whoever starts a run does not consent to it.
    let start = json!({ "agent": "writer", "prompt": "write it" });
    let (status, refused) = serving.send("POST /v1/runs", &start);
    assert_eq!((status, refused["error"].as_str()), (409, Some("consent")), "{refused}");
    assert_eq!(serving.get("/v1/runs"), json!([]));
    let (status, wrong) =
        serving.send("POST /v1/agents/writer/consent", &json!({ "digest": "sha256:0" }));
    assert_eq!((status, wrong["error"].as_str()), (409, Some("changed")), "{wrong}");
    serving.consent("writer");
    let key = "Idempotency-Key: once\r\n";
    let (_, first) = serving.send_with("POST /v1/runs", key, &start);
    let run = first["id"].as_str().expect("an id").to_owned();
    assert_eq!(serving.send_with("POST /v1/runs", key, &start).1["id"], run.as_str());
    let other = json!({ "agent": "writer", "prompt": "write more" });
    assert_eq!(serving.send_with("POST /v1/runs", key, &other).0, 409);
    let approval = serving.approval();
    assert_eq!((approval["run"].as_str(), approval["tool"].as_str()), (Some(&*run), Some("write")));
    assert_eq!(approval["arguments"]["path"], "other.txt");
    assert!(approval["diff"].as_str().is_some_and(|diff| diff.contains("+hello")), "{approval}");
    assert!(
        approval["places"][0].as_str().is_some_and(|it| it.contains("agent.toml:")),
        "{approval}"
    );
    assert_eq!(serving.get("/v1/runs")[0]["waiting"], true);
    assert!(!test.has("other.txt"));
    assert_eq!(serving.answer(&approval, &json!({ "answer": "yes" })).0, 200);
    let (status, first) = serving.answer(&approval, &json!({ "answer": "no" }));
    assert_eq!((status, first["answer"].as_str()), (409, Some("yes")), "{first}");
    serving.wait_for_state(&run, "done");
    assert_eq!(serving.answer(&approval, &json!({ "answer": "yes" })).0, 200, "the same again");
    assert_eq!(test.read("other.txt"), "hello\n");
    assert_eq!(serving.get("/v1/approvals"), json!([]));
    let events = serving.events(&run, "");
    let expected = ["said", "turn", "call", "answer", "started", "result", "turn", "ended"];
    assert_eq!(kinds(&events), expected, "{events:?}");
    let (id, _) = &events[5];
    let rest = serving.events(&run, &format!("Last-Event-ID: {}\r\n", id.expect("a number")));
    assert_eq!(kinds(&rest), ["turn", "ended"], "it continues where the client was");
    let export = serving.get(&format!("/v1/runs/{run}/export"));
    assert!(export.as_str().is_some_and(|text| text.contains("> All done.")), "{export}");
    assert_eq!(serving.get("/v1/receipts")[0]["run"], run.as_str());
    let changes = serving.get(&format!("/v1/runs/{run}/changes"));
    assert!(changes.as_str().is_some_and(|text| text.contains("+hello")), "{changes}");
    let undone = serving.post(&format!("/v1/runs/{run}/undo"), &json!({}));
    assert_eq!(undone["files"][0]["state"], "back", "{undone}");
    assert!(!test.has("other.txt"));
    serving.stop();
}

/// A run that waits too long is parked; the answer continues it, also after the server started again.
#[test]
fn a_parked_run_continues_when_it_is_answered() {
    let server = Server::playing([
        write("one.txt").into(),
        write("two.txt").into(),
        Turn::text("All done.").into(),
    ]);
    let test = writer().file("home/.config/agentry/config.toml", "[serve]\npark_after = \"0s\"\n");
    let serving = Serving::start(&test, &server);
    serving.consent("writer");
    let run = serving.run("writer", "write it");
    serving.wait_for_state(&run, "parked");
    let approval = serving.approval();
    assert_eq!(approval["state"], "parked");
    assert_eq!(approval["arguments"]["path"], "one.txt");
    serving.stop();
    let serving = Serving::start(&test, &server);
    let again = serving.approval();
    assert_eq!(again["id"], approval["id"], "the same approval");
    assert_eq!(serving.answer(&approval, &json!({ "answer": "yes" })).0, 200);
    // The answer is for the call that was seen: the next one is asked about.
    let mut next = Value::Null;
    wait_for("the second approval", || {
        next = serving.get("/v1/approvals")[0].clone();
        next["arguments"]["path"] == "two.txt"
    });
    assert_eq!(test.read("one.txt"), "hello\n");
    assert!(!test.has("two.txt"));
    serving.wait_for_state(&run, "parked");
    let no = json!({ "answer": "no", "reason": "not this one" });
    assert_eq!(serving.answer(&next, &no).0, 200);
    serving.wait_for_state(&run, "done");
    assert!(!test.has("two.txt"));
    let results = server.asked().last().expect("a request").results.clone();
    assert!(results.iter().any(|(_, text)| text.contains("not this one")), "{results:?}");
    serving.stop();
}

/// A run that was parked at a terminal waits on the page as well.
#[test]
fn a_run_parked_at_a_terminal_is_answered_by_the_server() {
    let server = Server::playing([write("other.txt").into(), Turn::text("All done.").into()]);
    let test = writer();
    with(&test, &server, &["run", "writer", "go", "--yes", "--on-ask", "park"]).exits(3);
    let serving = Serving::start(&test, &server);
    let approval = serving.approval();
    assert_eq!(
        (approval["tool"].as_str(), approval["kind"].as_str()),
        (Some("write"), Some("call"))
    );
    assert_eq!(serving.answer(&approval, &json!({ "answer": "always" })).0, 400, "not known yet");
    assert_eq!(serving.answer(&approval, &json!({ "answer": "yes" })).0, 200);
    let run = approval["run"].as_str().expect("an id");
    serving.wait_for_state(run, "done");
    assert_eq!(test.read("other.txt"), "hello\n");
    serving.stop();
}

/// The server ends, and the run that waits is parked, not lost.
#[test]
fn stopping_the_server_parks_a_waiting_run() {
    let server = Server::playing([write("other.txt").into(), Turn::text("All done.").into()]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    serving.consent("writer");
    let run = serving.run("writer", "write it");
    serving.approval();
    serving.stop();
    wait_for("the run is parked", || test.run("runs --format json").json()[0]["state"] == "parked");
    let serving = Serving::start(&test, &server);
    assert_eq!(serving.answer(&serving.approval(), &json!({ "answer": "yes" })).0, 200);
    serving.wait_for_state(&run, "done");
    serving.stop();
}

/// Asked so, the server parks its runs before it ends: at their question, or in the middle of a turn.
#[test]
fn a_server_parks_its_runs_before_it_ends() {
    let replies = [write("other.txt").into(), Reply::Silent, Turn::text("All done.").into()];
    let server = Server::playing(replies);
    let test = writer();
    let serving = Serving::start_with(&test, &server, &["--on-stop", "park"]);
    serving.consent("writer");
    let asks = serving.run("writer", "write it");
    serving.approval();
    let works = serving.run("writer", "think");
    wait_for("the model is asked", || server.asked().len() == 2);
    serving.stop();
    let runs = test.run("runs --format json").json();
    let state = |id: &str| {
        let run = runs.as_array().expect("runs").iter().find(|run| run["id"] == id);
        run.expect("a run")["state"].clone()
    };
    assert_eq!((state(&asks), state(&works)), (json!("parked"), json!("cancelled")), "{runs}");
    with(&test, &server, &["resume", &works]).exits(0);
}

#[test]
fn a_run_is_cancelled_and_continued_by_a_message() {
    let server = Server::playing([
        write("other.txt").into(),
        Turn::text("First.").into(),
        Turn::text("Second.").into(),
    ]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    serving.consent("writer");
    let run = serving.run("writer", "write it");
    serving.approval();
    serving.post(&format!("/v1/runs/{run}/cancel"), &json!({}));
    serving.wait_for_state(&run, "cancelled");
    assert_eq!(serving.get("/v1/approvals"), json!([]), "it is withdrawn");
    for (text, answer) in [("go on", "First."), ("and on", "Second.")] {
        serving.post(&format!("/v1/runs/{run}/messages"), &json!({ "text": text }));
        serving.wait_for_state(&run, "done");
        wait_for(answer, || {
            let events = serving.events(&run, "");
            events.iter().any(|(_, event)| event["type"] == "turn" && event["text"] == answer)
        });
    }
    for path in ["resume", "cancel"] {
        let (status, reply) = serving.send(&format!("POST /v1/runs/{run}/{path}"), &json!({}));
        assert_eq!((status, reply["error"].as_str()), (409, Some("state")), "{path}: {reply}");
    }
    serving.stop();
}

#[test]
fn paths_are_refused_as_agent_names() {
    let server = Server::playing([]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    for agent in ["./writer", "../x", "/etc", "writer/agent.toml", ""] {
        let body = json!({ "agent": agent, "prompt": "go" });
        let (status, reply) = serving.send("POST /v1/runs", &body);
        assert_eq!(status, 404, "{agent}: {reply}");
    }
    for run in ["../runs", "x", "%2e%2e"] {
        assert_eq!(serving.send(&format!("GET /v1/runs/{run}"), &Value::Null).0, 404, "{run}");
    }
    serving.stop();
}

#[test]
fn a_second_server_on_one_home_is_refused() {
    let server = Server::playing([]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    let ran = test.run("serve --listen 127.0.0.1:0").exits(2);
    assert!(ran.stderr.contains("another server listens on"), "{ran}");
    serving.stop();
    let ran = test.run("serve --listen 0.0.0.0:0").exits(2);
    insta::assert_snapshot!(ran, @r"
    $ agentry serve --listen 0.0.0.0:0
    --- stderr
    error: the server cannot listen: `0.0.0.0:0` can be reached by other machines, which needs a certificate
      = help: listen on `127.0.0.1`, or name a certificate with `--tls-cert FILE --tls-key FILE`
    --- exit 2
    ");
    let wrong = writer().file("agentry.toml", "[serve]\npark_after = \"soon\"\n");
    let ran = wrong.run("serve --listen 127.0.0.1:0").exits(2);
    assert!(ran.stderr.contains("`park_after` of `[serve]` is `soon`"), "{ran}");
}

/// A client of a model gets an answer. What needs a person is denied, and the file is not written.
#[test]
fn agents_are_served_as_chat_models() {
    let server = Server::playing([write("other.txt").into(), Turn::text("I may not.").into()]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    serving.consent("writer");
    let messages = json!([{ "role": "user", "content": "write it" }]);
    let body = json!({ "model": "writer", "messages": messages });
    let answer = serving.post("/v1/chat/completions", &body);
    assert_eq!(answer["choices"][0]["message"]["content"], "I may not.", "{answer}");
    assert!(!test.has("other.txt"));
    let results = server.asked().last().expect("a request").results.clone();
    assert!(results[0].1.contains("nobody can be asked here"), "{results:?}");
    assert_eq!(serving.get("/v1/approvals"), json!([]));
    serving.stop();
}
