//! Gemini's `streamGenerateContent`.
//!
//! ```text
//! system                  -> systemInstruction
//! Text                    -> text
//! Thinking                -> a part with its thoughtSignature; only to the model it came from
//! Call                    -> functionCall, with the signature it came with
//! Result                  -> functionResponse, as output or error, by the name of the tool
//! ```

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::draft::{Draft, Part, opened, seal};
use super::sse::Event;
use super::tidy::{arguments, plain, tidied};
use super::{Answered, Delta, Reader, Request, Wire, add, fault, items, number, parsed, text};
use crate::conversation::{Block, Call, Message, Role, Usage};
use crate::event::Failure;

/// Gemini's `streamGenerateContent`.
#[derive(Debug, Clone, Copy)]
pub struct Gemini;

/// The name under which signatures are kept.
const NAME: &str = "gemini";
/// What stands for the signature of a call that another model made; the provider says so.
const FOREIGN: &str = "skip_thought_signature_validator";

impl Wire for Gemini {
    fn path(&self, request: &Request<'_>) -> String {
        let model = request.model.strip_prefix("models/").unwrap_or(request.model);
        format!("/models/{}:streamGenerateContent?alt=sse", encoded(model))
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let messages = tidied(request);
        let calls = messages.iter().flat_map(|message| message.calls());
        let calls: HashMap<&str, &Call> = calls.map(|call| (call.id.as_str(), call)).collect();
        let contents = messages.iter().filter_map(|it| content(it, request.model, &calls));
        let mut body = json!({
            "contents": contents.collect::<Vec<_>>(),
            "generationConfig": { "maxOutputTokens": request.most_output },
        });
        if !request.system.is_empty() {
            body["systemInstruction"] = json!({ "parts": [{ "text": request.system }] });
        }
        if !request.tools.is_empty() {
            let tool = |it: &crate::tool::ToolSpec| {
                json!({ "name": it.name, "description": it.description,
                    "parametersJsonSchema": it.schema })
            };
            let tools: Vec<Value> = request.tools.iter().map(tool).collect();
            body["tools"] = json!([{ "functionDeclarations": tools }]);
        }
        if let Some(temperature) = request.temperature {
            body["generationConfig"]["temperature"] = temperature.into();
        }
        add(&mut body, request.extra);
        body
    }

    fn reader(&self, model: &str) -> Box<dyn Reader + Send> {
        Box::new(Contents { model: model.to_owned(), ..Contents::default() })
    }

    fn mend(&self, body: &mut Value, complaint: &str) -> bool {
        let searches = |tool: &Value| tool.get("googleSearch").is_some();
        // Older models search or call, not both.
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

/// A model's name as one segment of a path, whatever stands in it.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(byte.into()),
            b'.' if name != "." && name != ".." => text.push('.'),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

fn content(message: &Message, model: &str, calls: &HashMap<&str, &Call>) -> Option<Value> {
    let role = if message.role == Role::User { "user" } else { "model" };
    let parts = message.blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(json!({ "text": text })),
        Block::Thinking { text, opaque } => {
            let own = opened(opaque.as_ref(), NAME, model)?;
            let mut part = json!({ "text": text, "thoughtSignature": own.get("signature")? });
            if !text.is_empty() {
                part["thought"] = true.into();
            }
            Some(part)
        }
        Block::Call(call) => Some(function_call(call, model)),
        Block::Result { id, text, failed } => {
            let call = calls.get(id.as_str())?;
            Some(function_response(call, model, text, *failed))
        }
    });
    let mut parts: Vec<Value> = parts.collect();
    // Only the first of several calls carries a signature.
    let calls = parts.iter_mut().filter(|part| part.get("functionCall").is_some());
    for part in calls.skip(1) {
        let foreign = part.get("thoughtSignature").is_some_and(|it| it == FOREIGN);
        if let Some(part) = part.as_object_mut().filter(|_| foreign) {
            part.shift_remove("thoughtSignature");
        }
    }
    (!parts.is_empty()).then(|| json!({ "role": role, "parts": parts }))
}

fn function_call(call: &Call, model: &str) -> Value {
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
        None => part["thoughtSignature"] = FOREIGN.into(),
    }
    part
}

fn function_response(call: &Call, model: &str, text: &str, failed: bool) -> Value {
    let word = if failed { "error" } else { "output" };
    let mut function = json!({ "name": plain(&call.tool), "response": { word: text } });
    if let Some(id) = opened(call.opaque.as_ref(), NAME, model).and_then(|own| own.get("id")) {
        function["id"] = id.clone();
    }
    json!({ "functionResponse": function })
}

