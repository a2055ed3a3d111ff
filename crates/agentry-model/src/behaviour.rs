//! The language model that an agent requests, how it works, and what a run may spend.

use agentry_policy::words;
use agentry_text::Spanned;

use crate::{Declared, DeclaredList};

/// The language model that an agent requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelChoice {
    /// The tier it needs.
    pub capability: Declared<ModelTier>,
    /// The models to try, in order; `provider/model`, or a bare name.
    pub preferred: DeclaredList<String>,
    /// The tier of the fallback.
    pub fallback: Declared<String>,
    /// The size of the context window: `full`, `128k`.
    pub context: Declared<String>,
    /// The abilities of the language model, as free text.
    pub capabilities: DeclaredList<String>,
}

words! {
    /// The tiers of language models.
    pub enum ModelTier {
        /// Small and cheap.
        Low = "reasoning-low",
        /// Medium.
        Mid = "reasoning-mid",
        /// Capable.
        High = "reasoning-high",
        /// The most capable.
        Max = "reasoning-max",
    }
}

/// Where provider keys come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderAuth {
    /// How keys are found.
    pub strategy: Declared<AuthStrategy>,
    /// Provider names with their sources: `env.ANTHROPIC_API_KEY`.
    pub providers: Option<Vec<(String, Spanned<String>)>>,
}

words! {
    /// How keys are found.
    pub enum AuthStrategy {
        /// In all known places.
        Auto = "auto",
        /// Only in the sources of the definition.
        Explicit = "explicit",
        /// No keys are sent.
        None = "none",
    }
}

/// How an agent works.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentBehaviour {
    /// The sampling temperature of the language model.
    pub temperature: Declared<f64>,
    /// The most turns of a run: `max_turns`, `behavior.max_steps`, `max_tool_rounds`.
    pub max_turns: Declared<i64>,
    /// The reaction to an error.
    pub on_error: Declared<ErrorReaction>,
}

words! {
    /// The reaction to a failed step.
    pub enum ErrorReaction {
        /// Ask the user.
        Ask = "ask",
        /// Try again.
        Retry = "retry",
        /// Stop.
        Fail = "fail",
        /// Continue without it.
        Skip = "skip",
    }
}

/// What a run may spend.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunBudget {
    /// Whether every step is recorded.
    pub trace: Declared<bool>,
    /// The most money, in US dollars.
    pub cost_limit: Declared<f64>,
    /// The most steps.
    pub step_limit: Declared<i64>,
    /// The reaction when a limit is reached.
    pub on_exceed: Declared<LimitReaction>,
}

words! {
    /// The reaction when a limit of the budget is reached.
    pub enum LimitReaction {
        /// The user is asked.
        Ask = "ask",
        /// The run stops.
        Abort = "abort",
    }
}

/// The conditions for the start of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRequirements {
    /// Environment variables that must be set.
    pub env: DeclaredList<String>,
    /// A tool that must succeed first.
    pub startup: Declared<String>,
}
