//! Where a run stands: all that its events have made of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::{NextAction, RunLimits, RunSpending};
use crate::context_window::{self, BYTES_A_TOKEN};
use crate::conversation::{Message, MessageBlock, MessageRole, TokenUsage, ToolCall};
use crate::event::{CallClass, RunEnding};

/// A run, as far as it has come.
#[derive(Debug, Clone, PartialEq)]
pub struct StepState {
    /// What it waits for.
    pub phase: RunPhase,
    /// What was said. Whoever asks the model reads it without a copy of its own.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The calls of the last answer, in order.
    pub calls: Vec<CallState>,
    /// What it may spend.
    pub limits: RunLimits,
    /// What it has spent.
    pub spent: RunSpending,
    /// Whether a person is asked when a limit is reached.
    pub asks_at_limit: bool,
    /// What to do when something fails.
    pub on_error: ErrorStrategy,
    /// The model that is asked, by its place in the plan.
    pub model: usize,
    /// How many there are.
    pub models: usize,
    /// Tokens that a model can hold.
    pub window: Option<u64>,
    /// How often the model was asked in vain for the present answer.
    pub attempts: u32,
    /// What the person said while something else was under way; the model hears it when it is asked
    /// next.
    pub queue: Vec<String>,
    /// What the run is about to be put aside for, once nothing runs any more.
    pub parking: Option<String>,
    /// How many answers with calls were cut off, one after the other.
    pub(crate) cut_off: u32,
    /// What the last answer had read and written; nothing if what was said is another since.
    pub(crate) last: TokenUsage,
    /// What the question uses up at least that is under way, or that is put to the person.
    pub(crate) asking: Option<TokenUsage>,
    /// The number of messages after the last compaction.
    pub(crate) compacted: usize,
    /// The identifiers of all calls so far.
    pub(crate) ids: BTreeSet<String>,
    /// The last time that the clock showed.
    pub(crate) clock: Option<u64>,
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunPhase {
    /// For the person to say something.
    Idle,
    /// For the model.
    Asking,
    /// For some time to go by.
    Waiting,
    /// For fewer words.
    Compacting,
    /// For its calls.
    Calling,
    /// For an answer to a question that concerns the whole run.
    Blocked(BlockedRun),
    /// For nothing: it has ended.
    Ended(RunEnding),
}

/// A question that concerns the whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockedRun {
    /// A limit was reached.
    Limit(String),
    /// No model answers.
    Models(String),
}

/// What to do when something fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorStrategy {
    /// Ask the person.
    Ask,
    /// Try once more.
    Retry,
    /// Stop.
    Fail,
    /// Tell the model, and go on.
    #[default]
    Skip,
}

/// A call of the last answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CallState {
    /// The call.
    pub call: ToolCall,
    /// How far it has come.
    pub progress: CallProgress,
    /// What it does to the world, once that is known.
    pub class: CallClass,
    /// Why the policy says what it says of it, once that is known.
    pub reason: String,
    /// How often it was tried again.
    pub retries: u32,
    /// Whether secrets in its arguments were lost when the run was killed.
    pub forgotten: bool,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallProgress {
    /// It is being judged.
    Judging,
    /// A person is asked about it.
    Asked,
    /// It may run.
    Ready,
    /// It is about to run, or runs.
    Launched,
    /// It has been written down that it runs.
    Running,
    /// The person is asked about its failure.
    Failed(String),
    /// It is over: what the model is told, and whether it failed.
    Over(String, bool),
}

