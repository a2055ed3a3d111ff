//! The models that a run may ask, in order: their addresses, keys and prices.
//!
//! Keys and addresses come from the user's environment and configuration, never from the workspace.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentry_compile::model::Agent;
use agentry_compile::{
    CandidateOutcome, ModelCandidate, ModelProvider, ProviderApi, ResolveSettings, TokenPrice,
};
use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::anthropic::AnthropicWire;
use super::client::ModelClient;
use super::extension::{self, ProviderDialect, ProviderExtension};
use super::gemini::GeminiWire;
use super::ollama::OllamaWire;
use super::openai_chat::ChatWire;
use super::openai_responses::ResponsesWire;
use super::{AnswerDelta, ModelAnswer, ProviderRequest, ProviderWire, http};
use crate::conversation::{Message, TokenUsage};
use crate::event::ModelFailure;
use crate::tool::ToolSpec;

/// The most output tokens, if the definition does not set them.
const MOST_OUTPUT: u64 = 16_000;
/// The context window of a local model: a larger one takes more memory.
const HELD: u64 = 32_768;
/// The longest silence of a server that may have to load its model first.
const LOADING: Duration = Duration::from_mins(5);
/// The tolerance for rounding errors of fractions.
const ROUNDING: f64 = 1e-6;

/// Why a model is skipped if there is a limit on money.
const UNPRICED: &str = "no price is known for it, so a limit on money could not be kept";

/// Looks up a variable of the user's environment.
pub type EnvironmentLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The models of a run, in order; at least one.
pub struct ModelPlan {
    /// The models.
    pub entries: Vec<PlannedModel>,
    /// Notes for the user: extensions that are not used, and unknown prices.
    pub notes: Vec<String>,
}

/// A model of a plan.
pub struct PlannedModel {
    /// The connection to its provider.
    pub client: ModelClient,
    /// The name of the provider.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// Its price, if it is known.
    pub price: Option<TokenPrice>,
    /// Its context window in tokens, if it is known.
    pub window: Option<u64>,
    /// The most output tokens.
    pub most_output: u64,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Fields of the definition for this provider only.
    pub extra: Map<String, Value>,
}

/// What a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct PlanInputs<'a> {
    /// The agent, with its defaults.
    pub agent: &'a Agent,
    /// The candidates, as `resolve` left them.
    pub models: &'a [ModelCandidate],
    /// The user's configuration, with addresses of the environment.
    pub settings: &'a ResolveSettings,
    /// Whether the policy allows web search: a provider that searches needs it.
    pub may_search: bool,
    /// Whether there is a limit on money: it cannot be enforced for a model without a known price.
    pub counts_money: bool,
}

/// No model can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoModel {
    /// Each model, and why it cannot be asked.
    pub looked_for: Vec<String>,
    /// The models that are skipped only because their price is unknown.
    pub unpriced: Vec<String>,
}

impl fmt::Display for NoModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no model can be asked")?;
        self.looked_for.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for NoModel {}

impl ModelPlan {
    /// Returns the models on which an agent can run here and now.
    pub fn of(
        wanted: &PlanInputs<'_>,
        environment: EnvironmentLookup<'_>,
    ) -> Result<Self, NoModel> {
        let mut maker =
            PlanMaker { wanted, environment, local: None, remote: None, notes: Vec::new() };
        let mut entries = Vec::new();
        let mut skipped = SkippedModels::default();
        for candidate in wanted.models {
            let made = match &candidate.outcome {
                CandidateOutcome::Skipped(why) => Err(why.clone()),
                CandidateOutcome::Chosen | CandidateOutcome::Usable => maker.entry(candidate),
            };
            match made {
                Ok(entry) => entries.push(entry),
                Err(why) => skipped.add(why, &candidate.id),
            }
        }
        if entries.is_empty() {
            let unpriced = skipped.because(UNPRICED);
            return Err(NoModel { looked_for: skipped.lines(), unpriced });
        }
        let left_out = skipped.because(UNPRICED);
        maker.note(left_out.iter().map(|id| format!("`{id}` is not asked: {UNPRICED}")));
        Ok(Self { entries, notes: maker.notes })
    }

