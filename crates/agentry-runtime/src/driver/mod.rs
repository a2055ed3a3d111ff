//! Carries out what the loop decides: asks models, judges and runs calls, asks the person. Every event
//! is written down before its effects are carried out.

mod call_output;
mod compact;
pub mod guarded_tools;
pub mod interfaces;
pub mod live_models;
pub mod output;
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
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use crate::approval::Approvals;
use crate::budget::RunLimits;
use crate::conversation::ToolCall;
use crate::event::{CallClass, RunEnding, RunEvent, TimedEvent};
use crate::state::{RunPhase, StepState};
use crate::step::{RunEffect, step};
use crate::tool::ToolSpec;
use interfaces::DriverParts;
use output::RunOutput;

/// Runs one agent.
pub struct RunDriver {
    state: StepState,
    parts: DriverParts,
    approvals: Arc<Approvals>,
    effects: VecDeque<RunEffect>,
    /// What is under way; each ends with what happened.
    tasks: JoinSet<RunEvent>,
    /// One question at a time.
    asking: Arc<Mutex<()>>,
    cancels: UnboundedReceiver<CancelScope>,
    canceller: UnboundedSender<CancelScope>,
    /// Where relative paths started from when that was last written down.
    directory: String,
    /// Bytes that a model reads beside what is said: its instructions and its tools.
    beside: usize,
    /// Bytes of the answer that is coming.
    heard: Arc<AtomicU64>,
}

/// How much is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelScope {
    /// The answer and the calls that are under way.
    Turn,
    /// The run.
    Run,
    /// The run, because its time is over: where a recorded one had no more of it.
    Time,
}

/// Why a run cannot go on at all: what happens can no longer be written down.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run cannot be written down: {0}")]
pub struct BrokenRun(pub String);

impl RunDriver {
    /// A driver of a run that nothing has happened in yet.
    pub fn new(parts: DriverParts, approvals: Arc<Approvals>) -> Self {
        let (canceller, cancels) = unbounded_channel();
        let directory = parts.tools.directory();
        let tool =
            |it: &ToolSpec| it.name.len() + it.description.len() + it.schema.to_string().len();
        let tools: usize = parts.tools.specs().iter().map(tool).sum();
        Self {
            directory,
            beside: parts.system.len() + tools,
            heard: Arc::default(),
            state: StepState::default(),
            parts,
            approvals,
            effects: VecDeque::new(),
            tasks: JoinSet::new(),
            asking: Arc::default(),
            cancels,
            canceller,
        }
    }

    /// Where the run stands.
    pub fn state(&self) -> &StepState {
        &self.state
    }

    /// What a person calls the model at this place of the plan.
    pub fn model(&self, at: usize) -> String {
        self.parts.models.name(at)
    }

    /// By which somebody else stops what is under way.
    pub fn canceller(&self) -> mpsc::UnboundedSender<CancelScope> {
        self.canceller.clone()
    }

    /// Begins the run.
    pub fn begin(&mut self, began: RunEvent) -> Result<(), BrokenRun> {
        self.happen(began)
    }

