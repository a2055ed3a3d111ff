//! The conversation as written for a wire, cached from one request to the next: each message is serialised
//! once, however often it is sent.

use std::sync::Arc;

use serde_json::Value;

use super::tidy::{MessageTidier, has_user_text};
use super::{MessageContext, ProviderRequest, ProviderWire};
use crate::conversation::{Message, MessageBlock, MessageRole};

/// The usual bytes of a request beside the conversation.
const FRAME: usize = 16 << 10;

/// The conversation as written for a wire.
#[derive(Debug, Default)]
pub(super) struct WireConversation {
    model: String,
    has_tools: bool,
    /// The messages that are written. They are held, so that their pointers stay valid.
    messages: Vec<Arc<Message>>,
    /// The messages as list items.
    text: String,
    /// Whether one of them has reasoning: a later user message may require to leave it out.
    thinks: bool,
    after: PreviousMessage,
}

/// What the next message depends on.
#[derive(Debug, Clone, Default)]
struct PreviousMessage {
    tidy: MessageTidier,
    /// The last answer of the model: results belong to its calls.
    answer: Option<Arc<Message>>,
}

impl WireConversation {
    /// Returns a request as text: the fields of `frame`, with the whole conversation in its list.
    pub(super) fn body(
        &mut self,
        wire: &dyn ProviderWire,
        request: &ProviderRequest<'_>,
        frame: &Value,
    ) -> String {
        let last = self.take(wire, request);
        let mut body = JsonItems::with_room(self.text.len() + last.len());
        body.0.push('{');
        for (name, value) in frame.as_object().into_iter().flatten() {
            body.add(&Value::from(name.as_str()).to_string());
            body.0.push(':');
            if name == wire.list() {
                body.0.push('[');
                let first = value.as_array().into_iter().flatten();
                first.for_each(|item| body.add(&item.to_string()));
                [&self.text, &last].into_iter().for_each(|items| body.add(items));
                body.0.push(']');
            } else {
                body.0.push_str(&value.to_string());
            }
        }
        body.0.push('}');
        body.0
    }

    /// Writes the messages since the last request, and returns the last message as text. The last one is not
    /// cached, because some wires write it in another way.
    fn take(&mut self, wire: &dyn ProviderWire, request: &ProviderRequest<'_>) -> String {
        let Some((last, before)) = request.messages.split_last() else { return String::new() };
        if !self.goes_on(request, before) {
            let (model, has_tools) = (request.model.to_owned(), !request.tools.is_empty());
            *self = Self { model, has_tools, ..Self::default() };
        }
        let known = self.messages.len();
        let new = request.messages.get(known..).unwrap_or_default();
        // The current exchange begins after the last user message.
        let present = new.iter().rposition(|message| has_user_text(message)).map_or(0, |at| at + 1);
        let model = request.model;
        for (at, message) in before.get(known..).unwrap_or_default().iter().enumerate() {
            let how = MessageStyle { wire, model, is_present: at >= present, is_last: false };
            let mut text = JsonItems(std::mem::take(&mut self.text));
            self.after.write(message, self.has_tools, how, &mut text);
            self.text = text.0;
            self.thinks |=
                message.blocks.iter().any(|it| matches!(it, MessageBlock::Thinking { .. }));
            self.messages.push(Arc::clone(message));
        }
        let is_present = new.len() > present;
        let how = MessageStyle { wire, model, is_present, is_last: true };
        let mut text = JsonItems::default();
        self.after.clone().write(last, self.has_tools, how, &mut text);
        text.0
    }

    /// Returns whether the cached messages are still the beginning of the conversation, in the same form.
    fn goes_on(&self, request: &ProviderRequest<'_>, before: &[Arc<Message>]) -> bool {
        let known = self.messages.len();
        let same = self.messages.iter().zip(before).all(|(known, now)| Arc::ptr_eq(known, now));
        let new = request.messages.get(known..).unwrap_or_default();
        known <= before.len()
            && same
            && self.model == request.model
            && self.has_tools != request.tools.is_empty()
            // A new user message ends the exchange, and some wires then leave reasoning out.
            && !(self.thinks && new.iter().any(|message| has_user_text(message)))
    }
}

/// How a message is written.
#[derive(Clone, Copy)]
struct MessageStyle<'a> {
    wire: &'a dyn ProviderWire,
    model: &'a str,
    is_present: bool,
    is_last: bool,
}

impl PreviousMessage {
    fn write(
        &mut self,
        message: &Arc<Message>,
        has_tools: bool,
        how: MessageStyle<'_>,
        text: &mut JsonItems,
    ) {
        let MessageStyle { wire, model, is_present, is_last } = how;
        let mut tidied = self.tidy.next(message, has_tools);
        if is_last {
            tidied.extend(self.tidy.rest());
        }
        for (at, it) in tidied.iter().enumerate() {
            let is_last = is_last && at + 1 == tidied.len();
            // Added results belong to the calls of the same answer.
            if it.role == MessageRole::Assistant {
                self.answer = Some(Arc::clone(message));
            }
            let answer = self.answer.as_deref();
            let context = MessageContext { model, is_present, is_last, answer };
            wire.items(it, &context).iter().for_each(|item| text.add(&item.to_string()));
        }
    }
}

/// Items of a JSON list or map, as text.
#[derive(Default)]
struct JsonItems(String);

impl JsonItems {
    fn with_room(bytes: usize) -> Self {
        Self(String::with_capacity(bytes + FRAME))
    }