    /// Returns the smallest known context window of the plan.
    pub fn window(&self) -> Option<u64> {
        self.entries.iter().filter_map(|entry| entry.window).min()
    }
}

/// Creates the entries of a plan, which share HTTP clients.
struct PlanMaker<'a> {
    wanted: &'a PlanInputs<'a>,
    environment: EnvironmentLookup<'a>,
    local: Option<reqwest::Client>,
    remote: Option<reqwest::Client>,
    notes: Vec<String>,
}

impl PlanMaker<'_> {
    /// Returns the entry of a candidate, or why there is none.
    fn entry(&mut self, candidate: &ModelCandidate) -> Result<PlannedModel, String> {
        let settings = self.wanted.settings;
        let unknown = || format!("no provider `{}` is known", candidate.provider);
        let provider = settings.provider(&candidate.provider).ok_or_else(unknown)?;
        if let Some(why) = provider.unusable() {
            return Err(why);
        }
        let key = self.key(&candidate.keys)?;
        let (wire, dialect) = spoken_by(provider);
        let mut client = ModelClient::new(wire, provider.base_url.clone(), self.http(provider)?);
        if let Some((name, key)) = key {
            (client.key, client.key_name) = (Some(key), Some(name));
        }
        let ProviderExtension { mut extra, most_output, window, notes } =
            extension::of(self.wanted.agent, dialect, self.wanted.may_search);
        let window = if dialect == ProviderDialect::Ollama {
            client.patience = LOADING;
            // Ollama allocates memory for the whole window, so the default stays small.
            let window = window.unwrap_or_else(|| candidate.context.unwrap_or(HELD).min(HELD));
            let options = extra.entry("options").or_insert_with(|| json!({}));
            options["num_ctx"] = window.into();
            Some(window)
        } else {
            candidate.context
        };
        let price = candidate.price.or_else(|| free(provider));
        if price.is_none() && self.wanted.counts_money {
            return Err(UNPRICED.to_owned());
        }
        self.note(notes);
        if price.is_none() {
            let id = &candidate.id;
            self.note([format!("no price is known for `{id}`: what it costs is not counted")]);
        }
        // Input and output share the window, so the output gets at most a quarter.
        let quarter = window.map_or(MOST_OUTPUT, |window| window / 4);
        Ok(PlannedModel {
            client,
            provider: provider.name.clone(),
            model: candidate.model.clone(),
            price,
            window,
            most_output: most_output.unwrap_or_else(|| quarter.clamp(1, MOST_OUTPUT)),
            temperature: self.wanted.agent.behaviour.temperature.as_ref().map(|it| it.value),
            extra,
        })
    }

    /// Returns the key in the first of these variables that is set.
    fn key(&self, names: &[String]) -> Result<Option<(String, SecretString)>, String> {
        if names.is_empty() {
            return Ok(None);
        }
        for name in names {
            let value = (self.environment)(name).unwrap_or_default();
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            // A key with other characters is usually a paste error, and could not be sent in a header.
            if !value.chars().all(|c| c.is_ascii_graphic()) {
                return Err(format!("`{name}` has signs that no key has"));
            }
            return Ok(Some((name.clone(), SecretString::from(value.to_owned()))));
        }
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        Err(format!("{} is not set", names.join(" or ")))
    }

    fn http(&mut self, provider: &ModelProvider) -> Result<reqwest::Client, String> {
        let known = if provider.is_local() { &mut self.local } else { &mut self.remote };
        if let Some(client) = known {
            return Ok(client.clone());
        }
        let made = if provider.is_local() { http::local() } else { http::remote(self.environment) };
        let made = made.map_err(|why| format!("it cannot be reached from here: {why}"))?;
        Ok(known.insert(made).clone())
    }

    fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// Returns the wire of a provider. `OpenAI` itself has the Responses API; compatible servers, and proxies at
