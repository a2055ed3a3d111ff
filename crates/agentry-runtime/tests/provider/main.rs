//! Providers against a scripted model on loopback: requests as they are written, answers as they are read,
//! faults as they are interpreted.
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
use agentry_compile::{
    CandidateOrigin, CandidateOutcome, ModelCandidate, ResolveSettings, TokenPrice,
};
use agentry_runtime::Message;
use agentry_runtime::provider::ProviderWire;
use agentry_runtime::provider::anthropic::AnthropicWire;
use agentry_runtime::provider::gemini::GeminiWire;
use agentry_runtime::provider::ollama::OllamaWire;
use agentry_runtime::provider::openai_chat::ChatWire;
use agentry_runtime::provider::openai_responses::ResponsesWire;
use agentry_runtime::provider::plan::{ModelPlan, PlanInputs, PlannedModel};
use agentry_runtime::tool::ToolSpec;
use serde_json::json;

use server::{Protocol, Server};

/// The key for all servers.
const KEY: &str = "key-of-the-test";

fn wire(protocol: Protocol) -> &'static dyn ProviderWire {
    match protocol {
        Protocol::Anthropic => &AnthropicWire,
        Protocol::Chat => &ChatWire,
        Protocol::Responses => &ResponsesWire,
        Protocol::Gemini => &GeminiWire,
        Protocol::Ollama => &OllamaWire,
    }
}

/// Returns a message of the user.
fn user_message(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text))
}

/// Returns a candidate, as `resolve` would leave it.
fn candidate(provider: &str, keys: &[&str]) -> ModelCandidate {
    ModelCandidate {
        id: format!("{provider}/scripted"),
        provider: provider.to_owned(),
        model: "scripted".to_owned(),
        wish: CandidateOrigin::Preferred,
        written: None,
        tier: None,
        context: Some(100_000),
        price: Some(TokenPrice { input: 2.0, output: 10.0 }),
        tools: None,
        keys: keys.iter().map(|&key| key.to_owned()).collect(),
        outcome: CandidateOutcome::Usable,
    }
}

/// Returns the model of a server, through a plan.
fn entry(server: &Server, protocol: Protocol) -> PlannedModel {
    let (provider, key) = match protocol {
        Protocol::Anthropic => ("anthropic", "ANTHROPIC_API_KEY"),
        Protocol::Chat | Protocol::Responses => ("openai", "OPENAI_API_KEY"),
        Protocol::Gemini => ("google", "GEMINI_API_KEY"),
        Protocol::Ollama => ("ollama", "OLLAMA_KEY"),
    };
    let environment = |name: &str| (name == key).then(|| KEY.to_owned());
    let mut settings = ResolveSettings::built_in().clone();
    for known in &mut settings.providers {
        if known.name == provider {
            known.base_url = server.base(protocol);
        }
    }
    let wanted = PlanInputs {
        agent: &Agent::default(),
        models: &[candidate(provider, &[key])],
        settings: &settings,
        may_search: false,
        counts_money: false,
    };
    let mut plan = ModelPlan::of(&wanted, &environment).expect("a plan");
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
