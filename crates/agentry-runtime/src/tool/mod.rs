//! The tools of an agent. Each tool declares what a call touches before it does anything.
//!
//! ```text
//! arguments ─schema─▶ touches ─policy, user─▶ granted ─▶ run ─▶ ToolOutput
//!                        └─ preview, for the user     └─ what is found on the way is judged as well
//! ```
//!
//! A path is resolved before it is judged, and again when the call runs. It is opened without following
//! links, so that a link that is created in between has no effect.

mod bash;
mod change;
mod declared_tool;
mod edit;
mod editor_files;
pub(crate) mod files;
mod glob;
mod grep;
pub mod javascript;
mod list;
pub mod mcp;
mod output_cap;
mod patch;
mod pause_clock;
mod question;
mod read;
mod real_path;
#[cfg(test)]
mod reference_tests;
mod replace;
pub mod script;
#[cfg(test)]
pub(crate) mod testing;
mod todo;
mod toolbox;
mod walk;
#[cfg(test)]
mod walk_tests;
mod web_client;
mod webfetch;
mod websearch;
mod write;

pub(crate) use declared_tool::answered;
pub use declared_tool::{CallFailure, DeclaredKind, DeclaredTool, TIME, ToolOrigin, for_model};
pub use editor_files::{EditorFiles, OpenFiles};
pub(crate) use output_cap::kept_elsewhere;
pub use pause_clock::PauseClock;
pub use real_path::real;
pub use toolbox::{ToolExtras, Toolbox, section_of};
pub(crate) use toolbox::{misfits, validator};
pub use websearch::{SearchClient, SearchService};

use agentry_posix::fd::OwnedFd;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agentry_compile::policy::{PolicyLayer, Section};
use serde_json::Value;

use crate::event::{CallClass, CallJudgement};
use crate::skill::SkillShelf;

/// What a model gets to know about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// One path, command or address that a call touches, for the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolTouch {
    /// The section of the policy.
    pub section: Section,
    /// The command line, path, address or name.
    pub subject: String,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model, cut to a limit.
    pub text: String,
    /// Whether it failed.
    pub failed: bool,
    /// What the call does to its run.
    pub then: AfterCall,
}

/// What a call does to its run beside giving a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AfterCall {
    /// The model gets the result.
    #[default]
    GoOn,
    /// The run is parked with this question, and the call continues when it is resumed.
    Park(String),
    /// The run ends with the output of its function, or with what does not fit.
    Return(Result<Value, String>),
}

/// A tool that comes with Agentry.
pub trait BuiltInTool: Send + Sync {
    /// Returns what a model gets to know about it.
    fn spec(&self) -> ToolSpec;

    /// Returns what a call with these arguments changes.
    fn class(&self, arguments: &Value) -> CallClass;

    /// Returns everything that a call would touch, or why its arguments are invalid.
    fn touches(&self, arguments: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String>;

    /// Returns why only the person may let a call pass, each time anew, whatever the policy allows and
    /// whatever was approved before.
    fn human_gate(&self, arguments: &Value) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Returns the skills of the run, if this tool loads them.
    fn skills(&self) -> Option<&Arc<SkillShelf>> {
        None
    }

    /// Returns whether it checks its arguments itself: a call that does not fit is run, and fails.
    fn checks_itself(&self) -> bool {
        false
    }

    /// Returns whether the user confirms each call, whatever the policy allows.
    fn needs_confirmation(&self) -> bool {
        false
    }

    /// Returns what the user should see before an approval, beside the arguments: a diff.
    fn preview(&self, arguments: &Value, place: &CallLocation) -> Option<String> {
        let _ = (arguments, place);
        None
    }

    /// Runs a call.
    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput>;
}

/// A running task; dropping it cancels it.
pub type BoxedFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a call can ask of its run.
pub trait ToolHost: Send + Sync {
    /// Returns where the call runs.
    fn place(&self) -> CallLocation;

    /// Returns the id of the call in the journal of its run, if it is in one.
    fn call_id(&self) -> Option<&str> {
        None
    }

    /// Sets the directory for the relative paths of later calls.
    fn move_to(&self, directory: PathBuf);

    /// Returns what this call may touch, by the policy or by approval: what [`BuiltInTool::touches`] returned
    /// when it was judged.
    fn granted(&self) -> Vec<ToolTouch>;

