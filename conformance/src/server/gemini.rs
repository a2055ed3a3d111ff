//! The `generateContent` protocol of Gemini CLI.

use serde_json::{Value, json};

use super::{Conversation, Tool, ToolResult, events, items, parameters, text};
use crate::script::Answer;

pub(super) fn read(body: &Value) -> Conversation {
    let parts = || {
        let turns = items(&body["contents"]).filter(|turn| turn["role"] != "model");
        turns.flat_map(|turn| items(&turn["parts"]))
    };
    let texts = parts().filter(|part| part["text"].is_string());
    let results = parts().filter(|part| part["functionResponse"].is_object());
    let functions = items(&body["tools"]).flat_map(|it| items(&it["functionDeclarations"]));
    Conversation {
        system: items(&body["systemInstruction"]["parts"])
            .map(text)
            .collect::<Vec<_>>()
            .join("\n\n"),
        user: texts.map(|part| text(&part["text"])).collect(),
        tools: functions.map(tool).collect(),
        results: results.map(|part| result(&part["functionResponse"])).collect(),
        model: text(&body["model"]),
        parameters: parameters(body, &["contents", "tools", "systemInstruction", "model"]),
        stream: false,
    }
}

fn tool(value: &Value) -> Tool {
    let schema = value.get("parametersJsonSchema").or(value.get("parameters"));
    Tool {
        name: text(&value["name"]),
        description: text(&value["description"]),
        schema: schema.cloned().unwrap_or_default(),
    }
}

fn result(response: &Value) -> ToolResult {
    ToolResult { id: text(&response["id"]), text: response["response"].to_string() }
}

pub(super) fn write(answer: &Answer, stream: bool) -> String {
    let part = match answer {
        Answer::Text(words) => json!({ "text": words }),
        Answer::Call { id, call } => {
            json!({ "functionCall": { "id": id, "name": call.tool, "args": call.arguments } })
        }
    };
    let candidate = json!({ "index": 0, "finishReason": "STOP",
        "content": { "role": "model", "parts": [part] } });
    let usage = json!({ "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 });
    let body = json!({ "candidates": [candidate], "usageMetadata": usage,
        "modelVersion": "scripted", "responseId": "answer" });
    if stream { events(&[("", body)]) } else { body.to_string() }
}
