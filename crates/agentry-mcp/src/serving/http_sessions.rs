//! The service over streamable HTTP, without the HTTP itself: a server hands in what was posted and sends what comes
//! out.
//!
//! ```text
//!  initialize ─▶ a session with a service of its own; its id comes with every later message
//!  2026-07-28 ─▶ a service for the one request; what waits for an answer is kept for its owner
//! ```
//!
//! An answer that is there at once is a document. A call is a stream: progress, questions, and the answer. In the
//! older era a call outlives its stream, and a notice cancels it; in the newer one the end of the stream does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agentry_rpc::{
    PeerMessage, RpcAnswer, RpcError, RpcFuture, RpcPeer, RpcRequest, RpcService as _, codes,
};
use futures_util::FutureExt as _;
use reqwest::header::HeaderMap;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::message_headers::{self, HEADER_MISMATCH, SESSION, VERSION};
use super::waiting_calls::{WaitingCalls, random_state};
use super::{ServedTools, ServerService};
use crate::connection::UNSUPPORTED_VERSION;
use crate::protocol_era::is_spoken;

/// The most sessions, and the most of one owner. One that is idle makes room.
const SESSIONS: usize = 256;
const OWN_SESSIONS: usize = 64;
/// How long a session without a message may be the first to go.
const IDLE: Duration = Duration::from_mins(30);
/// The most requests of all clients that are open at once.
const OPEN_REQUESTS: usize = 256;

/// What a client posted.
#[derive(Debug, Clone, Copy)]
pub struct HttpPost<'a> {
    /// Whose token it came with: sessions and questions of others are unknown to it.
    pub owner: &'a str,
    /// Whether the owner may approve of calls; otherwise no question is put to it.
    pub may_approve: bool,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The message.
    pub body: &'a [u8],
}

/// What the server answers.
#[derive(Debug)]
pub enum HttpOutcome {
    /// A document, and the session that it began.
    Document {
        /// The status.
        status: u16,
        /// The message.
        body: Value,
        /// The session that began.
        session: Option<String>,
    },
    /// A status without a body.
    Empty(u16),
    /// Messages until the answer, each a line of JSON.
    Stream(mpsc::Receiver<Vec<u8>>),
}

/// Takes messages of clients over HTTP.
pub trait ServedHttp: Send + Sync + 'static {
    /// Takes a message.
    fn post(&self, post: HttpPost<'_>) -> HttpOutcome;

    /// Ends a session of this owner; returns whether there was one.
    fn end(&self, owner: &str, headers: &HeaderMap) -> bool;
}

/// The sessions of the older era, and what waits in the newer one.
pub struct HttpSessions<H> {
    host: Arc<H>,
    instructions: String,
    sessions: Mutex<HashMap<String, HttpSession<H>>>,
    /// By owner: the state of one client means nothing for another.
    waiting: Mutex<HashMap<String, Arc<WaitingCalls>>>,
    open: Arc<Semaphore>,
}

struct HttpSession<H> {
    owner: String,
    service: Arc<ServerService<H>>,
    peer: RpcPeer,
    used: Instant,
}

/// A refusal is an answer that comes early.
type Refusable<T> = Result<T, HttpOutcome>;

impl<H: ServedTools> HttpSessions<H> {
    /// No sessions yet.
    pub fn new(host: Arc<H>, instructions: String) -> Self {
        let (sessions, waiting) = (Mutex::default(), Mutex::default());
        Self {
            host,
            instructions,
            sessions,
            waiting,
            open: Arc::new(Semaphore::new(OPEN_REQUESTS)),
        }
    }

