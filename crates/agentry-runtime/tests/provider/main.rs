//! Providers: requests as they are written, answers as they are read, faults as they are understood,
//! against a scripted model on loopback.
#![allow(clippy::expect_used, reason = "a test that cannot start has failed")]

mod answers;
mod faults;
mod plans;
mod requests;
#[path = "../server/mod.rs"]
mod server;
mod streams;

use std::sync::Arc;

use agentry_compile::model::Agent;
use agentry_compile::{Candidate, Outcome, Price, Settings, Wish};
use agentry_runtime::Message;
use agentry_runtime::provider::Wire;
use agentry_runtime::provider::anthropic::Anthropic;
use agentry_runtime::provider::gemini::Gemini;
use agentry_runtime::provider::ollama::Ollama;
use agentry_runtime::provider::openai_chat::Chat;
use agentry_runtime::provider::openai_responses::Responses;
use agentry_runtime::provider::plan::{Entry, Plan, Wanted};
use agentry_runtime::tool::ToolSpec;
use serde_json::json;

use server::{Protocol, Server};

/// The key that all servers get.
const KEY: &str = "key-of-the-test";

fn wire(protocol: Protocol) -> &'static dyn Wire {
    match protocol {
        Protocol::Anthropic => &Anthropic,
        Protocol::Chat => &Chat,
        Protocol::Responses => &Responses,
        Protocol::Gemini => &Gemini,
        Protocol::Ollama => &Ollama,
    }
}

/// What a person says.
fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text))
}

/// A model that somebody wants, as `resolve` would leave it.
fn candidate(provider: &str, keys: &[&str]) -> Candidate {
    Candidate {
        id: format!("{provider}/scripted"),
        provider: provider.to_owned(),
        model: "scripted".to_owned(),
        wish: Wish::Preferred,
        written: None,
        tier: None,
        context: Some(100_000),
        price: Some(Price { input: 2.0, output: 10.0 }),
        tools: None,
        keys: keys.iter().map(|&key| key.to_owned()).collect(),
        outcome: Outcome::Usable,
    }
}

/// The model behind a server, through a plan.
fn entry(server: &Server, protocol: Protocol) -> Entry {
    let (provider, key) = match protocol {
        Protocol::Anthropic => ("anthropic", "ANTHROPIC_API_KEY"),
        Protocol::Chat | Protocol::Responses => ("openai", "OPENAI_API_KEY"),
        Protocol::Gemini => ("google", "GEMINI_API_KEY"),
        Protocol::Ollama => ("ollama", "OLLAMA_KEY"),
    };
    let environment = |name: &str| (name == key).then(|| KEY.to_owned());
    let mut settings = Settings::built_in().clone();
    for known in &mut settings.providers {
        if known.name == provider {
            known.base_url = server.base(protocol);
        }
    }
    let wanted = Wanted {
        agent: &Agent::default(),
        models: &[candidate(provider, &[key])],
        settings: &settings,
        may_search: false,
        counts_money: false,
    };
    let mut plan = Plan::of(&wanted, &environment).expect("a plan");
    let mut entry = plan.entries.remove(0);
    entry.client.wire = wire(protocol);
    entry
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("{name} something"),
        schema: json!({
            "type": "object",
            "properties": { "path": { "type": "string" } },
            "required": ["path"],
            "additionalProperties": false,
        }),
    };
    vec![tool("read"), tool("list")]
}
