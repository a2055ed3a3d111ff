//! How the driver carries out each effect. Work that takes time becomes a task that ends with an event.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;

use super::interfaces::{
    ApprovalReply, ApprovalRequest, Approver, CallDecision, ModelPrompt, OutputSink,
    OverlongConversation, RunModels, RunTools,
};
use super::output::RunOutput;
use super::own_thread::{judged, on_own_thread};
use super::retry_delay::{chance, jittered};
use super::{BrokenRun, RunDriver, cancelled, compact};
use crate::approval::{ALL_EDITS, Approvals};
use crate::budget::NextAction;
use crate::context_window::BYTES_PER_TOKEN;
use crate::conversation::{Message, TokenUsage, ToolCall};
use crate::event::{
    ApprovalAnswer, CallJudgement, ModelFailure, ModelFailureKind, ModelTurn, RunEvent,
};
use crate::provider::AnswerDelta;
use crate::redact::{RedactingStream, Redactor};
use crate::state::{CallProgress, CallState, RunPhase};
use crate::step::{PersonQuestion, RunEffect};
use crate::tool::{self, AfterCall, ToolSpec};

impl RunDriver {
    /// Carries out one effect, or starts a task for it.
    pub(super) async fn perform(&mut self, effect: RunEffect) -> Result<(), BrokenRun> {
        match effect {
            RunEffect::Ask { model } => return self.ask(model),
            RunEffect::Judge { id } => return self.judge(id).await,
            RunEffect::Put(question) => self.put(question),
            RunEffect::Run { id } => return self.run(id),
            RunEffect::Wait { time } => {
                // A replay does not wait, and shows the recorded time.
                let time = if self.parts.waits { jittered(time, chance()) } else { time };
                (self.parts.output)(RunOutput::Waiting { time });
                let time = if self.parts.waits { time } else { 0 };
                self.tasks.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(time)).await;
                    RunEvent::Waited
                });
            }
            RunEffect::Compact { messages } => return self.compact(messages),
            RunEffect::Stop => self.stop().await,
            // The loop in `work` handles it before it gets here.
            RunEffect::Finish(_) => {}
        }
        Ok(())
    }

    fn ask(&mut self, model: usize) -> Result<(), BrokenRun> {
        if !self.may_send(model, self.state.estimate(self.beside))? {
            return Ok(());
        }
        let asking = ModelRequest {
            models: Arc::clone(&self.parts.models),
            tools: Arc::clone(&self.parts.tools),
            system: Arc::clone(&self.parts.system),
            shown: AnswerDisplay::new(&self.parts.redactor, &self.parts.output, &self.heard),
            messages: Arc::clone(&self.state.messages),
            model,
        };
        self.tasks.spawn(caught(asking.turn(), |why| RunEvent::TurnFailed(broken(&why))));
        Ok(())
    }

    /// Logs the least usage of a request; returns whether it may be sent.
    fn may_send(&mut self, model: usize, reading: TokenUsage) -> Result<bool, BrokenRun> {
        let phase = self.state.phase.clone();
        self.heard.store(0, Ordering::Relaxed);
        let usage = self.parts.models.estimate(model, reading);
        if let Err(limit) = self.parts.budget.admit(NextAction::Turn, usage) {
            self.happen(RunEvent::Exhausted { limit })?;
            return Ok(false);
        }
        self.happen(RunEvent::Asking { usage })?;
        // The event changes the phase if the request would exceed a limit.
        Ok(self.state.phase == phase)
    }

    /// Logs how much of an answer was received before it is cancelled, so that it is charged.
    pub(super) fn stopping(&mut self) -> Result<(), BrokenRun> {
        let output = self.heard.swap(0, Ordering::Relaxed).div_ceil(BYTES_PER_TOKEN as u64);
        let known = self.state.asking.filter(|_| self.state.phase == RunPhase::Asking);
        // In a replay, the recorded event has the usage.
        let Some(known) = known.filter(|_| output > 0 && self.parts.waits) else { return Ok(()) };
        let usage = TokenUsage { output, ..known };
        let usage = self.parts.models.estimate(self.state.model, usage);
        self.happen(RunEvent::Asking { usage })
    }

    fn compact(&mut self, messages: usize) -> Result<(), BrokenRun> {
        let (model, window) = (self.state.model, self.state.window);
        let all = Arc::clone(&self.state.messages);
        let reading = compact::reading(all.get(..messages).unwrap_or(&all), window);
        if !self.may_send(model, reading)? {
            return Ok(());
        }
        let models = Arc::clone(&self.parts.models);
        let work = async move {
            let messages = all.get(..messages).unwrap_or(&all);
            models.compact(OverlongConversation { model, window, messages }).await
        };
        self.tasks.spawn(caught(work, |why| RunEvent::TurnFailed(broken(&why))));
        Ok(())
    }

    /// Asks the policy about a call. Everything but a cancellation waits meanwhile, so that the calls of an answer
    /// are judged in their order and before any of their results.
    async fn judge(&mut self, id: String) -> Result<(), BrokenRun> {
        let is_open = |call: &&CallState| call.progress == CallProgress::Judging;
        // A call that was cancelled before its turn needs no verdict.
        let Some(call) = self.state.call(&id).filter(is_open) else { return Ok(()) };
        let call = call.call.clone();
        let judging = judged(Arc::clone(&self.parts.tools), call.clone());
        let decision = tokio::select! {
            biased;
            cancel = self.cancels.recv() => {
                // If the call is still open after that, it still needs its verdict.
                self.effects.push_front(RunEffect::Judge { id });
                return self.handle(cancelled(cancel)).await;
            }
            decision = judging => self.approvals.weighed(decision),
        };
        self.parts.tools.judged(&call, &decision);
        let CallDecision { verdict, reason, class, .. } = decision;
        self.happen(RunEvent::Judged { id, verdict, reason, class })
    }

    /// Logs the start of a call, then runs it.
    fn run(&mut self, id: String) -> Result<(), BrokenRun> {
        let Some(call) = self.call(&id) else { return Ok(()) };
        if let Err(limit) = self.parts.budget.admit(NextAction::Call, TokenUsage::default()) {
            return self.happen(RunEvent::Exhausted { limit });
        }
        self.happen(RunEvent::Started { id: id.clone() })?;
        let is_inner = self.state.call(&id).is_some_and(|call| call.within.is_some());
        let tools = Arc::clone(&self.parts.tools);
        let work = {
            let id = id.clone();
            async move {
                let tool::ToolOutput { text, failed, then } = tools.run(&call).await;
                match then {
                    // A call of a script gives a result, and does nothing to the run.
                    _ if is_inner => RunEvent::Ended { id, text, failed },
                    AfterCall::GoOn => RunEvent::Ended { id, text, failed },
                    AfterCall::Park(question) => RunEvent::Suspended { id, question },
                    AfterCall::Return(output) => RunEvent::Returned { id, text, output },
                }
            }
        };
        let about = id.clone();
        let work = caught(work, move |why| RunEvent::Ended {
            id,
            text: format!("a defect in the tool: {why}"),
            failed: true,
        });
        self.spawn(Some(&about), work);
        Ok(())
    }

    /// Starts a task about a call.
    fn spawn(&mut self, id: Option<&str>, work: impl Future<Output = RunEvent> + Send + 'static) {
        let (running, ended) = tokio::sync::oneshot::channel();
        let abort = self.tasks.spawn(async move {
            let _running = running;
            work.await
        });
        if let Some(id) = id {
            self.open.started(id, abort, ended);
        }
    }

    /// Asks the user.
    fn put(&mut self, question: PersonQuestion) {
        let id = match &question {
            PersonQuestion::Call { id, .. }
            | PersonQuestion::Unfinished { id }
            | PersonQuestion::Failed { id, .. } => Some(id.clone()),
            PersonQuestion::Limit { .. } | PersonQuestion::Models { .. } => None,
        };
        let call = id.as_deref().and_then(|id| self.call(id));
        let putting = ApprovalPrompt {
            person: Arc::clone(&self.parts.person),
            tools: Arc::clone(&self.parts.tools),
            approvals: Arc::clone(&self.approvals),
            question,
            call,
        };
        let (turn, ended) = tokio::sync::oneshot::channel();
        let before = self.asked.replace(ended);
        let about = id.clone();
        let work = async move {
            let _turn: tokio::sync::oneshot::Sender<()> = turn;
            if let Some(before) = before {
                // Nothing is ever sent: the channel closes with the question.
                let _ = before.await;
            }
            let answer = putting.answer().await;
            // This answer may settle the next question, so it is noted before that is asked.
            putting.approvals.note(&answer);
            RunEvent::Answered { id: about, answer }
        };
        let call = id.clone();
        call.iter().for_each(|id| self.open.asked(id));
        let work = caught(work, move |why| RunEvent::Answered {
            id,
            answer: ApprovalAnswer::No(Some(format!("no user could be asked: {why}"))),
        });
        self.spawn(call.as_deref(), work);
    }

    /// Logs what a successful call of a skill tool means, before its result. A call that is run again after
    /// a crash replaces the note.
    pub(super) fn note_skill(&mut self, id: &str) -> Result<(), BrokenRun> {
        let note = self.call(id).and_then(|call| self.parts.tools.skill_note(&call));
        let id = id.to_owned();
        note.map_or(Ok(()), |note| self.happen(RunEvent::Skill { id, note }))
    }

    /// Logs a directory that a call has changed to, so that a resumed run starts there.
    pub(super) fn moved(&mut self) -> Result<(), BrokenRun> {
        let directory = self.parts.tools.directory();
        if self.directory != directory {
            self.directory.clone_from(&directory);
            return self.happen(RunEvent::Moved { directory });
        }
        Ok(())
    }
}

