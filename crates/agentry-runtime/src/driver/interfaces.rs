//! The interfaces of a driver: models, tools, user and event log. Real runs, replays and tests differ only
//! in their implementations.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::approval::ApprovalOffer;
use crate::budget_pot::BudgetShare;
use crate::context_window;
use crate::conversation::{Message, TokenUsage, ToolCall};
use crate::driver::compact::compacted;
use crate::driver::output::RunOutput;
use crate::event::{CallClass, CallJudgement, ModelFailure, ModelTurn, RunEvent, TimedEvent};
use crate::provider::{AnswerDelta, ProviderRequest};
use crate::redact::Redactor;
use crate::skill::progress::{SkillNote, SkillProgress};
use crate::tool::{self, BoxedFuture, EditorFiles, ToolSpec};

pub use super::inner_calls::{InnerPort, InnerReply, InnerRequest};

/// Everything that a driver needs.
pub struct DriverParts {
    /// The system prompt.
    pub system: Arc<str>,
    /// Answers requests.
    pub models: Arc<dyn RunModels>,
    /// Judges and runs calls.
    pub tools: Arc<dyn RunTools>,
    /// Approves calls and answers questions.
    pub person: Arc<dyn Approver>,
    /// Where events are written.
    pub log: Box<dyn EventLog>,
    /// Returns milliseconds since the Unix epoch.
    pub clock: Clock,
    /// Receives the output of the run.
    pub output: OutputSink,
    /// Removes secrets from output and results.
    pub redactor: Arc<Redactor>,
    /// Whether retries wait; a replay does not.
    pub waits: bool,
    /// The budget that it shares with the runs above and below it.
    pub budget: BudgetShare,
}

/// Returns milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;
/// Receives the output of a run.
pub type OutputSink = Arc<dyn Fn(RunOutput) + Send + Sync>;
/// Receives the pieces of an answer.
pub type DeltaSink<'a> = &'a mut (dyn FnMut(AnswerDelta) + Send);

/// A request to a model, independent of the provider.
#[derive(Debug, Clone, Copy)]
pub struct ModelPrompt<'a> {
    /// The index of the model in the plan.
    pub model: usize,
    /// The system prompt.
    pub system: &'a str,
    /// The conversation.
    pub messages: &'a [Arc<Message>],
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
}

impl<'a> ModelPrompt<'a> {
    /// Converts it to the form that cassettes compare. Settings of a provider are left out.
    pub(super) fn as_request(
        &self,
        model: &'a str,
        extra: &'a Map<String, Value>,
    ) -> ProviderRequest<'a> {
        let Self { system, messages, tools, .. } = *self;
        let (temperature, most_output) = (None, 0);
        ProviderRequest { model, system, messages, tools, temperature, most_output, extra }
    }
}

/// The models of a plan, or a recording of them.
pub trait RunModels: Send + Sync {
    /// Returns the name of a model, for the user.
    fn name(&self, model: usize) -> String;

    /// Adds to an estimated usage what it costs, if the price is known.
    fn estimate(&self, model: usize, reading: TokenUsage) -> TokenUsage {
        let _ = model;
        reading
    }

    /// Asks a model. Sends the pieces of its answer to `show`.
    fn ask<'a>(
        &'a self,
        prompt: ModelPrompt<'a>,
        show: DeltaSink<'a>,
    ) -> BoxedFuture<'a, Result<ModelTurn, ModelFailure>>;

    /// Compacts messages, and returns the event of the result.
    fn compact<'a>(&'a self, long: OverlongConversation<'a>) -> BoxedFuture<'a, RunEvent> {
        Box::pin(compacted(self, long))
    }
}

/// Messages that are to be compacted.
#[derive(Debug, Clone, Copy)]
pub struct OverlongConversation<'a> {
    /// The index of the model in the plan.
    pub model: usize,
    /// Its context window, in tokens.
    pub window: Option<u64>,
    /// The messages that the summary is to replace.
    pub messages: &'a [Arc<Message>],
}

/// The tools of an agent under its policy, or a recording of them.
pub trait RunTools: Send + Sync {
    /// Returns what models get to know about the tools.
    fn specs(&self) -> &[ToolSpec];

    /// Returns the verdict of the policy about a call.
    fn judge(&self, call: &ToolCall) -> CallDecision;

    /// Receives the final decision about a call, with approvals. A replay compares it with the recording.
    fn judged(&self, call: &ToolCall, decision: &CallDecision) {
        let _ = (call, decision);
    }

    /// Returns what the user should see before an approval: a diff.
    fn preview(&self, call: &ToolCall) -> Option<String>;

    /// Runs a call.
    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxedFuture<'a, tool::ToolOutput>;

