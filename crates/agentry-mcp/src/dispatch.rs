//! Matches the messages of a server with the requests that wait for them, and answers its requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentry_rpc::{PeerMessage, RpcError, codes};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::ClientFuture;
use crate::clean_text::clean_start;
use crate::elicitation::{ElicitationAnswer, ElicitationRequest};
use crate::failure::McpFailure;
use crate::limits;

/// Sends messages to a server. What comes back goes to a [`Dispatcher`].
pub(crate) trait MessageWire: Send + Sync {
    /// Queues a message.
    fn submit(&self, message: WireMessage) -> Result<(), McpFailure>;

    /// Gives up a request that is still open. Returns whether the server must be notified.
    fn give_up(&self, request: u64) -> bool;

    /// Receives the version that was agreed on, which some wires send with every message.
    fn agreed(&self, version: &str);

    /// Waits until messages that answer no request can arrive, or never will.
    fn is_listening(&self) -> ClientFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Ends the connection at once.
    fn close(&self);

    /// Ends the connection in the way that the protocol has for it, within a short time.
    fn finish(self: Arc<Self>) -> ClientFuture<'static, ()>;
}

/// A message to a server.
#[derive(Debug, Clone)]
pub(crate) struct WireMessage {
    pub(crate) message: PeerMessage,
    /// Arguments that are sent as headers, too.
    pub(crate) mirrored: Vec<(String, String)>,
}

impl From<PeerMessage> for WireMessage {
    fn from(message: PeerMessage) -> Self {
        Self { message, mirrored: Vec::new() }
    }
}

impl WireMessage {
    /// The number of the request, if it is one.
    pub(crate) fn request(&self) -> Option<u64> {
        match &self.message {
            PeerMessage::Request { id, .. } => PeerMessage::request_number(id),
            _ => None,
        }
    }
}

/// What happens during a request.
pub(crate) enum CallEvent {
    /// A text about the progress, cleaned.
    Progress(String),
    /// A question to the user.
    Question { asked: ElicitationRequest, reply: oneshot::Sender<ElicitationAnswer> },
}

/// The requests that wait for an answer, and what the server announced meanwhile.
#[derive(Default)]
pub(crate) struct Dispatcher {
    state: Mutex<DispatchState>,
    /// Whether the server announced another list of tools since the last look.
    tools_changed: AtomicBool,
    /// Whether a user can be asked.
    can_ask: bool,
}

#[derive(Default)]
struct DispatchState {
    last: u64,
    waiting: HashMap<u64, WaitingRequest>,
    ended: Option<McpFailure>,
    rubbish: usize,
    /// The first line that was no message.
    first_rubbish: Option<String>,
}

struct WaitingRequest {
    answer: oneshot::Sender<Result<Value, McpFailure>>,
    events: Option<mpsc::Sender<CallEvent>>,
}

/// The answer to a registered request.
pub(crate) type AnswerReceiver = oneshot::Receiver<Result<Value, McpFailure>>;

impl Dispatcher {
    pub(crate) fn new(can_ask: bool) -> Arc<Self> {
        Arc::new(Self { can_ask, ..Self::default() })
    }

    fn state(&self) -> MutexGuard<'_, DispatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request; returns its number and where its answer arrives.
    pub(crate) fn register(
        &self,
        events: Option<mpsc::Sender<CallEvent>>,
    ) -> Result<(u64, AnswerReceiver), McpFailure> {
        let mut state = self.state();
        if let Some(failure) = &state.ended {
            return Err(failure.clone());
        }
        state.last += 1;
        let id = state.last;
        let (answer, receiver) = oneshot::channel();
        state.waiting.insert(id, WaitingRequest { answer, events });
        Ok((id, receiver))
    }

    /// Removes a request; returns whether it was still open.
    pub(crate) fn remove(&self, id: u64) -> bool {
        self.state().waiting.remove(&id).is_some()
    }

    /// Whether a request waits for its answer.
    pub(crate) fn is_waiting(&self, id: u64) -> bool {
        self.state().waiting.contains_key(&id)
    }

