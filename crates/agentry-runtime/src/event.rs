//! Every event of a run. The journal is a list of them, and [`crate::step()`] consumes them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::{RunLimits, RunSpending};
use crate::conversation::{Message, TokenUsage, ToolCall};
use crate::skill::progress::SkillNote;
use crate::state::ErrorStrategy;

/// An event with its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedEvent {
    /// Milliseconds since the Unix epoch, by the driver's clock, which may have been set back.
    pub at: u64,
    /// The event.
    pub event: RunEvent,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run began.
    Began {
        /// What it may spend.
        limits: RunLimits,
        /// Whether the user is asked when a limit is reached; else the run ends.
        asks_at_limit: bool,
        /// What to do when a tool call or a model fails.
        on_error: ErrorStrategy,
        /// Whether the definition writes `on_error`. A default does not decide about a call that may have
        /// changed something when the process was killed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        on_error_is_written: bool,
        /// How many models the plan has.
        models: usize,
        /// The smallest context window of the models, in tokens.
        window: Option<u64>,
    },
    /// The user sent a message.
    #[serde(rename = "said")]
    UserSent {
        /// Its text.
        text: String,
    },
    /// A request to the model is about to be sent. It is sent again if the run is killed before the answer.
    Asking {
        /// The least usage of the request, as an estimate: charged unless the answer reports more.
        usage: TokenUsage,
    },
    /// The model answered.
    Turned(ModelTurn),
    /// The model did not answer.
    TurnFailed(ModelFailure),
    /// A running call made a call of its own, as scripts do.
    Called {
        /// The call that made it.
        within: String,
        /// The new call. Its id is unique in the run.
        call: ToolCall,
    },
    /// A call was judged.
    Judged {
        /// The call.
        id: String,
        /// The verdict of the policy.
        verdict: CallJudgement,
        /// The reason, for the model and the user.
        reason: String,
        /// What the call changes.
        class: CallClass,
    },
    /// The user answered a question about a call, a limit or an error.
    Answered {
        /// The call, if the question was about one.
        id: Option<String>,
        /// The answer.
        answer: ApprovalAnswer,
    },
    /// A call started; written before it does anything.
    Started {
        /// The call.
        id: String,
    },
    /// A call ended.
    Ended {
        /// The call.
        id: String,
        /// The text for the model.
        text: String,
        /// Whether it failed.
        failed: bool,
    },
    /// A skill was loaded, or the model reported one of its steps. It counts once the call has ended well,
    /// which is the next event.
    Skill {
        /// The call.
        id: String,
        /// What it means.
        note: SkillNote,
    },
    /// The function of the run has its output, or the retry gave no valid one.
    Returned {
        /// The call that gave it.
        id: String,
        /// The text for the model.
        text: String,
        /// The output, or what does not fit.
        output: Result<Value, String>,
    },
    /// A call waits for the user: the run of a delegate is parked.
    Suspended {
        /// The call.
        id: String,
        /// The question.
        question: String,
    },
    /// A delegate has spent something; its run writes its own journal.
    Delegated {
        /// The call that started it.
        id: String,
        /// Its run.
        run: String,
        /// Everything that it has spent so far, with its own delegates.
        spent: RunSpending,
    },
    /// The limit of a run above this one is reached.
    Exhausted {
        /// The limit, and the agent whose limit it is.
        limit: String,
    },
    /// Older messages were replaced by a summary.
    Compacted {
        /// How many messages from the start the summary replaces.
        messages: usize,
        /// The summary.
        summary: String,
        /// The usage of the request for it.
        usage: TokenUsage,
    },
    /// The directory for the relative paths of later calls changed.
    Moved {
        /// The new directory.
        directory: String,
    },
    /// The back-off after a failure is over.
    Waited,
    /// The time limit was reached while something ran.
    TimeUp,
    /// The user cancelled the turn or the run.
    Cancelled {
        /// Whether the whole run is cancelled.
        run: bool,
    },
    /// Another process continues the run of one that is gone.
    Resumed,
    /// The user restored these files to their state before the run, or before one of its turns.
    Undone {
        /// Their paths.
        paths: Vec<String>,
    },
    /// The user chose a model of the plan, from which on it is used.
    Switched {
        /// Its index in the plan.
        model: usize,
    },
    /// The user asked to compact the conversation.
    CompactionRequested,
    /// The user began a new conversation in the same run. Limits, spending and approvals stay.
    Cleared,
    /// The user ran a command under the policy of the agent. The model does not see it.
    UserRan {
        /// The command.
        command: String,
        /// What it printed, or why it was refused; `None` before it starts.
        text: Option<String>,
    },
    /// The process that continues the run has other limits or models; they hold from now on.
    Adjusted {
        /// The limits of the whole run, including what is already spent.
        limits: RunLimits,
        /// How many models the plan has.
        models: usize,
        /// The smallest context window of the models, in tokens.
        window: Option<u64>,
    },
}

