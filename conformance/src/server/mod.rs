//! A model server on loopback that plays scripts and records its requests.
//!
//! Four protocols are parsed into one [`Conversation`]; a [`Script`] answers it; the answer is written in
//! the same protocol. The size and the number of requests are limited.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use serde_json::{Value, json};
use tiny_http::{Header, Method, Request, Response};

use crate::script::{Answer, Script};

/// Larger requests are answered with an error.
const MOST_BYTES: u64 = 16 << 20;
/// The limit of requests; a client that sends more is in a loop.
const MOST_REQUESTS: usize = 2_000;
/// More than one, because clients ask for a title while the conversation continues.
const WORKERS: usize = 3;

/// A tool as the client offers it to the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: String,
    /// Its description.
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    pub(crate) schema: Value,
}

/// The result of a call, as the client sends it to the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ToolResult {
    /// The identifier of the call.
    pub(crate) id: String,
    /// The text that the model reads.
    pub(crate) text: String,
}

/// A request, independent of its protocol.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Conversation {
    /// The system prompt, its parts joined by empty lines.
    pub(crate) system: String,
    /// The messages of the user.
    pub(crate) user: Vec<String>,
    /// The available tools.
    pub(crate) tools: Vec<Tool>,
    /// The results of the calls so far.
    pub(crate) results: Vec<ToolResult>,
    /// The model's name.
    pub(crate) model: String,
    /// All other settings of the model.
    pub(crate) parameters: Value,
    /// Whether the answer is streamed.
    pub(crate) stream: bool,
}

/// One request, and the position in the script.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// When it arrived.
    pub(crate) at: Instant,
    /// The script that was played; `None` for requests outside of the conversation.
    pub(crate) script: Option<&'static str>,
    /// The number of results in the conversation.
    pub(crate) step: usize,
    /// The length of the log of the stand-ins.
    pub(crate) mark: usize,
    /// The request.
    pub(crate) conversation: Conversation,
}

/// A running model server.
pub(crate) struct Server {
    http: Arc<tiny_http::Server>,
    state: Arc<State>,
    workers: Vec<JoinHandle<()>>,
}

struct State {
    scripts: Vec<Script>,
    log: PathBuf,
    exchanges: Mutex<Vec<Exchange>>,
    /// Requests of no known protocol; they help to explain a client that failed.
    strays: Mutex<Vec<String>>,
}

/// The record of a model server.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// In the order of arrival.
    pub(crate) exchanges: Vec<Exchange>,
    /// Requests of no known protocol.
    pub(crate) strays: Vec<String>,
}

impl Server {
    /// Listens on a free port of loopback; `log` is the log of the stand-ins.
    pub(crate) fn start(scripts: Vec<Script>, log: &Path) -> Result<Self, String> {
        let http = tiny_http::Server::http("127.0.0.1:0")
            .map_err(|error| format!("cannot listen on loopback: {error}"))?;
        let http = Arc::new(http);
        let state = Arc::new(State {
            scripts,
            log: log.to_owned(),
            exchanges: Mutex::default(),
            strays: Mutex::default(),
        });
        let work = |_| {
            let (http, state) = (Arc::clone(&http), Arc::clone(&state));
            thread::spawn(move || {
                while let Ok(request) = http.recv() {
                    state.serve(request);
                }
            })
        };
        let workers = (0..WORKERS).map(work).collect();
        Ok(Self { http, state, workers })
    }

    /// Its address, without a trailing slash.
    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.http.server_addr())
    }

    /// Stops listening and returns the record.
    pub(crate) fn finish(self) -> Record {
        for _ in &self.workers {
            // Each call wakes one worker.
            self.http.unblock();
        }
        for worker in self.workers {
            let _ = worker.join();
        }
        let take = |list: &Mutex<Vec<Exchange>>| std::mem::take(&mut *lock(list));
        let strays = std::mem::take(&mut *lock(&self.state.strays));
        Record { exchanges: take(&self.state.exchanges), strays }
    }
}

impl State {
    fn serve(&self, mut request: Request) {
        let (kind, body) = match self.reply(&mut request) {
            Ok(reply) => reply,
            Err(reason) => {
                lock(&self.strays).push(format!(
                    "{} {}: {reason}",
                    request.method(),
                    request.url()
                ));
                let body = json!({ "error": { "message": reason } }).to_string();
                let _ = request.respond(Response::from_string(body).with_status_code(404));
                return;
            }
        };
        let response = Response::from_string(body);
        let response = match Header::from_bytes("Content-Type", kind) {
            Ok(header) => response.with_header(header),
            Err(()) => response,
        };
        let _ = request.respond(response);
    }

