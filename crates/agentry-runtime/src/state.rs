//! The state of a run: everything that its events have built up. [`crate::step()`] reads and changes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::{NextAction, RunLimits, RunSpending};
use crate::context_window::{self, BYTES_PER_TOKEN};
use crate::conversation::{Message, MessageBlock, MessageRole, TokenUsage, ToolCall};
use crate::event::{CallClass, RunEnding};
use crate::inner_call::PastCall;
use crate::skill::progress::SkillProgress;

/// The state of a run between two events.
#[derive(Debug, Clone, PartialEq)]
pub struct StepState {
    /// What the run waits for.
    pub phase: RunPhase,
    /// The conversation. Shared, so that a request to the model needs no copy.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The tool calls of the last answer, in order.
    pub calls: Vec<CallState>,
    /// The calls that running calls made themselves, in order.
    pub inner: Vec<CallState>,
    /// What such calls did before the process was killed or the run was parked.
    pub(crate) past: Vec<PastCall>,
    /// How many of them there were in the whole run.
    pub(crate) inner_steps: u64,
    /// What the run may spend.
    pub limits: RunLimits,
    /// What the run has spent.
    pub spent: RunSpending,
    /// Whether the user is asked when a limit is reached.
    pub asks_at_limit: bool,
    /// What to do when a tool call or a model fails.
    pub on_error: ErrorStrategy,
    /// Whether the definition writes `on_error`.
    pub on_error_is_written: bool,
    /// The model in use, as its index in the plan.
    pub model: usize,
    /// The model that the user chose: with it, each new beginning begins.
    pub(crate) chosen: usize,
    /// How many models the plan has.
    pub models: usize,
    /// The context window of the model, in tokens.
    pub window: Option<u64>,
    /// How many requests for the current answer failed.
    pub attempts: u32,
    /// Messages that the user sent while the run was busy. The model gets them with the next request.
    pub queue: Vec<String>,
    /// Notes for the model before the next message: what the user changed since its last answer.
    pub(crate) notes: Vec<String>,
    /// Whether the user asked for a compaction, after which the model is not asked.
    pub(crate) only_compacts: bool,
    /// The question to park the run for, as soon as no call runs any more.
    pub parking: Option<String>,
    /// What each delegate has spent, by the call that started it. It is part of `spent`.
    pub delegated: BTreeMap<String, RunSpending>,
    /// The output of the function that the run carries out, or what does not fit.
    pub output: Option<Result<Value, String>>,
    /// How many answers with tool calls in a row were truncated.
    pub(crate) cut_off: u32,
    /// The usage of the last answer; zero if the messages were changed since.
    pub(crate) last: TokenUsage,
    /// The least usage of the request that is under way, or that the user is asked about.
    pub(crate) asking: Option<TokenUsage>,
    /// The skills that are loaded, and how far they are.
    pub skills: SkillProgress,
    /// The number of messages after the last compaction.
    pub(crate) compacted: usize,
    /// The ids of all tool calls so far.
    pub(crate) ids: BTreeSet<String>,
    /// The time of the last event.
    pub(crate) clock: Option<u64>,
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunPhase {
    /// For the user's next message.
    Idle,
    /// For the model.
    Asking,
    /// For the back-off after a failure.
    Waiting,
    /// For a summary of older messages.
    Compacting,
    /// For its tool calls.
    Calling,
    /// For the user's answer to a question about the whole run.
    Blocked(BlockedRun),
    /// For nothing: it has ended.
    Ended(RunEnding),
}

/// A question to the user about the whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockedRun {
    /// A limit was reached.
    Limit(String),
    /// No model answers.
    Models(String),
}

/// What to do when a tool call or a model fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorStrategy {
    /// Ask the user.
    Ask,
    /// Retry once.
    Retry,
    /// End the run.
    Fail,
    /// Report the failure to the model, and continue.
    #[default]
    Skip,
}

/// A tool call of the last answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CallState {
    /// The call.
    pub call: ToolCall,
    /// The call that made it; `None` for a call of the model.
    pub within: Option<String>,
    /// How far it is.
    pub progress: CallProgress,
    /// What it changes, as soon as it is judged.
    pub class: CallClass,
    /// The reason for its verdict, as soon as it is judged.
    pub reason: String,
    /// How often it was retried.
    pub retries: u32,
    /// Whether secrets in its arguments were lost when the run was killed.
    pub forgotten: bool,
    /// Whether the journal has its start; a refused call is over without one.
    pub(crate) has_started: bool,
}

