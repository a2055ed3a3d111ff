//! The tools of an agent: each says what it touches before it does anything.
//!
//! ```text
//! arguments ─schema─▶ touches ─judge, person─▶ granted ─▶ run ─▶ Output
//!                        └─ preview, for the person    └─ what is found on the way is judged as well
//! ```
//!
//! A path is resolved before it is judged, and again when the call runs: what was judged is opened
//! without following any link, so that nobody can put one there in between.

mod bash;
mod change;
mod edit;
pub(crate) mod files;
mod glob;
mod grep;
mod list;
mod output_cap;
mod patch;
mod question;
mod read;
mod real_path;
#[cfg(test)]
mod reference_tests;
mod replace;
#[cfg(test)]
mod testing;
mod todo;
mod toolbox;
mod walk;
#[cfg(test)]
mod walk_tests;
mod webfetch;
mod websearch;
mod write;

pub(crate) use output_cap::kept_elsewhere;
pub use real_path::real;
pub use toolbox::{ToolExtras, Toolbox};
pub use websearch::{SearchClient, SearchService};

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use agentry_compile::policy::Section;
use serde_json::Value;

use crate::event::{CallClass, CallJudgement};

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// What a call touches, for the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolTouch {
    /// What kind of thing.
    pub section: Section,
    /// The command line, the path, the address, the name.
    pub subject: String,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model is told; capped.
    pub text: String,
    /// Whether it failed.
    pub failed: bool,
}

/// A tool that comes with Agentry.
pub trait BuiltInTool: Send + Sync {
    /// What a model is told of it.
    fn spec(&self) -> ToolSpec;

    /// What a call with these arguments does to the world.
    fn class(&self, arguments: &Value) -> CallClass;

    /// Everything that a call would touch; why its arguments are wrong otherwise.
    fn touches(&self, arguments: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String>;

    /// What a person should see before they allow it, beside the arguments: a diff.
    fn preview(&self, arguments: &Value, place: &CallLocation) -> Option<String> {
        let _ = (arguments, place);
        None
    }

    /// Does it.
    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput>;
}

/// Something under way; dropping it stops it.
pub type BoxedFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a call may ask of the run that it belongs to.
pub trait ToolHost: Send + Sync {
    /// Where it happens.
    fn place(&self) -> CallLocation;

    /// Relative paths of later calls start from here.
    fn move_to(&self, directory: PathBuf);

    /// What this call was allowed to touch before it ran, by the policy or the person: what
    /// [`BuiltInTool::touches`] said, as it was judged.
    fn granted(&self) -> Vec<ToolTouch>;

    /// Judges something that was not known before the call ran: a redirection, a found file. With
    /// its reason.
    fn judge(&self, touch: &ToolTouch) -> (CallJudgement, String);

    /// Keeps what is at this path now, so that the change can be taken back.
    fn before_change(&self, path: &Path) -> io::Result<()>;

    /// The same text without secrets, for what is written to a file of the run.
    fn redacted(&self, text: &str) -> String;

    /// Shows a piece of output while the call runs.
    fn show(&self, piece: &str);

    /// Asks the person; nothing if nobody is there.
    fn ask<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxedFuture<'a, Option<String>>;

    /// Starts a command in the sandbox of the run, with the environment that the agent is granted.
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand>;

    /// Takes back what commands must not have made, and says what that was.
    fn settle(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The standard streams of a command.
#[derive(Debug)]
pub struct CommandStreams {
    /// Its input.
    pub input: OwnedFd,
    /// Its output.
    pub output: OwnedFd,
    /// Its complaints.
    pub errors: OwnedFd,
}

/// A command that was started; dropping it ends the command and all that it started.
pub struct StartedCommand {
    /// Waits for its end: its exit code, nothing if a signal ended it.
    pub ended: BoxedFuture<'static, io::Result<Option<i32>>>,
    /// Ends it when this is dropped.
    pub guard: Box<dyn Send + Sync>,
}

/// Where a call happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLocation {
    /// The root of the workspace.
    pub workspace: PathBuf,
    /// The directory that relative paths start from.
    pub directory: PathBuf,
    /// Where long outputs and before-images of this run are kept.
    pub run: PathBuf,
    /// The home directory of the person, if it is known.
    pub home: Option<PathBuf>,
    /// What no tool may change, whatever the policy says, with all that lies below: the agent's own
    /// definition, `agentry.toml`, the lock, Agentry's home. Real paths; they need not exist.
    pub protected: Vec<PathBuf>,
    /// What no tool may look at, with all that lies below, beside the long outputs of this run:
    /// Agentry's home, in case it lies in the workspace. Real paths.
    pub hidden: Vec<PathBuf>,
}

impl ToolOutput {
    /// What a call gave.
    pub fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: false }
    }

    /// Why it gave nothing.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: true }
    }
}

impl From<Result<String, String>> for ToolOutput {
    fn from(result: Result<String, String>) -> Self {
        result.map_or_else(Self::failed, Self::done)
    }
}

/// Whether a call may touch this: it was granted, or the policy allows it anyway.
fn permit(host: &dyn ToolHost, touch: &ToolTouch) -> Result<(), String> {
    if host.granted().contains(touch) {
        return Ok(());
    }
    match host.judge(touch) {
        (CallJudgement::Allow, _) => Ok(()),
        (CallJudgement::Ask | CallJudgement::Deny, reason) => {
            Err(format!("refused: `{}`, which was not judged before: {reason}", touch.subject))
        }
    }
}

/// The arguments of a call, read into what a tool knows them as.
fn arguments<T: serde::de::DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    T::deserialize(arguments).map_err(|error| format!("the arguments do not fit: {error}"))
}
