//! One file a client: how it is configured, started, spoken to and understood.

pub(crate) mod claude_code;
pub(crate) mod codex;
pub(crate) mod gemini;
pub(crate) mod opencode;
pub(crate) mod pi;

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::install::Installed;
use crate::scratch::Scratch;
use crate::script::Call;
use crate::session::{Listing, Played};

/// What an agent tries to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Runs a command line.
    Bash(String),
    /// Reads a file.
    Read(String),
    /// Lists a directory.
    List(String),
    /// Finds files by a glob.
    Glob(String),
    /// Searches the files below a directory, those of a glob or all, for what all of them contain.
    Grep(String, Option<String>),
    /// Writes a new file.
    Write(String),
    /// Fetches an address.
    Fetch(String),
    /// Searches the web.
    Search(String),
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was done.
    Ran,
    /// It was done, but nothing was shown that the source keeps from the agent.
    Partly,
    /// Somebody would have been asked; nobody was there.
    Asked,
    /// It was refused, for this reason.
    Refused(String),
    /// The agent has no tool for it.
    Unavailable,
}

/// Where an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It was started by the user.
    Main,
    /// Another agent handed it a task.
    Sub,
}

/// All that is needed to start a client once.
pub(crate) struct Start<'a> {
    /// The client on this disk.
    pub(crate) installed: &'a Installed,
    /// Where it runs.
    pub(crate) scratch: &'a Scratch,
    /// Where its model listens.
    pub(crate) model: &'a str,
    /// The agent to start; none for the client's own.
    pub(crate) agent: Option<&'a str>,
    /// What the user says.
    pub(crate) prompt: &'a str,
}

/// How one client is asked. Each method says what the client needs; none waits or runs anything.
pub(crate) trait Driver: Sync {
    /// Where the agent that was rendered can run.
    fn roles(&self, scratch: &Scratch) -> &'static [Role];

    /// Its longest session.
    fn limit(&self) -> Duration {
        Duration::from_mins(3)
    }

    /// Writes what it wants to find in its home before it starts.
    fn prepare(&self, start: &Start<'_>) -> Result<(), String>;

    /// The command line of one session.
    fn command(&self, start: &Start<'_>) -> Command;

    /// The command line of a session of its own agent, as fast as it can be and with every call
    /// allowed.
    fn unlimited(&self, start: &Start<'_>) -> Command {
        self.command(start)
    }

    /// The tool call that stands for an action of an agent in its place; none where it has no such tool.
    fn call(&self, action: &Action, scratch: &Scratch, role: Role) -> Option<Call>;

    /// The calls by which its own agent hands a task to another.
    fn delegate(&self, agent: &str, task: &str) -> Vec<Call>;

    /// The call that ends a task, where words do not.
    fn farewell(&self) -> Option<Call> {
        None
    }

    /// What the client says became of a call; none if it does not look refused.
    fn refusal(&self, played: &Played, id: &str, result: &str) -> Option<Verdict>;

    /// Adds what only this client tells of an agent.
    fn describe(&self, start: &Start<'_>, played: &Played, listing: &mut Listing);
}

/// Arguments with one more, where there is one.
fn with(mut arguments: Value, name: &str, value: &Option<String>) -> Value {
    if let Some(value) = value {
        arguments[name] = Value::from(value.as_str());
    }
    arguments
}
