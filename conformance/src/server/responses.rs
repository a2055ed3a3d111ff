//! The Responses protocol of Codex.

use serde_json::{Value, json};

use super::{Conversation, Tool, ToolResult, items, named, parameters, text};
use crate::script::Answer;

pub(super) fn read(body: &Value) -> Conversation {
    let of = |role: &'static str| items(&body["input"]).filter(move |it| it["role"] == role);
    let developer = of("developer").chain(of("system")).map(|it| text(&it["content"]));
    let system = std::iter::once(text(&body["instructions"])).chain(developer);
    let outputs = items(&body["input"])
        .filter(|it| it["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output")));
    Conversation {
        system: system.collect::<Vec<_>>().join("\n\n"),
        user: of("user").map(|it| text(&it["content"])).collect(),
        tools: items(&body["tools"]).map(tool).collect(),
        results: outputs.map(result).collect(),
        model: text(&body["model"]),
        parameters: parameters(body, &["input", "instructions", "tools", "model"]),
        stream: body["stream"] == true,
    }
}

/// A tool that the provider itself would run has a type and no name.
fn tool(value: &Value) -> Tool {
    let name = if value["name"].is_string() { &value["name"] } else { &value["type"] };
    Tool {
        name: text(name),
        description: text(&value["description"]),
        schema: if value["parameters"].is_null() {
            value.clone()
        } else {
            value["parameters"].clone()
        },
    }
}

fn result(item: &Value) -> ToolResult {
    ToolResult { id: text(&item["call_id"]), text: text(&item["output"]) }
}

pub(super) fn write(answer: &Answer, stream: bool) -> String {
    let item = match answer {
        Answer::Text(words) => {
            let part = json!({ "type": "output_text", "text": words, "annotations": [] });
            json!({ "type": "message", "id": "msg", "role": "assistant", "status": "completed",
                    "content": [part] })
        }
        // A call with plain text as arguments is for a tool without a schema.
        Answer::Call { id, call } if call.arguments.is_string() => {
            json!({ "type": "custom_tool_call", "id": "ctc", "call_id": id, "status": "completed",
                    "name": call.tool, "input": call.arguments })
        }
        Answer::Call { id, call } => {
            let (space, name) = split(&call.tool);
            let mut item = json!({ "type": "function_call", "id": "fc", "call_id": id,
                    "status": "completed", "name": name, "arguments": call.arguments.to_string() });
            if let Some(space) = space {
                item["namespace"] = space.into();
            }
            item
        }
    };
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
        "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens_details": { "reasoning_tokens": 0 } });
    let response = |status: &str, output: Vec<&Value>| {
        json!({ "id": "resp", "object": "response", "created_at": 1, "model": "scripted",
                "status": status, "output": output, "usage": usage })
    };
    if !stream {
        return response("completed", vec![&item]).to_string();
    }
    named(&[
        json!({ "type": "response.created", "response": response("in_progress", vec![]) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": response("completed", vec![&item]) }),
    ])
}

/// A tool of a group is written `group.tool`.
fn split(name: &str) -> (Option<&str>, &str) {
    name.split_once('.').map_or((None, name), |(space, name)| (Some(space), name))
}
