//! What is told of a run while it happens: to a terminal, or one JSON object a line to a program.

use serde::Serialize;
use serde_json::Value;

use crate::budget::{RunLimits, RunSpending};
use crate::conversation::TokenUsage;
use crate::event::{ApprovalAnswer, CallClass, CallJudgement, ModelFailureKind, RunEnding};
use crate::quarantine::QuarantineReport;

/// Something that happens in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunOutput {
    /// The run begins, or goes on.
    Run {
        /// Its identifier; nothing for a replay.
        id: Option<String>,
        /// The agent's name.
        agent: String,
        /// Its digest.
        digest: String,
        /// The models, in the order in which they are tried.
        models: Vec<String>,
        /// The tools that it is offered.
        tools: Vec<String>,
        /// What confines its commands.
        sandbox: String,
        /// What it may spend.
        limits: RunLimits,
        /// What it has spent before, if it goes on.
        spent: RunSpending,
        /// What the agent says first.
        greeting: Option<String>,
    },
    /// The person lets it spend more.
    Limits {
        /// What it may spend from now on.
        limits: RunLimits,
    },
    /// A piece of what the model says.
    Text {
        /// It.
        text: String,
    },
    /// A piece of what it thinks.
    Thinking {
        /// It.
        text: String,
    },
    /// The model begins a call of this tool.
    Calling {
        /// The tool.
        tool: String,
    },
    /// The model has answered.
    Turn {
        /// Which one.
        model: String,
        /// All that it said.
        text: String,
        /// How many calls it made.
        calls: usize,
        /// What that used up.
        usage: TokenUsage,
        /// What the run has spent so far.
        spent: RunSpending,
    },
    /// A call was judged.
    Call {
        /// Its identifier.
        id: String,
        /// The tool.
        tool: String,
        /// What it is called with.
        arguments: Value,
        /// What the policy says.
        verdict: CallJudgement,
        /// Why.
        reason: String,
        /// What it does to the world.
        class: CallClass,
    },
    /// The person answered.
    Answer {
        /// The call, if it was about one.
        id: Option<String>,
        /// What.
        answer: ApprovalAnswer,
    },
    /// A call runs.
    Started {
        /// The call.
        id: String,
    },
    /// A piece of what a call prints.
    Piece {
        /// The call.
        id: String,
        /// It.
        text: String,
    },
    /// A call ended.
    Result {
        /// The call.
        id: String,
        /// What the model is told.
        text: String,
        /// Whether it failed.
        failed: bool,
    },
    /// A command made, changed or removed something that it must not, and that was taken back.
    Quarantined(QuarantineReport),
    /// A model did not answer.
    ModelFailed {
        /// Which one.
        model: String,
        /// What kind of failure it is.
        kind: ModelFailureKind,
        /// In words.
        message: String,
    },
    /// It is asked again after some time.
    Waiting {
        /// Milliseconds.
        time: u64,
    },
    /// What was said is put into fewer words.
    Compacted {
        /// How many messages.
        messages: usize,
        /// The words.
        summary: String,
    },
    /// Nothing is left to do for now.
    Ended {
        /// How it ended.
        #[serde(flatten)]
        ending: RunEnding,
        /// What it has spent.
        spent: RunSpending,
    },
}
