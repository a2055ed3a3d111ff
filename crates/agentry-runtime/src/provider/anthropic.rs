//! Anthropic's messages.
//!
//! ```text
//! system                  -> system, cached
//! Text                    -> text
//! Thinking                -> thinking with its signature, redacted_thinking; only to the model it came from
//! Call                    -> tool_use
//! Result                  -> tool_result, is_error
//! ```

use serde_json::{Value, json};

use super::draft::{Draft, Part, opened, seal};
use super::sse::Event;
use super::tidy::{arguments, plain, present, tidied};
use super::{Answered, Delta, Reader, Request, Wire, add, fault, mend, number, parsed, text};
use crate::conversation::{Block, Message, Role, Usage};
use crate::event::Failure;

/// Anthropic's messages.
#[derive(Debug, Clone, Copy)]
pub struct Anthropic;

/// The name under which thoughts are kept.
const NAME: &str = "anthropic";
/// The version of the protocol.
const VERSION: &str = "2023-06-01";
/// Tokens for thinking where a model wants a number and the definition gives none.
pub(super) const THINKING: u64 = 4_096;

impl Wire for Anthropic {
    fn path(&self, _: &Request<'_>) -> String {
        "/messages".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        [("anthropic-version", VERSION.to_owned())].into_iter().chain(key).collect()
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let messages = tidied(request);
        let list = messages.iter().filter_map(|it| message(it, request.model));
        let mut list: Vec<Value> = list.collect();
        cached(list.last_mut().and_then(|it| it.get_mut("content")?.as_array_mut()?.last_mut()));
        let mut body = json!({
            "model": request.model,
            "max_tokens": request.most_output,
            "stream": true,
            "messages": list,
        });
        if !request.system.is_empty() {
            let mut system = json!([{ "type": "text", "text": request.system }]);
            cached(system.get_mut(0));
            body["system"] = system;
        }
        if !request.tools.is_empty() {
            let tool = |it: &crate::tool::ToolSpec| json!({ "name": it.name, "description": it.description, "input_schema": it.schema });
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if let Some(temperature) = request.temperature {
            body["temperature"] = temperature.into();
        }
        add(&mut body, request.extra);
        let loops = messages.get(present(&messages)..).unwrap_or_default();
        let thoughtless = |it: &Message| is_thoughtless(it, request.model);
        think(&mut body, loops.iter().any(|it| thoughtless(it)));
        body
    }

    fn reader(&self, model: &str) -> Box<dyn Reader + Send> {
        Box::new(Messages { model: model.to_owned(), ..Messages::default() })
    }

    fn mend(&self, body: &mut Value, complaint: &str) -> bool {
        // Complaints about these may speak of thinking as well.
        if mend::remove(body, complaint, &["temperature", "top_p", "top_k"]) {
            return true;
        }
        if complaint.contains("thinking") && body.get("thinking").is_some() {
            return think_otherwise(body, complaint);
        }
        mend::remove(body, complaint, &["output_config", "service_tier"])
    }
}

/// Asks for what comes before this block to be kept in a cache.
fn cached(block: Option<&mut Value>) {
    if let Some(block) = block.filter(|block| !text(block, "type").contains("thinking")) {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

/// Makes the rest of a request fit thinking. The calls of one exchange must all have been thought
/// about, or none.
fn think(body: &mut Value, is_thoughtless: bool) {
    if body.get("thinking").is_none() {
        return;
    }
    if is_thoughtless {
        if let Some(body) = body.as_object_mut() {
            body.shift_remove("thinking");
        }
        return;
    }
    let budget = body.get("thinking").and_then(|it| number(it, "budget_tokens"));
    let most = number(body, "max_tokens").unwrap_or_default();
    if let Some(budget) = budget.filter(|budget| *budget >= most) {
        body["max_tokens"] = budget.saturating_add(most).into();
    }
    mend::remove(body, "temperature top_k", &["temperature", "top_k"]);
}

/// Some models want to know how much they may think, some do not want to be told, some cannot.
fn think_otherwise(body: &mut Value, complaint: &str) -> bool {
    let kind = body.get("thinking").map(|it| text(it, "type").to_owned()).unwrap_or_default();
    if kind == "enabled" && complaint.contains("adaptive") {
        body["thinking"] = json!({ "type": "adaptive" });
        return true;
    }
    if kind == "adaptive" {
        let most = number(body, "max_tokens").unwrap_or_default();
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": THINKING });
        body["max_tokens"] = most.max(2 * THINKING).into();
        return true;
    }
    body.as_object_mut().is_some_and(|body| body.shift_remove("thinking").is_some())
}

/// Whether calls were made without a thought of this model.
fn is_thoughtless(message: &Message, model: &str) -> bool {
    let thought = |block: &Block| match block {
        Block::Thinking { opaque, .. } => opened(opaque.as_ref(), NAME, model).is_some(),
        _ => false,
    };
    message.role == Role::Assistant
        && message.calls().next().is_some()
        && !message.blocks.iter().any(thought)
}

fn message(message: &Message, model: &str) -> Option<Value> {
    let role = if message.role == Role::User { "user" } else { "assistant" };
    let content: Vec<Value> = message.blocks.iter().filter_map(|it| block(it, model)).collect();
    (!content.is_empty()).then(|| json!({ "role": role, "content": content }))
}

fn block(block: &Block, model: &str) -> Option<Value> {
    Some(match block {
        Block::Text { text } => json!({ "type": "text", "text": text }),
        Block::Thinking { text, opaque } => {
            let own = opened(opaque.as_ref(), NAME, model)?;
            match (own.get("signature"), own.get("redacted")) {
                (Some(signature), _) => {
                    json!({ "type": "thinking", "thinking": text, "signature": signature })
                }
                (_, Some(data)) => json!({ "type": "redacted_thinking", "data": data }),
                _ => return None,
            }
        }
        Block::Call(call) => json!({
            "type": "tool_use",
            "id": plain(&call.id),
            "name": plain(&call.tool),
            "input": arguments(&call.arguments),
        }),
        Block::Result { id, text, failed } => json!({
            "type": "tool_result",
            "tool_use_id": plain(id),
            "content": text,
            "is_error": failed,
        }),
    })
}

#[derive(Default)]
struct Messages {
    model: String,
    draft: Draft,
    stop: Option<String>,
    ended: bool,
}

impl Reader for Messages {
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        if self.ended {
            return Ok(());
        }
        let data = parsed(event)?;
        let null = Value::Null;
        let field = |name: &str| data.get(name).unwrap_or(&null);
        let index = number(&data, "index").unwrap_or_default();
        match text(&data, "type") {
            "message_start" => self.used(field("message").get("usage")),
            "content_block_start" => self.begin(index, field("content_block"), show)?,
            "content_block_delta" => self.delta(index, field("delta"), show)?,
            "message_delta" => {
                self.used(data.get("usage"));
                let stop = text(field("delta"), "stop_reason");
                self.stop = (!stop.is_empty()).then(|| stop.to_owned());
            }
            "message_stop" => self.ended = true,
            "error" => return Err(fault::in_stream(field("error"))),
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.ended
    }

    fn used_up(&self) -> Usage {
        self.draft.used_up()
    }

    fn finish(mut self: Box<Self>) -> Result<Answered, Failure> {
        match self.stop.as_deref() {
            None => return Err(fault::broke_off()),
            Some("max_tokens" | "model_context_window_exceeded") => self.draft.truncated = true,
            Some("refusal") => self.draft.refuse("the provider's rules"),
            Some(_) => {}
        }
        Ok(self.draft.finish())
    }
}

impl Messages {
    fn used(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let draft = &mut self.draft;
        if let Some(input) = number(usage, "input_tokens") {
            let read = number(usage, "cache_read_input_tokens").unwrap_or(draft.usage.cached);
            draft.stored = number(usage, "cache_creation_input_tokens").unwrap_or(draft.stored);
            draft.usage.cached = read;
            draft.usage.input = input.saturating_add(read).saturating_add(draft.stored);
        }
        if let Some(output) = number(usage, "output_tokens") {
            draft.usage.output = output;
        }
    }

    fn begin(
        &mut self,
        index: u64,
        block: &Value,
        show: &mut dyn FnMut(Delta),
    ) -> Result<(), Failure> {
        let part = match text(block, "type") {
            "text" => Part::Text(text(block, "text").to_owned()),
            "thinking" => Part::Thinking(text(block, "thinking").to_owned(), None),
            "redacted_thinking" => {
                let data = json!({ "redacted": block.get("data") });
                Part::Thinking(String::new(), Some(seal(NAME, &self.model, &data)))
            }
            "tool_use" => {
                let tool = text(block, "name").to_owned();
                show(Delta::Call(tool.clone()));
                let given = block.get("input").and_then(Value::as_object);
                let given = given.filter(|input| !input.is_empty());
                let arguments = given.map(|input| Value::Object(input.clone()).to_string());
                let arguments = arguments.unwrap_or_default();
                Part::Call { id: text(block, "id").to_owned(), tool, arguments, opaque: None }
            }
            _ => return Ok(()),
        };
        self.draft.begin(index, part)
    }

    fn delta(
        &mut self,
        index: u64,
        delta: &Value,
        show: &mut dyn FnMut(Delta),
    ) -> Result<(), Failure> {
        match text(delta, "type") {
            "text_delta" => {
                let piece = text(delta, "text");
                show(Delta::Text(piece.to_owned()));
                self.draft.append(index, piece)
            }
            "thinking_delta" => {
                let piece = text(delta, "thinking");
                show(Delta::Thinking(piece.to_owned()));
                self.draft.append(index, piece)
            }
            "input_json_delta" => self.draft.append(index, text(delta, "partial_json")),
            "signature_delta" => {
                if let Some(Part::Thinking(_, opaque)) = self.draft.part(index) {
                    let signature = json!({ "signature": text(delta, "signature") });
                    *opaque = Some(seal(NAME, &self.model, &signature));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_think_in_different_ways() {
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
            assert!(Anthropic.mend(&mut body, complaint), "{complaint}");
            assert_eq!(body.get("thinking"), after, "{complaint}");
        }
        assert!(!Anthropic.mend(&mut json!({ "messages": [] }), "messages: thinking"));
    }
}
