//! Carries out the effects of [`crate::step()`]: asks models, judges and runs calls, asks the user. Writes
//! every event to the log before its effects.

mod call_judge;
mod call_lineage;
mod call_output;
mod compact;
pub mod guarded_tools;
mod inner_calls;
pub mod interfaces;
pub mod live_models;
pub mod output;
mod own_thread;
mod perform;
pub mod recording;
pub mod replay;
mod retry_delay;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::approval::Approvals;
use crate::budget::RunLimits;
use crate::budget_pot::DelegateCharge;
use crate::conversation::{MessageBlock, ToolCall};
use crate::event::{CallClass, RunEnding, RunEvent, TimedEvent};
use crate::state::{RunPhase, StepState};
use crate::step::{RunEffect, step};
use crate::tool::ToolSpec;
use inner_calls::OpenCalls;
use interfaces::{DriverParts, InnerRequest};
use output::RunOutput;

pub use own_thread::judged;

/// Runs one agent.
pub struct RunDriver {
    state: StepState,
    parts: DriverParts,
    approvals: Arc<Approvals>,
    effects: VecDeque<RunEffect>,
    /// Running tasks; each ends with an event.
    tasks: JoinSet<RunEvent>,
    /// Ends with the last question to the user, so that there is one at a time, in the order of the calls.
    asked: Option<oneshot::Receiver<()>>,
    /// Calls that running calls ask for.
    requests: UnboundedReceiver<InnerRequest>,
    /// Those that have no result yet.
    open: OpenCalls,
    cancels: UnboundedReceiver<CancelScope>,
    /// What its delegates spend.
    charges: UnboundedReceiver<DelegateCharge>,
    canceller: UnboundedSender<CancelScope>,
    /// The directory for relative paths, as last written to the log.
    directory: String,
    /// The bytes of a request that are not messages: system prompt and tools.
    beside: usize,
    /// The bytes received of the current answer.
    heard: Arc<AtomicU64>,
}

/// What to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelScope {
    /// The answer and the calls that are under way.
    Turn,
    /// The run.
    Run,
    /// The run, at its time limit: a replay sends it where the recorded run had reached its limit.
    Time,
}

/// Ends a run whose events cannot be written any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run cannot be written down: {0}")]
pub struct BrokenRun(pub String);

impl RunDriver {
    /// Creates a driver for a run without events.
    pub fn new(parts: DriverParts, approvals: Arc<Approvals>) -> Self {
        let (canceller, cancels) = unbounded_channel();
        let (port, requests) = unbounded_channel();
        parts.tools.connect(port);
        let directory = parts.tools.directory();
        let tool =
            |it: &ToolSpec| it.name.len() + it.description.len() + it.schema.to_string().len();
        let tools: usize = parts.tools.specs().iter().map(tool).sum();
        Self {
            charges: parts.budget.listen(),
            directory,
            beside: parts.system.len() + tools,
            heard: Arc::default(),
            state: StepState::default(),
            parts,
            approvals,
            effects: VecDeque::new(),
            tasks: JoinSet::new(),
            asked: None,
            requests,
            open: OpenCalls::default(),
            cancels,
            canceller,
        }
    }

    /// Returns the state of the run.
    pub fn state(&self) -> &StepState {
        &self.state
    }

    /// Returns the name of a model of the plan, for the user.
    pub fn model(&self, at: usize) -> String {
        self.parts.models.name(at)
    }

    /// Returns a sender that cancels what is under way.
    pub fn canceller(&self) -> mpsc::UnboundedSender<CancelScope> {
        self.canceller.clone()
    }

    /// Begins the run.
    pub fn begin(&mut self, began: RunEvent) -> Result<(), BrokenRun> {
        self.happen(began)
    }

    /// Rebuilds the state from the journal of an earlier process. Carries out no effects.
    pub fn recall(&mut self, happened: Vec<TimedEvent>) {
        for happened in happened {
            match &happened.event {
                RunEvent::Moved { directory } => {
                    self.directory.clone_from(directory);
                    self.parts.tools.move_to(directory);
                }
                RunEvent::Answered { answer, .. } => self.approvals.note(answer),
                _ => {}
            }
            step(&mut self.state, happened);
        }
        self.parts.tools.follow_skills(&self.state.skills);
        self.parts.budget.report(&self.state);
    }

    /// Applies other limits and models from now on, if they differ.
    pub fn adjust(
        &mut self,
        limits: RunLimits,
        models: usize,
        window: Option<u64>,
    ) -> Result<(), BrokenRun> {
        let StepState { limits: known, models: count, window: size, .. } = &self.state;
        if (*known, *count, *size) == (limits, models, window) {
            return Ok(());
        }
        self.happen(RunEvent::Adjusted { limits, models, window })
    }

    /// Continues what was under way; returns `None` if nothing was.
    pub async fn resume(&mut self) -> Result<Option<RunEnding>, BrokenRun> {
        let was_idle = self.state.phase == RunPhase::Idle;
        self.happen(RunEvent::Resumed)?;
        if was_idle && self.state.phase == RunPhase::Idle {
            self.effects.clear();
            return Ok(None);
        }
        self.go().await.map(Some)
    }

