//! What the server asks the program for. The server knows HTTP, tokens and the page; agents, runs and approvals
//! are the host's.

use std::sync::Arc;

use agentry_mcp::serving::ServedHttp;
use serde_json::Value;
use tokio::sync::broadcast;

/// The program behind the server. Calls block: the server makes each on a thread of its own.
pub trait RunHost: Send + Sync + 'static {
    /// Does what a request asks for.
    fn call(&self, call: HostCall) -> Result<HostReply, HostError>;

    /// The events of a run after the sequence number `after`, at most `most`.
    fn events(&self, run: &str, after: u64, most: usize) -> Result<EventBatch, HostError>;

    /// The signals of a run that the host itself started; `None` if another process did.
    fn signals(&self, run: &str) -> Option<broadcast::Receiver<LiveSignal>>;

    /// What takes the messages of MCP clients. Blocks while definitions are read.
    fn mcp(&self) -> Arc<dyn ServedHttp>;
}

/// A request to the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostCall {
    /// The agents that can be started.
    Agents,
    /// One agent, with what it may do.
    Agent(String),
    /// The user consents to an agent with this digest.
    Consent {
        /// The id or name of the agent.
        agent: String,
        /// The digest that the user saw.
        digest: String,
    },
    /// A person accepts or rejects a change that an agent proposes to itself.
    Decide {
        /// The id or name of the agent.
        agent: String,
        /// The proposal.
        proposal: String,
        /// Whether it becomes a change of the agent.
        accepts: bool,
        /// Why not.
        reason: Option<String>,
    },
    /// Some runs, the newest first.
    Runs(ListWindow),
    /// One run.
    Run(String),
    /// Starts a run.
    Start {
        /// The id or name of the agent.
        agent: String,
        /// What it is asked to do.
        prompt: String,
        /// The commit that it works on, in a fresh directory of whichever machine takes it.
        commit: Option<String>,
        /// The same key gives the same run.
        key: Option<String>,
        /// Whether a call that needs an approval waits for it; otherwise it is denied.
        waits: bool,
    },
    /// Sends a message to a run.
    Say {
        /// The run.
        run: String,
        /// The message.
        text: String,
    },
    /// Cancels a run.
    Cancel(String),
    /// Continues a run.
    Resume(String),
    /// Restores the files that a run changed.
    Undo(String),
    /// The changes of a run to files, as a diff.
    Changes(String),
    /// The transcript of a run, as text.
    Export(String),
    /// What waits for a person, the oldest first.
    Approvals,
    /// How much waits for a person.
    Waiting,
    /// The answer of a person.
    Answer {
        /// The approval.
        id: String,
        /// `yes`, `no`, `always` or `exact`.
        answer: String,
        /// Why not; or the answer to a question in words.
        reason: Option<String>,
    },
    /// The schedules of the agents.
    Schedules,
    /// Receipts, the newest first.
    Receipts(ListWindow),
    /// Numbers of the host.
    Metrics,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListWindow {
    /// The most entries.
    pub limit: usize,
    /// Only entries that are older than this one.
    pub before: Option<String>,
    /// Only entries of this agent.
    pub agent: Option<String>,
}

/// The answer of the host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostReply {
    /// The document.
    pub body: Value,
    /// The last entry, if the list has more.
    pub next: Option<String>,
}

impl From<Value> for HostReply {
    fn from(body: Value) -> Self {
        Self { body, next: None }
    }
}

/// Why the host did not do it.
#[derive(Debug, Clone, PartialEq)]
pub enum HostError {
    /// There is no such thing.
    Missing(String),
    /// It does not fit what is there now; the document says more.
    Conflict(Value),
    /// It makes no sense.
    Invalid(String),
    /// It could not be done.
    Failed(String),
}

/// Some events of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct EventBatch {
    /// Events with their sequence numbers, in order.
    pub events: Vec<(u64, Value)>,
    /// The last event, if the run is over and all events were read.
    pub ended: Option<Value>,
}

/// Something that happened in a run that the host started.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveSignal {
    /// A piece of text, which is not in the journal.
    Piece(Value),
    /// The journal has more, or an approval came or went.
    Changed,
}
