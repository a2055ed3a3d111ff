//! Models behind a wire: one request, one streamed answer.
//!
//! ```text
//!  Plan ─▶ Entry ─▶ Client ── Wire::frame, Wire::items ──▶ server
//!                     ▲                                      │ bytes
//!          Answered ──┴── Reader ◀── Events ◀────────────────┘
//! ```
//!
//! A wire is pure: it writes a request as JSON and reads a stream event by event. Sending, time-outs
//! and what an HTTP status means are the same for all ([`client`]). Which models there are, in which
//! order and at what price, is the [`plan`].

pub mod anthropic;
pub mod client;
mod draft;
mod extension;
mod fault;
pub mod gemini;
pub mod http;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub mod plan;
mod repair;
pub mod sse;
mod tidy;
mod wire_conversation;
mod wire_reader;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::conversation::{Message, TokenUsage, ToolCall};
use crate::event::ModelFailure;
use crate::tool::ToolSpec;

/// What a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct ProviderRequest<'a> {
    /// What the provider calls the model.
    pub model: &'a str,
    /// The system prompt.
    pub system: &'a str,
    /// What was said. Who asks again says the same messages again, not copies of them.
    pub messages: &'a [Arc<Message>],
    /// The tools it may call.
    pub tools: &'a [ToolSpec],
    /// How freely it writes.
    pub temperature: Option<f64>,
    /// The most tokens that it may write.
    pub most_output: u64,
    /// Fields of the definition that only this provider knows (`x-claude`, `x-gemini`), in its words.
    /// They are added to the body and never replace anything in it.
    pub extra: &'a Map<String, Value>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// What it said.
    pub message: Message,
    /// What it used up; its cost is added by who knows the price.
    pub usage: TokenUsage,
    /// Of the tokens read, those that were put into a cache: some charge more for them.
    pub stored: u64,
    /// Whether it was cut off by its length.
    pub truncated: bool,
    /// What the provider's rules added to it when they stopped it; it is the end of the message.
    pub refusal: Option<String>,
}

/// A piece of an answer, to show while it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerDelta {
    /// Text.
    Text(String),
    /// What it thinks.
    Thinking(String),
    /// A call begins: its tool.
    Call(String),
}

/// One way of talking to models.
pub trait ProviderWire: Sync {
    /// The path below the base URL.
    fn path(&self, request: &ProviderRequest<'_>) -> String;

    /// The headers that carry the key and the version.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    /// The field of a body that lists what was said.
    fn list(&self) -> &'static str {
        "messages"
    }

    /// A body without what was said; its list has what comes before that.
    fn frame(&self, request: &ProviderRequest<'_>) -> Value;

    /// What a message is in the list of a body.
    fn items(&self, message: &Message, context: &MessageContext<'_>) -> Vec<Value>;

    /// Reads the answer of this model, event by event.
    fn reader(&self, model: &str) -> Box<dyn AnswerReader + Send>;

    /// Takes out of the body what the server complained about, in lower case, where the request makes
    /// sense without it. Says whether something was changed.
    fn mend(&self, body: &mut Value, complaint: &str) -> bool;
}

impl dyn ProviderWire {
    /// The whole body of a request.
    pub fn body(&self, request: &ProviderRequest<'_>) -> Value {
        let body = wire_conversation::WireConversation::default().body(
            self,
            request,
            &self.frame(request),
        );
        serde_json::from_str(&body).unwrap_or_default()
    }
}

/// Where a message stands in a conversation.
#[derive(Debug, Clone, Copy)]
pub struct MessageContext<'a> {
    /// The model that hears it.
    pub model: &'a str,
    /// Whether it belongs to the present exchange: the person has said nothing since.
    pub is_present: bool,
    /// Whether nothing comes after it.
    pub is_last: bool,
    /// What the model said last before it.
    pub answer: Option<&'a Message>,
}

impl<'a> MessageContext<'a> {
    /// The model, if what it thought still matters to it.
    fn present(&self) -> Option<&'a str> {
        self.is_present.then_some(self.model)
    }

    /// The call that a result belongs to.
    fn call(&self, id: &str) -> Option<&'a ToolCall> {
        self.answer?.calls().find(|call| call.id == id)
    }
}

/// Reads one streamed answer.
pub trait AnswerReader {
    /// Takes an event in; pieces to show go to `show`. What comes after the end changes nothing.
    fn take(
        &mut self,
        event: &sse::SseEvent,
        show: &mut dyn FnMut(AnswerDelta),
    ) -> Result<(), ModelFailure>;

    /// Whether nothing more has to come.
    fn is_complete(&self) -> bool;

    /// What was used up as far as it has come: what the server says, and at least what it has sent.
    fn used_up(&self) -> TokenUsage;

    /// The whole answer; a stream that broke off is a failure.
    fn finish(self: Box<Self>) -> Result<ModelAnswer, ModelFailure>;
}

/// A body with what all have: tools, how freely the model writes, and what only this provider knows.
fn completed(
    mut body: Value,
    request: &ProviderRequest<'_>,
    options: &str,
    tools: impl Fn(&[ToolSpec]) -> Value,
) -> Value {
    if !request.tools.is_empty() {
        body["tools"] = tools(request.tools);
    }
    if let (Some(temperature), Some(options)) = (request.temperature, body.pointer_mut(options)) {
        options["temperature"] = temperature.into();
    }
    add(&mut body, request.extra);
    body
}

/// Adds `extra` to a body: what is there stays, maps and lists are joined.
fn add(body: &mut Value, extra: &Map<String, Value>) {
    let Some(body) = body.as_object_mut() else { return };
    for (name, value) in extra {
        match (body.get_mut(name), value) {
            (None, _) => {
                body.insert(name.clone(), value.clone());
            }
            (Some(known @ Value::Object(_)), Value::Object(more)) => add(known, more),
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more.iter().cloned()),
            _ => {}
        }
    }
}

/// The data of an event as JSON.
fn parsed(event: &sse::SseEvent) -> Result<Value, ModelFailure> {
    let unreadable = |_| fault::temporary("the server sent something that is not JSON");
    serde_json::from_str(&event.data).map_err(unreadable)
}

/// A field that is a text, or an empty one.
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A field that is a number, or nothing.
fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name).and_then(Value::as_u64)
}

/// The items of a field that is a list.
fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