    /// Appends items.
    fn add(&mut self, items: &str) {
        let is_first = self.0.is_empty() || self.0.ends_with(['{', '[']);
        if !items.is_empty() && !is_first {
            self.0.push(',');
        }
        self.0.push_str(items);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::conversation::ToolCall;
    use crate::provider::anthropic::AnthropicWire;
    use crate::provider::gemini::GeminiWire;
    use crate::provider::ollama::OllamaWire;
    use crate::provider::openai_chat::ChatWire;
    use crate::provider::openai_responses::ResponsesWire;
    use crate::tool::ToolSpec;

    const WIRES: [&dyn ProviderWire; 5] =
        [&AnthropicWire, &ChatWire, &ResponsesWire, &GeminiWire, &OllamaWire];

    fn text(text: &str) -> MessageBlock {
        MessageBlock::Text { text: text.to_owned() }
    }

    fn call(id: &str) -> MessageBlock {
        let (id, tool) = (id.to_owned(), "look".to_owned());
        MessageBlock::Call(ToolCall { id, tool, arguments: json!({ "path": "a" }), opaque: None })
    }

    fn result(id: &str) -> MessageBlock {
        MessageBlock::Result { id: id.to_owned(), text: "found".to_owned(), failed: false }
    }

    /// Returns reasoning, marked for every wire that keeps it.
    fn thought() -> MessageBlock {
        let own = |value| json!({ "model": "m", "value": value });
        let opaque = json!({ "chat": own(json!("reasoning")), "ollama": own(json!(true)),
            "anthropic": own(json!({ "signature": "s" })) });
        MessageBlock::Thinking { text: "hm".to_owned(), opaque: Some(opaque) }
    }

    fn conversation() -> Vec<Arc<Message>> {
        let user = |blocks| Message { role: MessageRole::User, blocks };
        let model = |blocks| Message { role: MessageRole::Assistant, blocks };
        let all = vec![
            user(vec![text("go")]),
            model(vec![thought(), call("1"), call("2")]),
            user(vec![result("2"), result("1")]),
            model(vec![text(""), call("3")]),
            // Its result is missing.
            model(vec![thought(), call("4")]),
            user(vec![result("4"), text("and now this")]),
            model(vec![thought(), text("well"), call("5")]),
            user(vec![text(" ")]),
            model(vec![text("")]),
            user(vec![text("enough")]),
        ];
        all.into_iter().map(Arc::new).collect()
    }

    fn tool() -> ToolSpec {
        ToolSpec { name: "look".to_owned(), description: String::new(), schema: json!({}) }
    }

    /// For each request, the cached text equals a freshly written one.
    #[test]
    fn cached_messages_equal_freshly_written_ones() {
        let (all, tools, extra) = (conversation(), [tool()], Map::new());
        let shorter: Vec<Arc<Message>> =
            std::iter::once(Arc::new(Message::user("in short"))).chain(all[4..].to_vec()).collect();
        for wire in WIRES {
            let mut kept = WireConversation::default();
            let mut check = |messages: &[Arc<Message>], model: &str, tools: &[ToolSpec]| {
                let (system, temperature) = ("s", Some(0.5));
                let most_output = 9;
                let request = ProviderRequest {
                    model,
                    system,
                    messages,
                    tools,
                    temperature,
                    most_output,
                    extra: &extra,
                };
                let frame = wire.frame(&request);
                let body = kept.body(wire, &request, &frame);
                let anew = WireConversation::default().body(wire, &request, &frame);
                assert_eq!(body, anew, "{} {} {model}", wire.list(), messages.len());
                let read: Value = serde_json::from_str(&body).expect("JSON");
                assert_eq!(read["model"].is_string(), wire.list() != "contents");
                kept.messages.len()
            };
            for count in 0..=all.len() {
                assert_eq!(check(&all[..count], "m", &tools), count.saturating_sub(1));
            }
            for (messages, model, tools) in [
                (&shorter, "m", &tools[..]),
                (&all, "m", &tools[..]),
                (&all, "n", &tools[..]),
                (&all, "n", &[]),
            ] {
                check(messages, model, tools);
            }
        }
    }

    /// A cached message is not written again.
    #[test]
    fn each_message_is_serialised_once() {
        struct Counting(std::sync::atomic::AtomicUsize);
        impl ProviderWire for Counting {
            fn path(&self, request: &ProviderRequest<'_>) -> String {
                ChatWire.path(request)
            }
            fn frame(&self, request: &ProviderRequest<'_>) -> Value {
                ChatWire.frame(request)
            }
            fn items(&self, message: &Message, context: &MessageContext<'_>) -> Vec<Value> {
                self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                ChatWire.items(message, context)
            }
            fn reader(&self, model: &str) -> Box<dyn crate::provider::AnswerReader + Send> {
                ChatWire.reader(model)
            }
            fn repair(&self, body: &mut Value, complaint: &str) -> bool {
                ChatWire.repair(body, complaint)
            }
        }
        let wire = Counting(std::sync::atomic::AtomicUsize::new(0));
        let (mut kept, mut messages) =
            (WireConversation::default(), vec![Arc::new(Message::user("go"))]);
        let (tools, extra) = ([tool()], Map::new());
        for at in 0..100 {
            let (id, blocks) = (at.to_string(), Vec::new());
            let asking = Message { role: MessageRole::Assistant, blocks: vec![call(&id)] };
            let mut answer = Message { role: MessageRole::User, blocks };
            answer.blocks.push(result(&id));
            messages.extend([asking, answer].map(Arc::new));
            let request = ProviderRequest {
                model: "m",
                system: "",
                messages: &messages,
                tools: &tools,
                temperature: None,
                most_output: 9,
                extra: &extra,
            };
            kept.body(&wire, &request, &wire.frame(&request));
        }
        // Each message is written once as the last one, and once more for the cache.
        assert_eq!(wire.0.into_inner(), 300);
    }
}
