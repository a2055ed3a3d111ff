//! `todo`: keeps the list of tasks of a run.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
};
use crate::event::CallClass;

/// The most tasks.
const MOST: usize = 100;

/// Stores and shows the list of tasks.
pub(super) struct TodoTool;

#[derive(Deserialize)]
struct TodoInput {
    items: Option<Vec<TodoItem>>,
}

#[derive(Serialize, Deserialize)]
struct TodoItem {
    text: String,
    state: TodoState,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TodoState {
    Open,
    Doing,
    Done,
}

impl BuiltInTool for TodoTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "todo".to_owned(),
            description:
                "Keeps the list of steps of a longer task. Give the whole list to replace \
                          it; give nothing to read it. At most one step should be `doing`."
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "items": {
                        "type": "array",
                        "maxItems": MOST,
                        "description": "The whole list, in order",
                        "items": {
                            "type": "object",
                            "properties": {
                                "text": {"type": "string", "minLength": 1, "maxLength": 500},
                                "state": {"enum": ["open", "doing", "done"]}
                            },
                            "required": ["text", "state"],
                            "additionalProperties": false
                        }
                    }
                },
                "additionalProperties": false
            }),
        }
    }

    /// Only the run's own list changes, and storing it twice has no further effect.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, _: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        Ok(Vec::new())
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move { keep_or_show(&arguments, host).into() })
    }
}

fn keep_or_show(given: &Value, host: &dyn ToolHost) -> Result<String, String> {
    let TodoInput { items } = arguments(given)?;
    let path = file(&host.place().run);
    let items = match items {
        Some(items) => {
            let text = serde_json::to_string(&items).map_err(|error| error.to_string())?;
            // The file outlives the process, so it must not have secrets.
            let kept = fs::write(&path, host.redacted(&text));
            kept.map_err(|error| format!("the list could not be kept: {error}"))?;
            items
        }
        None => match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| format!("the list could not be read: {error}"))?,
            Err(_) => Vec::new(),
        },
    };
    Ok(shown(&items))
}

fn file(run: &Path) -> PathBuf {
    run.join("todo.json")
}

fn shown(items: &[TodoItem]) -> String {
    if items.is_empty() {
        return "the list is empty".to_owned();
    }
    let done = items.iter().filter(|item| item.state == TodoState::Done).count();
    let mut text = format!("{done} of {} done\n", items.len());
    for item in items {
        let mark = match item.state {
            TodoState::Open => ' ',
            TodoState::Doing => '>',
            TodoState::Done => 'x',
        };
        let _ = writeln!(text, "[{mark}] {}", item.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestWorkspace;
    use super::*;

    #[tokio::test]
    async fn a_todo_list_replaces_the_last_one() {
        let world = TestWorkspace::new();
        let host = world.host();
        let list = json!({"items": [
            {"text": "read", "state": "done"},
            {"text": "write", "state": "doing"},
            {"text": "test", "state": "open"},
        ]});
        let expected = "1 of 3 done\n[x] read\n[>] write\n[ ] test\n";
        let cases = [
            (json!({}), "the list is empty"),
            (list, expected),
            (json!({}), expected),
            (json!({"items": []}), "the list is empty"),
            (json!({}), "the list is empty"),
        ];
        for (arguments, expected) in cases {
            let output = TodoTool.run(arguments.clone(), &host).await;
            assert_eq!(output, ToolOutput::done(expected), "{arguments}");
        }
    }
}
