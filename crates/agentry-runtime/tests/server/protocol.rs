//! The protocols of the test server: how a request is read and how a turn is written.

use serde_json::{Value, json};

use super::{Asked, Stop, Turn};

/// A protocol of the test server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Anthropic's Messages API.
    Anthropic,
    /// Chat completions.
    Chat,
    /// The Responses API.
    Responses,
    /// Gemini's `streamGenerateContent`.
    Gemini,
    /// Ollama's own API.
    Ollama,
}

/// All protocols.
pub(crate) const PROTOCOLS: [Protocol; 5] =
    [Protocol::Anthropic, Protocol::Chat, Protocol::Responses, Protocol::Gemini, Protocol::Ollama];

impl Protocol {
    pub(super) fn of(path: &str) -> Option<Self> {
        let endings = [
            ("/messages", Self::Anthropic),
            ("/chat/completions", Self::Chat),
            ("/responses", Self::Responses),
            (":streamGenerateContent", Self::Gemini),
            ("/api/chat", Self::Ollama),
        ];
        endings.iter().find(|(ending, _)| path.ends_with(ending)).map(|(_, protocol)| *protocol)
    }

    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Anthropic | Self::Chat | Self::Responses => "/v1",
            Self::Gemini => "/v1beta",
            Self::Ollama => "",
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream; charset=utf-8",
        }
    }

    /// Returns one event on the wire.
    pub(super) fn frame(self, name: &str, data: &str) -> String {
        match self {
            Self::Ollama => format!("{data}\n"),
            _ if name.is_empty() => format!("data: {data}\n\n"),
            _ => format!("event: {name}\ndata: {data}\n\n"),
        }
    }

    fn typed(self, data: &Value) -> String {
        self.frame(data["type"].as_str().unwrap_or_default(), &data.to_string())
    }

    /// Returns an error in the middle of a stream: the server is busy.
    pub(super) fn busy(self) -> String {
        let words = "Overloaded, try again";
        let error = match self {
            Self::Anthropic => {
                json!({ "type": "error", "error": { "type": "overloaded_error", "message": words } })
            }
            Self::Chat => json!({ "error": { "code": 503, "message": words } }),
            Self::Responses => {
                json!({ "type": "error", "code": "server_error", "message": words })
            }
            Self::Gemini => {
                json!({ "error": { "code": 503, "status": "UNAVAILABLE", "message": words } })
            }
            Self::Ollama => json!({ "error": words }),
        };
        self.typed(&error)
    }

    /// Returns an event that no client knows, and a comment.
    pub(super) fn unknown(self) -> String {
        match self {
            Self::Ollama => "{\"telemetry\":{\"load\":3}}\n".to_owned(),
            Self::Gemini | Self::Chat => {
                ": waiting\n\ndata: {\"telemetry\":{\"load\":3}}\n\n".to_owned()
            }
            Self::Anthropic | Self::Responses => {
                ": waiting\n\nevent: telemetry\ndata: {\"type\":\"telemetry\",\"load\":3}\n\n"
                    .to_owned()
            }
        }
    }

    /// Parses a request.
    pub(super) fn read(self, body: Value) -> Asked {
        let mut asked = match self {
            Self::Anthropic => read_anthropic(&body),
            Self::Chat | Self::Ollama => read_chat(&body),
            Self::Responses => read_responses(&body),
            Self::Gemini => read_gemini(&body),
        };
        asked.body = body;
        asked
    }

    /// Returns the events of a turn.
    pub(crate) fn events(self, turn: &Turn, number: usize) -> Vec<String> {
        let calls = turn.calls.iter().enumerate();
        let calls: Vec<Call> = calls
            .map(|(at, (tool, arguments))| Call {
                id: format!("call_{number}_{at}"),
                tool: tool.clone(),
                arguments: arguments.clone(),
            })
            .collect();
        match self {
            Self::Anthropic => anthropic(turn, &calls),
            Self::Chat => chat(turn, &calls),
            Self::Responses => responses(turn, &calls),
            Self::Gemini => gemini(turn, &calls),
            Self::Ollama => ollama(turn, &calls),
        }
    }
}

struct Call {
    id: String,
    tool: String,
    arguments: Value,
}

