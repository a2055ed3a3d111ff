//! The wire of Gemini's `streamGenerateContent`.
//!
//! ```text
//! system                  -> systemInstruction
//! Text                    -> text
//! Thinking                -> a part with its thoughtSignature; only to the model it came from
//! Call                    -> functionCall, with the signature it came with
//! Result                  -> functionResponse, as output or error, by the name of the tool
//! ```

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::draft::{AnswerDraft, DraftPart, PieceKind, TokenPointers, opened, written};
use super::tidy::{arguments, plain};
use super::wire_reader::{StopReason, StopReasons, WireMapping, reading};
use super::{AnswerReader, MessageContext, ProviderRequest, ProviderWire, completed, items, text};
use crate::conversation::{Message, MessageBlock, MessageRole, ToolCall};
use crate::event::ModelFailure;
use crate::tool::ToolSpec;

/// Gemini's `streamGenerateContent`.
#[derive(Debug, Clone, Copy)]
pub struct GeminiWire;

/// The name that marks signatures of this wire.
const NAME: &str = "gemini";
/// The documented placeholder for the signature of a call that another model made.
const FOREIGN: &str = "skip_thought_signature_validator";

impl ProviderWire for GeminiWire {
    fn path(&self, request: &ProviderRequest<'_>) -> String {
        let model = request.model.strip_prefix("models/").unwrap_or(request.model);
        format!("/models/{}:streamGenerateContent?alt=sse", encoded(model))
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn list(&self) -> &'static str {
        "contents"
    }

    fn frame(&self, request: &ProviderRequest<'_>) -> Value {
        let mut body = json!({
            "contents": [],
            "generationConfig": { "maxOutputTokens": request.most_output },
        });
        if !request.system.is_empty() {
            body["systemInstruction"] = json!({ "parts": [{ "text": request.system }] });
        }
        completed(body, request, "/generationConfig", |tools| {
            let tools: Vec<Value> = tools.iter().map(tool).collect();
            json!([{ "functionDeclarations": tools }])
        })
    }

    fn items(&self, message: &Message, context: &MessageContext<'_>) -> Vec<Value> {
        content(message, context).into_iter().collect()
    }

    fn reader(&self, model: &str) -> Box<dyn AnswerReader + Send> {
        reading::<GeminiContents>(model)
    }

    fn repair(&self, body: &mut Value, complaint: &str) -> bool {
        let searches = |tool: &Value| tool.get("googleSearch").is_some();
        // Older models support search or calls, not both.
        if complaint.contains("search") || complaint.contains("tool") {
            let tools = body.get_mut("tools").and_then(Value::as_array_mut);
            if let Some(tools) = tools.filter(|tools| tools.iter().any(searches)) {
                tools.retain(|tool| !searches(tool));
                return true;
            }
        }
        let Some(config) = body.get_mut("generationConfig").and_then(Value::as_object_mut) else {
            return false;
        };
        let words = [
            ("thinking", "thinkingConfig"),
            ("temperature", "temperature"),
            ("topk", "topK"),
            ("topp", "topP"),
            ("seed", "seed"),
        ];
        let complaint = complaint.replace('_', "");
        let named = words.iter().filter(|(word, _)| complaint.contains(word));
        named.filter(|(_, field)| config.shift_remove(*field).is_some()).count() > 0
    }
}

/// Encodes a model name as one segment of a path, whatever characters it has.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(byte.into()),
            // A segment `.` or `..` would change the path.
            b'.' if name != "." && name != ".." => text.push('.'),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

fn tool(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema })
}

fn content(message: &Message, context: &MessageContext<'_>) -> Option<Value> {
    let model = context.model;
    let role = if message.role == MessageRole::User { "user" } else { "model" };
    let parts = message.blocks.iter().filter_map(|block| match block {
        MessageBlock::Text { text } => Some(json!({ "text": text })),
        MessageBlock::Thinking { text, opaque } => {
            let own = opened(opaque.as_ref(), NAME, model)?;
            let mut part = json!({ "text": text, "thoughtSignature": own.get("signature")? });
            if !text.is_empty() {
                part["thought"] = true.into();
            }
            Some(part)
        }
        MessageBlock::Call(call) => Some(function_call(call, model)),
        MessageBlock::Result { id, text, failed } => {
            Some(function_response(context.call(id)?, model, text, *failed))
        }
    });
    let mut parts: Vec<Value> = parts.collect();
    // The provider expects a signature only on the first of several calls.
    let calls = parts.iter_mut().filter(|part| part.get("functionCall").is_some());
    for part in calls.skip(1) {
        let foreign = part.get("thoughtSignature").is_some_and(|it| it == FOREIGN);
        if let Some(part) = part.as_object_mut().filter(|_| foreign) {
            part.shift_remove("thoughtSignature");
        }
    }
    (!parts.is_empty()).then(|| json!({ "role": role, "parts": parts }))
}