impl RunEvent {
    /// Whether the user acted between two turns: such an event neither begins nor ends a turn.
    pub const fn is_between_turns(&self) -> bool {
        matches!(
            self,
            Self::Undone { .. } | Self::Switched { .. } | Self::Cleared | Self::UserRan { .. }
        )
    }
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelTurn {
    /// The message.
    pub message: Message,
    /// Its usage.
    pub usage: TokenUsage,
    /// Whether it was truncated by the output limit.
    pub truncated: bool,
    /// The model that answered, as its index in the plan.
    pub model: usize,
}

/// Why the model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// The kind of failure.
    pub kind: ModelFailureKind,
    /// The text for the user.
    pub message: String,
    /// The milliseconds to wait before a retry, if the server gave them.
    pub retry_after: Option<u64>,
    /// The least usage of the failed request: providers charge for an answer that breaks off.
    #[serde(default, skip_serializing_if = "TokenUsage::is_nothing")]
    pub usage: TokenUsage,
    /// Whether no connection could be made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreachable: bool,
}

impl ModelFailure {
    /// Creates a failure without usage.
    pub fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        let (message, usage) = (message.into(), TokenUsage::default());
        Self { kind, message, retry_after: None, usage, unreachable: false }
    }

    /// Sets the milliseconds to wait before a retry, as the server gave them.
    #[must_use]
    pub fn after(self, time: u64) -> Self {
        Self { retry_after: Some(time), ..self }
    }
}

/// Kinds of failures, by what helps against them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFailureKind {
    /// A retry may help: 429, 5xx, a dropped or stalled connection, a broken stream.
    Temporary,
    /// Only another model can help: no key, no such model, a refused request.
    Permanent,
    /// The conversation does not fit the context window.
    TooLong,
    /// Nothing can help: a step of a pipeline failed.
    Final,
}

/// The verdict of the policy about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallJudgement {
    /// It runs.
    Allow,
    /// The user decides.
    Ask,
    /// It does not run.
    Deny,
}

impl CallClass {
    /// Whether it may run in parallel with others of its kind.
    pub(crate) const fn is_parallel(self) -> bool {
        matches!(self, Self::Read | Self::Delegate)
    }
}

impl CallJudgement {
    /// The name of the verdict.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What a call changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallClass {
    /// Nothing: it reads files or the web. It may run in parallel with other reads, and be run again.
    Read,
    /// Whatever another agent does: its own run has a journal. It may run in parallel, and is resumed rather
    /// than run again.
    Delegate,
    /// Something on this machine.
    Write,
    /// Something beyond this machine, or something that cannot be determined.
    External,
}

/// The user's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    /// Yes, this once.
    Yes,
    /// Yes, and for the rest of the run to everything that these texts cover.
    Always(Vec<String>),
    /// No, with a reason if the user gave one.
    No(Option<String>),
    /// No user is present: the run is parked until one answers.
    Park,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunEnding {
    /// The model made no more calls.
    Done,
    /// It failed.
    Failed {
        /// The reason.
        why: String,
    },
    /// A limit was reached.
    OverBudget {
        /// The limit.
        limit: String,
    },
    /// The user cancelled it.
    Cancelled,
    /// It is parked, and waits for the user.
    Parked {
        /// The question.
        question: String,
    },
}