    /// Receives the way by which running calls make calls of their own.
    fn connect(&self, port: InnerPort) {
        drop(port);
    }

    /// Cuts a result to at most `most` bytes. The cut text may name a file with the whole.
    fn shortened(&self, text: &str, most: usize) -> String {
        context_window::shortened(text, most)
    }

    /// Returns what a call of a skill tool means if it succeeds.
    fn skill_note(&self, call: &ToolCall) -> Option<SkillNote> {
        let _ = call;
        None
    }

    /// Takes over how far the skills are. Called for every answer of the model, before its calls are judged.
    fn follow_skills(&self, progress: &SkillProgress) {
        let _ = progress;
    }

    /// Returns the directory for relative paths.
    fn directory(&self) -> String;

    /// Changes that directory, when a run is resumed.
    fn move_to(&self, directory: &str);
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDecision {
    /// The verdict.
    pub verdict: CallJudgement,
    /// The reason, for the model and the user.
    pub reason: String,
    /// What the call changes.
    pub class: CallClass,
    /// File and line of the deciding rules, for the user.
    pub places: Vec<String>,
    /// What an approval for the rest of the run would cover, as text that the user sees. It never covers
    /// more.
    pub rules: Vec<String>,
    /// The key of this exact call, for an approval of nothing else. Empty for a human gate: neither an
    /// earlier approval nor one for the rest of the run lets it pass.
    pub exact: String,
    /// The wider approvals that the call can be given.
    pub offer: ApprovalOffer,
}

impl CallDecision {
    /// Returns the decision about a call that was not judged, for this reason.
    #[must_use]
    pub fn denied(reason: String) -> Self {
        Self {
            verdict: CallJudgement::Deny,
            reason,
            class: CallClass::External,
            places: Vec::new(),
            rules: Vec::new(),
            exact: String::new(),
            offer: ApprovalOffer::default(),
        }
    }
}

/// A question to the user about a run.
#[derive(Debug, Clone, Copy)]
pub enum ApprovalRequest<'a> {
    /// Whether a call may run.
    Call {
        /// The call.
        call: &'a ToolCall,
        /// The decision of the policy.
        decision: &'a CallDecision,
        /// What the call would change.
        preview: Option<&'a str>,
    },
    /// Whether a call that was running when the run was killed is to be run again.
    Unfinished(&'a ToolCall),
    /// Whether a call that failed is to be run again.
    Failed(&'a ToolCall, &'a str),
    /// Whether to continue although this limit is reached.
    Limit(&'a str),
    /// Whether to try all models again, although none answers for this reason.
    Models(&'a str),
    /// A question of a delegate: the chain of agents that leads to it, and what it asks.
    Of(&'a str, &'a ApprovalRequest<'a>),
}

impl ApprovalRequest<'_> {
    /// Returns the question itself, without its origin.
    #[must_use]
    pub fn plain(self) -> Self {
        match self {
            // A chain names every agent, so there is only one wrapper.
            Self::Of(_, asked) => *asked,
            asked => asked,
        }
    }
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalReply {
    /// Yes, this once.
    Yes,
    /// No, with a reason if the user gave one.
    No(Option<String>),
    /// Yes to everything that the question lists as covered, until the run ends.
    AlwaysRules,
    /// Yes to this exact call, until the run ends.
    AlwaysExact,
    /// Yes to all edits that no more than rules ask about, until the run ends.
    AllEdits,
    /// Yes to everything that the question lists as covered, in every run of the agent with this policy.
    Remember,
    /// Not now: the run is parked.
    Park,
}

/// Answers for the user.
pub trait Approver: Send + Sync {
    /// Answers a question about the run.
    fn decide<'a>(&'a self, asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply>;

    /// Answers a question of the agent; `None` if no user is present.
    fn answer<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxedFuture<'a, Option<String>> {
        let _ = (question, choices);
        Box::pin(std::future::ready(None))
    }

    /// Returns the files that the user has open in an editor.
    fn editor(&self) -> EditorFiles {
        EditorFiles::default()
    }
}

/// Stores the events of a run.
pub trait EventLog: Send {
    /// Writes an event without its secrets, and flushes it to disk if it is `durable`. Returns why it could
    /// not.
    fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), String>;
}

/// Answers if no user is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsentApprover {
    /// Refuses everything that would need approval.
    Denies,
    /// Parks the run.
    Parks,
}

impl Approver for AbsentApprover {
    fn decide<'a>(&'a self, _asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        let reply = match self {
            Self::Denies => ApprovalReply::No(Some("no user is present to answer".to_owned())),
            Self::Parks => ApprovalReply::Park,
        };
        Box::pin(std::future::ready(reply))
    }
}
