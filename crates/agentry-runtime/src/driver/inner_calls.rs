//! How the calls that a running call makes reach the driver, and how it gets their results.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::{BrokenRun, RunDriver};
use crate::conversation::ToolCall;
use crate::event::RunEvent;
use crate::state::{CallProgress, CallState};
use crate::tool::{AfterCall, PauseClock, ToolOutput};

/// The way to the driver.
pub type InnerPort = mpsc::UnboundedSender<InnerRequest>;

/// A call that a running call asks for.
pub struct InnerRequest {
    /// The running call.
    pub within: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Stands while the user is asked.
    pub pause: Arc<PauseClock>,
    /// Gets the result.
    pub reply: oneshot::Sender<InnerReply>,
}

/// The result of such a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InnerReply {
    /// It ran, or had run before the process was killed.
    Ran(ToolOutput),
    /// The policy, the user or a limit refused it.
    Refused(String),
}

/// The inner calls that have no result yet, by id.
#[derive(Default)]
pub(super) struct OpenCalls(HashMap<String, OpenInnerCall>);

struct OpenInnerCall {
    reply: oneshot::Sender<InnerReply>,
    pause: Arc<PauseClock>,
    is_asked: bool,
    task: Option<InnerTask>,
}

/// A running call or question.
struct InnerTask {
    abort: AbortHandle,
    /// Closed when the task has ended.
    ended: oneshot::Receiver<()>,
}

impl OpenCalls {
    /// Notes the task of a call, and how its end is noticed.
    pub(super) fn started(&mut self, id: &str, abort: AbortHandle, ended: oneshot::Receiver<()>) {
        if let Some(open) = self.0.get_mut(id) {
            open.task = Some(InnerTask { abort, ended });
        }
    }

    /// Notes that the user is asked about a call.
    pub(super) fn asked(&mut self, id: &str) {
        if let Some(open) = self.0.get_mut(id).filter(|open| !open.is_asked) {
            open.is_asked = true;
            open.pause.begin();
        }
    }

    /// Notes that the user has answered.
    pub(super) fn answered(&mut self, id: &str) {
        if let Some(open) = self.0.get_mut(id).filter(|open| open.is_asked) {
            open.is_asked = false;
            open.pause.end();
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl RunDriver {
    /// Takes a request in, and returns the event of the new call.
    pub(super) fn admit(&mut self, request: InnerRequest) -> RunEvent {
        let InnerRequest { within, tool, arguments, pause, reply } = request;
        let id = self.state.inner_id(&within);
        let open = OpenInnerCall { reply, pause, is_asked: false, task: None };
        self.open.0.insert(id.clone(), open);
        RunEvent::Called { within, call: ToolCall { id, tool, arguments, opaque: None } }
    }

    /// Sends the results of the calls that are over.
    pub(super) fn reply(&mut self) {
        let ids: Vec<String> = self.open.0.keys().cloned().collect();
        for id in ids {
            let reply = match self.state.call(&id) {
                Some(CallState {
                    progress: CallProgress::Over(text, failed), has_started, ..
                }) => {
                    let (text, failed) = (text.clone(), *failed);
                    if *has_started {
                        InnerReply::Ran(ToolOutput { text, failed, then: AfterCall::GoOn })
                    } else {
                        InnerReply::Refused(text)
                    }
                }
                Some(_) => continue,
                None => InnerReply::Refused("refused: the call that made it is over".to_owned()),
            };
            if let Some(open) = self.open.0.remove(&id) {
                // A script that is over does not wait for it.
                let _ = open.reply.send(reply);
            }
        }
    }

    /// Stops the calls below a call that has ended, and waits until they have ended.
    pub(super) async fn stop_below(&mut self, id: &str) -> Result<(), BrokenRun> {
        let is_open = |call: &&CallState| !call.is_over();
        let open = self.state.below(id).filter(is_open);
        let open: Vec<String> = open.map(|call| call.call.id.clone()).collect();
        for id in open {
            if let Some(OpenInnerCall { task: Some(task), .. }) = self.open.0.remove(&id) {
                task.abort.abort();
                let _ = task.ended.await;
            }
            let text = "stopped: the call that made it ended first".to_owned();
            self.happen(RunEvent::Ended { id, text, failed: true })?;
        }
        Ok(())
    }
}