    /// The content type and the body of the answer.
    fn reply(&self, request: &mut Request) -> Result<(&'static str, String), String> {
        let path = request.url().split('?').next().unwrap_or_default().to_owned();
        if *request.method() != Method::Post {
            // Some clients list the models first; an empty list is enough for them.
            let models = json!({ "object": "list", "data": [], "models": [] });
            let is_list = path.ends_with("/models");
            let list = is_list.then(|| (JSON, models.to_string()));
            return list.ok_or_else(|| "not a request to a model".to_owned());
        }
        let body = body(request)?;
        let protocol = Protocol::of(&path).ok_or("no protocol has this path")?;
        if protocol == Protocol::Count {
            return Ok((JSON, json!({ "input_tokens": 1, "totalTokens": 1 }).to_string()));
        }
        let mut conversation = protocol.read(&body);
        // Gemini asks for a stream by the path, not by the body.
        conversation.stream |= path.contains(":streamGenerateContent");
        let answer = self.answer(&conversation)?;
        let text = protocol.write(&answer, conversation.stream);
        Ok((if conversation.stream { EVENTS } else { JSON }, text))
    }

    /// Finds the position in the script and records the request.
    fn answer(&self, conversation: &Conversation) -> Result<Answer, String> {
        let is_asked_for = |script: &&Script| {
            let cue = script.cue();
            conversation.user.iter().any(|text| text.contains(&cue))
        };
        // A request without tools is for a title or a summary of the same text.
        let script =
            self.scripts.iter().find(is_asked_for).filter(|_| !conversation.tools.is_empty());
        let step = script.map_or(0, |script| steps(script, conversation));
        let mark = std::fs::metadata(&self.log).map_or(0, |log| log.len());
        let mut exchanges = lock(&self.exchanges);
        if exchanges.len() >= MOST_REQUESTS {
            return Err(format!("more than {MOST_REQUESTS} requests"));
        }
        exchanges.push(Exchange {
            at: Instant::now(),
            script: script.map(|script| script.name),
            step,
            mark: usize::try_from(mark).unwrap_or(usize::MAX),
            conversation: conversation.clone(),
        });
        Ok(script.map_or_else(
            || Answer::Text("done".to_owned()),
            |script| script.answer(step, &conversation.results),
        ))
    }
}

/// The number of calls of the script that have a result.
fn steps(script: &Script, conversation: &Conversation) -> usize {
    let mine = |result: &&ToolResult| {
        let rest = result.id.strip_prefix("call_").and_then(|id| id.strip_prefix(script.name));
        rest.is_some_and(|rest| rest.starts_with('_'))
    };
    conversation.results.iter().filter(mine).count()
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The protocol between a client and its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    /// Asks for the number of tokens of a prompt.
    Count,
}

impl Protocol {
    fn of(path: &str) -> Option<Self> {
        let ends = |tail: &str| path.ends_with(tail);
        match path {
            _ if ends("/chat/completions") => Some(Self::Chat),
            _ if ends("/responses") => Some(Self::Responses),
            _ if ends("/messages") => Some(Self::Anthropic),
            _ if ends(":generateContent") || ends(":streamGenerateContent") => Some(Self::Gemini),
            _ if ends("/count_tokens") || ends(":countTokens") => Some(Self::Count),
            _ => None,
        }
    }

    fn read(self, body: &Value) -> Conversation {
        match self {
            Self::Chat => chat::read(body),
            Self::Responses => responses::read(body),
            Self::Anthropic => anthropic::read(body),
            Self::Gemini => gemini::read(body),
            Self::Count => Conversation::default(),
        }
    }

    fn write(self, answer: &Answer, stream: bool) -> String {
        match self {
            Self::Chat => chat::write(answer, stream),
            Self::Responses => responses::write(answer, stream),
            Self::Anthropic => anthropic::write(answer, stream),
            Self::Gemini => gemini::write(answer, stream),
            Self::Count => String::new(),
        }
    }
}

fn body(request: &mut Request) -> Result<Value, String> {
    let mut bytes = Vec::new();
    let read = request.as_reader().take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("the request cannot be read: {error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("more than {MOST_BYTES} bytes"));
    }
    serde_json::from_slice(&bytes).map_err(|error| format!("the request is no JSON: {error}"))
}

