//! One conversation, written for every protocol.

use std::sync::Arc;

use agentry_runtime::provider::ProviderRequest;
use agentry_runtime::{Message, MessageBlock, MessageRole, ToolCall};
use serde_json::{Map, Value, json};

use crate::server::{PROTOCOLS, Protocol};
use crate::{tools, wire};

fn sealed(wire: &str, value: &Value) -> Value {
    json!({ wire: { "model": "scripted", "value": value } })
}

/// Reasoning as each protocol stores it; only one of them is readable for the model.
fn thoughts() -> Vec<MessageBlock> {
    let reasoning = json!({ "type": "reasoning", "summary": [], "encrypted_content": "sealed" });
    let of = |text: &str, opaque| MessageBlock::Thinking { text: text.to_owned(), opaque };
    vec![
        of("hm", Some(sealed("anthropic", &json!({ "signature": "sealed" })))),
        of("", Some(sealed("anthropic", &json!({ "redacted": "sealed" })))),
        of("hm", Some(sealed("chat", &json!("reasoning_content")))),
        of("hm", Some(sealed("responses", &reasoning))),
        of("", Some(sealed("gemini", &json!({ "signature": "sealed" })))),
        of("hm", Some(sealed("ollama", &json!(true)))),
        of("of another model", Some(json!({ "anthropic": { "model": "other", "value": {} } }))),
        of("of nobody", None),
    ]
}

fn call(id: &str, opaque: Option<Value>) -> MessageBlock {
    let arguments = json!({ "path": id });
    MessageBlock::Call(ToolCall { id: id.to_owned(), tool: "read".to_owned(), arguments, opaque })
}

fn conversation() -> Vec<Arc<Message>> {
    let text = |text: &str| MessageBlock::Text { text: text.to_owned() };
    let result = |id: &str, failed| MessageBlock::Result {
        id: id.to_owned(),
        text: format!("what {id} gave"),
        failed,
    };
    let mut blocks = thoughts();
    blocks.push(text("Looking."));
    blocks.push(call("one", Some(sealed("gemini", &json!({ "id": "g1", "signature": "sealed" })))));
    blocks.push(call("two:2", None));
    let user_texts = [
        Message::user("What is in there?"),
        Message { role: MessageRole::Assistant, blocks },
        Message {
            role: MessageRole::User,
            blocks: vec![result("one", false), result("two:2", true)],
        },
        Message { role: MessageRole::Assistant, blocks: vec![text("Not much.")] },
        Message::user("Look again."),
    ];
    user_texts.into_iter().map(Arc::new).collect()
}

#[test]
fn requests_match_their_snapshots_in_every_protocol() {
    let messages = conversation();
    let tools = tools();
    for protocol in PROTOCOLS {
        let extra = match protocol {
            Protocol::Anthropic => {
                json!({ "thinking": { "type": "enabled", "budget_tokens": 20_000 } })
            }
            Protocol::Gemini => json!({ "tools": [{ "googleSearch": {} }] }),
            Protocol::Ollama => json!({ "options": { "num_ctx": 4_096 } }),
            Protocol::Chat | Protocol::Responses => json!({ "top_p": 0.5, "model": "other" }),
        };
        let extra = extra.as_object().cloned().unwrap_or_default();
        let request = ProviderRequest {
            model: "scripted",
            system: "Be brief.",
            messages: &messages,
            tools: &tools[..1],
            temperature: Some(0.5),
            most_output: 1_000,
            extra: &extra,
        };
        let wire = wire(protocol);
        let headers = wire.headers(Some("the-key"));
        let body = serde_json::to_string_pretty(&wire.body(&request)).expect("JSON");
        let text = format!("POST {}\n{headers:?}\n{body}", wire.path(&request));
        insta::assert_snapshot!(format!("{protocol:?}").to_lowercase(), text);
    }
}

/// Some protocols want reasoning back only in the current exchange.
#[test]
fn reasoning_is_sent_back_only_in_the_current_exchange() {
    let messages = conversation();
    for (protocol, field) in [(Protocol::Chat, "reasoning_content"), (Protocol::Ollama, "thinking")]
    {
        for (until, expected) in [(3, true), (5, false)] {
            let request = ProviderRequest {
                model: "scripted",
                system: "",
                messages: &messages[..until],
                tools: &tools(),
                temperature: None,
                most_output: 1_000,
                extra: &Map::new(),
            };
            let body = wire(protocol).body(&request).to_string();
            assert_eq!(body.contains(field), expected, "{protocol:?} {until}: {body}");
        }
    }
}

/// A fallback model in the middle of an exchange has no reasoning for the earlier calls: thinking is off
/// until the exchange is over.
#[test]
fn thinking_is_off_for_a_fallback_within_an_exchange() {
    let messages = conversation();
    let extra = json!({ "thinking": { "type": "enabled", "budget_tokens": 1_024 } });
    let extra = extra.as_object().cloned().unwrap_or_default();
    for (model, until, expected) in
        [("scripted", 3, true), ("new", 1, true), ("new", 3, false), ("new", 5, true)]
    {
        let request = ProviderRequest {
            model,
            system: "",
            messages: &messages[..until],
            tools: &tools(),
            temperature: Some(0.5),
            most_output: 2_000,
            extra: &extra,
        };
        let body = wire(Protocol::Anthropic).body(&request);
        assert_eq!(body.get("thinking").is_some(), expected, "{model} {until}");
        assert_eq!(body.get("temperature").is_none(), expected, "{model} {until}");
    }
}
