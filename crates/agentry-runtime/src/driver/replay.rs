//! A replay: models, tools and user answer from a cassette. Only the policy is asked again. Nothing is
//! executed, and the first difference ends the run.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Map;
use tokio::sync::mpsc::UnboundedSender;

use super::CancelScope;
use super::interfaces::{
    ApprovalReply, ApprovalRequest, Approver, CallDecision, DeltaSink, ModelPrompt,
    OverlongConversation, RunModels, RunTools,
};
use crate::cassette::{CassetteDifference, Tape};
use crate::conversation::{TokenUsage, ToolCall};
use crate::event::{ApprovalAnswer, ModelFailure, ModelTurn, RunEvent, TimedEvent};
use crate::provider::AnswerDelta;
use crate::skill::progress::{SkillNote, SkillProgress};
use crate::tool::{self, BoxedFuture, ToolSpec};

/// Plays a cassette in place of models, tools and user.
pub struct ReplayedWorld {
    tape: Mutex<Tape>,
    /// Judges calls by the present policy.
    tools: Arc<dyn RunTools>,
    difference: Mutex<Option<CassetteDifference>>,
    canceller: OnceLock<UnboundedSender<CancelScope>>,
}

impl ReplayedWorld {
    /// Plays a tape, with the tools that judge its calls.
    pub fn new(tape: Tape, tools: Arc<dyn RunTools>) -> Self {
        Self {
            tape: Mutex::new(tape),
            tools,
            difference: Mutex::new(None),
            canceller: OnceLock::new(),
        }
    }

    /// Sets the sender that cancels the run where the recorded run was cancelled or differs.
    pub fn stop_by(&self, canceller: UnboundedSender<CancelScope>) {
        let _ = self.canceller.set(canceller);
    }

    /// Returns how the run began, if the cassette has it.
    pub fn began(&self) -> Option<RunEvent> {
        self.tape().began().cloned()
    }

    /// Returns how many models were used at least: a run with a fallback asked several.
    pub fn models(&self) -> usize {
        self.tape().models()
    }

    /// Returns the recorded time.
    pub fn now(&self) -> u64 {
        self.tape().now()
    }

    /// Returns the user's next message.
    pub fn next_user_message(&self) -> Option<String> {
        match self.tape().next_user_message()?.event {
            RunEvent::UserSent { text } => Some(text),
            _ => None,
        }
    }

    /// Returns the first difference, after the run.
    pub fn difference(&self) -> Option<CassetteDifference> {
        let found = self.difference.lock().unwrap_or_else(PoisonError::into_inner).clone();
        found.or_else(|| self.tape().finish().err())
    }

    fn tape(&self) -> std::sync::MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the first difference, and cancels the run.
    fn differs(&self, difference: CassetteDifference) {
        let mut known = self.difference.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert(difference);
        self.cancel(CancelScope::Run);
    }

    fn cancel(&self, cancel: CancelScope) {
        if let Some(canceller) = self.canceller.get() {
            let _ = canceller.send(cancel);
        }
    }

    /// Returns the recorded event. Where the recorded run was cancelled or differs, cancels this run and
    /// never returns.
    async fn recorded(&self, found: Result<TimedEvent, CassetteDifference>) -> RunEvent {
        match found.map(|happened| (recorded_cancel(&happened.event), happened.event)) {
            Ok((Some(cancel), _)) => self.cancel(cancel),
            Ok((None, event)) => return event,
            Err(difference) => self.differs(difference),
        }
        std::future::pending().await
    }
}

/// What to cancel where the recorded run was cancelled.
const fn recorded_cancel(event: &RunEvent) -> Option<CancelScope> {
    match event {
        RunEvent::Cancelled { run: true } => Some(CancelScope::Run),
        RunEvent::Cancelled { run: false } => Some(CancelScope::Turn),
        RunEvent::TimeUp => Some(CancelScope::Time),
        _ => None,
    }
}

impl RunModels for ReplayedWorld {
    fn name(&self, _model: usize) -> String {
        "recorded".to_owned()
    }

    fn estimate(&self, _model: usize, _reading: TokenUsage) -> TokenUsage {
        // What was sent is sent again, whatever it would cost now; only a refused request needs its usage.
        self.tape().refused().unwrap_or_default()
    }