/// One request to a model.
struct ModelRequest {
    models: Arc<dyn RunModels>,
    tools: Arc<dyn RunTools>,
    system: Arc<str>,
    shown: AnswerDisplay,
    messages: Arc<Vec<Arc<Message>>>,
    model: usize,
}

impl ModelRequest {
    async fn turn(mut self) -> RunEvent {
        let tools: &[ToolSpec] = self.tools.specs();
        let prompt = ModelPrompt {
            model: self.model,
            system: &self.system,
            messages: &self.messages,
            tools,
        };
        let answered = self.models.ask(prompt, &mut |delta| self.shown.show_delta(delta)).await;
        self.shown.rest();
        match answered {
            Ok(turn) => RunEvent::Turned(ModelTurn { model: self.model, ..turn }),
            Err(failure) => RunEvent::TurnFailed(failure),
        }
    }
}

/// Shows an answer while it arrives. Redacts across pieces: a secret may be split between two of them.
struct AnswerDisplay {
    output: OutputSink,
    text: RedactingStream,
    thinking: RedactingStream,
    /// The bytes of the answer so far.
    heard: Arc<AtomicU64>,
}

impl AnswerDisplay {
    fn new(redactor: &Arc<Redactor>, output: &OutputSink, heard: &Arc<AtomicU64>) -> Self {
        let (text, thinking) = (redactor.words(), redactor.words());
        Self { output: Arc::clone(output), text, thinking, heard: Arc::clone(heard) }
    }

