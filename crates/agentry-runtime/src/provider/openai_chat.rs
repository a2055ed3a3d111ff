//! The wire of chat completions, which many servers offer.
//!
//! ```text
//! system                  -> a message with the role system
//! Text                    -> content
//! Thinking                -> reasoning_content, in the current exchange, to the model it came from
//! Call                    -> tool_calls, arguments as a text
//! Result                  -> a message with the role tool
//! ```

use std::collections::HashMap;

use serde_json::{Value, json};

use super::draft::{AnswerDraft, DraftPart, PieceKind, TokenPointers, opened, written};
use super::tidy::{arguments, plain, result};
use super::wire_reader::{StopReason, StopReasons, WireMapping, reading};
use super::{
    AnswerReader, MessageContext, ProviderRequest, ProviderWire, completed, items, number, repair,
    text,
};
use crate::conversation::{Message, MessageBlock, MessageRole, ToolCall};
use crate::event::ModelFailure;
use crate::tool::ToolSpec;

/// The chat completions API.
#[derive(Debug, Clone, Copy)]
pub struct ChatWire;

/// The name that marks reasoning of this wire.
const NAME: &str = "chat";
/// The fields in which servers send reasoning.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];
/// The numbers of the parts of an answer; Ollama's wire uses them too.
pub(super) const THINKING: u64 = 0;
pub(super) const TEXT: u64 = 1;
pub(super) const CALLS: u64 = 2;

impl ProviderWire for ChatWire {
    fn path(&self, _: &ProviderRequest<'_>) -> String {
        "/chat/completions".to_owned()
    }

    fn frame(&self, request: &ProviderRequest<'_>) -> Value {
        let body = json!({
            "model": request.model,
            "messages": system(request),
            "stream": true,
            // Without this option, OpenAI's servers send no usage in a stream.
            "stream_options": { "include_usage": true },
            "max_tokens": request.most_output,
        });
        completed(body, request, "", |tools| tools.iter().map(tool).collect())
    }

    fn items(&self, message: &Message, context: &MessageContext<'_>) -> Vec<Value> {
        match message.role {
            MessageRole::User => user(message, &|id| json!({ "role": "tool", "tool_call_id": id })),
            MessageRole::Assistant => assistant(message, context.present()).into_iter().collect(),
        }
    }

    fn reader(&self, model: &str) -> Box<dyn AnswerReader + Send> {
        reading::<ChatChunks>(model)
    }

    fn repair(&self, body: &mut Value, complaint: &str) -> bool {
        let (older, newer) = ("max_tokens", "max_completion_tokens");
        if repair::rename(body, complaint, older, newer) {
            return true;
        }
        let names = [
            "temperature",
            "top_p",
            "stream_options",
            "reasoning_effort",
            "verbosity",
            "seed",
            "service_tier",
            "frequency_penalty",
            "presence_penalty",
            "stop",
        ];
        repair::remove(body, complaint, &names)
    }
}

/// Returns a tool as chat completions and Ollama describe it.
pub(super) fn tool(tool: &ToolSpec) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.schema } })
}