fn lock<T>(list: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The values of a list; none if it is not a list.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text value, or the texts of its parts joined by line breaks.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => {
            part.get("text").or(part.get("content")).map(text).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The members of a request that are neither the conversation nor the tools.
fn parameters(body: &Value, conversation: &[&str]) -> Value {
    let members = body.as_object().into_iter().flatten();
    let rest = members.filter(|(name, _)| !conversation.contains(&name.as_str()));
    Value::Object(rest.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Server-sent events, each with its name if it has one.
fn events(list: &[(&str, Value)]) -> String {
    let event = |(name, data): &(&str, Value)| match *name {
        "" => format!("data: {data}\n\n"),
        name => format!("event: {name}\ndata: {data}\n\n"),
    };
    list.iter().map(event).collect()
}

/// Events that are named after the type of their data.
fn named(frames: &[Value]) -> String {
    let frames = frames.iter();
    let pairs: Vec<_> =
        frames.map(|data| (data["type"].as_str().unwrap_or_default(), data.clone())).collect();
    events(&pairs)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;

    use super::*;
    use crate::script::Call;

    fn post(server: &Server, path: &str, body: &Value) -> String {
        let address = server.address();
        let host = address.trim_start_matches("http://");
        let body = body.to_string();
        let mut stream = TcpStream::connect(host).expect("the server listens");
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// A request in each protocol, before and after one call.
    fn requests() -> Vec<(&'static str, Value, Value)> {
        let prompt = "please play <main>";
        let function = json!({ "name": "bash", "description": "runs", "parameters": {} });
        let user = json!({ "role": "user", "content": prompt });
        let chat = |messages: Value| {
            json!({ "model": "m", "stream": true, "messages": messages,
                    "tools": [{ "type": "function", "function": function }] })
        };
        let tool_result =
            json!({ "role": "tool", "tool_call_id": "call_main_0", "content": "fine" });
        let messages = |messages: Value| {
            json!({ "model": "m", "system": "be good", "messages": messages,
                    "tools": [{ "name": "bash", "input_schema": {} }] })
        };
        let block =
            json!({ "type": "tool_result", "tool_use_id": "call_main_0", "content": "fine" });
        let input = |input: Value| json!({ "model": "m", "input": input, "tools": [function] });
        let output =
            json!({ "type": "function_call_output", "call_id": "call_main_0", "output": "fine" });
        let contents = |parts: Value| {
            json!({ "contents": [{ "role": "user", "parts": parts }],
                    "tools": [{ "functionDeclarations": [function] }] })
        };
        let response = json!({ "functionResponse": { "id": "call_main_0", "response": "fine" } });
        vec![
            ("/v1/chat/completions", chat(json!([user])), chat(json!([user, tool_result]))),
            (
                "/v1/messages?beta=true",
                messages(json!([user])),
                messages(json!([user, { "role": "user", "content": [block] }])),
            ),
            ("/v1/responses", input(json!([user])), input(json!([user, output]))),
            (
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                contents(json!([{ "text": prompt }])),
                contents(json!([{ "text": prompt }, response])),
            ),
        ]
    }

    #[test]
    fn a_script_is_played_in_every_protocol() {
        for (path, first, second) in requests() {
            let call = Call::new("bash", json!({ "command": "git status" }));
            let script = Script::new("main", vec![call]);
            let server = Server::start(vec![script], Path::new("no-log")).expect("a free port");
            let answer = post(&server, path, &first);
            assert!(
                answer.contains("git status") && answer.contains("call_main_0"),
                "{path}: {answer}"
            );
            let answer = post(&server, path, &second);
            assert!(answer.contains("done") && !answer.contains("call_main"), "{path}: {answer}");
            let record = server.finish();
            let steps: Vec<_> = record.exchanges.iter().map(|it| (it.script, it.step)).collect();
            assert_eq!(steps, [(Some("main"), 0), (Some("main"), 1)], "{path}");
            let last = record.exchanges.last().expect("two requests");
            assert_eq!(
                last.conversation.tools.first().map(|it| it.name.as_str()),
                Some("bash"),
                "{path}"
            );
            assert!(last.conversation.results.iter().all(|it| it.text.contains("fine")), "{path}");
        }
    }

    #[test]
    fn other_requests_are_recorded_as_strays() {
        let server = Server::start(Vec::new(), Path::new("no-log")).expect("a free port");
        let answer = post(&server, "/v1/elsewhere", &json!({}));
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        let record = server.finish();
        assert_eq!(record.strays, ["POST /v1/elsewhere: no protocol has this path"]);
        assert!(record.exchanges.is_empty());
    }
}