    fn show_delta(&mut self, delta: AnswerDelta) {
        let (AnswerDelta::Text(piece) | AnswerDelta::Thinking(piece) | AnswerDelta::Call(piece)) =
            &delta;
        self.heard.fetch_add(piece.len() as u64, Ordering::Relaxed);
        match delta {
            AnswerDelta::Text(piece) => {
                // Text after reasoning ends the reasoning, so its held-back part is shown first.
                let rest = self.thinking.finish();
                self.emit_thinking(rest);
                let text = self.text.push(&piece);
                self.emit_text(text);
            }
            AnswerDelta::Thinking(piece) => {
                let rest = self.text.finish();
                self.emit_text(rest);
                let text = self.thinking.push(&piece);
                self.emit_thinking(text);
            }
            AnswerDelta::Call(tool) => {
                self.rest();
                (self.output)(RunOutput::Calling { tool });
            }
        }
    }

    /// Shows what was held back; no more pieces come.
    fn rest(&mut self) {
        let (thinking, text) = (self.thinking.finish(), self.text.finish());
        self.emit_thinking(thinking);
        self.emit_text(text);
    }

    fn emit_text(&self, text: String) {
        if !text.is_empty() {
            (self.output)(RunOutput::Text { text });
        }
    }

    fn emit_thinking(&self, text: String) {
        if !text.is_empty() {
            (self.output)(RunOutput::Thinking { text });
        }
    }
}