    /// Takes in what happened before the process that ran it was gone. Nothing is done about it.
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
    }

    /// Lets other limits and models hold from now on, if they are others.
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

    /// Goes on with what was under way. Nothing if there was nothing.
    pub async fn resume(&mut self) -> Result<Option<RunEnding>, BrokenRun> {
        let was_idle = self.state.phase == RunPhase::Idle;
        self.happen(RunEvent::Resumed)?;
        if was_idle && self.state.phase == RunPhase::Idle {
            self.effects.clear();
            return Ok(None);
        }
        self.go().await.map(Some)
    }

    /// Says something to the agent and lets it work until it has nothing left to do.
    pub async fn say(&mut self, text: String) -> Result<RunEnding, BrokenRun> {
        // Stopping a turn that is over stops nothing; the end of the run is still to come.
        let mut waiting = Vec::new();
        while let Ok(cancel) = self.cancels.try_recv() {
            waiting.push(cancel);
        }
        if waiting.iter().any(|cancel| *cancel != CancelScope::Turn) {
            let _ = self.canceller.send(CancelScope::Run);
        }
        self.happen(RunEvent::Said { text })?;
        self.go().await
    }

    /// Carries out effects, and takes in what they lead to, until nothing is left to do.
    async fn go(&mut self) -> Result<RunEnding, BrokenRun> {
        let ending = self.work().await;
        // Whatever happened, nothing is left running.
        self.stop().await;
        let ending = ending?;
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
                RunPhase::Idle => return Ok(RunEnding::Cancelled),
                // Nothing leads on from here: whatever happened now would change nothing.
                RunPhase::Ended(ending) => return Ok(ending.clone()),
                _ => {}
            }
            let event = self.next().await;
            if matches!(event, RunEvent::Cancelled { .. } | RunEvent::TimeUp) {
                self.stopping()?;
            }
            let ended = matches!(event, RunEvent::Ended { .. });
            self.happen(event)?;
            if ended {
                self.moved()?;
            }
        }
    }

    /// What happens next.
    async fn next(&mut self) -> RunEvent {
        // In a replay it is the recording that says when the time is over.
        let left = self.state.time_left().filter(|_| self.parts.waits);
        let time = async {
            match left {
                Some(left) => tokio::time::sleep(Duration::from_millis(left.max(1))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            cancel = self.cancels.recv() => match cancel {
                Some(CancelScope::Time) => RunEvent::TimeUp,
                cancel => RunEvent::Cancelled { run: cancel != Some(CancelScope::Turn) },
            },
            () = time => RunEvent::TimeUp,
            ended = self.tasks.join_next() => match ended {
                Some(Ok(event)) => event,
                // Nothing is under way and nothing is asked: nobody would ever go on.
                Some(Err(_)) | None => RunEvent::Cancelled { run: true },
            },
        }
    }

    /// Writes down what happened, and finds out what is to be done about it.
    fn happen(&mut self, event: RunEvent) -> Result<(), BrokenRun> {
        let event = self.cleaned(event);
        let happened = TimedEvent { at: (self.parts.clock)(), event };
        let durable = self.is_durable(&happened.event);
        self.parts.log.append(&happened, durable).map_err(BrokenRun)?;
        let heard = self.heard(&happened.event);
        if let RunEvent::Answered { answer, .. } = &happened.event {
            self.approvals.note(answer);
        }
        let before = self.state.limits;
        let answered = matches!(happened.event, RunEvent::Answered { .. });
        let effects = step(&mut self.state, happened);
        let limits = self.state.limits;
        let raised = (answered && limits != before).then_some(RunOutput::Limits { limits });
        heard.into_iter().chain(raised).for_each(|output| (self.parts.output)(output));
        self.effects.extend(effects);
        Ok(())
    }

    /// What a call printed, as long as there is room for, without secrets: neither the model nor a file
    /// hears them.
    fn cleaned(&self, event: RunEvent) -> RunEvent {
        match event {
            RunEvent::Ended { id, text, failed } => {
                let text = self.parts.redactor.text(&text);
                let room = self.state.room_for_result();
                let long = text.len() > room;
                let text = if long { self.parts.tools.shortened(&text, room) } else { text };
                RunEvent::Ended { id, text, failed }
            }
            other => other,
        }
    }

    /// Whether it must be on the disk before anything else happens: what comes next may change the
    /// world and must not be done twice.
    fn is_durable(&self, event: &RunEvent) -> bool {
        let RunEvent::Started { id } = event else { return false };
        self.state.call(id).is_none_or(|call| call.class != CallClass::Read)
    }

    /// What others are told of an event: no secrets.
    fn heard(&self, event: &RunEvent) -> Option<RunOutput> {
        let redactor = &self.parts.redactor;
        Some(match event {
            RunEvent::Turned(turn) => {
                let mut spent = self.state.spent;
                spent.add(turn.usage);
                RunOutput::Turn {
                    model: self.parts.models.name(turn.model),
                    text: redactor.text(&turn.message.text()),
                    calls: turn.message.calls().count(),
                    usage: turn.usage,
                    spent,
                }
            }
            RunEvent::TurnFailed(failure) => RunOutput::ModelFailed {
                model: self.parts.models.name(self.state.model),
                kind: failure.kind,
                message: redactor.text(&failure.message),
            },
            RunEvent::Judged { id, verdict, reason, class } => {
                let call = &self.state.call(id)?.call;
                RunOutput::Call {
                    id: id.clone(),
                    tool: call.tool.clone(),
                    arguments: redactor.value(call.arguments.clone()),
                    verdict: *verdict,
                    reason: redactor.text(reason),
                    class: *class,
                }
            }
            RunEvent::Answered { id, answer } => {
                RunOutput::Answer { id: id.clone(), answer: answer.clone() }
            }
            RunEvent::Started { id } => RunOutput::Started { id: id.clone() },
            RunEvent::Ended { id, text, failed } => {
                RunOutput::Result { id: id.clone(), text: text.clone(), failed: *failed }
            }
            RunEvent::Compacted { messages, summary, .. } => {
                RunOutput::Compacted { messages: *messages, summary: redactor.text(summary) }
            }
            _ => return None,
        })
    }

    /// The call of that identifier, as it is now.
    fn call(&self, id: &str) -> Option<ToolCall> {
        self.state.call(id).map(|state| state.call.clone())
    }

    /// Ends whatever is under way, and waits until it has ended.
    async fn stop(&mut self) {
        self.tasks.shutdown().await;
    }
}
