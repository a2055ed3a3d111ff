//! The caller of a tool, as the task that carries out the call sees it.

use agentry_rpc::RpcError;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::CallResult;
use crate::elicitation::ElicitationAnswer;

/// The most events of a call that wait for the caller.
const EVENTS: usize = 16;

/// What happens in a call.
#[derive(Debug)]
pub(super) enum CallerEvent {
    /// A text about the progress.
    Progress(String),
    /// A question to the user, and where its answer goes.
    Question(CallerQuestion, oneshot::Sender<ElicitationAnswer>),
    /// The call is over.
    Done(Result<CallResult, RpcError>),
}

/// A question to the user of the client.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallerQuestion {
    message: String,
    schema: Value,
}

/// The caller of a tool.
#[derive(Debug, Clone)]
pub struct CallerPort {
    events: mpsc::Sender<CallerEvent>,
    /// Whether the client can put questions to its user.
    pub can_ask: bool,
}

impl CallerQuestion {
    /// The parameters of `elicitation/create`.
    pub(super) fn to_json(&self) -> Value {
        json!({"mode": "form", "message": self.message, "requestedSchema": self.schema})
    }
}

impl CallerPort {
    pub(super) fn new(can_ask: bool) -> (Self, mpsc::Receiver<CallerEvent>) {
        let (events, receiver) = mpsc::channel(EVENTS);
        (Self { events, can_ask }, receiver)
    }

    /// Reports progress.
    pub async fn progress(&self, text: impl Into<String>) {
        let _ = self.events.send(CallerEvent::Progress(text.into())).await;
    }

    /// Puts a question with fields to the user. A caller that is gone gives no answer.
    pub async fn ask(&self, message: String, fields: Map<String, Value>) -> ElicitationAnswer {
        let required: Vec<&String> = fields.keys().take(1).collect();
        let schema = json!({"type": "object", "properties": fields, "required": required});
        let (sender, answer) = oneshot::channel();
        let question = CallerEvent::Question(CallerQuestion { message, schema }, sender);
        if !self.can_ask || self.events.send(question).await.is_err() {
            return ElicitationAnswer::Cancel;
        }
        answer.await.unwrap_or(ElicitationAnswer::Cancel)
    }

    /// Waits until the caller gives up.
    pub async fn gone(&self) {
        self.events.closed().await;
    }

    pub(super) async fn done(&self, result: Result<CallResult, RpcError>) {
        let _ = self.events.send(CallerEvent::Done(result)).await;
    }
}
