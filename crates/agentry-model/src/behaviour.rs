//! Which model an agent wants, how it goes about its work, and what it may spend.

use agentry_policy::words;
use agentry_text::Spanned;

use crate::{Field, ListField};

/// The model an agent wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelChoice {
    /// How able it must be.
    pub capability: Field<Capability>,
    /// The models to try, in order; `provider/model`, or a bare name.
    pub preferred: ListField<String>,
    /// The tier to fall back to.
    pub fallback: Field<String>,
    /// How much context it should have: `full`, `128k`.
    pub context: Field<String>,
    /// What the model should be able to do, in free words.
    pub capabilities: ListField<String>,
}

words! {
    /// Tiers of models.
    pub enum Capability {
        /// Small and cheap.
        Low = "reasoning-low",
        /// The middle.
        Mid = "reasoning-mid",
        /// Able.
        High = "reasoning-high",
        /// The best there is.
        Max = "reasoning-max",
    }
}

/// Where provider keys come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Auth {
    /// How keys are found.
    pub strategy: Field<AuthStrategy>,
    /// Provider names with their sources: `env.ANTHROPIC_API_KEY`.
    pub providers: Option<Vec<(String, Spanned<String>)>>,
}

words! {
    /// How keys are found.
    pub enum AuthStrategy {
        /// Wherever they are.
        Auto = "auto",
        /// Only where the definition says.
        Explicit = "explicit",
        /// No keys are sent.
        None = "none",
    }
}

/// How an agent goes about its work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Behaviour {
    /// How freely it writes.
    pub temperature: Field<f64>,
    /// The most rounds of its loop: `max_turns`, `behavior.max_steps`, `max_tool_rounds`.
    pub max_turns: Field<i64>,
    /// What it does when something fails.
    pub on_error: Field<OnError>,
}

words! {
    /// What to do when a step fails.
    pub enum OnError {
        /// Ask the person.
        Ask = "ask",
        /// Try again.
        Retry = "retry",
        /// Stop.
        Fail = "fail",
        /// Go on without it.
        Skip = "skip",
    }
}

/// What a run may spend.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budget {
    /// Whether every step is recorded.
    pub trace: Field<bool>,
    /// The most money, in US dollars.
    pub cost_limit: Field<f64>,
    /// The most steps.
    pub step_limit: Field<i64>,
    /// What happens at a limit.
    pub on_exceed: Field<OnExceed>,
}

words! {
    /// What happens at a limit.
    pub enum OnExceed {
        /// The person is asked.
        Ask = "ask",
        /// The run stops.
        Abort = "abort",
    }
}

/// What must hold before an agent starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Environment variables that must be set.
    pub env: ListField<String>,
    /// The tool that must succeed first.
    pub startup: Field<String>,
}
