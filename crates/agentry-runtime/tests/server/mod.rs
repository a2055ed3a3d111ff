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
//! [`Server::playing`] answers requests in the order in which they come, then says `done` for ever.
//! Several runs at once need [`Server::answering`], which computes the reply from the request: the
//! number of `results` in it says how far its run has come.
//!
//! A [`Turn`] has thinking, text and calls, in this order, streamed in small pieces; the calls get
//! identifiers of their own. [`Turn::broken`] breaks it after some of its events ([`Break`]); a
//! [`Reply`] that is no turn goes wrong before the first. Nothing here waits for time to go by.
//!
//! Every test file that says `mod server;` compiles this once more and uses a part of it.
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

/// Requests that are kept whole; a long run would fill the memory otherwise.
const KEPT: usize = 100;

/// A model that is running until it is dropped.
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

/// A request, whichever protocol it came in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// How many came before it.
    pub(crate) number: usize,
    /// The protocol; none if it is no request to a model.
    pub(crate) protocol: Option<Protocol>,
    /// The path, with what follows `?`.
    pub(crate) path: String,
    /// The headers, their names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Value,
    /// The system prompt.
    pub(crate) system: String,
    /// What the person said.
    pub(crate) said: Vec<String>,
    /// The names of the tools.
    pub(crate) tools: Vec<String>,
    /// What calls gave: call or tool, and text.
    pub(crate) results: Vec<(String, String)>,
}

impl Asked {
    /// A header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What the server does about a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Answers.
    Turn(Turn),
    /// Answers with a status and these headers.
    Status(u16, Vec<(&'static str, String)>, String),
    /// Answers with these bytes, of this content type.
    Raw(&'static str, Vec<u8>),
    /// Closes the connection without a word.
    Drop,
    /// Says nothing until the client goes.
    Silent,
}

impl Reply {
    /// Answers with a status.
    pub(crate) fn status(code: u16) -> Self {
        Self::Status(code, Vec::new(), r#"{"error":{"message":"scripted"}}"#.to_owned())
    }

    /// With this header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Status(_, headers, _) = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    /// With this body.
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

/// What the model says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// What it thinks, with a signature where the protocol has one.
    pub(crate) thinking: String,
    /// What it says.
    pub(crate) text: String,
    /// The tools that it calls, with arguments; a text stands for itself, valid JSON or not.
    pub(crate) calls: Vec<(String, Value)>,
    /// Tokens read, of these from a cache, written.
    pub(crate) usage: (u64, u64, u64),
    /// Why it stops.
    pub(crate) stop: Stop,
    /// How it breaks.
    pub(crate) broken: Option<Break>,
}

/// Why a turn stops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nothing more to say.
    #[default]
    End,
    /// Too long.
    Length,
    /// The provider does not let it speak.
    Refusal,
}

/// How a turn breaks, after so many events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// The stream ends as if it were complete.
    Truncated(usize),
    /// The connection breaks.
    Dropped(usize),
    /// Silence, until the client goes.
    Stalled(usize),
    /// An event that is no JSON.
    Garbage(usize),
    /// An error in the words of the protocol: the server is busy.
    Busy(usize),
    /// Every event comes twice.
    Repeated,
    /// Events that no client knows, and comments, between all others.
    Unknown,
}

impl Turn {
    /// Says something.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), usage: (10, 0, 5), ..Self::default() }
    }

    /// Calls a tool.
    pub(crate) fn call(tool: &str, arguments: Value) -> Self {
        Self { usage: (10, 0, 5), ..Self::default() }.and_call(tool, arguments)
    }

    /// Calls a further tool.
    pub(crate) fn and_call(mut self, tool: &str, arguments: Value) -> Self {
        self.calls.push((tool.to_owned(), arguments));
        self
    }

    /// Thinks before.
    pub(crate) fn thinking(mut self, text: &str) -> Self {
        text.clone_into(&mut self.thinking);
        self
    }

    /// Uses up so many tokens: read, of these cached, written.
    pub(crate) fn used(mut self, read: u64, cached: u64, written: u64) -> Self {
        self.usage = (read, cached, written);
        self
    }

    /// Stops for another reason.
    pub(crate) fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Breaks.
    pub(crate) fn broken(mut self, broken: Break) -> Self {
        self.broken = Some(broken);
        self
    }
}

impl Server {
    /// Plays replies in order, then says `done`.
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

    /// Where it listens: `http://127.0.0.1:1234`.
    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL that a client of this protocol is given.
    pub(crate) fn base(&self, protocol: Protocol) -> String {
        format!("{}{}", self.address(), protocol.prefix())
    }

    /// The last requests to the model, in the order in which they came.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        lock(&self.state.asked).clone()
    }

    /// How many requests came to the model.
    pub(crate) fn count(&self) -> usize {
        self.state.count.load(Ordering::SeqCst)
    }

    /// Waits until so many clients went away before their answer was complete; says whether they did.
    /// It blocks its thread: the client needs another one (`flavor = "multi_thread"`).
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
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    /// The reply to a request, which is remembered.
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
