//! A model server on loopback that plays scripts, fails on demand and records its requests.
//!
//! ```text
//! let server = Server::playing([
//!     Turn::call("read", json!({ "path": "a.txt" })).and_call("list", json!({})).into(),
//!     Reply::status(429).header("retry-after", "0"),
//!     Turn::text("all done").used(100, 80, 20).into(),
//! ]);
//! server.base(Protocol::Chat)          // base URL in one of five protocols, told apart by their paths
//! server.asked()                       // the last requests: system, said, tools, results, headers, body
//! server.count()                       // how many there were
//! server.wait_for_gone(1)              // until a client went away in the middle of an answer
//! ```
//!
//! [`Server::playing`] answers requests in the order of arrival, then with `done` for ever. Parallel runs
//! need [`Server::answering`], which computes the reply from the request: the number of `results` in it
//! shows how far its run is.
//!
//! A [`Turn`] has reasoning, text and calls, in this order, streamed in small pieces; the calls get their own
//! ids. [`Turn::broken`] breaks it after some events ([`Break`]); a [`Reply`] that is not a turn fails before
//! the first event. Nothing here waits for time to pass.
//!
//! Every test file with `mod server;` compiles this again and uses a part of it.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]
#![allow(clippy::expect_used, reason = "a test that cannot start has failed")]

mod http;
mod protocol;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

pub(crate) use protocol::{PROTOCOLS, Protocol};

/// The most requests that are kept; otherwise a long run would fill the memory.
const KEPT: usize = 100;

/// A model server that runs until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    answer: Box<dyn Fn(&Asked) -> Reply + Send + Sync>,
    asked: Mutex<Vec<Asked>>,
    count: AtomicUsize,
    gone: Mutex<usize>,
    went: Condvar,
    stopping: AtomicBool,
}

/// A request, in any protocol.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// The number of requests before it.
    pub(crate) number: usize,
    /// The protocol; `None` if it is not a request to a model.
    pub(crate) protocol: Option<Protocol>,
    /// The path, with the query.
    pub(crate) path: String,
    /// The headers, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Value,
    /// The system prompt.
    pub(crate) system: String,
    /// The user's messages.
    pub(crate) user_texts: Vec<String>,
    /// The names of the tools.
    pub(crate) tools: Vec<String>,
    /// The results of calls: call or tool, and text.
    pub(crate) results: Vec<(String, String)>,
}