impl Call {
    /// Returns the arguments as text, which may not be JSON.
    fn text(&self) -> String {
        self.arguments.as_str().map_or_else(|| self.arguments.to_string(), str::to_owned)
    }
}

/// Splits a text into pieces of whole characters.
fn pieces(mut text: &str) -> Vec<String> {
    let size = (text.len() / 64).max(7);
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let end = (size..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        let (piece, rest) = text.split_at(end);
        pieces.push(piece.to_owned());
        text = rest;
    }
    pieces
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

/// Returns all text in a value: a string, or the parts of a list.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(&part["text"])).collect(),
        _ => String::new(),
    }
}

fn names<'a>(tools: impl Iterator<Item = &'a Value>) -> Vec<String> {
    tools.map(|tool| text(&tool["name"])).filter(|name| !name.is_empty()).collect()
}

fn read_anthropic(body: &Value) -> Asked {
    let users = || items(&body["messages"]).filter(|message| message["role"] == "user");
    let blocks = || users().flat_map(|message| items(&message["content"]));
    let results = blocks().filter(|block| block["type"] == "tool_result");
    Asked {
        system: text(&body["system"]),
        user_texts: blocks()
            .filter(|block| block["type"] == "text")
            .map(|block| text(&block["text"]))
            .collect(),
        tools: names(items(&body["tools"])),
        results: results
            .map(|block| (text(&block["tool_use_id"]), text(&block["content"])))
            .collect(),
        ..Asked::default()
    }
}

fn read_chat(body: &Value) -> Asked {
    let of = |role: &'static str| items(&body["messages"]).filter(move |it| it["role"] == role);
    let name = |message: &Value| {
        let id = text(&message["tool_call_id"]);
        if id.is_empty() { text(&message["tool_name"]) } else { id }
    };
    Asked {
        system: of("system").map(|it| text(&it["content"])).collect(),
        user_texts: of("user").map(|it| text(&it["content"])).collect(),
        tools: names(items(&body["tools"]).map(|tool| &tool["function"])),
        results: of("tool").map(|it| (name(it), text(&it["content"]))).collect(),
        ..Asked::default()
    }
}

fn read_responses(body: &Value) -> Asked {
    let users = items(&body["input"]).filter(|item| item["role"] == "user");
    let outputs = items(&body["input"]).filter(|item| item["type"] == "function_call_output");
    Asked {
        system: text(&body["instructions"]),
        user_texts: users.map(|item| text(&item["content"])).collect(),
        tools: names(items(&body["tools"])),
        results: outputs.map(|item| (text(&item["call_id"]), text(&item["output"]))).collect(),
        ..Asked::default()
    }
}

fn read_gemini(body: &Value) -> Asked {
    let turns = || items(&body["contents"]).filter(|turn| turn["role"] == "user");
    let parts = || turns().flat_map(|turn| items(&turn["parts"]));
    let results = parts().map(|part| &part["functionResponse"]).filter(|it| it.is_object());
    let declared = items(&body["tools"]).flat_map(|it| items(&it["functionDeclarations"]));
    Asked {
        system: text(&body["systemInstruction"]["parts"]),
        user_texts: parts()
            .filter(|part| part["text"].is_string())
            .map(|it| text(&it["text"]))
            .collect(),
        tools: names(declared),
        results: results
            .map(|it| {
                let response = &it["response"];
                let stream_deltas = response.get("output").or(response.get("error"));
                (text(&it["name"]), stream_deltas.map(text).unwrap_or_default())
            })
            .collect(),
        ..Asked::default()
    }
}