impl Default for StepState {
    fn default() -> Self {
        Self {
            phase: RunPhase::Idle,
            messages: Arc::default(),
            calls: Vec::new(),
            limits: RunLimits::default(),
            spent: RunSpending::default(),
            asks_at_limit: false,
            on_error: ErrorStrategy::default(),
            model: 0,
            models: 1,
            window: None,
            attempts: 0,
            queue: Vec::new(),
            parking: None,
            cut_off: 0,
            last: TokenUsage::default(),
            asking: None,
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

    /// Adds what was said last.
    pub(crate) fn hear(&mut self, message: Message) {
        self.messages_mut().push(Arc::new(message));
    }

    /// The call of that identifier.
    pub fn call(&self, id: &str) -> Option<&CallState> {
        self.calls.iter().find(|call| call.call.id == id)
    }

    pub(crate) fn call_mut(&mut self, id: &str) -> Option<&mut CallState> {
        self.calls.iter_mut().find(|call| call.call.id == id)
    }

    /// Lets the clock go on. Time in which a person is asked does not count, and a clock that was set
    /// back stands still.
    pub(crate) fn tick(&mut self, now: u64) {
        if let Some(before) = self.clock
            && !self.waits_for_person()
        {
            self.spent.time = self.spent.time.saturating_add(now.saturating_sub(before));
        }
        self.clock = Some(now);
    }

    /// Whether nothing goes on before a person says something.
    pub fn waits_for_person(&self) -> bool {
        let is_asked = |call: &CallState| {
            matches!(call.progress, CallProgress::Asked | CallProgress::Failed(_))
        };
        let idle = matches!(self.phase, RunPhase::Idle | RunPhase::Blocked(_) | RunPhase::Ended(_));
        idle || (self.calls.iter().any(is_asked) && !self.any_runs())
    }

    /// Whether a call runs.
    pub fn any_runs(&self) -> bool {
        let runs = |call: &CallState| {
            matches!(call.progress, CallProgress::Launched | CallProgress::Running)
        };
        self.calls.iter().any(runs)
    }

    /// About how many tokens the model would read now: what it read and wrote the last time, and what
    /// was said since.
    pub(crate) fn tokens(&self) -> u64 {
        let last = self.last.input.saturating_add(self.last.output);
        // Nothing that was said is in the last count after it was put into fewer words.
        let counted = |message: &&Arc<Message>| last == 0 || message.role == MessageRole::User;
        let since = self.messages.iter().rev().take_while(counted);
        let bytes: usize = since.map(|message| message.weight()).sum();
        let said = u64::try_from(bytes / BYTES_A_TOKEN).unwrap_or(u64::MAX);
        last.saturating_add(said)
    }

    /// What the next question uses up at least, as far as can be told; `beside` are the bytes that the
    /// model reads beside what was said.
    pub(crate) fn estimate(&self, beside: usize) -> TokenUsage {
        // The last answer has counted them.
        let beside = if self.last.is_nothing() { beside } else { 0 };
        let beside = u64::try_from(beside / BYTES_A_TOKEN).unwrap_or(u64::MAX);
        // Who read from a cache finds there what it read since.
        let cached = if self.last.cached > 0 { self.last.input } else { 0 };
        TokenUsage { input: self.tokens().saturating_add(beside), cached, ..TokenUsage::default() }
    }

    /// The question under way gets no answer any more: it is charged as far as it is known.
    pub(crate) fn abandon(&mut self) {
        if matches!(self.phase, RunPhase::Asking | RunPhase::Compacting)
            && let Some(usage) = self.asking.take()
        {
            self.spent.use_up(usage);
        }
    }

    /// About how many tokens all that was said has.
    pub(crate) fn weight(&self) -> u64 {
        u64::try_from(context_window::weight(&self.messages) / BYTES_A_TOKEN).unwrap_or(u64::MAX)
    }

    /// Cuts what was said by so many tokens, the longest pieces first. Says whether it could.
    pub(crate) fn shorten(&mut self, tokens: u64) -> bool {
        let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_A_TOKEN);
        let all = context_window::weight(&self.messages);
        let cut = context_window::shorten(self.messages_mut(), all.saturating_sub(bytes));
        if cut {
            self.last = TokenUsage::default();
        }
        cut
    }

    /// The most bytes that the next call to end may tell the model: the results of one answer share what
    /// there is, and who needs less leaves it to those that are still under way.
    pub fn room_for_result(&self) -> usize {
        let over = |call: &CallState| match &call.progress {
            CallProgress::Over(text, _) => Some(text.len()),
            _ => None,
        };
        let used: usize = self.calls.iter().filter_map(over).sum();
        let open = self.calls.iter().filter(|call| over(call).is_none()).count();
        context_window::most_of_results(self.window).saturating_sub(used) / open.max(1)
    }

    /// The first limit that is in the way of what comes next, in words.
    pub fn exceeded(&self) -> Option<String> {
        let next = if self.calls.is_empty() { NextAction::Turn } else { NextAction::Call };
        self.spent.exceeded(&self.limits, next)
    }

    /// Milliseconds until the time is over, while it counts.
    pub fn time_left(&self) -> Option<u64> {
        let limit = self.limits.time.filter(|_| !self.waits_for_person())?;
        Some(limit.saturating_sub(self.spent.time))
    }

    /// Takes an answer in: its calls get identifiers that no other call has.
    pub(crate) fn answered(&mut self, mut message: Message) {
        let mut calls = Vec::new();
        for block in &mut message.blocks {
            let MessageBlock::Call(call) = block else { continue };
            let mut number = self.ids.len();
            while call.id.is_empty() || self.ids.contains(&call.id) {
                number += 1;
                call.id = format!("call-{number}");
            }
            self.ids.insert(call.id.clone());
            calls.push(CallState {
                call: call.clone(),
                progress: CallProgress::Judging,
                class: CallClass::External,
                reason: String::new(),
                retries: 0,
                forgotten: false,
            });
        }
        self.calls = calls;
        self.hear(message);
    }

    /// Hands the results of all calls to the model. Together they have an end, whatever they are.
    pub(crate) fn report(&mut self) {
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
            self.hear(Message { role: MessageRole::User, blocks });
        }
    }
}
