//! The wire of Ollama's own API, with lines of JSON. Unlike its chat completions, it takes the context size,
//! without which a long conversation is truncated silently.
//!
//! ```text
//! system                  -> a message with the role system
//! Text                    -> content
//! Thinking                -> thinking, in the current exchange, to the model it came from
//! Call                    -> tool_calls, arguments as a map; they have no identifiers
//! Result                  -> a message with the role tool and the name of the tool
//! ```

use serde_json::{Value, json};

use super::draft::{AnswerDraft, DraftPart, PieceKind, TokenPointers, opened, written};
use super::openai_chat::{CALLS, TEXT, THINKING, joined_text, system, tool, user};
use super::tidy::{arguments, plain};
use super::wire_reader::{StopReason, StopReasons, WireMapping, reading};
use super::{AnswerReader, MessageContext, ProviderRequest, ProviderWire, completed, items, text};
use crate::conversation::{Message, MessageBlock, MessageRole, ToolCall};
use crate::event::ModelFailure;

/// Ollama's own API.
#[derive(Debug, Clone, Copy)]
pub struct OllamaWire;

/// The name that marks reasoning of this wire.
const NAME: &str = "ollama";

impl ProviderWire for OllamaWire {
    fn path(&self, _: &ProviderRequest<'_>) -> String {
        "/api/chat".to_owned()
    }

    fn frame(&self, request: &ProviderRequest<'_>) -> Value {
        let body = json!({
            "model": request.model,
            "messages": system(request),
            "stream": true,
            "options": { "num_predict": request.most_output },
        });
        completed(body, request, "/options", |tools| tools.iter().map(tool).collect())
    }

    fn items(&self, message: &Message, context: &MessageContext<'_>) -> Vec<Value> {
        let naming = |id: &str| {
            let name = context.call(id).map(|call| plain(&call.tool));
            json!({ "role": "tool", "tool_name": name })
        };
        match message.role {
            MessageRole::User => user(message, &naming),
            MessageRole::Assistant => vec![assistant(message, context.present())],
        }
    }

    fn reader(&self, model: &str) -> Box<dyn AnswerReader + Send> {
        reading::<OllamaLines>(model)
    }

    fn repair(&self, body: &mut Value, complaint: &str) -> bool {
        let thinks = complaint.contains("think");
        thinks && body.as_object_mut().is_some_and(|body| body.shift_remove("think").is_some())
    }
}

fn assistant(message: &Message, to: Option<&str>) -> Value {
    let call = |call: &ToolCall| json!({ "function": { "name": plain(&call.tool), "arguments": arguments(&call.arguments) } });
    let calls: Vec<Value> = message.calls().map(call).collect();
    let content = joined_text(message).unwrap_or_default();
    let mut written = json!({ "role": "assistant", "content": content });
    for block in &message.blocks {
        if let (MessageBlock::Thinking { text, opaque }, Some(model)) = (block, to)
            && opened(opaque.as_ref(), NAME, model).is_some()
        {
            written["thinking"] = text.as_str().into();
        }
    }
    if !calls.is_empty() {
        written["tool_calls"] = calls.into();
    }
    written
}

#[derive(Default)]
struct OllamaLines;

impl WireMapping for OllamaLines {
    const NAME: &'static str = NAME;
    const COUNTS: TokenPointers = TokenPointers {
        places: &[""],
        input: &["/prompt_eval_count"],
        cached: &[],
        stored: &[],
        output: &["/eval_count"],
    };
    const STOPS: StopReasons = StopReasons {
        known: &[
            ("length", StopReason::Cut),
            ("load", StopReason::Failed("the server has only loaded the model")),
            ("unload", StopReason::Failed("the server has only loaded the model")),
        ],
        other: StopReason::Done,
    };

    fn take(&mut self, data: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
        let null = Value::Null;
        let message = data.get("message").unwrap_or(&null);
        let thought = text(message, "thinking");
        if !thought.is_empty() {
            draft.piece(THINKING, PieceKind::Thinking, thought)?;
            // Ollama has no signatures; the mark only records the model.
            draft.sign(THINKING, &Value::Bool(true));
        }
        draft.piece(TEXT, PieceKind::Text, text(message, "content"))?;
        for call in items(message, "tool_calls") {
            let function = call.get("function").unwrap_or(&null);
            let (id, tool) = (text(call, "id"), text(function, "name"));
            let arguments = written(function.get("arguments"));
            draft.begin(draft.next().max(CALLS), DraftPart::call(id, tool, arguments))?;
        }
        if data.get("done") == Some(&Value::Bool(true)) {
            // Older servers do not send a reason.
            draft.stop("stop");
            draft.stop(text(data, "done_reason"));
            draft.close();
        }
        Ok(())
    }
}