fn anthropic(turn: &Turn, calls: &[Call]) -> Vec<String> {
    let (read, cached, written) = turn.usage;
    let mut list = vec![json!({ "type": "message_start", "message": {
        "id": "msg", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "usage": { "input_tokens": read - cached,
        "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0, "output_tokens": 1 } } })];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        list.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        for delta in deltas {
            list.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        list.push(json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    if !turn.thinking.is_empty() {
        let stream_deltas = pieces(&turn.thinking).into_iter();
        let stream_deltas =
            stream_deltas.map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
        let signature = json!({ "type": "signature_delta", "signature": "sealed" });
        let start = json!({ "type": "thinking", "thinking": "", "signature": "" });
        block(start, stream_deltas.chain([signature]).collect());
    }
    if !turn.text.is_empty() {
        let stream_deltas = pieces(&turn.text).into_iter();
        let stream_deltas =
            stream_deltas.map(|piece| json!({ "type": "text_delta", "text": piece }));
        block(json!({ "type": "text", "text": "" }), stream_deltas.collect());
    }
    for call in calls {
        let stream_deltas = pieces(&call.text()).into_iter();
        let stream_deltas =
            stream_deltas.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
        let start = json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": {} });
        block(start, stream_deltas.collect());
    }
    let reason = match turn.stop {
        Stop::Length => "max_tokens",
        Stop::Refusal => "refusal",
        Stop::End if calls.is_empty() => "end_turn",
        Stop::End => "tool_use",
    };
    list.push(json!({ "type": "message_delta", "delta": { "stop_reason": reason },
        "usage": { "output_tokens": written } }));
    list.push(json!({ "type": "message_stop" }));
    list.iter().map(|event| Protocol::Anthropic.typed(event)).collect()
}

fn chat(turn: &Turn, calls: &[Call]) -> Vec<String> {
    let (read, cached, written) = turn.usage;
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({ "id": "chat", "object": "chat.completion.chunk", "model": "scripted",
            "choices": choices, "usage": usage });
        Protocol::Chat.frame("", &chunk.to_string())
    };
    let delta = |delta: Value, end: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": end }]), Value::Null)
    };
    let mut list = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    for piece in pieces(&turn.thinking) {
        list.push(delta(json!({ "reasoning_content": piece }), Value::Null));
    }
    let field = if turn.stop == Stop::Refusal { "refusal" } else { "content" };
    for piece in pieces(&turn.text) {
        list.push(delta(json!({ field: piece }), Value::Null));
    }
    for (index, call) in calls.iter().enumerate() {
        let function = json!({ "name": call.tool, "arguments": "" });
        let start =
            json!({ "index": index, "id": call.id, "type": "function", "function": function });
        list.push(delta(json!({ "tool_calls": [start] }), Value::Null));
        for piece in pieces(&call.text()) {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            list.push(delta(json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    let reason = match turn.stop {
        Stop::Length => "length",
        Stop::End if !calls.is_empty() => "tool_calls",
        Stop::End | Stop::Refusal => "stop",
    };
    list.push(delta(json!({}), reason.into()));
    let usage = json!({ "prompt_tokens": read, "completion_tokens": written,
        "prompt_tokens_details": { "cached_tokens": cached } });
    list.push(chunk(json!([]), usage));
    list.push(Protocol::Chat.frame("", "[DONE]"));
    list
}

fn responses(turn: &Turn, calls: &[Call]) -> Vec<String> {
    let (read, cached, written) = turn.usage;
    let mut list = vec![json!({ "type": "response.created", "response": { "id": "resp" } })];
    let mut output = Vec::new();
    if !turn.thinking.is_empty() {
        let at = output.len();
        let item = json!({ "type": "reasoning", "id": "rs", "encrypted_content": "sealed",
            "summary": [{ "type": "summary_text", "text": turn.thinking }] });
        list.push(added(at, &json!({ "type": "reasoning", "id": "rs", "summary": [] })));
        list.extend(pieces(&turn.thinking).into_iter().map(|piece| {
            json!({ "type": "response.reasoning_summary_text.delta", "output_index": at,
                "summary_index": 0, "delta": piece })
        }));
        list.push(done(at, &item));
        output.push(item);
    }
    if !turn.text.is_empty() {
        let at = output.len();
        let (kind, part) = if turn.stop == Stop::Refusal {
            ("refusal", json!({ "type": "refusal", "refusal": turn.text }))
        } else {
            ("output_text", json!({ "type": "output_text", "text": turn.text, "annotations": [] }))
        };
        let item =
            json!({ "type": "message", "id": "msg", "role": "assistant", "content": [part] });
        list.push(added(at, &json!({ "type": "message", "id": "msg", "content": [] })));
        list.extend(pieces(&turn.text).into_iter().map(|piece| {
            json!({ "type": format!("response.{kind}.delta"), "output_index": at,
                "content_index": 0, "delta": piece })
        }));
        list.push(done(at, &item));
        output.push(item);
    }
    for call in calls {
        let at = output.len();
        let item = |arguments: &str| {
            json!({ "type": "function_call", "id": format!("fc_{at}"), "call_id": call.id,
                "name": call.tool, "arguments": arguments })
        };
        list.push(added(at, &item("")));
        list.extend(pieces(&call.text()).into_iter().map(|piece| {
            json!({ "type": "response.function_call_arguments.delta", "output_index": at,
                "delta": piece })
        }));
        list.push(done(at, &item(&call.text())));
        output.push(item(&call.text()));
    }
    let end = if turn.stop == Stop::Length { "incomplete" } else { "completed" };
    let mut response = json!({ "id": "resp", "status": end, "output": output, "usage": {
        "input_tokens": read, "input_tokens_details": { "cached_tokens": cached },
        "output_tokens": written, "output_tokens_details": { "reasoning_tokens": 0 } } });
    if turn.stop == Stop::Length {
        response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    }
    list.push(json!({ "type": format!("response.{end}"), "response": response }));
    for (at, event) in list.iter_mut().enumerate() {
        event["sequence_number"] = at.into();
    }
    list.iter().map(|event| Protocol::Responses.typed(event)).collect()
}

fn added(at: usize, item: &Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": at, "item": item })
}

fn done(at: usize, item: &Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": at, "item": item })
}

fn gemini(turn: &Turn, calls: &[Call]) -> Vec<String> {
    let (read, cached, written) = turn.usage;
    let mut parts: Vec<Value> = Vec::new();
    parts.extend(
        pieces(&turn.thinking).into_iter().map(|piece| json!({ "text": piece, "thought": true })),
    );
    parts.extend(pieces(&turn.text).into_iter().map(|piece| json!({ "text": piece })));
    for (at, call) in calls.iter().enumerate() {
        let args = call.arguments.clone();
        let mut part =
            json!({ "functionCall": { "id": call.id, "name": call.tool, "args": args } });
        if at == 0 && !turn.thinking.is_empty() {
            part["thoughtSignature"] = "sealed".into();
        }
        parts.push(part);
    }
    let chunk = |parts: Value, end: Option<&str>| {
        let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
        if let Some(end) = end {
            candidate["finishReason"] = end.into();
        }
        let chunk = json!({ "candidates": [candidate], "modelVersion": "scripted",
            "usageMetadata": { "promptTokenCount": read, "cachedContentTokenCount": cached,
            "candidatesTokenCount": written } });
        Protocol::Gemini.frame("", &chunk.to_string())
    };
    let mut list: Vec<String> = parts.iter().map(|part| chunk(json!([part]), None)).collect();
    let reason = match turn.stop {
        Stop::Length => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
        Stop::End => "STOP",
    };
    list.push(chunk(json!([{ "text": "" }]), Some(reason)));
    list
}

fn ollama(turn: &Turn, calls: &[Call]) -> Vec<String> {
    let (read, _, written) = turn.usage;
    let line = |message: Value| {
        let line = json!({ "model": "scripted", "message": message, "done": false });
        Protocol::Ollama.frame("", &line.to_string())
    };
    let mut list = Vec::new();
    list.extend(
        pieces(&turn.thinking)
            .into_iter()
            .map(|it| line(json!({ "role": "assistant", "content": "", "thinking": it }))),
    );
    list.extend(
        pieces(&turn.text)
            .into_iter()
            .map(|it| line(json!({ "role": "assistant", "content": it }))),
    );
    for call in calls {
        let function = json!({ "name": call.tool, "arguments": call.arguments });
        let calls = json!([{ "function": function }]);
        list.push(line(json!({ "role": "assistant", "content": "", "tool_calls": calls })));
    }
    let reason = if turn.stop == Stop::Length { "length" } else { "stop" };
    let end = json!({ "model": "scripted", "message": { "role": "assistant", "content": "" },
        "done": true, "done_reason": reason, "prompt_eval_count": read, "eval_count": written });
    list.push(Protocol::Ollama.frame("", &end.to_string()));
    list
}
