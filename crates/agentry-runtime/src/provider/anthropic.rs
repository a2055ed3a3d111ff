//! The wire of Anthropic's Messages API.
//!
//! ```text
//! system                  -> system, cached
//! Text                    -> text
//! Thinking                -> thinking with its signature, redacted_thinking; only to the model it came from
//! Call                    -> tool_use
//! Result                  -> tool_result, is_error
//! ```

use serde_json::{Value, json};

use super::draft::{AnswerDraft, DraftPart, PieceKind, TokenPointers, opened};
use super::tidy::{arguments, plain, present, tidied};
use super::wire_reader::{StopReason, StopReasons, WireMapping, reading};
use super::{
    AnswerReader, MessageContext, ProviderRequest, ProviderWire, completed, fault, number, repair,
    text,
};
use crate::conversation::{Message, MessageBlock, MessageRole};
use crate::event::ModelFailure;
use crate::tool::ToolSpec;

/// Anthropic's Messages API.
#[derive(Debug, Clone, Copy)]
pub struct AnthropicWire;

/// The name that marks reasoning of this wire.
const NAME: &str = "anthropic";
/// The version of the API.
const VERSION: &str = "2023-06-01";
/// The thinking budget in tokens, where the model requires one and the definition has none.
pub(super) const THINKING: u64 = 4_096;

impl ProviderWire for AnthropicWire {
    fn path(&self, _: &ProviderRequest<'_>) -> String {
        "/messages".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        [("anthropic-version", VERSION.to_owned())].into_iter().chain(key).collect()
    }

    fn frame(&self, request: &ProviderRequest<'_>) -> Value {
        let mut body = json!({
            "model": request.model,
            "max_tokens": request.most_output,
            "stream": true,
            "messages": [],
        });
        if !request.system.is_empty() {
            let mut system = json!([{ "type": "text", "text": request.system }]);
            cached(system.get_mut(0));
            body["system"] = system;
        }
        let mut body = completed(body, request, "", |tools| tools.iter().map(tool).collect());
        if body.get("thinking").is_some() {
            think(&mut body, has_thoughtless_calls(request));
        }
        body
    }

    fn items(&self, message: &Message, context: &MessageContext<'_>) -> Vec<Value> {
        let mut item = message_item(message, context.model);
        if context.is_last {
            cached(item.as_mut().and_then(|it| it.get_mut("content")?.as_array_mut()?.last_mut()));
        }
        item.into_iter().collect()
    }

    fn reader(&self, model: &str) -> Box<dyn AnswerReader + Send> {
        reading::<AnthropicMessages>(model)
    }

    fn repair(&self, body: &mut Value, complaint: &str) -> bool {
        // First, because complaints about these fields may also mention thinking.
        if repair::remove(body, complaint, &["temperature", "top_p", "top_k"]) {
            return true;
        }
        if complaint.contains("thinking") && body.get("thinking").is_some() {
            return think_otherwise(body, complaint);
        }
        repair::remove(body, complaint, &["output_config", "service_tier"])
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema })
}

