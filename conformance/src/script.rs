//! The script of the model: one tool call after the other, then a final text.
//!
//! A conversation names its script in a user message (`play <name>`). The next call follows from the
//! results that are already in the conversation, so that a repeated request gets the same answer, and
//! requests for a title or a summary have no effect.

use serde_json::Value;

use crate::server::ToolResult;

/// A call that the model makes.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The tool, by the name that the client uses.
    pub(crate) tool: String,
    /// Its arguments.
    pub(crate) arguments: Value,
    /// Completes the arguments from the results of earlier calls.
    pub(crate) complete: Option<fn(&mut Value, &[ToolResult])>,
}

impl Call {
    /// A call of `tool`.
    pub(crate) fn new(tool: &str, arguments: Value) -> Self {
        Self { tool: tool.to_owned(), arguments, complete: None }
    }
}

/// The answers of one conversation.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// Letters only.
    pub(crate) name: &'static str,
    /// One for each turn.
    pub(crate) calls: Vec<Call>,
    /// The final answer as a call, where a client requires one.
    pub(crate) last: Option<Call>,
}

impl Script {
    /// Calls in order, then a final text.
    pub(crate) fn new(name: &'static str, calls: Vec<Call>) -> Self {
        Self { name, calls, last: None }
    }

    /// The text in a user message that starts the script.
    pub(crate) fn cue(&self) -> String {
        format!("play <{}>", self.name)
    }

    /// The identifier of the call at `index`.
    pub(crate) fn call_id(&self, index: usize) -> String {
        format!("call_{}_{index}", self.name)
    }

    /// The answer after `step` results.
    pub(crate) fn answer(&self, step: usize, results: &[ToolResult]) -> Answer {
        let Some(mut call) = self.calls.get(step).or(self.last.as_ref()).cloned() else {
            return Answer::Text("done".to_owned());
        };
        if let Some(complete) = call.complete {
            complete(&mut call.arguments, results);
        }
        Answer::Call { id: self.call_id(step), call }
    }
}

/// One answer of the model.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Text, which ends the turn.
    Text(String),
    /// A tool call.
    Call {
        /// Its identifier in the conversation.
        id: String,
        /// The call.
        call: Call,
    },
}