/// How far a tool call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallProgress {
    /// The policy is being asked.
    Judging,
    /// The user is asked for approval.
    Asked,
    /// It may run.
    Ready,
    /// Its start is requested; the journal does not have it yet.
    Launched,
    /// The journal has its start.
    Running,
    /// The user is asked what to do about its failure.
    Failed(String),
    /// It is over: the text for the model, and whether it failed.
    Over(String, bool),
}

impl CallState {
    /// Creates a call that is not judged yet.
    pub(crate) fn new(call: ToolCall, within: Option<String>) -> Self {
        Self {
            call,
            within,
            progress: CallProgress::Judging,
            // The strictest class, until the call is judged.
            class: CallClass::External,
            reason: String::new(),
            retries: 0,
            forgotten: false,
            has_started: false,
        }
    }

    /// Returns whether it has started, or is about to.
    pub(crate) fn runs(&self) -> bool {
        matches!(self.progress, CallProgress::Launched | CallProgress::Running)
    }

    /// Returns whether the user is asked about it.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self.progress, CallProgress::Asked | CallProgress::Failed(_))
    }

    /// Returns whether it has a result.
    pub fn is_over(&self) -> bool {
        matches!(self.progress, CallProgress::Over(..))
    }
}

impl Default for StepState {
    fn default() -> Self {
        Self {
            phase: RunPhase::Idle,
            messages: Arc::default(),
            calls: Vec::new(),
            inner: Vec::new(),
            past: Vec::new(),
            inner_steps: 0,
            limits: RunLimits::default(),
            spent: RunSpending::default(),
            asks_at_limit: false,
            on_error: ErrorStrategy::default(),
            on_error_is_written: false,
            model: 0,
            chosen: 0,
            models: 1,
            window: None,
            attempts: 0,
            queue: Vec::new(),
            notes: Vec::new(),
            only_compacts: false,
            parking: None,
            delegated: BTreeMap::new(),
            output: None,
            cut_off: 0,
            last: TokenUsage::default(),
            asking: None,
            skills: SkillProgress::default(),
            compacted: 0,
            ids: BTreeSet::new(),
            clock: None,
        }
    }
}

impl StepState {
    pub(crate) fn messages_mut(&mut self) -> &mut Vec<Arc<Message>> {
        Arc::make_mut(&mut self.messages)
    }

    /// Appends a message.
    pub(crate) fn push_message(&mut self, message: Message) {
        self.messages_mut().push(Arc::new(message));
    }

    /// Returns the call with that id.
    pub fn call(&self, id: &str) -> Option<&CallState> {
        self.calls.iter().chain(&self.inner).find(|call| call.call.id == id)
    }

    pub(crate) fn call_mut(&mut self, id: &str) -> Option<&mut CallState> {
        self.calls.iter_mut().chain(&mut self.inner).find(|call| call.call.id == id)
    }

    /// Advances the clock. Time in which the user is asked does not count. A clock that was set back adds
    /// nothing.
    pub(crate) fn tick(&mut self, now: u64) {
        if let Some(before) = self.clock
            && !self.waits_for_person()
        {
            self.spent.time = self.spent.time.saturating_add(now.saturating_sub(before));
        }
        self.clock = Some(now);
    }

    /// Returns whether the run can only continue after input of the user.
    pub fn waits_for_person(&self) -> bool {
        let idle = matches!(self.phase, RunPhase::Idle | RunPhase::Blocked(_) | RunPhase::Ended(_));
        let mut all = self.calls.iter().chain(&self.inner);
        idle || (all.any(CallState::is_asked) && !self.any_runs())
    }

    /// Returns what to do about a call that was started and has no result. It may have changed something, so
    /// only a written strategy decides without the user.
    pub(crate) fn on_unfinished(&self) -> ErrorStrategy {
        if self.on_error_is_written { self.on_error } else { ErrorStrategy::Ask }
    }

    /// Returns whether a tool call runs. One that waits for a call of its own, about which the user is
    /// asked, does not.
    pub fn any_runs(&self) -> bool {
        let mut all = self.calls.iter().chain(&self.inner);
        all.any(|call| call.runs() && !self.is_suspended(&call.call.id))
    }

    /// Estimates the tokens of the next request: those of the last request and answer, and of the messages
    /// since.
    pub(crate) fn tokens(&self) -> u64 {
        let last = self.last.input.saturating_add(self.last.output);
        // After a compaction the last count is zero, so all messages are estimated.
        // The last answer is in the last count, so only the user messages after it are new.
        let counted = |message: &&Arc<Message>| last == 0 || message.role == MessageRole::User;
        let since = self.messages.iter().rev().take_while(counted);
        let bytes: usize = since.map(|message| message.weight()).sum();
        let result_tokens = u64::try_from(bytes / BYTES_PER_TOKEN).unwrap_or(u64::MAX);
        last.saturating_add(result_tokens)
    }