/// Asks the server to cache the request up to this block.
fn cached(block: Option<&mut Value>) {
    // The API rejects a cache mark on a block of reasoning.
    if let Some(block) = block.filter(|block| !text(block, "type").contains("thinking")) {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

/// Adapts a request to thinking. Within one exchange, all calls must have reasoning or none.
fn think(body: &mut Value, is_thoughtless: bool) {
    if is_thoughtless {
        if let Some(body) = body.as_object_mut() {
            body.shift_remove("thinking");
        }
        return;
    }
    let budget = body.get("thinking").and_then(|it| number(it, "budget_tokens"));
    let most = number(body, "max_tokens").unwrap_or_default();
    // The API requires that the thinking budget is less than the output limit.
    if let Some(budget) = budget.filter(|budget| *budget >= most) {
        body["max_tokens"] = budget.saturating_add(most).into();
    }
    // The API rejects these fields together with thinking.
    repair::remove(body, "temperature top_k", &["temperature", "top_k"]);
}

/// Changes the thinking mode. Some models require a budget, some refuse one, and some cannot think.
fn think_otherwise(body: &mut Value, complaint: &str) -> bool {
    let kind = body.get("thinking").map(|it| text(it, "type").to_owned()).unwrap_or_default();
    if kind == "enabled" && complaint.contains("adaptive") {
        body["thinking"] = json!({ "type": "adaptive" });
        return true;
    }
    if kind == "adaptive" {
        let most = number(body, "max_tokens").unwrap_or_default();
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": THINKING });
        // The output limit must exceed the budget, and leave room for the answer.
        body["max_tokens"] = most.max(2 * THINKING).into();
        return true;
    }
    body.as_object_mut().is_some_and(|body| body.shift_remove("thinking").is_some())
}

/// Returns whether calls of the current exchange have no reasoning of this model.
fn has_thoughtless_calls(request: &ProviderRequest<'_>) -> bool {
    let messages = tidied(request);
    let exchange = messages.get(present(&messages)..).unwrap_or_default();
    exchange.iter().any(|message| is_thoughtless(message, request.model))
}

/// Returns whether a message has calls without reasoning of this model.
fn is_thoughtless(message: &Message, model: &str) -> bool {
    let thought = |block: &MessageBlock| match block {
        MessageBlock::Thinking { opaque, .. } => opened(opaque.as_ref(), NAME, model).is_some(),
        _ => false,
    };
    message.role == MessageRole::Assistant
        && message.calls().next().is_some()
        && !message.blocks.iter().any(thought)
}

fn message_item(message: &Message, model: &str) -> Option<Value> {
    let role = if message.role == MessageRole::User { "user" } else { "assistant" };
    let content: Vec<Value> = message.blocks.iter().filter_map(|it| block(it, model)).collect();
    (!content.is_empty()).then(|| json!({ "role": role, "content": content }))
}

fn block(block: &MessageBlock, model: &str) -> Option<Value> {
    Some(match block {
        MessageBlock::Text { text } => json!({ "type": "text", "text": text }),
        MessageBlock::Thinking { text, opaque } => {
            let own = opened(opaque.as_ref(), NAME, model)?;
            match (own.get("signature"), own.get("redacted")) {
                (Some(signature), _) => {
                    json!({ "type": "thinking", "thinking": text, "signature": signature })
                }
                (_, Some(data)) => json!({ "type": "redacted_thinking", "data": data }),
                _ => return None,
            }
        }
        MessageBlock::Call(call) => json!({
            "type": "tool_use",
            "id": plain(&call.id),
            "name": plain(&call.tool),
            "input": arguments(&call.arguments),
        }),
        MessageBlock::Result { id, text, failed } => json!({
            "type": "tool_result",
            "tool_use_id": plain(id),
            "content": text,
            "is_error": failed,
        }),
    })
}

#[derive(Default)]
struct AnthropicMessages;

/// The field with the text, for each kind of delta.
const PIECES: [(&str, &str, PieceKind); 3] = [
    ("text_delta", "text", PieceKind::Text),
    ("thinking_delta", "thinking", PieceKind::Thinking),
    ("input_json_delta", "partial_json", PieceKind::Arguments),
];

impl WireMapping for AnthropicMessages {
    const NAME: &'static str = NAME;
    const COUNTS: TokenPointers = TokenPointers {
        places: &["/message/usage", "/usage"],
        input: &["/input_tokens", "/cache_read_input_tokens", "/cache_creation_input_tokens"],
        cached: &["/cache_read_input_tokens"],
        stored: &["/cache_creation_input_tokens"],
        output: &["/output_tokens"],
    };
    const STOPS: StopReasons = StopReasons {
        known: &[
            ("max_tokens", StopReason::Cut),
            ("model_context_window_exceeded", StopReason::Cut),
            ("refusal", StopReason::Refused),
        ],
        other: StopReason::Done,
    };

    fn take(&mut self, data: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
        let null = Value::Null;
        let field = |name: &str| data.get(name).unwrap_or(&null);
        let index = number(data, "index").unwrap_or_default();
        match text(data, "type") {
            "content_block_start" => begin(index, field("content_block"), draft)?,
            "content_block_delta" => delta(index, field("delta"), draft)?,
            "message_delta" => draft.stop(text(field("delta"), "stop_reason")),
            "message_stop" => draft.close(),
            "error" => return Err(fault::in_stream(data)),
            _ => {}
        }
        Ok(())
    }
}

fn begin(index: u64, block: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
    let part = match text(block, "type") {
        "text" => DraftPart::Text(text(block, "text").to_owned()),
        "thinking" => DraftPart::Thinking(text(block, "thinking").to_owned(), None),
        "redacted_thinking" => {
            let data = json!({ "redacted": block.get("data") });
            DraftPart::Thinking(String::new(), Some(draft.sealed(&data)))
        }
        "tool_use" => {
            let given = block.get("input").and_then(Value::as_object);
            let given = given.filter(|input| !input.is_empty());
            let arguments = given.map(|input| Value::Object(input.clone()).to_string());
            DraftPart::call(text(block, "id"), text(block, "name"), arguments.unwrap_or_default())
        }
        _ => return Ok(()),
    };
    draft.begin(index, part)
}

fn delta(index: u64, delta: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
    let name = text(delta, "type");
    if name == "signature_delta" {
        draft.sign(index, &json!({ "signature": text(delta, "signature") }));
    }
    match PIECES.iter().find(|(known, ..)| *known == name) {
        Some((_, field, kind)) => draft.piece(index, *kind, text(delta, field)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_thinking_settings_are_repaired() {
        let budget = json!({ "type": "enabled", "budget_tokens": 2_048 });
        let fixed = json!({ "type": "enabled", "budget_tokens": THINKING });
        let free = json!({ "type": "adaptive" });
        let cases = [
            (
                &budget,
                "\"thinking.type.enabled\" is not supported. use \"thinking.type.adaptive\"",
                Some(&free),
            ),
            (&free, "adaptive thinking is not supported on this model", Some(&fixed)),
            (&budget, "this model does not support thinking", None),
            (&budget, "`temperature` may only be set to 1 when thinking is enabled", Some(&budget)),
        ];
        for (before, complaint, after) in cases {
            let mut body = json!({ "max_tokens": 9_000, "temperature": 0.5, "thinking": before });
            assert!(AnthropicWire.repair(&mut body, complaint), "{complaint}");
            assert_eq!(body.get("thinking"), after, "{complaint}");
        }
        assert!(!AnthropicWire.repair(&mut json!({ "messages": [] }), "messages: thinking"));
    }
}
