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

use super::draft::{Draft, Part, opened, seal};
use super::openai_chat::bearer;
use super::sse::Event;
use super::tidy::{arguments, plain, result, tidied};
use super::{
    Answered, Delta, Reader, Request, Wire, add, fault, items, mend, number, parsed, text,
};
use crate::conversation::{Block, Role, Usage};
use crate::event::Failure;

/// Responses.
#[derive(Debug, Clone, Copy)]
pub struct Responses;

/// The name under which thoughts are kept.
const NAME: &str = "responses";

impl Wire for Responses {
    fn path(&self, _: &Request<'_>) -> String {
        "/responses".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        bearer(key)
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let messages = tidied(request);
        let blocks = messages.iter().flat_map(|it| it.blocks.iter().map(|block| (it.role, block)));
        let input: Vec<Value> =
            blocks.filter_map(|(role, block)| item(role, block, request.model)).collect();
        let mut body = json!({
            "model": request.model,
            "input": input,
            "stream": true,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": request.most_output,
        });
        if !request.system.is_empty() {
            body["instructions"] = request.system.into();
        }
        if !request.tools.is_empty() {
            let tool = |it: &crate::tool::ToolSpec| {
                json!({ "type": "function", "name": it.name, "description": it.description,
                    "parameters": it.schema, "strict": false })
            };
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if let Some(temperature) = request.temperature {
            body["temperature"] = temperature.into();
        }
        add(&mut body, request.extra);
        body
    }

    fn reader(&self, model: &str) -> Box<dyn Reader + Send> {
        Box::new(Items { model: model.to_owned(), ..Items::default() })
    }

    fn mend(&self, body: &mut Value, complaint: &str) -> bool {
        if complaint.contains("encrypted content") || complaint.contains("encrypted_content") {
            return mend::remove(body, "include", &["include"]);
        }
        let names = ["temperature", "top_p", "reasoning", "text", "service_tier"];
        mend::remove(body, complaint, &names)
    }
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
    model: String,
    draft: Draft,
    /// The number of the last event; what comes again is left out.
    seen: Option<u64>,
    end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Cut,
    Refused,
}

impl Reader for Items {
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        if self.end.is_some() || event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let data = parsed(event)?;
        let number_of = number(&data, "sequence_number");
        if number_of.is_some() && number_of <= self.seen {
            return Ok(());
        }
        self.seen = number_of.or(self.seen);
        let null = Value::Null;
        let field = |name: &str| data.get(name).unwrap_or(&null);
        let index = number(&data, "output_index").unwrap_or_default();
        match text(&data, "type") {
            "response.output_item.added" => self.begin(index, field("item"), show)?,
            "response.output_item.done" => self.done(index, field("item"))?,
            "response.output_text.delta" | "response.refusal.delta" => {
                show(Delta::Text(text(&data, "delta").to_owned()));
                self.draft.append(index, text(&data, "delta"))?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                show(Delta::Thinking(text(&data, "delta").to_owned()));
                self.draft.append(index, text(&data, "delta"))?;
            }
            "response.function_call_arguments.delta" => {
                self.draft.append(index, text(&data, "delta"))?;
            }
            "response.completed" | "response.incomplete" => self.end(field("response")),
            "response.failed" => {
                let response = field("response");
                return Err(fault::in_stream(response.get("error").unwrap_or(&null)));
            }
            "error" => return Err(fault::in_stream(data.get("error").unwrap_or(&data))),
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    fn used_up(&self) -> Usage {
        self.draft.used_up()
    }

    fn finish(mut self: Box<Self>) -> Result<Answered, Failure> {
        match self.end {
            None => return Err(fault::broke_off()),
            Some(End::Cut) => self.draft.truncated = true,
            Some(End::Refused) => self.draft.refuse("the provider's rules"),
            Some(End::Done) => {}
        }
        Ok(self.draft.finish())
    }
}

impl Items {
    fn begin(
        &mut self,
        index: u64,
        item: &Value,
        show: &mut dyn FnMut(Delta),
    ) -> Result<(), Failure> {
        let part = match text(item, "type") {
            "message" => Part::Text(String::new()),
            "reasoning" => Part::Thinking(String::new(), None),
            "function_call" => {
                show(Delta::Call(text(item, "name").to_owned()));
                call(item)
            }
            _ => return Ok(()),
        };
        self.draft.begin(index, part)
    }

    /// An item is complete; what it says now is what counts.
    fn done(&mut self, index: u64, item: &Value) -> Result<(), Failure> {
        let part = match text(item, "type") {
            "message" => {
                let parts = items(item, "content").iter();
                Part::Text(
                    parts.map(|it| [text(it, "text"), text(it, "refusal")].concat()).collect(),
                )
            }
            "reasoning" => {
                let parts = items(item, "summary").iter().chain(items(item, "content"));
                let thought: Vec<&str> = parts.map(|part| text(part, "text")).collect();
                Part::Thinking(thought.join("\n\n"), self.kept(item))
            }
            "function_call" => call(item),
            _ => return Ok(()),
        };
        self.draft.replace(index, part)
    }

    /// What the model has to be given back. Its number means nothing to a server that keeps nothing.
    fn kept(&self, item: &Value) -> Option<Value> {
        let encrypted = item.get("encrypted_content").filter(|it| it.is_string())?;
        let summary = items(item, "summary");
        let item =
            json!({ "type": "reasoning", "summary": summary, "encrypted_content": encrypted });
        Some(seal(NAME, &self.model, &item))
    }

    fn end(&mut self, response: &Value) {
        let null = Value::Null;
        let usage = response.get("usage").unwrap_or(&null);
        let used = &mut self.draft.usage;
        used.input = number(usage, "input_tokens").unwrap_or_default();
        used.output = number(usage, "output_tokens").unwrap_or_default();
        let details = usage.get("input_tokens_details");
        let cached = details.and_then(|it| number(it, "cached_tokens")).unwrap_or_default();
        used.cached = cached.min(used.input);
        let why = response.get("incomplete_details").map(|it| text(it, "reason"));
        self.end = Some(match why {
            Some("content_filter") => End::Refused,
            Some(reason) if !reason.is_empty() => End::Cut,
            _ if text(response, "status") == "incomplete" => End::Cut,
            _ => End::Done,
        });
    }
}

fn call(item: &Value) -> Part {
    Part::Call {
        id: text(item, "call_id").to_owned(),
        tool: text(item, "name").to_owned(),
        arguments: text(item, "arguments").to_owned(),
        opaque: None,
    }
}