/// Returns the text of a message, joined.
pub(super) fn joined_text(message: &Message) -> Option<String> {
    let text = |block: &MessageBlock| match block {
        MessageBlock::Text { text } => Some(text.clone()),
        _ => None,
    };
    let texts: Vec<String> = message.blocks.iter().filter_map(text).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Returns the system prompt as the first message, if there is one.
pub(super) fn system(request: &ProviderRequest<'_>) -> Value {
    if request.system.is_empty() {
        return json!([]);
    }
    json!([{ "role": "system", "content": request.system }])
}

/// Returns the results of calls, each as a message that starts from `naming`; then the user's text.
pub(super) fn user(message: &Message, naming: &dyn Fn(&str) -> Value) -> Vec<Value> {
    let tool_messages = message.blocks.iter().filter_map(|block| match block {
        MessageBlock::Result { id, text, failed } => {
            let mut tool_messages = naming(id);
            tool_messages["content"] = result(text, *failed).into();
            Some(tool_messages)
        }
        _ => None,
    });
    let user_text =
        joined_text(message).map(|content| json!({ "role": "user", "content": content }));
    tool_messages.chain(user_text).collect()
}

/// Returns an answer of the model. Its reasoning is included only for the model `to`.
fn assistant(message: &Message, to: Option<&str>) -> Option<Value> {
    let content = joined_text(message);
    let call = |call: &ToolCall| {
        json!({ "id": call.id, "type": "function", "function": {
            "name": plain(&call.tool), "arguments": arguments(&call.arguments).to_string() } })
    };
    let calls: Vec<Value> = message.calls().map(call).collect();
    if content.is_none() && calls.is_empty() {
        return None;
    }
    let mut written = json!({ "role": "assistant", "content": content });
    for block in &message.blocks {
        if let (MessageBlock::Thinking { text, opaque }, Some(model)) = (block, to)
            && let Some(field) = opened(opaque.as_ref(), NAME, model).and_then(Value::as_str)
            && THOUGHTS.contains(&field)
        {
            written[field] = text.as_str().into();
        }
    }
    if !calls.is_empty() {
        written["tool_calls"] = calls.into();
    }
    Some(written)
}

#[derive(Default)]
struct ChatChunks {
    /// The part of each call index; servers that do not count send several calls with one index.
    calls: HashMap<u64, u64>,
}

impl WireMapping for ChatChunks {
    const NAME: &'static str = NAME;
    const COUNTS: TokenPointers = TokenPointers {
        places: &["/usage"],
        input: &["/prompt_tokens"],
        cached: &["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"],
        stored: &[],
        output: &["/completion_tokens"],
    };
    const STOPS: StopReasons = StopReasons {
        known: &[
            ("error", StopReason::Failed("the server broke off with an error")),
            ("length", StopReason::Cut),
            ("content_filter", StopReason::Refused),
        ],
        other: StopReason::Done,
    };

    fn take(&mut self, data: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
        let first = |choice: &&Value| number(choice, "index").unwrap_or_default() == 0;
        let Some(choice) = items(data, "choices").iter().find(first) else { return Ok(()) };
        // Some servers repeat the content after the end.
        if draft.stopped().is_some() {
            return Ok(());
        }
        // A server that does not stream sends the whole message instead of a delta.
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.delta(delta, draft)?;
        }
        draft.stop(text(choice, "finish_reason"));
        Ok(())
    }
}

impl ChatChunks {
    fn delta(&mut self, delta: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
        if let Some(field) = THOUGHTS.iter().find(|field| !text(delta, field).is_empty()) {
            draft.piece(THINKING, PieceKind::Thinking, text(delta, field))?;
            draft.sign(THINKING, &Value::from(*field));
        }
        for field in ["content", "refusal"] {
            draft.piece(TEXT, PieceKind::Text, text(delta, field))?;
        }
        for (at, call) in items(delta, "tool_calls").iter().enumerate() {
            self.call(number(call, "index").unwrap_or(at as u64), call, draft)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        index: u64,
        call: &Value,
        draft: &mut AnswerDraft,
    ) -> Result<(), ModelFailure> {
        let empty = Value::Null;
        let function = call.get("function").unwrap_or(&empty);
        let id = text(call, "id");
        // The same index with another id is a new call: some servers send one index for all.
        let same = self.calls.get(&index).copied().filter(|key| match draft.part(*key) {
            Some(DraftPart::Call { id: known, .. }) => id.is_empty() || known == id,
            _ => false,
        });
        let key = match same {
            Some(key) => key,
            None => {
                let key = draft.next().max(CALLS);
                draft.begin(key, DraftPart::call(id, text(function, "name"), String::new()))?;
                self.calls.insert(index, key);
                key
            }
        };
        draft.piece(key, PieceKind::Arguments, &written(function.get("arguments")))
    }
}
