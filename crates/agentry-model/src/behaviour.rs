//! Which model an agent wants, how it goes about its work, and what it may spend.

use agentry_policy::words;
use agentry_text::Spanned;

use crate::{Declared, DeclaredList};

/// The model an agent wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelChoice {
    /// How able it must be.
    pub capability: Declared<ModelTier>,
    /// The models to try, in order; `provider/model`, or a bare name.
    pub preferred: DeclaredList<String>,
    /// The tier to fall back to.
    pub fallback: Declared<String>,
    /// How much context it should have: `full`, `128k`.
    pub context: Declared<String>,
    /// What the model should be able to do, in free words.
    pub capabilities: DeclaredList<String>,
}

words! {
    /// Tiers of models.
    pub enum ModelTier {
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
pub struct ProviderAuth {
    /// How keys are found.
    pub strategy: Declared<AuthStrategy>,
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
pub struct AgentBehaviour {
    /// How freely it writes.
    pub temperature: Declared<f64>,
    /// The most rounds of its loop: `max_turns`, `behavior.max_steps`, `max_tool_rounds`.
    pub max_turns: Declared<i64>,
    /// What it does when something fails.
    pub on_error: Declared<ErrorReaction>,
}

words! {
    /// What to do when a step fails.
    pub enum ErrorReaction {
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
pub struct RunBudget {
    /// Whether every step is recorded.
    pub trace: Declared<bool>,
    /// The most money, in US dollars.
    pub cost_limit: Declared<f64>,
    /// The most steps.
    pub step_limit: Declared<i64>,
    /// What happens at a limit.
    pub on_exceed: Declared<LimitReaction>,
}

words! {
    /// What happens at a limit.
    pub enum LimitReaction {
        /// The person is asked.
        Ask = "ask",
        /// The run stops.
        Abort = "abort",
    }
}

/// What must hold before an agent starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRequirements {
    /// Environment variables that must be set.
    pub env: DeclaredList<String>,
    /// The tool that must succeed first.
    pub startup: Declared<String>,
}
