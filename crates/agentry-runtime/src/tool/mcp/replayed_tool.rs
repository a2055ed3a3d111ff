//! The tools of servers in a replay: as the cassette has them. They cannot be run.

use std::sync::Arc;

use agentry_compile::policy::Section;
use serde_json::Value;

use super::super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch,
};
use super::resource_tool;
use crate::cassette::{RecordedServerTool, Tape};
use crate::event::CallClass;

/// A tool of a server in a replay.
struct ReplayedServerTool {
    spec: ToolSpec,
    /// Its server and its name there; empty for the tool that reads resources.
    subject: String,
}

/// Returns the tools of servers that the recorded run had.
pub fn replayed_tools(tape: &Tape) -> Vec<Arc<dyn BuiltInTool>> {
    let tool = |recorded: &RecordedServerTool| -> Option<Arc<dyn BuiltInTool>> {
        let (spec, subject) = (tape.tool(&recorded.name)?, recorded.subject.clone());
        Some(Arc::new(ReplayedServerTool { spec, subject }))
    };
    tape.server_tools().iter().filter_map(tool).collect()
}

impl BuiltInTool for ReplayedServerTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::External
    }

    fn touches(&self, arguments: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        if self.subject.is_empty() {
            return Ok(vec![resource_tool::asked(arguments)?]);
        }
        Ok(vec![ToolTouch { section: Section::Mcp, subject: self.subject.clone() }])
    }

    fn run<'a>(&'a self, _: Value, _: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async { ToolOutput::failed("no server is called in a replay".to_owned()) })
    }
}
