//! The budget of a run and what is spent of it. The limits are hard, and checked before every effect.

use agentry_compile::text::report::counted;
use serde::{Deserialize, Serialize};

use crate::conversation::TokenUsage;

/// What a run may spend; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Turns of the model.
    pub turns: Option<u64>,
    /// Tool calls.
    pub steps: Option<u64>,
    /// Input and output tokens together.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost: Option<u64>,
    /// Milliseconds from the start; time in which the user is asked does not count.
    pub time: Option<u64>,
}

/// What a run has spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpending {
    /// Turns of the model.
    pub turns: u64,
    /// Tool calls.
    pub steps: u64,
    /// The usage of all requests.
    pub usage: TokenUsage,
    /// Milliseconds in which the user was not asked.
    pub time: u64,
}

impl RunSpending {
    /// Adds a turn and its usage.
    pub fn add(&mut self, usage: TokenUsage) {
        self.turns += 1;
        self.use_up(usage);
    }

    /// Adds usage that belongs to no turn, such as that of a failed request.
    pub fn use_up(&mut self, usage: TokenUsage) {
        self.usage.input = self.usage.input.saturating_add(usage.input);
        self.usage.cached = self.usage.cached.saturating_add(usage.cached);
        self.usage.output = self.usage.output.saturating_add(usage.output);
        if let Some(cost) = usage.cost {
            self.usage.cost = Some(self.usage.cost.unwrap_or(0).saturating_add(cost));
        }
    }

    /// Returns the sum of both, without the time: a delegate works in the time of its parent.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.turns = self.turns.saturating_add(other.turns);
        self.steps = self.steps.saturating_add(other.steps);
        self.use_up(other.usage);
        self
    }

    /// Returns what remains without the other one; the time stays.
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        self.turns = self.turns.saturating_sub(other.turns);
        self.steps = self.steps.saturating_sub(other.steps);
        let TokenUsage { input, cached, output, cost } = other.usage;
        self.usage.input = self.usage.input.saturating_sub(input);
        self.usage.cached = self.usage.cached.saturating_sub(cached);
        self.usage.output = self.usage.output.saturating_sub(output);
        self.usage.cost = self.usage.cost.map(|own| own.saturating_sub(cost.unwrap_or(0)));
        self
    }

    /// Returns whether both are equal, apart from the time.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.turns, self.steps, self.usage) == (other.turns, other.steps, other.usage)
    }

    /// Returns the first limit that this usage would exceed, as text.
    pub fn passed_by(&self, usage: TokenUsage, limits: &RunLimits) -> Option<String> {
        let mut then = *self;
        then.use_up(usage);
        let passed = |spent: u64, limit: Option<u64>| limit.filter(|limit| spent > *limit);
        let tokens = passed(then.tokens(), limits.tokens).map(|limit| counted(limit, "token"));
        let cost = passed(then.usage.cost.unwrap_or(0), limits.cost).map(dollars);
        tokens.or(cost).map(|limit| format!("{limit}, which the next question would pass"))
    }

    /// Returns the input and output tokens together.
    pub fn tokens(&self) -> u64 {
        self.usage.input.saturating_add(self.usage.output)
    }

    /// Returns the first limit that forbids the next action, as text.
    pub fn exceeded(&self, limits: &RunLimits, next: NextAction) -> Option<String> {
        let RunLimits { turns, steps, tokens, cost, .. } = *limits;
        if let Some(limit) = reached(self.turns, turns) {
            return Some(counted(limit, "turn"));
        }
        // The step limit does not forbid a turn: the model may still report on the last call.
        if let Some(limit) = reached(self.steps, steps).filter(|_| next == NextAction::Call) {
            return Some(counted(limit, "step"));
        }
        if let Some(limit) = reached(self.tokens(), tokens) {
            return Some(counted(limit, "token"));
        }
        if let Some(limit) = reached(self.usage.cost.unwrap_or(0), cost) {
            return Some(dollars(limit));
        }
        self.out_of_time(limits)
    }

    /// Returns the time limit as text, if it is reached.
    pub fn out_of_time(&self, limits: &RunLimits) -> Option<String> {
        reached(self.time, limits.time).map(|limit| format!("{} s", limit / 1_000))
    }
}

/// The action that a limit may forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAction {
    /// A request to the model.
    Turn,
    /// A tool call.
    Call,
}

fn reached(spent: u64, limit: Option<u64>) -> Option<u64> {
    limit.filter(|limit| spent >= *limit)
}

/// Formats millionths of a US dollar: `$0.0123`.
pub fn dollars(millionths: u64) -> String {
    format!("${}.{:04}", millionths / 1_000_000, millionths % 1_000_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_larger_than_the_rest_passes_the_limit() {
        let spent = RunSpending {
            usage: TokenUsage { input: 800, cached: 0, output: 100, cost: Some(500) },
            ..RunSpending::default()
        };
        let (none, pass) = (RunLimits::default(), ", which the next question would pass");
        let cases = [
            (none, None),
            (RunLimits { tokens: Some(1_000), ..none }, None),
            (RunLimits { tokens: Some(999), ..none }, Some(format!("999 tokens{pass}"))),
            (RunLimits { cost: Some(700), ..none }, None),
            (RunLimits { cost: Some(699), ..none }, Some(format!("$0.0006{pass}"))),
            (RunLimits { turns: Some(0), steps: Some(0), time: Some(0), ..none }, None),
        ];
        let usage = TokenUsage { input: 100, cached: 0, output: 0, cost: Some(200) };
        for (limits, expected) in cases {
            assert_eq!(spent.passed_by(usage, &limits), expected, "{limits:?}");
        }
    }

    #[test]
    fn a_limit_is_reached_when_nothing_is_left() {
        let spent = RunSpending {
            turns: 3,
            steps: 5,
            usage: TokenUsage { input: 900, cached: 0, output: 100, cost: Some(1_250_000) },
            time: 61_000,
        };
        let none = RunLimits::default();
        let cases = [
            (none, None),
            (RunLimits { turns: Some(4), ..none }, None),
            (RunLimits { turns: Some(3), ..none }, Some("3 turns")),
            (RunLimits { turns: Some(1), ..none }, Some("1 turn")),
            (RunLimits { steps: Some(5), ..none }, Some("5 steps")),
            (RunLimits { tokens: Some(1_000), ..none }, Some("1000 tokens")),
            (RunLimits { cost: Some(1_250_000), ..none }, Some("$1.2500")),
            (RunLimits { time: Some(60_000), ..none }, Some("60 s")),
        ];
        for (limits, expected) in cases {
            assert_eq!(
                spent.exceeded(&limits, NextAction::Call).as_deref(),
                expected,
                "{limits:?}"
            );
            let expected = expected.filter(|_| limits.steps.is_none());
            assert_eq!(
                spent.exceeded(&limits, NextAction::Turn).as_deref(),
                expected,
                "{limits:?}"
            );
        }
    }
}
