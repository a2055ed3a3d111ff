//! The Messages protocol of Claude Code.

use serde_json::{Value, json};

use super::{Conversation, Tool, ToolResult, items, named, parameters, text};
use crate::script::Answer;

pub(super) fn read(body: &Value) -> Conversation {
    let of_user = || items(&body["messages"]).filter(|it| it["role"] == "user");
    let blocks = || of_user().flat_map(|it| items(&it["content"]));
    let plain = of_user().filter_map(|it| it["content"].as_str().map(str::to_owned));
    let texts = blocks().filter(|it| it["type"] == "text").map(|it| text(&it["text"]));
    Conversation {
        system: system(body),
        user: plain.chain(texts).collect(),
        tools: items(&body["tools"]).map(tool).collect(),
        results: blocks().filter(|it| it["type"] == "tool_result").map(result).collect(),
        model: text(&body["model"]),
        parameters: parameters(body, &["messages", "tools", "model", "system"]),
        stream: body["stream"] == true,
    }
}

/// The system prompt, with the parts that are added between turns.
fn system(body: &Value) -> String {
    let prompt = match &body["system"] {
        Value::Array(parts) => parts.iter().map(text).collect(),
        other => vec![text(other)],
    };
    let later = items(&body["messages"]).filter(|it| it["role"] == "system");
    let later = later.map(|it| text(&it["content"]));
    prompt.into_iter().chain(later).collect::<Vec<_>>().join("\n\n")
}

fn tool(value: &Value) -> Tool {
    Tool {
        name: text(&value["name"]),
        description: text(&value["description"]),
        schema: value["input_schema"].clone(),
    }
}

fn result(block: &Value) -> ToolResult {
    ToolResult { id: text(&block["tool_use_id"]), text: text(&block["content"]) }
}

pub(super) fn write(answer: &Answer, stream: bool) -> String {
    let (full, empty, delta, reason) = match answer {
        Answer::Text(words) => (
            json!({ "type": "text", "text": words }),
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": words }),
            "end_turn",
        ),
        Answer::Call { id, call } => (
            json!({ "type": "tool_use", "id": id, "name": call.tool, "input": call.arguments }),
            json!({ "type": "tool_use", "id": id, "name": call.tool, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": call.arguments.to_string() }),
            "tool_use",
        ),
    };
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = |content: Vec<Value>, reason: Value| {
        json!({ "id": "msg", "type": "message", "role": "assistant", "model": "scripted",
                "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage })
    };
    if !stream {
        return message(vec![full], reason.into()).to_string();
    }
    let end = json!({ "stop_reason": reason, "stop_sequence": null });
    let frames = [
        json!({ "type": "message_start", "message": message(vec![], Value::Null) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": empty }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": end, "usage": usage }),
        json!({ "type": "message_stop" }),
    ];
    named(&frames)
}