#[derive(Default)]
struct Contents {
    model: String,
    draft: Draft,
    stop: Option<String>,
}

impl Reader for Contents {
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let data = parsed(event)?;
        let data = data.get(0).unwrap_or(&data);
        if let Some(error) = data.get("error") {
            return Err(fault::in_stream(error));
        }
        self.used(data.get("usageMetadata"));
        let blocked = data.get("promptFeedback").map(|it| text(it, "blockReason"));
        if let Some(reason) = blocked.filter(|reason| !reason.is_empty()) {
            self.stop = Some(reason.to_owned());
        }
        let Some(candidate) = items(data, "candidates").first() else { return Ok(()) };
        // What comes after the end was said before.
        if self.stop.is_some() {
            return Ok(());
        }
        if let Some(content) = candidate.get("content") {
            items(content, "parts").iter().try_for_each(|part| self.part(part, show))?;
        }
        let stop = text(candidate, "finishReason");
        self.stop = (!stop.is_empty()).then(|| stop.to_owned());
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn used_up(&self) -> Usage {
        self.draft.used_up()
    }

    fn finish(mut self: Box<Self>) -> Result<Answered, Failure> {
        match self.stop.as_deref() {
            None => return Err(fault::broke_off()),
            Some("STOP" | "FINISH_REASON_UNSPECIFIED") => {}
            Some("MAX_TOKENS") => self.draft.truncated = true,
            Some(reason @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "OTHER")) => {
                return Err(fault::temporary(format!("the model stopped: `{reason}`")));
            }
            Some(reason) => self.draft.refuse(&fault::shown(reason)),
        }
        Ok(self.draft.finish())
    }
}

impl Contents {
    fn used(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let sum = |names: &[&str]| {
            let counts = names.iter().filter_map(|name| number(usage, name));
            counts.fold(0_u64, u64::saturating_add)
        };
        let used = &mut self.draft.usage;
        used.input = sum(&["promptTokenCount", "toolUsePromptTokenCount"]);
        used.cached = sum(&["cachedContentTokenCount"]).min(used.input);
        used.output = sum(&["candidatesTokenCount", "thoughtsTokenCount"]);
    }

    fn part(&mut self, part: &Value, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let signature = part.get("thoughtSignature").filter(|it| it.is_string());
        if let Some(function) = part.get("functionCall") {
            return self.call(function, signature, show);
        }
        let piece = text(part, "text");
        let is_thought = part.get("thought") == Some(&Value::Bool(true));
        if is_thought {
            self.thought(piece, signature, show)
        } else {
            self.say(piece, show)?;
            // A signature of plain text is kept as a thought without words.
            signature.map_or(Ok(()), |_| self.thought("", signature, show))
        }
    }

    fn say(&mut self, piece: &str, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        if piece.is_empty() {
            return Ok(());
        }
        show(Delta::Text(piece.to_owned()));
        match self.draft.last() {
            Some((key, Part::Text(_))) => self.draft.append(key, piece),
            _ => self.draft.begin(self.draft.next(), Part::Text(piece.to_owned())),
        }
    }

    fn thought(
        &mut self,
        piece: &str,
        signature: Option<&Value>,
        show: &mut dyn FnMut(Delta),
    ) -> Result<(), Failure> {
        if !piece.is_empty() {
            show(Delta::Thinking(piece.to_owned()));
        }
        let sealed = signature.map(|it| seal(NAME, &self.model, &json!({ "signature": it })));
        match self.draft.last() {
            Some((key, Part::Thinking(_, opaque @ None))) if !piece.is_empty() => {
                *opaque = sealed;
                self.draft.append(key, piece)
            }
            _ => self.draft.begin(self.draft.next(), Part::Thinking(piece.to_owned(), sealed)),
        }
    }

    fn call(
        &mut self,
        function: &Value,
        signature: Option<&Value>,
        show: &mut dyn FnMut(Delta),
    ) -> Result<(), Failure> {
        let (id, tool) = (text(function, "id"), text(function, "name"));
        show(Delta::Call(tool.to_owned()));
        let mut own = json!({});
        if !id.is_empty() {
            own["id"] = id.into();
        }
        if let Some(signature) = signature {
            own["signature"] = signature.clone();
        }
        let given = function.get("args").filter(|args| !args.is_null());
        let part = Part::Call {
            id: id.to_owned(),
            tool: tool.to_owned(),
            arguments: given.map(Value::to_string).unwrap_or_default(),
            opaque: Some(seal(NAME, &self.model, &own)),
        };
        self.draft.begin(self.draft.next(), part)
    }
}
