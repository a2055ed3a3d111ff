//! What the tools of a definition have beside those that come with Agentry: a kind, a place in a file, and a
//! result that is not cut, for `agentry tools call`.

use std::time::Duration;

use agentry_javascript::{CodePlace, LogLevel};
use serde_json::Value;

use super::{BoxedFuture, BuiltInTool, ToolHost, ToolOutput, ToolTouch, output_cap};

/// The time of a call, unless the definition has another one.
pub const TIME: Duration = Duration::from_secs(30);

/// What kind of thing a definition declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredKind {
    /// A JavaScript function in the agent file.
    JavaScript,
    /// A script of the agent's directory.
    Script,
    /// A tool of an MCP server.
    Mcp,
    /// A skill.
    Skill,
    /// Another agent.
    Delegate,
    /// A function that the agent exposes.
    Function,
    /// A tool of agents that live in the home.
    Home,
}

impl DeclaredKind {
    /// Its name in lists and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JavaScript => "js",
            Self::Script => "script",
            Self::Mcp => "mcp",
            Self::Skill => "skill",
            Self::Delegate => "delegate",
            Self::Function => "function",
            Self::Home => "home",
        }
    }
}

/// Where a tool is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOrigin {
    /// The path of the file, as the user wrote it.
    pub path: String,
    /// The line.
    pub line: usize,
}

/// Why a call of a declared tool failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// What went wrong.
    pub message: String,
    /// The file and the place in it, if the code of a tool failed.
    pub at: Option<(String, CodePlace)>,
}

/// A tool that the definition of an agent declares.
pub trait DeclaredTool: BuiltInTool {
    /// Returns its kind.
    fn kind(&self) -> DeclaredKind;

    /// Returns where it is written, if it is in a file.
    fn origin(&self) -> Option<ToolOrigin> {
        None
    }

    /// Returns what the policy is asked about every call; nothing means that each is allowed.
    fn policy_subjects(&self) -> Vec<ToolTouch> {
        Vec::new()
    }

    /// Returns the time of a call.
    fn time(&self) -> Duration {
        TIME
    }

    /// Calls it and returns the whole result. [`BuiltInTool::run`] is the same call for a model, and enough for a
    /// tool whose result is text.
    fn call<'a>(
        &'a self,
        arguments: &'a Value,
        _time: Duration,
        host: &'a dyn ToolHost,
    ) -> BoxedFuture<'a, Result<Value, CallFailure>> {
        Box::pin(async move {
            let ToolOutput { text, failed, .. } = self.run(arguments.clone(), host).await;
            if failed { Err(CallFailure::new(text)) } else { Ok(Value::String(text)) }
        })
    }
}

impl CallFailure {
    /// Creates a failure without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), at: None }
    }

    /// Returns the message with its place.
    pub fn with_place(&self) -> String {
        match &self.at {
            Some((path, CodePlace { line, column })) => {
                format!("{} ({path}:{line}:{column})", self.message)
            }
            None => self.message.clone(),
        }
    }
}

/// Returns a text, or the reason of a failure, as a model gets it.
pub(crate) fn answered(answer: Result<String, String>, host: &dyn ToolHost) -> ToolOutput {
    for_model(answer.map(Value::String).map_err(CallFailure::new), host)
}

/// Returns the result of a call as a model gets it: cleaned, and cut to a limit.
pub fn for_model(result: Result<Value, CallFailure>, host: &dyn ToolHost) -> ToolOutput {
    match result {
        Ok(Value::String(text)) => ToolOutput::done(output_cap::kept(&clean(&text), host)),
        Ok(value) => ToolOutput::done(output_cap::kept(&clean(&value.to_string()), host)),
        Err(failure) => ToolOutput::failed(clean(&failure.with_place())),
    }
}

/// Removes control characters, which could rewrite what a terminal shows.
pub(super) fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Shows a log line of a tool's code.
pub(super) fn show_log(host: &dyn ToolHost, level: LogLevel, text: &str) {
    let level = match level {
        LogLevel::Debug => "debug: ",
        LogLevel::Info => "",
        LogLevel::Warn => "warning: ",
        LogLevel::Error => "error: ",
    };
    host.show(&format!("{level}{}\n", clean(text)));
}
