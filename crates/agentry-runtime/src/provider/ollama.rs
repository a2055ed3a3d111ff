//! Ollama's own protocol, lines of JSON. Unlike its chat completions it takes the size of the context,
//! without which a long conversation is cut off in silence.
//!
//! ```text
//! system                  -> a message with the role system
//! Text                    -> content
//! Thinking                -> thinking, in the present exchange, to the model it came from
//! Call                    -> tool_calls, arguments as a map; they have no identifiers
//! Result                  -> a message with the role tool and the name of the tool
//! ```

use std::collections::HashMap;

use serde_json::{Value, json};

use super::draft::{Draft, Part, opened, seal};
use super::openai_chat::{bearer, said, tool};
use super::sse::Event;
use super::tidy::{arguments, plain, present, result, tidied};
use super::{Answered, Delta, Reader, Request, Wire, add, fault, items, number, parsed, text};
use crate::conversation::{Block, Call, Message, Role, Usage};
use crate::event::Failure;

/// Ollama's own protocol.
#[derive(Debug, Clone, Copy)]
pub struct Ollama;

/// The name under which thoughts are kept.
const NAME: &str = "ollama";
/// Where the parts of an answer stand in it.
const THINKING: u64 = 0;
const TEXT: u64 = 1;
const CALLS: u64 = 2;

impl Wire for Ollama {
    fn path(&self, _: &Request<'_>) -> String {
        "/api/chat".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        bearer(key)
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let tidied = tidied(request);
        let present = present(&tidied);
        let calls = tidied.iter().flat_map(|message| message.calls());
        let names: HashMap<&str, String> =
            calls.map(|call| (call.id.as_str(), plain(&call.tool))).collect();
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({ "role": "system", "content": request.system }));
        }
        for (at, message) in tidied.iter().enumerate() {
            match message.role {
                Role::User => user(message, &names, &mut messages),
                Role::Assistant => {
                    messages.push(assistant(message, (at >= present).then_some(request.model)));
                }
            }
        }
        let mut body = json!({
            "model": request.model,
            "messages": messages,
            "stream": true,
            "options": { "num_predict": request.most_output },
        });
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if let Some(temperature) = request.temperature {
            body["options"]["temperature"] = temperature.into();
        }
        add(&mut body, request.extra);
        body
    }

    fn reader(&self, model: &str) -> Box<dyn Reader + Send> {
        Box::new(Lines { model: model.to_owned(), ..Lines::default() })
    }

    fn mend(&self, body: &mut Value, complaint: &str) -> bool {
        let thinks = complaint.contains("think");
        thinks && body.as_object_mut().is_some_and(|body| body.shift_remove("think").is_some())
    }
}

fn user(message: &Message, names: &HashMap<&str, String>, messages: &mut Vec<Value>) {
    for block in &message.blocks {
        if let Block::Result { id, text, failed } = block {
            let content = result(text, *failed);
            let name = names.get(id.as_str());
            messages.push(json!({ "role": "tool", "tool_name": name, "content": content }));
        }
    }
    let said = said(message).map(|content| json!({ "role": "user", "content": content }));
    messages.extend(said);
}

fn assistant(message: &Message, to: Option<&str>) -> Value {
    let call = |call: &Call| json!({ "function": { "name": plain(&call.tool), "arguments": arguments(&call.arguments) } });
    let calls: Vec<Value> = message.calls().map(call).collect();
    let content = said(message).unwrap_or_default();
    let mut written = json!({ "role": "assistant", "content": content });
    for block in &message.blocks {
        if let (Block::Thinking { text, opaque }, Some(model)) = (block, to)
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
struct Lines {
    model: String,
    draft: Draft,
    stop: Option<String>,
}

impl Reader for Lines {
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        if self.stop.is_some() {
            return Ok(());
        }
        let data = parsed(event)?;
        if let Some(error) = data.get("error") {
            return Err(fault::in_stream(error));
        }
        if let Some(message) = data.get("message") {
            self.message(message, show)?;
        }
        if data.get("done") == Some(&Value::Bool(true)) {
            let used = &mut self.draft.usage;
            used.input = number(&data, "prompt_eval_count").unwrap_or_default();
            used.output = number(&data, "eval_count").unwrap_or_default();
            self.stop = Some(text(&data, "done_reason").to_owned());
        }
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
            Some("load" | "unload") => {
                return Err(fault::temporary("the server has only loaded the model"));
            }
            Some(reason) => self.draft.truncated = reason == "length",
        }
        Ok(self.draft.finish())
    }
}

impl Lines {
    fn message(&mut self, message: &Value, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let thought = text(message, "thinking");
        if !thought.is_empty() {
            show(Delta::Thinking(thought.to_owned()));
            let sealed = seal(NAME, &self.model, &Value::Bool(true));
            self.draft.extend(THINKING, Part::Thinking(String::new(), Some(sealed)), thought)?;
        }
        let content = text(message, "content");
        if !content.is_empty() {
            show(Delta::Text(content.to_owned()));
            self.draft.extend(TEXT, Part::Text(String::new()), content)?;
        }
        for call in items(message, "tool_calls") {
            let null = Value::Null;
            let function = call.get("function").unwrap_or(&null);
            let tool = text(function, "name").to_owned();
            show(Delta::Call(tool.clone()));
            let arguments = match function.get("arguments") {
                Some(Value::String(text)) => text.clone(),
                Some(value) if !value.is_null() => value.to_string(),
                _ => String::new(),
            };
            let id = text(call, "id").to_owned();
            let part = Part::Call { id, tool, arguments, opaque: None };
            self.draft.begin(self.draft.next().max(CALLS), part)?;
        }
        Ok(())
    }
}
