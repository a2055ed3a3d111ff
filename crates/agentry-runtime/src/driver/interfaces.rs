//! What a driver is made of: who answers, who acts, who is asked, and where it is written down. Real
//! runs, replays and tests differ only here.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context_window;
use crate::conversation::{Message, TokenUsage, ToolCall};
use crate::driver::compact::compacted;
use crate::driver::output::RunOutput;
use crate::event::{CallClass, CallJudgement, ModelFailure, ModelTurn, RunEvent, TimedEvent};
use crate::provider::{AnswerDelta, ProviderRequest};
use crate::redact::Redactor;
use crate::tool::{self, BoxedFuture, ToolSpec};

/// Everything that a driver needs.
pub struct DriverParts {
    /// The system prompt.
    pub system: Arc<str>,
    /// Who answers.
    pub models: Arc<dyn RunModels>,
    /// Who judges calls and runs them.
    pub tools: Arc<dyn RunTools>,
    /// Who is asked.
    pub person: Arc<dyn Approver>,
    /// Where it is written down.
    pub log: Box<dyn EventLog>,
    /// Milliseconds since the Unix epoch.
    pub clock: Clock,
    /// Who is told while it happens.
    pub output: OutputSink,
    /// Takes secrets out of what others hear.
    pub redactor: Arc<Redactor>,
    /// Whether time goes by before a model is asked again; not in a replay.
    pub waits: bool,
}

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;
/// Hears what happens.
pub type OutputSink = Arc<dyn Fn(RunOutput) + Send + Sync>;
/// Sees the pieces of an answer.
pub type DeltaSink<'a> = &'a mut (dyn FnMut(AnswerDelta) + Send);

/// What a model is asked, whichever it is.
#[derive(Debug, Clone, Copy)]
pub struct ModelPrompt<'a> {
    /// Its place in the plan.
    pub model: usize,
    /// The system prompt.
    pub system: &'a str,
    /// What was said.
    pub messages: &'a [Arc<Message>],
    /// The tools that it may call.
    pub tools: &'a [ToolSpec],
}

impl<'a> ModelPrompt<'a> {
    /// As cassettes know it.
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
    /// What a person calls the model at this place.
    fn name(&self, model: usize) -> String;

    /// What a question that reads so much uses up: with what it costs, if that is known.
    fn estimate(&self, model: usize, reading: TokenUsage) -> TokenUsage {
        let _ = model;
        reading
    }

    /// Asks it; pieces of its answer go to `show` as they come.
    fn ask<'a>(
        &'a self,
        prompt: ModelPrompt<'a>,
        show: DeltaSink<'a>,
    ) -> BoxedFuture<'a, Result<ModelTurn, ModelFailure>>;

    /// Puts what was said into fewer words: what happened then.
    fn compact<'a>(&'a self, long: OverlongConversation<'a>) -> BoxedFuture<'a, RunEvent> {
        Box::pin(compacted(self, long))
    }
}

/// What was said and is too much for a model.
#[derive(Debug, Clone, Copy)]
pub struct OverlongConversation<'a> {
    /// The model's place in the plan.
    pub model: usize,
    /// Tokens that it can hold.
    pub window: Option<u64>,
    /// The messages that fewer words are to stand for.
    pub said: &'a [Arc<Message>],
}

/// The tools of an agent under its policy, or a recording of them.
pub trait RunTools: Send + Sync {
    /// What models are told of them.
    fn specs(&self) -> &[ToolSpec];

    /// What the policy says of a call.
    fn judge(&self, call: &ToolCall) -> CallDecision;

    /// Hears what becomes of a call, approvals included. A replay compares it with the recording.
    fn judged(&self, call: &ToolCall, decision: &CallDecision) {
        let _ = (call, decision);
    }

    /// What a person should see before they allow it: a diff.
    fn preview(&self, call: &ToolCall) -> Option<String>;

    /// Runs a call.
    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxedFuture<'a, tool::ToolOutput>;

    /// A result for which there is not enough room: at most so many bytes of it, and where the rest is.
    fn shortened(&self, text: &str, most: usize) -> String {
        context_window::shortened(text, most)
    }

    /// The directory that relative paths start from.
    fn directory(&self) -> String;

    /// Goes there, when a run is resumed.
    fn move_to(&self, directory: &str);
}

/// What a policy says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDecision {
    /// The answer.
    pub verdict: CallJudgement,
    /// Why, in words for the model and the person.
    pub reason: String,
    /// What the call does to the world.
    pub class: CallClass,
    /// Where the rules that decide are written, for the person.
    pub places: Vec<String>,
    /// What else is covered if a person approves for the rest of the run: never more than these words
    /// say.
    pub rules: Vec<String>,
    /// What names this exact call and its like.
    pub exact: String,
}

/// Something that a person is asked.
#[derive(Debug, Clone, Copy)]
pub enum ApprovalRequest<'a> {
    /// Whether a call may run.
    Call {
        /// The call.
        call: &'a ToolCall,
        /// What the policy says of it.
        decision: &'a CallDecision,
        /// What it would change.
        preview: Option<&'a str>,
    },
    /// Whether a call that was under way when the run was killed is to be run again.
    Unfinished(&'a ToolCall),
    /// Whether a call that failed is to be run again.
    Failed(&'a ToolCall, &'a str),
    /// Whether to go on although this limit is reached.
    Limit(&'a str),
    /// Whether to try all models again, although none answers for this reason.
    Models(&'a str),
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalReply {
    /// Yes, this once.
    Yes,
    /// No, for this reason if there is one.
    No(Option<String>),
    /// Yes to all that the question names as its like, until the run ends.
    AlwaysRules,
    /// Yes to this exact call, until the run ends.
    AlwaysExact,
    /// Later.
    Park,
}

/// Whoever is asked.
pub trait Approver: Send + Sync {
    /// Asks about the run.
    fn decide<'a>(&'a self, asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply>;

    /// Asks what the agent wants to know; nothing if nobody is there.
    fn answer<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxedFuture<'a, Option<String>>;
}

/// Where events are written down.
pub trait EventLog: Send {
    /// Writes an event without its secrets, to the disk itself if it is `durable`. Why it cannot
    /// otherwise.
    fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), String>;
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsentApprover {
    /// So what would be asked is refused.
    Denies,
    /// So the run is put aside.
    Parks,
}

impl Approver for AbsentApprover {
    fn decide<'a>(&'a self, _asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        let said = match self {
            Self::Denies => ApprovalReply::No(Some("no user is present to answer".to_owned())),
            Self::Parks => ApprovalReply::Park,
        };
        Box::pin(std::future::ready(said))
    }

    fn answer<'a>(&'a self, _: &'a str, _: &'a [String]) -> BoxedFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}