    fn take(&self, post: HttpPost<'_>) -> Refusable<HttpOutcome> {
        if !message_headers::takes_both(post.headers) {
            let message = "`Accept` must have `application/json` and `text/event-stream`";
            return Err(refused(406, &Value::Null, RpcError::new(codes::INVALID_REQUEST, message)));
        }
        let message = PeerMessage::read(post.body);
        match message.map_err(|error| refused(400, &Value::Null, error))? {
            PeerMessage::Answer { id, outcome } => {
                let (_, peer) = self.session(post, &Value::Null)?;
                peer.answered(&id, outcome);
                Ok(HttpOutcome::Empty(202))
            }
            // In the newer era the end of a stream is what cancels.
            PeerMessage::Notice { params, .. }
                if message_headers::is_stateless(post.headers, &params) =>
            {
                Ok(HttpOutcome::Empty(202))
            }
            PeerMessage::Notice { method, params } => {
                let (service, _) = self.session(post, &Value::Null)?;
                service.notice(&method, params);
                Ok(HttpOutcome::Empty(202))
            }
            PeerMessage::Request { id, method, params } => {
                let asked = RpcRequest { id, method, params };
                let Ok(place) = Arc::clone(&self.open).try_acquire_owned() else {
                    let message = format!("more than {OPEN_REQUESTS} requests are open");
                    return Err(refused(503, &asked.id, RpcError::new(codes::INTERNAL, message)));
                };
                if message_headers::is_stateless(post.headers, &asked.params) {
                    self.stateless(post, asked, place)
                } else if asked.method == "initialize" {
                    self.begin(post, asked)
                } else {
                    self.within_session(post, asked, place)
                }
            }
        }
    }

    /// A request of the newer era.
    fn stateless(
        &self,
        post: HttpPost<'_>,
        asked: RpcRequest,
        place: OwnedSemaphorePermit,
    ) -> Refusable<HttpOutcome> {
        message_headers::check(post.headers, &asked.method, &asked.params)
            .map_err(|error| refused(400, &asked.id, error))?;
        let mut waiting = locked(&self.waiting);
        let waiting = Arc::clone(waiting.entry(post.owner.to_owned()).or_default());
        let (host, instructions) = (Arc::clone(&self.host), self.instructions.clone());
        let service = ServerService::with_waiting(host, instructions, waiting);
        let service = Arc::new(service.asking(post.may_approve));
        let (peer, lines) = RpcPeer::new();
        let request = PostedRequest { id: asked.id.clone(), peer, lines, _place: place };
        let answering = service.request(asked, &request.peer);
        Ok(request.answer(answering, true, move |_| true))
    }

    /// Begins a session.
    fn begin(&self, post: HttpPost<'_>, asked: RpcRequest) -> Refusable<HttpOutcome> {
        let (host, instructions) = (Arc::clone(&self.host), self.instructions.clone());
        let service = Arc::new(ServerService::new(host, instructions).asking(post.may_approve));
        let (peer, _) = RpcPeer::new();
        let id = asked.id.clone();
        let answer = service.request(asked, &peer).now_or_never();
        let answer = answer.unwrap_or_else(|| Err(RpcError::new(codes::INTERNAL, "no answer")));
        let result = answer.map_err(|error| refused(400, &id, error))?;
        let session = random_state().map_err(|error| refused(500, &id, error))?;
        let mut sessions = locked(&self.sessions);
        if !make_room(&mut sessions, post.owner) {
            let message =
                format!("there are {SESSIONS} sessions already, or {OWN_SESSIONS} of this token");
            return Err(refused(503, &id, RpcError::new(codes::INTERNAL, message)));
        }
        let owner = post.owner.to_owned();
        let opened = HttpSession { owner, service, peer, used: Instant::now() };
        sessions.insert(session.clone(), opened);
        let body = PeerMessage::answer(&id, Ok(result)).to_json();
        Ok(HttpOutcome::Document { status: 200, body, session: Some(session) })
    }

    /// A request of the older era.
    fn within_session(
        &self,
        post: HttpPost<'_>,
        asked: RpcRequest,
        place: OwnedSemaphorePermit,
    ) -> Refusable<HttpOutcome> {
        let (service, peer) = self.session(post, &asked.id)?;
        let (peer, lines) = peer.beside();
        let request = PostedRequest { id: asked.id.clone(), peer, lines, _place: place };
        let answering = service.request(asked, &request.peer);
        Ok(request.answer(answering, false, move |error| service.is_answered(error)))
    }