/// another address, usually know only chat completions.
fn spoken_by(provider: &ModelProvider) -> (&'static dyn ProviderWire, ProviderDialect) {
    match provider.api {
        ProviderApi::Anthropic => (&AnthropicWire, ProviderDialect::Anthropic),
        ProviderApi::Google => (&GeminiWire, ProviderDialect::Gemini),
        ProviderApi::Ollama => (&OllamaWire, ProviderDialect::Ollama),
        ProviderApi::Responses => (&ResponsesWire, ProviderDialect::Responses),
        ProviderApi::OpenAi => {
            let own = ModelProvider::built_in("openai").map(|own| own.base_url);
            // The address decides: a proxy with the name `openai` is not OpenAI itself.
            if own.as_ref() == Some(&provider.base_url) {
                (&ResponsesWire, ProviderDialect::Responses)
            } else {
                (&ChatWire, ProviderDialect::Chat)
            }
        }
    }
}

/// Returns the price of a local Ollama model. Other local servers may be gateways to a paid provider.
fn free(provider: &ModelProvider) -> Option<TokenPrice> {
    let own = provider.api == ProviderApi::Ollama && provider.is_local();
    own.then_some(TokenPrice { input: 0.0, output: 0.0 })
}

/// Skipped models, by reason.
#[derive(Default)]
struct SkippedModels(Vec<(String, Vec<String>)>);

impl SkippedModels {
    fn add(&mut self, why: String, id: &str) {
        match self.0.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(id.to_owned()),
            None => self.0.push((why, vec![id.to_owned()])),
        }
    }

    /// Returns the models with this reason.
    fn because(&self, why: &str) -> Vec<String> {
        let found = self.0.iter().find(|(known, _)| known == why);
        found.map(|(_, ids)| ids.clone()).unwrap_or_default()
    }

    fn lines(self) -> Vec<String> {
        let line = |(why, ids): (String, Vec<String>)| {
            let named: Vec<_> = ids.iter().take(3).map(|id| format!("`{id}`")).collect();
            let more = ids.len().saturating_sub(named.len());
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("{}{more}: {why}", named.join(", "))
        };
        self.0.into_iter().map(line).collect()
    }
}

impl PlannedModel {
    /// Returns `provider/model`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Asks the model. Sends the pieces of its answer to `show`, and adds the cost to the answer.
    pub async fn ask(
        &self,
        system: &str,
        messages: &[Arc<Message>],
        tools: &[ToolSpec],
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<ModelAnswer, ModelFailure> {
        let request = ProviderRequest {
            model: &self.model,
            system,
            messages,
            tools,
            temperature: self.temperature,
            most_output: self.most_output,
            extra: &self.extra,
        };
        let asked = self.client.ask(&request, show).await;
        let mut answered = asked.map_err(|mut failure| {
            if !failure.usage.is_nothing() {
                failure.usage.cost = self.cost(&failure.usage);
            }
            failure
        })?;
        answered.usage.cost = self.charged(&answered.usage, answered.stored);
        Ok(answered)
    }

    /// Returns the cost in millionths of a US dollar; `None` if no price is known.
    pub fn cost(&self, usage: &TokenUsage) -> Option<u64> {
        self.charged(usage, 0)
    }

    /// Returns the cost. A price is for a million tokens, so tokens times price are millionths of a dollar.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no turn has 2^52 tokens, and a sum that is too large stops at the largest number"
    )]
    fn charged(&self, usage: &TokenUsage, stored: u64) -> Option<u64> {
        let TokenPrice { input, output } = self.price?;
        let (from_cache, to_cache) = cache_shares(&self.provider);
        let fresh = usage.input.saturating_sub(usage.cached).saturating_sub(stored);
        let read = fresh as f64 + usage.cached as f64 * from_cache + stored as f64 * to_cache;
        let cost = read * input + usage.output as f64 * output;
        // Rounded up, so that a budget is never exceeded by rounding.
        Some((cost - ROUNDING).ceil() as u64)
    }
}

/// Returns the share of the input price for tokens from a cache, and for tokens stored in one. The shares are
/// never less than what the provider charges.
fn cache_shares(provider: &str) -> (f64, f64) {
    match provider {
        "anthropic" => (0.1, 1.25),
        "google" => (0.25, 1.0),
        "openai" => (0.5, 1.0),
        _ => (1.0, 1.0),
    }
}
