//! Models behind a wire: one request, one streamed answer.
//!
//! A wire is pure: it writes a request as JSON and reads a stream event by event. Sending, time-outs
//! and what an HTTP status means are the same for all ([`client`]).

pub mod client;
pub mod plan;
pub mod sse;

use serde_json::{Map, Value};

use crate::conversation::{Message, Usage};
use crate::event::Failure;
use crate::tool::ToolSpec;

/// What a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// What the provider calls the model.
    pub model: &'a str,
    /// The system prompt.
    pub system: &'a str,
    /// What was said.
    pub messages: &'a [Message],
    /// The tools it may call.
    pub tools: &'a [ToolSpec],
    /// How freely it writes.
    pub temperature: Option<f64>,
    /// The most tokens that it may write.
    pub most_output: u64,
    /// Fields of the definition that only this provider knows (`x-claude`, `x-gemini`).
    pub extra: &'a Map<String, Value>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// What it said.
    pub message: Message,
    /// What it used up; its cost is added by who knows the price.
    pub usage: Usage,
    /// Whether it was cut off by its length.
    pub truncated: bool,
}

/// A piece of an answer, to show while it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text.
    Text(String),
    /// What it thinks.
    Thinking(String),
    /// A call begins: its tool.
    Call(String),
}

/// One way of talking to models.
pub trait Wire: Sync {
    /// The path below the base URL.
    fn path(&self, request: &Request<'_>) -> String;

    /// The headers that carry the key and the version.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// The body of a request.
    fn body(&self, request: &Request<'_>) -> Value;

    /// Reads the answer, event by event.
    fn reader(&self) -> Box<dyn Reader + Send>;
}

/// Reads one streamed answer.
pub trait Reader {
    /// Takes an event in; pieces to show go to `show`.
    fn take(&mut self, event: &sse::Event, show: &mut dyn FnMut(Delta)) -> Result<(), Failure>;

    /// The whole answer; a stream that broke off is a failure.
    fn finish(self: Box<Self>) -> Result<Answered, Failure>;
}
