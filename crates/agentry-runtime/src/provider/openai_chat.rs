//! Chat completions, as many servers speak.
//!
//! ```text
//! system                  -> a message with the role system
//! Text                    -> content
//! Thinking                -> reasoning_content, in the present exchange, to the model it came from
//! Call                    -> tool_calls, arguments as a text
//! Result                  -> a message with the role tool
//! ```

use std::collections::HashMap;

use serde_json::{Value, json};

use super::draft::{Draft, Part, opened, seal};
use super::sse::Event;
use super::tidy::{arguments, plain, present, result, tidied};
use super::{
    Answered, Delta, Reader, Request, Wire, add, fault, items, mend, number, parsed, text,
};
use crate::conversation::{Block, Message, Role, Usage};
use crate::event::Failure;
use crate::tool::ToolSpec;

/// Chat completions.
#[derive(Debug, Clone, Copy)]
pub struct Chat;

/// The name under which thoughts are kept.
const NAME: &str = "chat";
/// The fields in which servers send what a model thinks.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];
/// Where the parts of an answer stand in it.
const THINKING: u64 = 0;
const TEXT: u64 = 1;
const CALLS: u64 = 2;

impl Wire for Chat {
    fn path(&self, _: &Request<'_>) -> String {
        "/chat/completions".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        bearer(key)
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let tidied = tidied(request);
        let present = present(&tidied);
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({ "role": "system", "content": request.system }));
        }
        for (at, message) in tidied.iter().enumerate() {
            match message.role {
                Role::User => user(message, &mut messages),
                Role::Assistant => {
                    messages.extend(assistant(message, (at >= present).then_some(request.model)));
                }
            }
        }
        let mut body = json!({
            "model": request.model,
            "messages": messages,
            "stream": true,
            "stream_options": { "include_usage": true },
            "max_tokens": request.most_output,
        });
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if let Some(temperature) = request.temperature {
            body["temperature"] = temperature.into();
        }
        add(&mut body, request.extra);
        body
    }

    fn reader(&self, model: &str) -> Box<dyn Reader + Send> {
        Box::new(Chunks { model: model.to_owned(), ..Chunks::default() })
    }

    fn mend(&self, body: &mut Value, complaint: &str) -> bool {
        let (older, newer) = ("max_tokens", "max_completion_tokens");
        if mend::rename(body, complaint, older, newer) {
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
        mend::remove(body, complaint, &names)
    }
}

/// The header that carries a key as a bearer token.
pub(super) fn bearer(key: Option<&str>) -> Vec<(&'static str, String)> {
    key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
}

/// A tool as chat completions and Ollama describe it.
pub(super) fn tool(tool: &ToolSpec) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.schema } })
}

/// What the person says in a message, as one text.
pub(super) fn said(message: &Message) -> Option<String> {
    let text = |block: &Block| match block {
        Block::Text { text } => Some(text.clone()),
        _ => None,
    };
    let texts: Vec<String> = message.blocks.iter().filter_map(text).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

fn user(message: &Message, messages: &mut Vec<Value>) {
    for block in &message.blocks {
        if let Block::Result { id, text, failed } = block {
            let content = result(text, *failed);
            messages.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
        }
    }
    let said = said(message).map(|content| json!({ "role": "user", "content": content }));
    messages.extend(said);
}

/// What the model said; its thoughts go back to the model `to` only.
fn assistant(message: &Message, to: Option<&str>) -> Option<Value> {
    let content = said(message);
    let call = |call: &crate::conversation::Call| {
        json!({ "id": call.id, "type": "function", "function": {
            "name": plain(&call.tool), "arguments": arguments(&call.arguments).to_string() } })
    };
    let calls: Vec<Value> = message.calls().map(call).collect();
    if content.is_none() && calls.is_empty() {
        return None;
    }
    let mut written = json!({ "role": "assistant", "content": content });
    for block in &message.blocks {
        if let (Block::Thinking { text, opaque }, Some(model)) = (block, to)
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
struct Chunks {
    model: String,
    draft: Draft,
    /// Where the call of an index stands; servers that do not count send several under one.
    calls: HashMap<u64, u64>,
    stop: Option<String>,
    ended: bool,
}

impl Reader for Chunks {
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        self.ended |= event.data.trim() == "[DONE]";
        if self.ended {
            return Ok(());
        }
        let data = parsed(event)?;
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(fault::in_stream(error));
        }
        self.used(data.get("usage"));
        let first = |choice: &&Value| number(choice, "index").unwrap_or_default() == 0;
        let Some(choice) = items(&data, "choices").iter().find(first) else { return Ok(()) };
        // What comes after the end was said before.
        if self.stop.is_some() {
            return Ok(());
        }
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.delta(delta, show)?;
        }
        let stop = text(choice, "finish_reason");
        self.stop = (!stop.is_empty()).then(|| stop.to_owned());
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
            Some("error") => return Err(fault::temporary("the server broke off with an error")),
            Some("length") => self.draft.truncated = true,
            Some("content_filter") => self.draft.refuse("the provider's rules"),
            Some(_) => {}
        }
        Ok(self.draft.finish())
    }
}

impl Chunks {
    fn used(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        let used = &mut self.draft.usage;
        used.input = number(usage, "prompt_tokens").unwrap_or(used.input);
        used.output = number(usage, "completion_tokens").unwrap_or(used.output);
        let details = usage.get("prompt_tokens_details");
        let cached = details.and_then(|it| number(it, "cached_tokens"));
        let cached = cached.or_else(|| number(usage, "prompt_cache_hit_tokens"));
        used.cached = cached.unwrap_or(used.cached).min(used.input);
    }

    fn delta(&mut self, delta: &Value, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let thought = THOUGHTS.iter().find(|field| !text(delta, field).is_empty());
        if let Some(field) = thought {
            let sealed = seal(NAME, &self.model, &Value::from(*field));
            show(Delta::Thinking(text(delta, field).to_owned()));
            self.draft.extend(
                THINKING,
                Part::Thinking(String::new(), Some(sealed)),
                text(delta, field),
            )?;
        }
        for field in ["content", "refusal"] {
            let piece = text(delta, field);
            if !piece.is_empty() {
                show(Delta::Text(piece.to_owned()));
                self.draft.extend(TEXT, Part::Text(String::new()), piece)?;
            }
        }
        for (at, call) in items(delta, "tool_calls").iter().enumerate() {
            self.call(number(call, "index").unwrap_or(at as u64), call, show)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        index: u64,
        call: &Value,
        show: &mut dyn FnMut(Delta),
    ) -> Result<(), Failure> {
        let empty = Value::Null;
        let function = call.get("function").unwrap_or(&empty);
        let (id, tool) = (text(call, "id"), text(function, "name"));
        let known = self.calls.get(&index).copied();
        let same = known.filter(|key| match self.draft.part(*key) {
            Some(Part::Call { id: known, .. }) => id.is_empty() || known == id,
            _ => false,
        });
        let key = match same {
            Some(key) => key,
            None => {
                let key = self.draft.next().max(CALLS);
                show(Delta::Call(tool.to_owned()));
                let (id, tool) = (id.to_owned(), tool.to_owned());
                let part = Part::Call { id, tool, arguments: String::new(), opaque: None };
                self.draft.begin(key, part)?;
                self.calls.insert(index, key);
                key
            }
        };
        match function.get("arguments") {
            Some(Value::String(piece)) => self.draft.append(key, piece),
            Some(whole @ Value::Object(_)) => self.draft.append(key, &whole.to_string()),
            _ => Ok(()),
        }
    }
}
