//! Responses, as `OpenAI` itself speaks. Nothing is kept on the server: what the model thought comes
//! encrypted and goes back with the next request.
//!
//! ```text
//! system                  -> instructions
//! Text                    -> message with input_text or output_text
//! Thinking                -> reasoning with its encrypted content; only to the model it came from
//! Call                    -> function_call
//! Result                  -> function_call_output
//! ```

use serde_json::{Value, json};

use super::draft::{Counts, Draft, Kind, Part, opened};
use super::reading::{Mapping, Stop, Stops, reading};
use super::tidy::{arguments, plain, result};
use super::{Context, Reader, Request, Wire, completed, fault, items, mend, number, text};
use crate::conversation::{Block, Message, Role};
use crate::event::Failure;
use crate::tool::ToolSpec;

/// Responses.
#[derive(Debug, Clone, Copy)]
pub struct Responses;

/// The name under which thoughts are kept.
const NAME: &str = "responses";

impl Wire for Responses {
    fn path(&self, _: &Request<'_>) -> String {
        "/responses".to_owned()
    }

    fn list(&self) -> &'static str {
        "input"
    }

    fn frame(&self, request: &Request<'_>) -> Value {
        let mut body = json!({
            "model": request.model,
            "input": [],
            "stream": true,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": request.most_output,
        });
        if !request.system.is_empty() {
            body["instructions"] = request.system.into();
        }
        completed(body, request, "", |tools| tools.iter().map(tool).collect())
    }

    fn items(&self, message: &Message, context: &Context<'_>) -> Vec<Value> {
        let blocks = message.blocks.iter();
        blocks.filter_map(|block| item(message.role, block, context.model)).collect()
    }

    fn reader(&self, model: &str) -> Box<dyn Reader + Send> {
        reading::<Items>(model)
    }

    fn mend(&self, body: &mut Value, complaint: &str) -> bool {
        if complaint.contains("encrypted content") || complaint.contains("encrypted_content") {
            return mend::remove(body, "include", &["include"]);
        }
        let names = ["temperature", "top_p", "reasoning", "text", "service_tier"];
        mend::remove(body, complaint, &names)
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({ "type": "function", "name": tool.name, "description": tool.description,
        "parameters": tool.schema, "strict": false })
}

fn item(role: Role, block: &Block, model: &str) -> Option<Value> {
    Some(match block {
        Block::Text { text } => {
            let (role, kind) = match role {
                Role::User => ("user", "input_text"),
                Role::Assistant => ("assistant", "output_text"),
            };
            let content = json!([{ "type": kind, "text": text }]);
            json!({ "type": "message", "role": role, "content": content })
        }
        Block::Thinking { opaque, .. } => opened(opaque.as_ref(), NAME, model)?.clone(),
        Block::Call(call) => json!({
            "type": "function_call",
            "call_id": plain(&call.id),
            "name": plain(&call.tool),
            "arguments": arguments(&call.arguments).to_string(),
        }),
        Block::Result { id, text, failed } => json!({
            "type": "function_call_output",
            "call_id": plain(id),
            "output": result(text, *failed),
        }),
    })
}

#[derive(Default)]
struct Items {
    /// The number of the last event; what comes again is left out.
    seen: Option<u64>,
}

/// The events that carry a piece of the answer.
const PIECES: [(&str, Kind); 5] = [
    ("response.output_text.delta", Kind::Text),
    ("response.refusal.delta", Kind::Text),
    ("response.reasoning_summary_text.delta", Kind::Thinking),
    ("response.reasoning_text.delta", Kind::Thinking),
    ("response.function_call_arguments.delta", Kind::Arguments),
];

impl Mapping for Items {
    const NAME: &'static str = NAME;
    const COUNTS: Counts = Counts {
        places: &["/response/usage"],
        input: &["/input_tokens"],
        cached: &["/input_tokens_details/cached_tokens"],
        stored: &[],
        output: &["/output_tokens"],
    };
    const STOPS: Stops = Stops {
        known: &[("completed", Stop::Done), ("content_filter", Stop::Refused)],
        other: Stop::Cut,
    };

    fn take(&mut self, data: &Value, draft: &mut Draft) -> Result<(), Failure> {
        let number_of = number(data, "sequence_number");
        if number_of.is_some() && number_of <= self.seen {
            return Ok(());
        }
        self.seen = number_of.or(self.seen);
        let null = Value::Null;
        let field = |name: &str| data.get(name).unwrap_or(&null);
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

/// Why a response ended, in one word.
fn ending(response: &Value) -> &str {
    match response.get("incomplete_details").map(|it| text(it, "reason")) {
        Some(reason) if !reason.is_empty() => reason,
        _ if text(response, "status") == "incomplete" => "incomplete",
        _ => "completed",
    }
}

fn begin(index: u64, item: &Value, draft: &mut Draft) -> Result<(), Failure> {
    let part = match text(item, "type") {
        "message" => Part::Text(String::new()),
        "reasoning" => Part::Thinking(String::new(), None),
        "function_call" => call(item),
        _ => return Ok(()),
    };
    draft.begin(index, part)
}

/// An item is complete; what it says now is what counts.
fn done(index: u64, item: &Value, draft: &mut Draft) -> Result<(), Failure> {
    let part = match text(item, "type") {
        "message" => {
            let parts = items(item, "content").iter();
            Part::Text(parts.map(|it| [text(it, "text"), text(it, "refusal")].concat()).collect())
        }
        "reasoning" => {
            let parts = items(item, "summary").iter().chain(items(item, "content"));
            let thought: Vec<&str> = parts.map(|part| text(part, "text")).collect();
            Part::Thinking(thought.join("\n\n"), kept(item).map(|kept| draft.sealed(&kept)))
        }
        "function_call" => call(item),
        _ => return Ok(()),
    };
    draft.replace(index, part)
}

/// What the model has to be given back. Its number means nothing to a server that keeps nothing.
fn kept(item: &Value) -> Option<Value> {
    let encrypted = item.get("encrypted_content").filter(|it| it.is_string())?;
    let summary = items(item, "summary");
    Some(json!({ "type": "reasoning", "summary": summary, "encrypted_content": encrypted }))
}

fn call(item: &Value) -> Part {
    Part::call(text(item, "call_id"), text(item, "name"), text(item, "arguments").to_owned())
}
