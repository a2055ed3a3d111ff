//! One file for each client: how it is configured, started, called and interpreted.

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
    /// Searches the files below a directory, all or those of a glob, for a text that all of them contain.
    Grep(String, Option<String>),
    /// Writes a new file.
    Write(String),
    /// Fetches an address.
    Fetch(String),
    /// Searches the web.
    Search(String),
}

/// The result of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was executed.
    Ran,
    /// It was executed, but the result shows nothing that the source denies or asks about.
    Partly,
    /// It was executed, and the result shows what the source asks about, but nothing that it denies.
    Unasked,
    /// The user would have been asked; the run is headless.
    Asked,
    /// It was refused, for this reason.
    Refused(String),
    /// The agent has no tool for it.
    Unavailable,
}

/// How an agent is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// By the user.
    Main,
    /// By another agent, as a subagent.
    Sub,
}

/// The inputs to start a client once.
pub(crate) struct Start<'a> {
    /// The client on this disk.
    pub(crate) installed: &'a Installed,
    /// The directories it runs in.
    pub(crate) scratch: &'a Scratch,
    /// The address of its model.
    pub(crate) model: &'a str,
    /// The agent to start; `None` for the client's default agent.
    pub(crate) agent: Option<&'a str>,
    /// The prompt of the user.
    pub(crate) prompt: &'a str,
}

/// How one client is driven. The methods only describe what the client needs; none waits or runs anything.
pub(crate) trait Driver: Sync {
    /// The roles that the rendered agent can have.
    fn roles(&self, scratch: &Scratch) -> &'static [Role];

    /// The time limit of a session.
    fn limit(&self) -> Duration {
        Duration::from_mins(3)
    }

    /// Writes the files that the client expects in its home before it starts.
    fn prepare(&self, start: &Start<'_>) -> Result<(), String>;

    /// The command line of one session.
    fn command(&self, start: &Start<'_>) -> Command;

    /// The command line of a session with its default agent, as fast as possible and with every call
    /// allowed.
    fn unlimited(&self, start: &Start<'_>) -> Command {
        self.command(start)
    }

    /// The tool call for an action of an agent in this role; `None` where the client has no such tool.
    fn call(&self, action: &Action, scratch: &Scratch, role: Role) -> Option<Call>;

    /// The calls by which the default agent delegates a task to another agent.
    fn delegate(&self, agent: &str, task: &str) -> Vec<Call>;

    /// The call that ends a task, where text does not.
    fn farewell(&self) -> Option<Call> {
        None
    }

    /// The verdict that the result of a call shows; `None` if it does not look refused.
    fn refusal(&self, played: &Played, id: &str, result: &str) -> Option<Verdict>;

    /// Adds the facts about an agent that only this client reports.
    fn describe(&self, start: &Start<'_>, played: &Played, listing: &mut Listing);
}

/// Arguments with one more, if it has a value.
fn with(mut arguments: Value, name: &str, value: &Option<String>) -> Value {
    if let Some(value) = value {
        arguments[name] = Value::from(value.as_str());
    }
    arguments
}