impl Asked {
    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The reaction of the server to a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Sends a turn.
    Turn(Turn),
    /// Sends a status with headers and a body.
    Status(u16, Vec<(&'static str, String)>, String),
    /// Sends these bytes, with this content type.
    Raw(&'static str, Vec<u8>),
    /// Closes the connection without an answer.
    Drop,
    /// Sends nothing until the client disconnects.
    Silent,
}

impl Reply {
    /// Creates a reply with a status.
    pub(crate) fn status(code: u16) -> Self {
        Self::Status(code, Vec::new(), r#"{"error":{"message":"scripted"}}"#.to_owned())
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Status(_, headers, _) = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    /// Sets the body.
    pub(crate) fn body(mut self, text: impl Into<String>) -> Self {
        if let Self::Status(_, _, body) = &mut self {
            *body = text.into();
        }
        self
    }
}

impl From<Turn> for Reply {
    fn from(turn: Turn) -> Self {
        Self::Turn(turn)
    }
}

/// An answer of the model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// Its reasoning, with a signature if the protocol has one.
    pub(crate) thinking: String,
    /// Its text.
    pub(crate) text: String,
    /// Its tool calls, with arguments; a string is sent as it is, valid JSON or not.
    pub(crate) calls: Vec<(String, Value)>,
    /// Input tokens, cached input tokens, output tokens.
    pub(crate) usage: (u64, u64, u64),
    /// Its stop reason.
    pub(crate) stop: Stop,
    /// How it breaks.
    pub(crate) broken: Option<Break>,
}

/// The stop reason of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It is complete.
    #[default]
    End,
    /// It reached the output limit.
    Length,
    /// The provider refuses it.
    Refusal,
}

/// How a turn breaks, after that many events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// The stream ends as if it were complete.
    Truncated(usize),
    /// The connection breaks.
    Dropped(usize),
    /// Nothing more is sent, until the client disconnects.
    Stalled(usize),
    /// An event is not JSON.
    Garbage(usize),
    /// An error of the protocol: the server is busy.
    Busy(usize),
    /// Every event is sent twice.
    Repeated,
    /// Unknown events and comments are sent between all others.
    Unknown,
}

impl Turn {
    /// Creates a turn with text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), usage: (10, 0, 5), ..Self::default() }
    }

    /// Creates a turn with a tool call.
    pub(crate) fn call(tool: &str, arguments: Value) -> Self {
        Self { usage: (10, 0, 5), ..Self::default() }.and_call(tool, arguments)
    }

    /// Adds a tool call.
    pub(crate) fn and_call(mut self, tool: &str, arguments: Value) -> Self {
        self.calls.push((tool.to_owned(), arguments));
        self
    }

    /// Adds reasoning.
    pub(crate) fn thinking(mut self, text: &str) -> Self {
        text.clone_into(&mut self.thinking);
        self
    }

    /// Sets the usage: input tokens, cached input tokens, output tokens.
    pub(crate) fn used(mut self, read: u64, cached: u64, written: u64) -> Self {
        self.usage = (read, cached, written);
        self
    }

    /// Sets the stop reason.
    pub(crate) fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Breaks the turn.
    pub(crate) fn broken(mut self, broken: Break) -> Self {
        self.broken = Some(broken);
        self
    }
}

impl Server {
    /// Plays replies in order, then answers `done`.
    pub(crate) fn playing(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::answering(move |asked| {
            replies.get(asked.number).cloned().unwrap_or_else(|| Turn::text("done").into())
        })
    }

    /// Computes its replies.
    pub(crate) fn answering(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            answer: Box::new(answer),
            asked: Mutex::default(),
            count: AtomicUsize::new(0),
            gone: Mutex::default(),
            went: Condvar::new(),
            stopping: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.stopping.load(Ordering::SeqCst) {
                    break;
                }
                let state = Arc::clone(&shared);
                thread::spawn(move || http::serve(stream, &state));
            }
        });
        Self { address, state }
    }

    /// Returns its address: `http://127.0.0.1:1234`.
    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL for a client of this protocol.
    pub(crate) fn base(&self, protocol: Protocol) -> String {
        format!("{}{}", self.address(), protocol.prefix())
    }

    /// Returns the last requests to the model, in the order of arrival.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        lock(&self.state.asked).clone()
    }

    /// Returns how many requests came to the model.
    pub(crate) fn count(&self) -> usize {
        self.state.count.load(Ordering::SeqCst)
    }

    /// Waits until that many clients have disconnected before their answer was complete; returns whether
    /// they did. It blocks its thread: the client needs another one (`flavor = "multi_thread"`).
    pub(crate) fn wait_for_gone(&self, clients: usize) -> bool {
        let gone = lock(&self.state.gone);
        let longest = Duration::from_secs(20);
        let waited = self.state.went.wait_timeout_while(gone, longest, |gone| *gone < clients);
        waited.is_ok_and(|(_, waited)| !waited.timed_out())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    /// Records a request, and returns the reply to it.
    fn reply(&self, mut asked: Asked) -> (Asked, Reply) {
        let mut list = lock(&self.asked);
        asked.number = self.count.fetch_add(1, Ordering::SeqCst);
        if list.len() == KEPT {
            list.remove(0);
        }
        list.push(asked.clone());
        drop(list);
        let reply = (self.answer)(&asked);
        (asked, reply)
    }

    fn one_is_gone(&self) {
        *lock(&self.gone) += 1;
        self.went.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
