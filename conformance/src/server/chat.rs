//! The Chat Completions protocol of OpenCode and Pi.

use serde_json::{Value, json};

use super::{Conversation, Tool, ToolResult, events, items, parameters, text};
use crate::script::Answer;

pub(super) fn read(body: &Value) -> Conversation {
    let of = |role: &'static str| items(&body["messages"]).filter(move |it| it["role"] == role);
    let systems = of("system").chain(of("developer"));
    Conversation {
        system: systems.map(|it| text(&it["content"])).collect::<Vec<_>>().join("\n\n"),
        user: of("user").map(|it| text(&it["content"])).collect(),
        tools: items(&body["tools"]).map(|it| tool(&it["function"])).collect(),
        results: of("tool").map(result).collect(),
        model: text(&body["model"]),
        parameters: parameters(body, &["messages", "tools", "model"]),
        stream: body["stream"] == true,
    }
}

fn tool(function: &Value) -> Tool {
    Tool {
        name: text(&function["name"]),
        description: text(&function["description"]),
        schema: function["parameters"].clone(),
    }
}

fn result(message: &Value) -> ToolResult {
    ToolResult { id: text(&message["tool_call_id"]), text: text(&message["content"]) }
}

pub(super) fn write(answer: &Answer, stream: bool) -> String {
    let (part, reason) = match answer {
        Answer::Text(words) => (json!({ "content": words }), "stop"),
        Answer::Call { id, call } => {
            let function = json!({ "name": call.tool, "arguments": call.arguments.to_string() });
            let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
            (json!({ "content": null, "tool_calls": [call] }), "tool_calls")
        }
    };
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    let frame = |kind: &str, choice: Value, usage: &Value| {
        json!({ "id": "chat", "object": kind, "created": 1, "model": "scripted",
                "choices": [choice], "usage": usage })
    };
    let mut message = part;
    message["role"] = "assistant".into();
    if !stream {
        let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
        return frame("chat.completion", choice, &usage).to_string();
    }
    let choice =
        |delta: Value, end: Value| json!({ "index": 0, "delta": delta, "finish_reason": end });
    let chunk = "chat.completion.chunk";
    let first = frame(chunk, choice(message, Value::Null), &Value::Null);
    let last = frame(chunk, choice(json!({}), reason.into()), &usage);
    events(&[("", first), ("", last)]) + "data: [DONE]\n\n"
}