    /// The session that a message names.
    fn session(
        &self,
        post: HttpPost<'_>,
        id: &Value,
    ) -> Refusable<(Arc<ServerService<H>>, RpcPeer)> {
        let refuse = |status: u16, message: &str| {
            refused(status, id, RpcError::new(codes::INVALID_REQUEST, message))
        };
        if post.headers.contains_key(VERSION)
            && !message_headers::single(post.headers, VERSION).is_some_and(is_spoken)
        {
            let message = format!("the version in `{VERSION}` is not spoken");
            return Err(refused(400, id, RpcError::new(UNSUPPORTED_VERSION, message)));
        }
        if !post.headers.contains_key(SESSION) {
            return Err(refuse(400, "the message names no session: call `initialize` first"));
        }
        let name = message_headers::single(post.headers, SESSION).unwrap_or_default();
        let mut sessions = locked(&self.sessions);
        let session = sessions.get_mut(name).filter(|session| session.owner == post.owner);
        let session = session.ok_or_else(|| refuse(404, "there is no such session"))?;
        session.used = Instant::now();
        Ok((Arc::clone(&session.service), session.peer.clone()))
    }
}

impl<H: ServedTools> ServedHttp for HttpSessions<H> {
    fn post(&self, post: HttpPost<'_>) -> HttpOutcome {
        self.take(post).unwrap_or_else(|refused| refused)
    }

    fn end(&self, owner: &str, headers: &HeaderMap) -> bool {
        let name = message_headers::single(headers, SESSION).unwrap_or_default();
        let mut sessions = locked(&self.sessions);
        if sessions.get(name).is_none_or(|session| session.owner != owner) {
            return false;
        }
        if let Some(session) = sessions.remove(name) {
            session.service.give_up();
        }
        true
    }
}

/// Makes room for a session of an owner; returns whether there is some. A client that disappears leaves its session, so the
/// one that its owner used least recently ends, if nothing of it is under way.
fn make_room<H: ServedTools>(sessions: &mut HashMap<String, HttpSession<H>>, owner: &str) -> bool {
    if sessions.len() >= SESSIONS {
        sessions.retain(|_, session| session.used.elapsed() < IDLE);
    }
    let own = sessions.iter().filter(|(_, session)| session.owner == owner);
    let count = own.clone().count();
    if count < OWN_SESSIONS {
        return sessions.len() < SESSIONS;
    }
    // A request that is under way has its service as well.
    let quiet = own.filter(|(_, session)| Arc::strong_count(&session.service) == 1);
    let oldest = quiet.min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone());
    let ended = oldest.and_then(|id| sessions.remove(&id));
    ended.is_some_and(|session| {
        session.service.give_up();
        true
    })
}

/// A request on its way to its answer.
struct PostedRequest {
    id: Value,
    peer: RpcPeer,
    lines: mpsc::Receiver<Vec<u8>>,
    _place: OwnedSemaphorePermit,
}

impl PostedRequest {
    /// The answer, if it is there at once; otherwise the stream that ends with it.
    fn answer(
        self,
        mut answering: RpcFuture<RpcAnswer>,
        ends_with_stream: bool,
        is_answered: impl Fn(&RpcError) -> bool + Send + 'static,
    ) -> HttpOutcome {
        let Self { id, peer, lines, _place: place } = self;
        if let Some(outcome) = answering.as_mut().now_or_never() {
            let status =
                outcome.as_ref().err().map_or(200, |error| status_of(error, ends_with_stream));
            let body = PeerMessage::answer(&id, outcome).to_json();
            return HttpOutcome::Document { status, body, session: None };
        }
        tokio::spawn(async move {
            let outcome = tokio::select! {
                outcome = answering => outcome,
                () = peer.gone(), if ends_with_stream => return,
            };
            if outcome.as_ref().err().is_none_or(is_answered) {
                peer.reply(&id, outcome).await;
            }
            drop(place);
        });
        HttpOutcome::Stream(lines)
    }
}

/// The status of an error that comes at once. The newer era wants some errors to be visible to proxies.
fn status_of(error: &RpcError, is_stateless: bool) -> u16 {
    match error.code {
        UNSUPPORTED_VERSION | HEADER_MISMATCH | codes::INVALID_REQUEST => 400,
        codes::NO_SUCH_METHOD if is_stateless => 404,
        _ => 200,
    }
}

fn refused(status: u16, id: &Value, error: RpcError) -> HttpOutcome {
    let body = PeerMessage::answer(id, Err(error)).to_json();
    HttpOutcome::Document { status, body, session: None }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
