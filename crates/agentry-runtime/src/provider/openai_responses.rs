//! The wire of `OpenAI`'s Responses API. The server stores nothing: reasoning arrives encrypted, and is sent
//! back with the next request.
//!
//! ```text
//! system                  -> instructions
//! Text                    -> message with input_text or output_text
//! Thinking                -> reasoning with its encrypted content; only to the model it came from
//! Call                    -> function_call
//! Result                  -> function_call_output
//! ```

use serde_json::{Value, json};

use super::draft::{AnswerDraft, DraftPart, PieceKind, TokenPointers, opened};
use super::tidy::{arguments, plain, result};
use super::wire_reader::{StopReason, StopReasons, WireMapping, reading};
use super::{
    AnswerReader, MessageContext, ProviderRequest, ProviderWire, completed, fault, items, number,
    repair, text,
};
use crate::conversation::{Message, MessageBlock, MessageRole};
use crate::event::ModelFailure;
use crate::tool::ToolSpec;

/// The Responses API.
#[derive(Debug, Clone, Copy)]
pub struct ResponsesWire;

/// The name that marks reasoning of this wire.
const NAME: &str = "responses";

impl ProviderWire for ResponsesWire {
    fn path(&self, _: &ProviderRequest<'_>) -> String {
        "/responses".to_owned()
    }

    fn list(&self) -> &'static str {
        "input"
    }

    fn frame(&self, request: &ProviderRequest<'_>) -> Value {
        let mut body = json!({
            "model": request.model,
            "input": [],
            "stream": true,
            // Without storage on the server, reasoning comes back only as encrypted content.
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": request.most_output,
        });
        if !request.system.is_empty() {
            body["instructions"] = request.system.into();
        }
        completed(body, request, "", |tools| tools.iter().map(tool).collect())
    }

    fn items(&self, message: &Message, context: &MessageContext<'_>) -> Vec<Value> {
        let blocks = message.blocks.iter();
        blocks.filter_map(|block| item(message.role, block, context.model)).collect()
    }

    fn reader(&self, model: &str) -> Box<dyn AnswerReader + Send> {
        reading::<ResponseItems>(model)
    }

    fn repair(&self, body: &mut Value, complaint: &str) -> bool {
        if complaint.contains("encrypted content") || complaint.contains("encrypted_content") {
            return repair::remove(body, "include", &["include"]);
        }
        let names = ["temperature", "top_p", "reasoning", "text", "service_tier"];
        repair::remove(body, complaint, &names)
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({ "type": "function", "name": tool.name, "description": tool.description,
        "parameters": tool.schema, "strict": false })
}

fn item(role: MessageRole, block: &MessageBlock, model: &str) -> Option<Value> {
    Some(match block {
        MessageBlock::Text { text } => {
            let (role, kind) = match role {
                MessageRole::User => ("user", "input_text"),
                MessageRole::Assistant => ("assistant", "output_text"),
            };
            let content = json!([{ "type": kind, "text": text }]);
            json!({ "type": "message", "role": role, "content": content })
        }
        MessageBlock::Thinking { opaque, .. } => opened(opaque.as_ref(), NAME, model)?.clone(),
        MessageBlock::Call(call) => json!({
            "type": "function_call",
            "call_id": plain(&call.id),
            "name": plain(&call.tool),
            "arguments": arguments(&call.arguments).to_string(),
        }),
        MessageBlock::Result { id, text, failed } => json!({
            "type": "function_call_output",
            "call_id": plain(id),
            "output": result(text, *failed),
        }),
    })
}

#[derive(Default)]
struct ResponseItems {
    /// The number of the last event; repeated events are ignored.
    seen: Option<u64>,
}

/// The events with a piece of the answer.
const PIECES: [(&str, PieceKind); 5] = [
    ("response.output_text.delta", PieceKind::Text),
    ("response.refusal.delta", PieceKind::Text),
    ("response.reasoning_summary_text.delta", PieceKind::Thinking),
    ("response.reasoning_text.delta", PieceKind::Thinking),
    ("response.function_call_arguments.delta", PieceKind::Arguments),
];

impl WireMapping for ResponseItems {
    const NAME: &'static str = NAME;
    const COUNTS: TokenPointers = TokenPointers {
        places: &["/response/usage"],
        input: &["/input_tokens"],
        cached: &["/input_tokens_details/cached_tokens"],
        stored: &[],
        output: &["/output_tokens"],
    };
    const STOPS: StopReasons = StopReasons {
        known: &[("completed", StopReason::Done), ("content_filter", StopReason::Refused)],
        other: StopReason::Cut,
    };

    fn take(&mut self, data: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
        let number_of = number(data, "sequence_number");
        // A repeated event would add its piece twice.
        if number_of.is_some() && number_of <= self.seen {
            return Ok(());
        }
        self.seen = number_of.or(self.seen);
        let null = Value::Null;
        let field = |name: &str| data.get(name).unwrap_or(&null);
        // Items arrive interleaved, so each piece names its item.
        let index = number(data, "output_index").unwrap_or_default();
        match text(data, "type") {
            "response.output_item.added" => begin(index, field("item"), draft)?,
            "response.output_item.done" => done(index, field("item"), draft)?,
            "response.completed" | "response.incomplete" => {
                draft.stop(ending(field("response")));
                draft.close();
            }
            "response.failed" => {
                return Err(fault::in_stream(field("response").get("error").unwrap_or(&null)));
            }
            "error" => return Err(fault::in_stream(data)),
            name => {
                if let Some((_, kind)) = PIECES.iter().find(|(known, _)| *known == name) {
                    draft.piece(index, *kind, text(data, "delta"))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns why a response ended.
fn ending(response: &Value) -> &str {
    match response.get("incomplete_details").map(|it| text(it, "reason")) {
        Some(reason) if !reason.is_empty() => reason,
        _ if text(response, "status") == "incomplete" => "incomplete",
        _ => "completed",
    }
}

fn begin(index: u64, item: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
    let part = match text(item, "type") {
        "message" => DraftPart::Text(String::new()),
        "reasoning" => DraftPart::Thinking(String::new(), None),
        "function_call" => call(item),
        _ => return Ok(()),
    };
    draft.begin(index, part)
}

/// Handles a complete item, which replaces what was assembled from pieces.
fn done(index: u64, item: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure> {
    let part = match text(item, "type") {
        "message" => {
            let parts = items(item, "content").iter();
            DraftPart::Text(
                parts.map(|it| [text(it, "text"), text(it, "refusal")].concat()).collect(),
            )
        }
        "reasoning" => {
            let parts = items(item, "summary").iter().chain(items(item, "content"));
            let thought: Vec<&str> = parts.map(|part| text(part, "text")).collect();
            DraftPart::Thinking(thought.join("\n\n"), kept(item).map(|kept| draft.sealed(&kept)))
        }
        "function_call" => call(item),
        _ => return Ok(()),
    };
    draft.replace(index, part)
}

/// Returns what the model needs back. The id is left out, because the server stores nothing under it.
fn kept(item: &Value) -> Option<Value> {
    let encrypted = item.get("encrypted_content").filter(|it| it.is_string())?;
    let summary = items(item, "summary");
    Some(json!({ "type": "reasoning", "summary": summary, "encrypted_content": encrypted }))
}

fn call(item: &Value) -> DraftPart {
    DraftPart::call(text(item, "call_id"), text(item, "name"), text(item, "arguments").to_owned())
}