    /// Judges something that was not known before the call ran, such as a redirect or a found file.
    /// Returns the verdict and its reason.
    fn judge(&self, touch: &ToolTouch) -> (CallJudgement, String);

    /// Stores what is at this path now, so that the change can be undone.
    fn before_change(&self, path: &Path) -> io::Result<()>;

    /// Redacts a text that is written to a file of the run.
    fn redacted(&self, text: &str) -> String;

    /// Shows a piece of output while the call runs.
    fn show(&self, piece: &str);

    /// Asks the user; returns `None` if no user is present.
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

    /// Returns whether commands or programs of the agent are under way.
    fn has_commands(&self) -> bool {
        false
    }

    /// Makes a call of another tool: within these bounds, under the policy of the run, and with the
    /// approval of the user where the policy wants one. Fails if the call is refused.
    fn call<'a>(&'a self, call: InnerCall<'a>) -> BoxedFuture<'a, Result<ToolOutput, String>> {
        let refused = format!("refused: `{}` cannot be called here", call.tool);
        Box::pin(std::future::ready(Err(refused)))
    }

    /// Returns how long such calls have waited for the user.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns the limits of the output of this call.
    fn output_limit(&self) -> OutputLimit {
        OutputLimit::MODEL
    }

    /// Rolls back what commands must not have created, and returns reports about it.
    fn settle(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The limits of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimit {
    /// The most bytes.
    pub whole: usize,
    /// The most bytes of one line of a file.
    pub line: usize,
}

impl OutputLimit {
    /// What a model gets.
    pub(crate) const MODEL: Self = Self { whole: output_cap::MOST, line: output_cap::MOST_OF_LINE };

    /// What a script gets that may have `most` bytes: whole lines.
    pub(crate) fn of_script(most: usize) -> Self {
        let whole = most.max(output_cap::MOST);
        // A line with its number and the note always fits, so that reading goes on.
        Self { whole, line: whole - 200 }
    }
}

/// A call of another tool, by a running call.
pub struct InnerCall<'a> {
    /// The name of the tool, or another name of a built-in one.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// What the running call may call.
    pub bounds: &'a Arc<CallBounds>,
}

/// What a call may call, beside what the policy allows.
#[derive(Debug, Clone)]
pub struct CallBounds {
    /// The tool whose call it is, for messages.
    pub of: String,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The layer of the policy for the calls.
    pub layer: PolicyLayer,
    /// The most bytes of one output.
    pub most_output: usize,
}

/// The standard streams of a command.
#[derive(Debug)]
pub struct CommandStreams {
    /// Standard input.
    pub input: OwnedFd,
    /// Standard output.
    pub output: OwnedFd,
    /// Standard error.
    pub errors: OwnedFd,
}

/// A started command; dropping it kills the command and its processes.
pub struct StartedCommand {
    /// Waits for its end; returns the exit code, or `None` if a signal ended it.
    pub ended: BoxedFuture<'static, io::Result<Option<i32>>>,
    /// Kills it on drop.
    pub guard: Box<dyn Send + Sync>,
}

/// Where a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLocation {
    /// The root of the workspace.
    pub workspace: PathBuf,
    /// The directory for relative paths.
    pub directory: PathBuf,
    /// The directory of the run, with long outputs and before-images.
    pub run: PathBuf,
    /// The user's home directory, if it is known.
    pub home: Option<PathBuf>,
    /// Paths that no tool may change, with everything below, whatever the policy allows: the agent's
    /// definition, `agentry.toml`, the lock, Agentry's home directory. Real paths; they need not exist.
    pub protected: Vec<PathBuf>,
    /// Paths that no tool may read, with everything below, except long outputs of this run: Agentry's home
    /// directory, which may be in the workspace. Real paths.
    pub hidden: Vec<PathBuf>,
    /// The files that the user has open in an editor.
    pub editor: EditorFiles,
}

impl ToolOutput {
    /// Creates the result of a successful call.
    pub fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: false, then: AfterCall::GoOn }
    }

    /// Creates the result of a failed call.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: true, then: AfterCall::GoOn }
    }
}

impl From<Result<String, String>> for ToolOutput {
    fn from(result: Result<String, String>) -> Self {
        result.map_or_else(Self::failed, Self::done)
    }
}

/// Checks that a call may touch this: it was granted, or the policy allows it.
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

/// Deserialises the arguments of a call.
pub(crate) fn arguments<T: serde::de::DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    T::deserialize(arguments).map_err(|error| format!("the arguments do not fit: {error}"))
}