fn function_call(call: &ToolCall, model: &str) -> Value {
    let own = opened(call.opaque.as_ref(), NAME, model);
    let mut function = json!({ "name": plain(&call.tool), "args": arguments(&call.arguments) });
    if let Some(id) = own.and_then(|own| own.get("id")) {
        function["id"] = id.clone();
    }
    let mut part = json!({ "functionCall": function });
    match own {
        Some(own) => {
            if let Some(signature) = own.get("signature") {
                part["thoughtSignature"] = signature.clone();
            }
        }
        // A call of another model has no signature that this one accepts.
        None => part["thoughtSignature"] = FOREIGN.into(),
    }
    part
}

fn function_response(call: &ToolCall, model: &str, text: &str, failed: bool) -> Value {
    let word = if failed { "error" } else { "output" };
    let mut function = json!({ "name": plain(&call.tool), "response": { word: text } });
    if let Some(id) = opened(call.opaque.as_ref(), NAME, model).and_then(|own| own.get("id")) {
        function["id"] = id.clone();
    }
    json!({ "functionResponse": function })
}

#[derive(Default)]
struct GeminiContents;

impl WireMapping for GeminiContents {
    const NAME: &'static str = NAME;
    const COUNTS: TokenPointers = TokenPointers {
        places: &["/usageMetadata"],
        input: &["/promptTokenCount", "/toolUsePromptTokenCount"],
        cached: &["/cachedContentTokenCount"],
        stored: &[],
        output: &["/candidatesTokenCount", "/thoughtsTokenCount"],
    };
    const STOPS: StopReasons = StopReasons {
        known: &[
            ("STOP", StopReason::Done),
            ("FINISH_REASON_UNSPECIFIED", StopReason::Done),
            ("MAX_TOKENS", StopReason::Cut),
            (
                "MALFORMED_FUNCTION_CALL",
                StopReason::Failed("the model stopped: `MALFORMED_FUNCTION_CALL`"),
            ),
            (
                "UNEXPECTED_TOOL_CALL",
                StopReason::Failed("the model stopped: `UNEXPECTED_TOOL_CALL`"),
            ),
            ("OTHER", StopReason::Failed("the model stopped: `OTHER`")),
        ],
        other: StopReason::RefusedBy,
    };

    fn take(&mut self, data: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
        if let Some(feedback) = data.get("promptFeedback") {
            draft.stop(text(feedback, "blockReason"));
        }
        // Some servers repeat the content after the end.
        if let (Some(candidate), None) = (items(data, "candidates").first(), draft.stopped()) {
            if let Some(content) = candidate.get("content") {
                items(content, "parts").iter().try_for_each(|it| part(it, draft))?;
            }
            draft.stop(text(candidate, "finishReason"));
        }
        if draft.stopped().is_some() {
            draft.complete();
        }
        Ok(())
    }
}

fn part(part: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
    let signature = part.get("thoughtSignature").filter(|it| it.is_string());
    if let Some(function) = part.get("functionCall") {
        return call(function, signature, draft);
    }
    let piece = text(part, "text");
    if part.get("thought") == Some(&Value::Bool(true)) {
        return thought(piece, signature, draft);
    }
    draft.piece(draft.going_on(PieceKind::Text), PieceKind::Text, piece)?;
    // The signature of plain text is stored as reasoning without text.
    signature.map_or(Ok(()), |_| thought("", signature, draft))
}

fn thought(
    piece: &str,
    signature: Option<&Value>,
    draft: &mut AnswerDraft,
) -> Result<(), ModelFailure> {
    let key = if piece.is_empty() {
        let key = draft.next();
        draft.begin(key, DraftPart::Thinking(String::new(), None))?;
        key
    } else {
        let key = draft.going_on(PieceKind::Thinking);
        draft.piece(key, PieceKind::Thinking, piece)?;
        key
    };
    if let Some(signature) = signature {
        draft.sign(key, &json!({ "signature": signature }));
    }
    Ok(())
}

fn call(
    function: &Value,
    signature: Option<&Value>,
    draft: &mut AnswerDraft,
) -> Result<(), ModelFailure> {
    let id = text(function, "id");
    let mut own = json!({});
    if !id.is_empty() {
        own["id"] = id.into();
    }
    if let Some(signature) = signature {
        own["signature"] = signature.clone();
    }
    let key = draft.next();
    draft.begin(key, DraftPart::call(id, text(function, "name"), written(function.get("args"))))?;
    draft.sign(key, &own);
    Ok(())
}
