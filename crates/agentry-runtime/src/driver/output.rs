//! The output of a run while it happens: for a terminal, or as one JSON object per line.

use serde::Serialize;
use serde_json::Value;

use crate::budget::{RunLimits, RunSpending};
use crate::conversation::TokenUsage;
use crate::event::{
    ApprovalAnswer, CallClass, CallJudgement, ModelFailureKind, RunEnding, RunEvent,
};
use crate::quarantine::QuarantineReport;
use crate::redact::Redactor;
use crate::skill::progress::SkillNote;
use crate::state::StepState;

/// One piece of output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunOutput {
    /// The run begins, or is resumed.
    Run {
        /// Its id; `None` for a replay.
        id: Option<String>,
        /// The agent's name.
        agent: String,
        /// The digest of the agent.
        digest: String,
        /// The models, in the order of the plan.
        models: Vec<String>,
        /// The tools that the agent has.
        tools: Vec<String>,
        /// What confines its commands.
        sandbox: String,
        /// What it may spend.
        limits: RunLimits,
        /// What it has spent before, if it is resumed.
        spent: RunSpending,
        /// The greeting of the agent.
        greeting: Option<String>,
    },
    /// The user raised the limits.
    Limits {
        /// The new limits.
        limits: RunLimits,
    },
    /// A piece of the model's text.
    Text {
        /// The text.
        text: String,
    },
    /// A piece of the model's reasoning.
    Thinking {
        /// The text.
        text: String,
    },
    /// The model begins a call of this tool.
    Calling {
        /// The tool.
        tool: String,
    },
    /// The model has answered.
    Turn {
        /// Its name.
        model: String,
        /// The whole text of the answer.
        text: String,
        /// How many calls it made.
        calls: usize,
        /// Its usage.
        usage: TokenUsage,
        /// What the run has spent so far.
        spent: RunSpending,
    },
    /// A call was judged.
    Call {
        /// The id of the call.
        id: String,
        /// The call that made it, if the model did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        within: Option<String>,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// The verdict of the policy.
        verdict: CallJudgement,
        /// The reason.
        reason: String,
        /// What the call changes.
        class: CallClass,
    },
    /// The user answered a question.
    Answer {
        /// The call, if the question was about one.
        id: Option<String>,
        /// The answer.
        answer: ApprovalAnswer,
    },
    /// A call starts.
    Started {
        /// The call.
        id: String,
    },
    /// A piece of the output of a call.
    Piece {
        /// The call.
        id: String,
        /// The text.
        text: String,
    },
    /// A call ended.
    Result {
        /// The call.
        id: String,
        /// The text for the model.
        text: String,
        /// Whether it failed.
        failed: bool,
    },
    /// A command touched a protected name, and the change was rolled back.
    Quarantined(QuarantineReport),
    /// A request to a model failed.
    ModelFailed {
        /// Its name.
        model: String,
        /// The kind of failure.
        kind: ModelFailureKind,
        /// The text for the user.
        message: String,
    },
    /// The model is retried after a pause.
    Waiting {
        /// Milliseconds.
        time: u64,
    },
    /// A skill was loaded, or the model reported one of its steps.
    Skill {
        /// The call.
        id: String,
        /// What it means.
        #[serde(flatten)]
        note: SkillNote,
    },
    /// Older messages were replaced by a summary.
    Compacted {
        /// How many messages.
        messages: usize,
        /// The summary.
        summary: String,
    },
    /// An output of the run of a delegate.
    Delegate {
        /// The agents that lead to it, with its own name at the end.
        agent: String,
        /// Its run.
        run: String,
        /// The output.
        output: Box<RunOutput>,
    },
    /// Nothing is left to do until the next message.
    Ended {
        /// How the run ended.
        #[serde(flatten)]
        ending: RunEnding,
        /// What it has spent.
        spent: RunSpending,
    },
}

impl RunOutput {
    /// Returns the redacted output for an event, in the state before it. A reader of a journal gets the same as
    /// those who watch the run.
    pub fn of(
        event: &RunEvent,
        state: &StepState,
        model: &dyn Fn(usize) -> String,
        redactor: &Redactor,
    ) -> Option<Self> {
        Some(match event {
            RunEvent::Turned(turn) => {
                let mut spent = state.spent;
                spent.add(turn.usage);
                Self::Turn {
                    model: model(turn.model),
                    text: redactor.text(&turn.message.text()),
                    calls: turn.message.calls().count(),
                    usage: turn.usage,
                    spent,
                }
            }
            RunEvent::TurnFailed(failure) => Self::ModelFailed {
                model: model(state.model),
                kind: failure.kind,
                message: redactor.text(&failure.message),
            },
            RunEvent::Judged { id, verdict, reason, class } => {
                let within = state.call(id)?.within.clone();
                let call = &state.call(id)?.call;
                Self::Call {
                    id: id.clone(),
                    within,
                    tool: call.tool.clone(),
                    arguments: redactor.value(call.arguments.clone()),
                    verdict: *verdict,
                    reason: redactor.text(reason),
                    class: *class,
                }
            }
            RunEvent::Answered { id, answer } => {
                Self::Answer { id: id.clone(), answer: answer.clone() }
            }
            RunEvent::Started { id } => Self::Started { id: id.clone() },
            RunEvent::Ended { id, text, failed } => {
                Self::Result { id: id.clone(), text: text.clone(), failed: *failed }
            }
            RunEvent::Skill { id, note } => Self::Skill { id: id.clone(), note: note.clone() },
            RunEvent::Returned { id, text, output } => {
                Self::Result { id: id.clone(), text: text.clone(), failed: output.is_err() }
            }
            RunEvent::Compacted { messages, summary, .. } => {
                Self::Compacted { messages: *messages, summary: redactor.text(summary) }
            }
            _ => return None,
        })
    }
}
