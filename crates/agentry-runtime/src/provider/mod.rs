//! Providers: sends one request to a language model, and reads one streamed answer.
//!
//! ```text
//!  ModelPlan ─▶ PlannedModel ─▶ ModelClient ── ProviderWire::frame, ::items ──▶ server
//!                                    ▲                                            │ bytes
//!                      ModelAnswer ──┴── AnswerReader ◀── EventStream ◀────────────┘
//! ```
//!
//! A wire is a pure mapping: it writes a request as JSON and reads a stream event by event. Sending, timeouts
//! and HTTP status codes are the same for all wires ([`client`]). The [`plan`] has the models of a run, their
//! order and their prices.

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
mod tidy;
mod wire_conversation;
mod wire_reader;

use std::sync::Arc;

use agentry_mcp::StreamEvent;
use serde_json::{Map, Value};

use crate::conversation::{Message, TokenUsage, ToolCall};
use crate::event::ModelFailure;
use crate::tool::ToolSpec;

/// A request to a model.
#[derive(Debug, Clone, Copy)]
pub struct ProviderRequest<'a> {
    /// The provider's name of the model.
    pub model: &'a str,
    /// The system prompt.
    pub system: &'a str,
    /// The conversation. A caller that asks again passes the same `Arc`s, so that written messages are
    /// reused.
    pub messages: &'a [Arc<Message>],
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// The most output tokens.
    pub most_output: u64,
    /// Fields of the definition for this provider only (`x-claude`, `x-gemini`). They are added to the
    /// body, and never replace anything in it.
    pub extra: &'a Map<String, Value>,
}

/// An answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// The message.
    pub message: Message,
    /// Its usage; the plan adds the cost.
    pub usage: TokenUsage,
    /// Input tokens that were stored in a cache: some providers charge more for them.
    pub stored: u64,
    /// Whether it was truncated by the output limit.
    pub truncated: bool,
    /// The text that explains a refusal by the provider; it is also the end of the message.
    pub refusal: Option<String>,
}

/// A piece of an answer, to show while it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerDelta {
    /// Text.
    Text(String),
    /// Reasoning.
    Thinking(String),
    /// A call begins, of this tool.
    Call(String),
}

/// A protocol of a provider.
pub trait ProviderWire: Sync {
    /// Returns the path below the base URL.
    fn path(&self, request: &ProviderRequest<'_>) -> String;

    /// Returns the headers with the key and the version.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    /// Returns the name of the field that lists the messages.
    fn list(&self) -> &'static str {
        "messages"
    }

    /// Returns a body without the conversation; its list has what comes before the messages.
    fn frame(&self, request: &ProviderRequest<'_>) -> Value;

    /// Returns the list items for a message.
    fn items(&self, message: &Message, context: &MessageContext<'_>) -> Vec<Value>;

    /// Creates a reader for an answer of this model.
    fn reader(&self, model: &str) -> Box<dyn AnswerReader + Send>;

    /// Removes what the server complained about, if the request makes sense without it. The complaint is
    /// in lower case. Returns whether something was changed.
    fn repair(&self, body: &mut Value, complaint: &str) -> bool;
}

impl dyn ProviderWire {
    /// Returns the whole body of a request.
    pub fn body(&self, request: &ProviderRequest<'_>) -> Value {
        let body = wire_conversation::WireConversation::default().body(
            self,
            request,
            &self.frame(request),
        );
        serde_json::from_str(&body).unwrap_or_default()
    }
}

/// The position of a message in a conversation.
#[derive(Debug, Clone, Copy)]
pub struct MessageContext<'a> {
    /// The model that gets it.
    pub model: &'a str,
    /// Whether it belongs to the current exchange: no user message comes after it.
    pub is_present: bool,
    /// Whether it is the last message.
    pub is_last: bool,
    /// The last answer of the model before it.
    pub answer: Option<&'a Message>,
}

impl<'a> MessageContext<'a> {
    /// Returns the model, if its reasoning is still needed.
    fn present(&self) -> Option<&'a str> {
        self.is_present.then_some(self.model)
    }

    /// Returns the call that a result belongs to.
    fn call(&self, id: &str) -> Option<&'a ToolCall> {
        self.answer?.calls().find(|call| call.id == id)
    }
}

/// Reads one streamed answer.
pub trait AnswerReader {
    /// Takes an event, and sends pieces to `show`. Events after the end change nothing.
    fn take(
        &mut self,
        event: &StreamEvent,
        show: &mut dyn FnMut(AnswerDelta),
    ) -> Result<(), ModelFailure>;

    /// Returns whether nothing more must arrive.
    fn is_complete(&self) -> bool;

    /// Returns the usage so far: what the server reports, but at least what it has sent.
    fn used_up(&self) -> TokenUsage;

    /// Returns the whole answer; a stream that broke off is a failure.
    fn finish(self: Box<Self>) -> Result<ModelAnswer, ModelFailure>;
}

/// Adds the common fields to a body: tools, temperature, and the extensions for this provider.
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

/// Adds `extra` to a body. Existing values stay; maps and lists are joined.
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

/// Parses the data of an event as JSON.
fn parsed(event: &StreamEvent) -> Result<Value, ModelFailure> {
    let unreadable = |_| fault::temporary("the server sent something that is not JSON");
    serde_json::from_str(&event.data).map_err(unreadable)
}

/// Returns a text field; empty if it is missing.
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a number field.
fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name).and_then(Value::as_u64)
}

/// Returns the items of a list field.
fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
