//! The models that a run may ask, in order: where each is reached, with which key, at what price.
//!
//! Keys and addresses come from the user's environment and their own configuration; nothing of the
//! workspace is asked.

use std::fmt;

use agentry_compile::model::Agent;
use agentry_compile::{Candidate, Price, Settings};
use serde_json::{Map, Value};

use super::client::Client;
use super::{Answered, Delta};
use crate::conversation::{Message, Usage};
use crate::event::Failure;
use crate::tool::ToolSpec;

/// The value of a variable of the user's environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The models that a run may ask, in order; at least one.
pub struct Plan {
    /// The models.
    pub entries: Vec<Entry>,
    /// What the user should know of them: extensions that are not used, prices that nobody knows.
    pub notes: Vec<String>,
}

/// A model that a run may ask.
pub struct Entry {
    /// Sends.
    pub client: Client,
    /// Whose model it is.
    pub provider: String,
    /// What the provider calls it.
    pub model: String,
    /// What it costs, if that is known.
    pub price: Option<Price>,
    /// Tokens that it can hold, if that is known.
    pub window: Option<u64>,
    /// The most tokens that it may write.
    pub most_output: u64,
    /// How freely it writes.
    pub temperature: Option<f64>,
    /// Fields of the definition that only this provider knows, in its own words.
    pub extra: Map<String, Value>,
}

/// What a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The agent, with its defaults.
    pub agent: &'a Agent,
    /// The models that it may run on, as `resolve` left them.
    pub models: &'a [Candidate],
    /// What the user's own file says, with the environment's addresses.
    pub settings: &'a Settings,
    /// Whether the policy lets the agent search the web: a provider that searches needs it.
    pub may_search: bool,
}

/// No model can be asked: everything that was looked for, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoModel {
    /// Each model, and why it cannot be asked.
    pub looked_for: Vec<String>,
}

impl fmt::Display for NoModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no model can be asked")?;
        self.looked_for.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for NoModel {}

impl Plan {
    /// The plan for an agent.
    pub fn of(wanted: &Wanted<'_>, environment: Environment<'_>) -> Result<Self, NoModel> {
        let _ = (wanted, environment);
        Err(NoModel { looked_for: Vec::new() })
    }
}

impl Entry {
    /// Asks the model; pieces of its answer go to `show`. The answer says what it cost.
    pub async fn ask(
        &self,
        system: &str,
        messages: &[Message],
        tools: &[ToolSpec],
        show: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answered, Failure> {
        let request = super::Request {
            model: &self.model,
            system,
            messages,
            tools,
            temperature: self.temperature,
            most_output: self.most_output,
            extra: &self.extra,
        };
        let mut answered = self.client.ask(&request, show).await?;
        answered.usage.cost = self.cost(&answered.usage);
        Ok(answered)
    }

    /// What that costs, in millionths of a US dollar; nothing if no price is known.
    pub fn cost(&self, usage: &Usage) -> Option<u64> {
        let _ = usage;
        None
    }
}