/// One question to the user.
struct ApprovalPrompt {
    person: Arc<dyn Approver>,
    tools: Arc<dyn RunTools>,
    approvals: Arc<Approvals>,
    question: PersonQuestion,
    call: Option<ToolCall>,
}

impl ApprovalPrompt {
    async fn answer(&self) -> ApprovalAnswer {
        match (&self.question, &self.call) {
            (PersonQuestion::Call { .. }, Some(call)) => self.about_call(call).await,
            (PersonQuestion::Unfinished { .. }, Some(call)) => {
                plain(self.person.decide(ApprovalRequest::Unfinished(call)).await)
            }
            (PersonQuestion::Failed { why, .. }, Some(call)) => {
                plain(self.person.decide(ApprovalRequest::Failed(call, why)).await)
            }
            (PersonQuestion::Limit { limit }, _) => {
                plain(self.person.decide(ApprovalRequest::Limit(limit)).await)
            }
            (PersonQuestion::Models { why }, _) => {
                plain(self.person.decide(ApprovalRequest::Models(why)).await)
            }
            (_, None) => ApprovalAnswer::No(None),
        }
    }

    async fn about_call(&self, call: &ToolCall) -> ApprovalAnswer {
        let decision = judged(Arc::clone(&self.tools), call.clone()).await;
        let decision = self.approvals.weighed(decision);
        // The answer to an earlier question may have settled this one.
        match decision.verdict {
            CallJudgement::Allow => return ApprovalAnswer::Yes,
            CallJudgement::Deny => return ApprovalAnswer::No(Some(decision.reason)),
            CallJudgement::Ask => {}
        }
        let (tools, shown) = (Arc::clone(&self.tools), call.clone());
        let preview = on_own_thread(move || tools.preview(&shown)).await;
        let preview = preview.unwrap_or_else(Some);
        let asked =
            ApprovalRequest::Call { call, decision: &decision, preview: preview.as_deref() };
        match self.person.decide(asked).await {
            ApprovalReply::AlwaysRules if !decision.rules.is_empty() => {
                ApprovalAnswer::Always(decision.rules)
            }
            ApprovalReply::AlwaysExact if !decision.exact.is_empty() => {
                ApprovalAnswer::Always(vec![decision.exact])
            }
            ApprovalReply::AllEdits if decision.offer.all_edits => {
                ApprovalAnswer::Always(vec![ALL_EDITS.to_owned()])
            }
            ApprovalReply::Remember if decision.offer.standing && !decision.rules.is_empty() => {
                match self.approvals.keep(&decision.rules) {
                    Ok(()) => ApprovalAnswer::Always(decision.rules),
                    // The keeper has reported why: the answer holds for this call.
                    Err(_) => ApprovalAnswer::Yes,
                }
            }
            reply => plain(reply),
        }
    }
}

fn plain(reply: ApprovalReply) -> ApprovalAnswer {
    match reply {
        ApprovalReply::Yes
        | ApprovalReply::AlwaysRules
        | ApprovalReply::AlwaysExact
        | ApprovalReply::AllEdits
        | ApprovalReply::Remember => ApprovalAnswer::Yes,
        ApprovalReply::No(why) => ApprovalAnswer::No(why),
        ApprovalReply::Park => ApprovalAnswer::Park,
    }
}

/// Turns a panic of a task into an event, so that the run continues.
async fn caught(
    work: impl Future<Output = RunEvent> + Send,
    otherwise: impl FnOnce(String) -> RunEvent,
) -> RunEvent {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(event) => event,
        Err(panic) => otherwise(words(&*panic)),
    }
}

pub(super) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given").to_owned()
}

fn broken(why: &str) -> ModelFailure {
    ModelFailure::new(ModelFailureKind::Permanent, format!("a defect in agentry: {why}"))
}
