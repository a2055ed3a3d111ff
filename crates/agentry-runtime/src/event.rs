//! Everything that can happen in a run. The journal is a list of these.

use serde::{Deserialize, Serialize};

use crate::budget::RunLimits;
use crate::conversation::{Message, TokenUsage};
use crate::state::ErrorStrategy;

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedEvent {
    /// Milliseconds since the Unix epoch, by the clock of the driver; it may have been set back.
    pub at: u64,
    /// What.
    pub event: RunEvent,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run began.
    Began {
        /// What it may spend.
        limits: RunLimits,
        /// Whether a person is asked when a limit is reached, instead of stopping.
        asks_at_limit: bool,
        /// What to do when something fails.
        on_error: ErrorStrategy,
        /// How many models there are to try.
        models: usize,
        /// Tokens that the models can hold at least.
        window: Option<u64>,
    },
    /// The person said something.
    Said {
        /// What.
        text: String,
    },
    /// The model is about to be asked; once more, if the answer is stopped in the middle.
    Asking {
        /// What that uses up at least, as far as can be told: charged unless an answer says more.
        usage: TokenUsage,
    },
    /// The model answered.
    Turned(ModelTurn),
    /// The model did not answer.
    TurnFailed(ModelFailure),
    /// A call was judged.
    Judged {
        /// The call.
        id: String,
        /// What the policy says.
        verdict: CallJudgement,
        /// Why, in words for the model and the person.
        reason: String,
        /// What it does to the world.
        class: CallClass,
    },
    /// The person answered a question about a call, a limit or an error.
    Answered {
        /// The call, if it was about one.
        id: Option<String>,
        /// What.
        answer: ApprovalAnswer,
    },
    /// A call was started: written before it does anything.
    Started {
        /// The call.
        id: String,
    },
    /// A call ended.
    Ended {
        /// The call.
        id: String,
        /// What the model is told.
        text: String,
        /// Whether it failed.
        failed: bool,
    },
    /// What was said so far was put into fewer words.
    Compacted {
        /// How many messages from the start it stands for.
        messages: usize,
        /// The words.
        summary: String,
        /// What that used up.
        usage: TokenUsage,
    },
    /// Relative paths of later calls start from here.
    Moved {
        /// The directory.
        directory: String,
    },
    /// Enough time went by after a failure.
    Waited,
    /// All the time that the run has went by, in the middle of something.
    TimeUp,
    /// The person wants the turn or the whole run to stop.
    Cancelled {
        /// The whole run.
        run: bool,
    },
    /// The process that ran it is gone; another one goes on.
    Resumed,
    /// The person took back what the run had changed in these files.
    Undone {
        /// Their paths.
        paths: Vec<String>,
    },
    /// Other limits and models hold from now on: those of the process that goes on.
    Adjusted {
        /// What the run may spend, with what it has spent already.
        limits: RunLimits,
        /// How many models there are to try.
        models: usize,
        /// Tokens that the models can hold at least.
        window: Option<u64>,
    },
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelTurn {
    /// What it said.
    pub message: Message,
    /// What it used up.
    pub usage: TokenUsage,
    /// Whether it was cut off by its length.
    pub truncated: bool,
    /// The model that answered, by its place in the plan.
    pub model: usize,
}

/// Why the model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// What kind of failure it is.
    pub kind: ModelFailureKind,
    /// In words.
    pub message: String,
    /// Milliseconds after which the server wants to be asked again.
    pub retry_after: Option<u64>,
    /// What was used up in vain, at least: an answer that breaks off is charged as well.
    #[serde(default, skip_serializing_if = "TokenUsage::is_nothing")]
    pub usage: TokenUsage,
    /// Whether there was nobody to ask.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreachable: bool,
}

impl ModelFailure {
    /// A failure that used up nothing.
    pub fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        let (message, usage) = (message.into(), TokenUsage::default());
        Self { kind, message, retry_after: None, usage, unreachable: false }
    }

    /// With the time after which the server wants to be asked again, in milliseconds.
    #[must_use]
    pub fn after(self, time: u64) -> Self {
        Self { retry_after: Some(time), ..self }
    }
}

/// Kinds of failures, by what helps against them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFailureKind {
    /// Asking again later may help: 429, 5xx, a dropped or stalled connection, a broken stream.
    Temporary,
    /// Only another model can help: no key, no such model, a refused request.
    Permanent,
    /// What was said is too long for the model.
    TooLong,
}

/// What a policy says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallJudgement {
    /// It runs.
    Allow,
    /// A person decides.
    Ask,
    /// It does not run.
    Deny,
}

impl CallJudgement {
    /// In one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallClass {
    /// It only looks, here or at a page of the web: it may run beside others of its kind, and again.
    Read,
    /// It changes something here.
    Write,
    /// It reaches beyond this machine and may change something there, or does what nobody can tell.
    External,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    /// Yes, this once.
    Yes,
    /// Yes, and for the rest of the run to whatever these name.
    Always(Vec<String>),
    /// No, for this reason if there is one.
    No(Option<String>),
    /// Nobody is there: the run is put aside until somebody is.
    Park,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunEnding {
    /// The model had nothing more to do.
    Done,
    /// It failed.
    Failed {
        /// Why.
        why: String,
    },
    /// A limit was reached.
    OverBudget {
        /// Which.
        limit: String,
    },
    /// The person stopped it.
    Cancelled,
    /// It waits for a person.
    Parked {
        /// For what.
        question: String,
    },
}