    /// Sends a message to the agent, and runs until it has nothing left to do.
    pub async fn send_message(&mut self, text: String) -> Result<RunEnding, BrokenRun> {
        self.drop_late_cancels();
        self.happen(RunEvent::UserSent { text })?;
        self.go().await
    }

    /// A cancelled turn that is already over cancels nothing; a cancelled run still has to end.
    fn drop_late_cancels(&mut self) {
        let mut waiting = Vec::new();
        while let Ok(cancel) = self.cancels.try_recv() {
            waiting.push(cancel);
        }
        if waiting.iter().any(|cancel| *cancel != CancelScope::Turn) {
            let _ = self.canceller.send(CancelScope::Run);
        }
        self.parts.budget.set_cancelled(false);
    }

    /// Writes down what the user did between two turns, and applies it.
    pub fn note(&mut self, event: RunEvent) -> Result<(), BrokenRun> {
        self.happen(event)?;
        self.parts.tools.follow_skills(&self.state.skills);
        // A command of the user may have changed the directory.
        self.moved()
    }

    /// Compacts the conversation without a further question to the model; returns `None` if it is short.
    pub async fn compact_now(&mut self) -> Result<Option<RunEnding>, BrokenRun> {
        self.drop_late_cancels();
        self.happen(RunEvent::CompactionRequested)?;
        if self.state.phase == RunPhase::Idle {
            self.effects.clear();
            return Ok(None);
        }
        self.go().await.map(Some)
    }

    /// Carries out effects and handles their events until nothing is left to do.
    async fn go(&mut self) -> Result<RunEnding, BrokenRun> {
        let ending = self.work().await;
        // Even after an error, no task is left running.
        self.stop().await;
        let ending = ending?;
        while let Ok(charge) = self.charges.try_recv() {
            self.happen(charged(charge))?;
        }
        let spent = self.state.spent;
        (self.parts.output)(RunOutput::Ended { ending: ending.clone(), spent });
        Ok(ending)
    }

    async fn work(&mut self) -> Result<RunEnding, BrokenRun> {
        loop {
            while let Some(effect) = self.effects.pop_front() {
                if let RunEffect::Finish(ending) = effect {
                    return Ok(ending);
                }
                self.perform(effect).await?;
            }
            match &self.state.phase {
                // Only a cancelled turn leads here without an effect to finish.
                RunPhase::Idle => return Ok(RunEnding::Cancelled),
                // An ended run ignores all further events.
                RunPhase::Ended(ending) => return Ok(ending.clone()),
                _ => {}
            }
            // The effects may have decided an inner call: one that is refused never becomes a task.
            self.reply();
            let event = self.next().await;
            self.handle(event).await?;
        }
    }

    /// Handles an event of a task or of the user, with what has to happen before and after it.
    async fn handle(&mut self, event: RunEvent) -> Result<(), BrokenRun> {
        if matches!(event, RunEvent::Cancelled { .. } | RunEvent::TimeUp) {
            self.stopping()?;
        }
        if let RunEvent::Ended { id, failed: false, .. } = &event {
            self.note_skill(id)?;
        }
        if matches!(event, RunEvent::Cancelled { .. }) {
            self.parts.budget.set_cancelled(true);
        }
        let ended = matches!(event, RunEvent::Ended { .. });
        if let RunEvent::Ended { id, .. } = &event {
            let id = id.clone();
            self.stop_below(&id).await?;
        }
        self.happen(event)?;
        if ended {
            self.moved()?;
        }
        Ok(())
    }