    /// Fails one request.
    pub(crate) fn fail(&self, id: u64, failure: McpFailure) {
        let waiting = self.state().waiting.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.answer.send(Err(failure));
        }
    }

    /// Fails every request, and those that come later.
    pub(crate) fn end(&self, failure: McpFailure) {
        let waiting: Vec<_> = {
            let mut state = self.state();
            state.ended.get_or_insert(failure);
            state.waiting.drain().collect()
        };
        let failure = self.failure().unwrap_or(McpFailure::Ended(String::new()));
        for (_, waiting) in waiting {
            let _ = waiting.answer.send(Err(failure.clone()));
        }
    }

    /// Why the connection is over, if it is.
    pub(crate) fn failure(&self) -> Option<McpFailure> {
        self.state().ended.clone()
    }

    /// Whether the list of tools changed since the last call of this function.
    pub(crate) fn take_tools_changed(&self) -> bool {
        self.tools_changed.swap(false, Ordering::AcqRel)
    }

    /// The first text of the server that was no message.
    pub(crate) fn first_rubbish(&self) -> Option<String> {
        self.state().first_rubbish.clone()
    }

    /// Handles a message as text. Something that is no message is ignored up to a limit, because programs
    /// print greetings.
    pub(crate) fn deliver_text(&self, text: &[u8], wire: &Arc<dyn MessageWire>) {
        if text.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match PeerMessage::read(text) {
            Ok(message) => self.deliver(message, wire),
            Err(_) => self.count_rubbish(text, wire),
        }
    }

    fn count_rubbish(&self, text: &[u8], wire: &Arc<dyn MessageWire>) {
        let is_over = {
            let mut state = self.state();
            state.rubbish += 1;
            let shown =
                || clean_start(&String::from_utf8_lossy(text.get(..200).unwrap_or(text)), 200);
            state.first_rubbish.get_or_insert_with(|| shown().text);
            state.rubbish > limits::RUBBISH
        };
        if is_over {
            let first = self.first_rubbish().unwrap_or_default();
            let message = format!(
                "more than {} of its messages are no JSON-RPC; the first: `{first}`",
                limits::RUBBISH
            );
            self.end(McpFailure::Protocol(message));
            wire.close();
        }
    }

    /// Handles a message.
    pub(crate) fn deliver(&self, message: PeerMessage, wire: &Arc<dyn MessageWire>) {
        match message {
            PeerMessage::Answer { id, outcome } => {
                let number = PeerMessage::request_number(&id);
                let waiting = number.and_then(|number| self.state().waiting.remove(&number));
                // An answer to a request that is no longer awaited is dropped.
                if let Some(waiting) = waiting {
                    let _ = waiting.answer.send(outcome.map_err(McpFailure::from));
                }
            }
            PeerMessage::Notice { method, params } => self.notice(&method, &params),
            PeerMessage::Request { id, method, params } => {
                self.answer(&id, &method, &params, wire);
            }
        }
    }

    fn notice(&self, method: &str, params: &Value) {
        match method {
            "notifications/tools/list_changed" => {
                self.tools_changed.store(true, Ordering::Release);
            }
            "notifications/progress" => {
                let token = params.get("progressToken").and_then(Value::as_u64);
                let events = token.and_then(|id| self.state().waiting.get(&id)?.events.clone());
                if let Some(events) = events {
                    // Progress that is not read in time is dropped.
                    let _ = events.try_send(CallEvent::Progress(progress(params)));
                }
            }
            _ => {}
        }
    }

    /// Answers a request of the server. Everything but `ping` and questions to the user is refused.
    fn answer(&self, id: &Value, method: &str, params: &Value, wire: &Arc<dyn MessageWire>) {
        let reply = match method {
            "ping" => PeerMessage::answer(id, Ok(json!({}))),
            "elicitation/create" if self.can_ask => match self.ask(params) {
                Ok(answered) => {
                    let (wire, id) = (Arc::clone(wire), id.clone());
                    tokio::spawn(async move {
                        let answer = answered.await.unwrap_or(ElicitationAnswer::Cancel);
                        let reply = PeerMessage::answer(&id, Ok(answer.to_json()));
                        let _ = wire.submit(reply.into());
                    });
                    return;
                }
                Err(why) => refusal(id, why),
            },
            _ => {
                let shown = clean_start(method, 100).text;
                refusal(id, format!("`{shown}` is not offered by this client"))
            }
        };
        let _ = wire.submit(reply.into());
    }

    /// Passes a question on to the newest call.
    fn ask(&self, params: &Value) -> Result<oneshot::Receiver<ElicitationAnswer>, String> {
        let asked = ElicitationRequest::read(params)?;
        let state = self.state();
        let newest = state.waiting.iter().filter(|(_, waiting)| waiting.events.is_some());
        let newest = newest.max_by_key(|(id, _)| **id).and_then(|(_, it)| it.events.clone());
        drop(state);
        let events = newest.ok_or("questions are answered only during a call")?;
        let (reply, answered) = oneshot::channel();
        events
            .try_send(CallEvent::Question { asked, reply })
            .map_err(|_| "too many questions are open".to_owned())?;
        Ok(answered)
    }
}

/// The answer to a request that is not carried out.
fn refusal(id: &Value, why: String) -> PeerMessage {
    PeerMessage::answer(id, Err(RpcError::new(codes::NO_SUCH_METHOD, why)))
}

/// A text about the progress: `3/10: message`.
fn progress(params: &Value) -> String {
    let number = |name: &str| params.get(name).and_then(Value::as_f64);
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
    let message = clean_start(message, limits::ERROR_BYTES).text;
    let count = match (number("progress"), number("total")) {
        (Some(done), Some(all)) => format!("{done}/{all}"),
        (Some(done), None) => format!("{done}"),
        _ => String::new(),
    };
    if message.is_empty() { count } else { format!("{count}: {message}") }
}