    fn ask<'a>(
        &'a self,
        prompt: ModelPrompt<'a>,
        show: DeltaSink<'a>,
    ) -> BoxedFuture<'a, Result<ModelTurn, ModelFailure>> {
        Box::pin(async move {
            let found = self.tape().turn(&prompt.as_request("recorded", &Map::new()));
            match self.recorded(found).await {
                RunEvent::Turned(turn) => {
                    show(AnswerDelta::Text(turn.message.text()));
                    Ok(turn)
                }
                RunEvent::TurnFailed(failure) => Err(failure),
                _ => std::future::pending().await,
            }
        })
    }

    fn compact<'a>(&'a self, _long: OverlongConversation<'a>) -> BoxedFuture<'a, RunEvent> {
        Box::pin(async move {
            let found = self.tape().compacted();
            self.recorded(found).await
        })
    }
}

impl RunTools for ReplayedWorld {
    fn specs(&self) -> &[ToolSpec] {
        self.tools.specs()
    }

    fn judge(&self, call: &ToolCall) -> CallDecision {
        self.tools.judge(call)
    }

    fn judged(&self, call: &ToolCall, decision: &CallDecision) {
        let same = self.tape().judged(call, decision.verdict, &decision.reason);
        match same.map(|stopped| stopped.and_then(|it| recorded_cancel(&it.event))) {
            Ok(cancel) => cancel.into_iter().for_each(|cancel| self.cancel(cancel)),
            Err(difference) => self.differs(difference),
        }
    }

    fn preview(&self, call: &ToolCall) -> Option<String> {
        self.tools.preview(call)
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxedFuture<'a, tool::ToolOutput> {
        Box::pin(async move {
            let found = self.tape().result(call);
            let event = self.recorded(found).await;
            if let Some(directory) = self.tape().moved(call) {
                self.tools.move_to(&directory);
            }
            match event {
                RunEvent::Ended { text, failed, .. } => {
                    tool::ToolOutput { text, failed, then: tool::AfterCall::GoOn }
                }
                RunEvent::Returned { text, output, .. } => {
                    let (failed, then) = (output.is_err(), tool::AfterCall::Return(output));
                    tool::ToolOutput { text, failed, then }
                }
                RunEvent::Suspended { question, .. } => tool::ToolOutput {
                    then: tool::AfterCall::Park(question),
                    ..tool::ToolOutput::failed("parked")
                },
                _ => std::future::pending().await,
            }
        })
    }

    fn shortened(&self, text: &str, _most: usize) -> String {
        // The recorded text was cut already.
        text.to_owned()
    }

    fn skill_note(&self, call: &ToolCall) -> Option<SkillNote> {
        self.tools.skill_note(call)
    }

    fn follow_skills(&self, progress: &SkillProgress) {
        self.tools.follow_skills(progress);
    }

    fn directory(&self) -> String {
        self.tools.directory()
    }

    fn move_to(&self, directory: &str) {
        self.tools.move_to(directory);
    }
}

impl Approver for ReplayedWorld {
    fn decide<'a>(&'a self, asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        Box::pin(async move {
            let (id, exact) = match asked.plain() {
                ApprovalRequest::Call { call, decision, .. } => {
                    (Some(&call.id), Some(&decision.exact))
                }
                ApprovalRequest::Unfinished(call) | ApprovalRequest::Failed(call, _) => {
                    (Some(&call.id), None)
                }
                ApprovalRequest::Limit(_)
                | ApprovalRequest::Models(_)
                | ApprovalRequest::Of(..) => (None, None),
            };
            let found = self.tape().answer(id.map(String::as_str));
            let RunEvent::Answered { answer, .. } = self.recorded(found).await else {
                return std::future::pending().await;
            };
            match answer {
                ApprovalAnswer::Yes => ApprovalReply::Yes,
                ApprovalAnswer::Always(names)
                    if exact.is_some_and(|exact| names == [exact.clone()]) =>
                {
                    ApprovalReply::AlwaysExact
                }
                ApprovalAnswer::Always(_) => ApprovalReply::AlwaysRules,
                ApprovalAnswer::No(why) => ApprovalReply::No(why),
                ApprovalAnswer::Park => ApprovalReply::Park,
            }
        })
    }
}