    /// Waits for the next event.
    async fn next(&mut self) -> RunEvent {
        // In a replay, the recording decides when the time limit is reached.
        let left = self.state.time_left().filter(|_| self.parts.waits);
        let time = async {
            match left {
                Some(left) => tokio::time::sleep(Duration::from_millis(left.max(1))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // A cancel comes before results that are ready at the same time.
            biased;
            cancel = self.cancels.recv() => cancelled(cancel),
            () = time => RunEvent::TimeUp,
            // Before the results: a delegate is charged before its call ends.
            Some(charge) = self.charges.recv() => charged(charge),
            Some(request) = self.requests.recv() => self.admit(request),
            ended = finished(&mut self.tasks) => match ended {
                Some(event) => event,
                // No task and no question is left, so no event would ever come.
                None => RunEvent::Cancelled { run: true },
            },
        }
    }

    /// Writes an event to the log, applies it, and queues its effects.
    fn happen(&mut self, event: RunEvent) -> Result<(), BrokenRun> {
        let event = self.cleaned(event);
        let happened = TimedEvent { at: (self.parts.clock)(), event };
        let durable = self.is_durable(&happened.event);
        // The log comes first: if it fails, the event has no effects.
        self.parts.log.append(&happened, durable).map_err(BrokenRun)?;
        let heard = self.output_of(&happened.event);
        if let RunEvent::Answered { id, answer } = &happened.event {
            self.approvals.note(answer);
            id.iter().for_each(|id| self.open.answered(id));
        }
        let before = self.state.limits;
        let answered = matches!(happened.event, RunEvent::Answered { .. });
        if matches!(happened.event, RunEvent::Turned(_)) {
            self.parts.tools.follow_skills(&self.state.skills);
        }
        let effects = step(&mut self.state, happened);
        self.parts.budget.report(&self.state);
        let limits = self.state.limits;
        let raised = (answered && limits != before).then_some(RunOutput::Limits { limits });
        heard.into_iter().chain(raised).for_each(|output| (self.parts.output)(output));
        self.effects.extend(effects);
        Ok(())
    }

    /// Redacts and cuts the result of a call, before the model or a file gets it. Calls get the names of their tools.
    fn cleaned(&self, event: RunEvent) -> RunEvent {
        match event {
            RunEvent::Turned(mut turn) => {
                let calls = turn.message.blocks.iter_mut();
                calls.for_each(|block| spell_as_offered(block, self.parts.tools.specs()));
                RunEvent::Turned(turn)
            }
            RunEvent::Ended { id, text, failed } => {
                let text = self.parts.redactor.text(&text);
                let is_inner = self.state.call(&id).is_some_and(|call| call.within.is_some());
                // The result of an inner call has limits of its own.
                let room = if is_inner { usize::MAX } else { self.state.room_for_result() };
                let long = text.len() > room;
                let text = if long { self.parts.tools.shortened(&text, room) } else { text };
                RunEvent::Ended { id, text, failed }
            }
            RunEvent::Returned { id, text, output } => {
                let redactor = &self.parts.redactor;
                let output = output.map(|it| redactor.value(it)).map_err(|it| redactor.text(&it));
                RunEvent::Returned { id, text, output }
            }
            other => other,
        }
    }

    /// Returns whether an event must be on disk before its effects: a call that changes something must
    /// not run twice after a crash.
    fn is_durable(&self, event: &RunEvent) -> bool {
        let RunEvent::Started { id } = event else { return false };
        self.state.call(id).is_none_or(|call| call.class != CallClass::Read)
    }

    /// Returns the redacted output for an event.
    fn output_of(&self, event: &RunEvent) -> Option<RunOutput> {
        let name = |model| self.parts.models.name(model);
        RunOutput::of(event, &self.state, &name, &self.parts.redactor)
    }

    /// Returns a copy of the call with that id.
    fn call(&self, id: &str) -> Option<ToolCall> {
        self.state.call(id).map(|state| state.call.clone())
    }

    /// Ends a run that is dropped while it works, if the run above it was cancelled. Otherwise its journal stays
    /// open, and it continues when the run above it is resumed.
    pub fn leave(&mut self) {
        let is_over = matches!(self.state.phase, RunPhase::Idle | RunPhase::Ended(_));
        if is_over || !self.parts.budget.is_cancelled_above() {
            return;
        }
        // A journal that cannot be written leaves the run open as well.
        let _ = self.stopping();
        let _ = self.happen(RunEvent::Cancelled { run: true });
        self.effects.clear();
    }

    /// Cancels all tasks, and waits until they have ended.
    async fn stop(&mut self) {
        self.tasks.shutdown().await;
        self.open.clear();
        // What they asked for last is not wanted any more.
        while self.requests.try_recv().is_ok() {}
    }
}

/// The event for a request to cancel; a driver without any who could cancel ends.
fn cancelled(cancel: Option<CancelScope>) -> RunEvent {
    match cancel {
        Some(CancelScope::Time) => RunEvent::TimeUp,
        cancel => RunEvent::Cancelled { run: cancel != Some(CancelScope::Turn) },
    }
}

/// Waits for the event of a task; `None` if there is no task. A task that was stopped has none.
async fn finished(tasks: &mut JoinSet<RunEvent>) -> Option<RunEvent> {
    loop {
        match tasks.join_next().await? {
            Ok(event) => return Some(event),
            Err(error) if error.is_cancelled() => {}
            Err(_) => return None,
        }
    }
}

/// Gives a call the name under which its tool is offered: models write `Read` for `read`, and names of tools do not
/// differ by case alone.
fn spell_as_offered(block: &mut MessageBlock, offered: &[ToolSpec]) {
    let MessageBlock::Call(call) = block else { return };
    let is_same = |spec: &&ToolSpec| spec.name.eq_ignore_ascii_case(&call.tool);
    if offered.iter().any(|spec| spec.name == call.tool) {
        return;
    }
    if let Some(spec) = offered.iter().find(is_same) {
        call.tool.clone_from(&spec.name);
    }
}

/// The event for what a delegate has spent.
fn charged(charge: DelegateCharge) -> RunEvent {
    let DelegateCharge { call, run, spent } = charge;
    RunEvent::Delegated { id: call, run, spent }
}