    /// Estimates the least usage of the next request. `beside` are the bytes of the request that are not
    /// messages, such as the system prompt.
    pub(crate) fn estimate(&self, beside: usize) -> TokenUsage {
        // The count of the last answer includes them.
        let beside = if self.last.is_nothing() { beside } else { 0 };
        let beside = u64::try_from(beside / BYTES_PER_TOKEN).unwrap_or(u64::MAX);
        // A provider that cached the last request caches its whole input.
        let cached = if self.last.cached > 0 { self.last.input } else { 0 };
        TokenUsage { input: self.tokens().saturating_add(beside), cached, ..TokenUsage::default() }
    }

    /// Gives up the request under way, and charges what it used at least.
    pub(crate) fn abandon(&mut self) {
        if matches!(self.phase, RunPhase::Asking | RunPhase::Compacting)
            && let Some(usage) = self.asking.take()
        {
            self.spent.use_up(usage);
        }
    }

    /// Estimates the tokens of all messages.
    pub(crate) fn weight(&self) -> u64 {
        u64::try_from(context_window::weight(&self.messages) / BYTES_PER_TOKEN).unwrap_or(u64::MAX)
    }

    /// Cuts the messages by that many tokens, the longest parts first. Returns whether anything was cut.
    pub(crate) fn shorten(&mut self, tokens: u64) -> bool {
        let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN);
        let all = context_window::weight(&self.messages);
        let cut = context_window::shorten(self.messages_mut(), all.saturating_sub(bytes));
        if cut {
            self.last = TokenUsage::default();
        }
        cut
    }

    /// Returns the most bytes of the next result. The results of one answer share a limit; what a short
    /// result leaves is available to the calls that are still open.
    pub fn room_for_result(&self) -> usize {
        let over = |call: &CallState| match &call.progress {
            CallProgress::Over(text, _) => Some(text.len()),
            _ => None,
        };
        let used: usize = self.calls.iter().filter_map(over).sum();
        let open = self.calls.iter().filter(|call| over(call).is_none()).count();
        context_window::most_of_results(self.window).saturating_sub(used) / open.max(1)
    }

    /// Returns the first limit that forbids the next turn or call, as text.
    pub fn exceeded(&self) -> Option<String> {
        let next = if self.calls.is_empty() { NextAction::Turn } else { NextAction::Call };
        self.spent.exceeded(&self.limits, next)
    }

    /// Returns the milliseconds until the time limit; `None` while time does not count.
    pub fn time_left(&self) -> Option<u64> {
        let limit = self.limits.time.filter(|_| !self.waits_for_person())?;
        Some(limit.saturating_sub(self.spent.time))
    }

    /// Takes an answer in. Gives each of its calls an id that is unique in the run.
    pub(crate) fn answered(&mut self, mut message: Message) {
        let mut calls = Vec::new();
        for block in &mut message.blocks {
            let MessageBlock::Call(call) = block else { continue };
            // Some providers send no ids, and some repeat them in later answers.
            let mut number = self.ids.len();
            while call.id.is_empty() || self.ids.contains(&call.id) {
                number += 1;
                call.id = format!("call-{number}");
            }
            self.ids.insert(call.id.clone());
            calls.push(CallState::new(call.clone(), None));
        }
        self.calls = calls;
        self.push_message(message);
    }

    /// Applies what the calls of skill tools mean, in the order of the calls.
    fn apply_skill_notes(&mut self) {
        for call in &mut self.calls {
            if let CallProgress::Over(text, false) = &mut call.progress
                && let Some(shorter) = self.skills.apply(&call.call.id, text)
            {
                *text = shorter;
            }
        }
        self.skills.settle();
    }

    /// Sends the results of all calls to the model, cut to their common limit.
    pub(crate) fn report(&mut self) {
        self.apply_skill_notes();
        self.inner.clear();
        self.past.clear();
        let length = |call: &CallState| match &call.progress {
            CallProgress::Over(text, _) => text.len(),
            _ => 0,
        };
        let lengths: Vec<usize> = self.calls.iter().map(length).collect();
        let share =
            context_window::fair_share(&lengths, context_window::most_of_results(self.window));
        let results = self.calls.drain(..).map(|call| {
            let (text, failed) = match call.progress {
                CallProgress::Over(text, failed) => (text, failed),
                _ => ("it was never run".to_owned(), true),
            };
            let text = context_window::cut(&text, share).unwrap_or(text);
            MessageBlock::Result { id: call.call.id, text, failed }
        });
        let blocks: Vec<MessageBlock> = results.collect();
        if !blocks.is_empty() {
            self.push_message(Message { role: MessageRole::User, blocks });
        }
    }
}
