//! What the model says: one call of a tool after the other, then a farewell.
//!
//! A conversation names its script in a user message (`play <name>`). Which call comes next follows
//! from the results that are already in the conversation, so that a repeated request gets the same
//! answer and requests for a title or a summary disturb nothing.

use serde_json::Value;

use crate::server::ToolResult;

/// A call that the model makes.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The tool, as the client calls it.
    pub(crate) tool: String,
    /// Its arguments.
    pub(crate) arguments: Value,
    /// Completes the arguments from what came of earlier calls.
    pub(crate) complete: Option<fn(&mut Value, &[ToolResult])>,
}

impl Call {
    /// A call of `tool`.
    pub(crate) fn new(tool: &str, arguments: Value) -> Self {
        Self { tool: tool.to_owned(), arguments, complete: None }
    }
}

/// One conversation's worth of answers.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// Letters only.
    pub(crate) name: &'static str,
    /// One a turn.
    pub(crate) calls: Vec<Call>,
    /// Makes the last answer a call as well, where a client wants one to end with.
    pub(crate) last: Option<Call>,
}

impl Script {
    /// Calls in order, then a word of farewell.
    pub(crate) fn new(name: &'static str, calls: Vec<Call>) -> Self {
        Self { name, calls, last: None }
    }

    /// What a user message has to contain to start it.
    pub(crate) fn cue(&self) -> String {
        format!("play <{}>", self.name)
    }

    /// The name of the call at `index`.
    pub(crate) fn call_id(&self, index: usize) -> String {
        format!("call_{}_{index}", self.name)
    }

    /// What comes after `step` results.
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
    /// Words, which end the turn.
    Text(String),
    /// A call of a tool.
    Call {
        /// Its name in the conversation.
        id: String,
        /// What to call.
        call: Call,
    },
}
