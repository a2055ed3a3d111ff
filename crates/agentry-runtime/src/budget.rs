//! What a run may spend, and what it has spent: hard stops, looked at before every effect.

use agentry_compile::text::report::counted;
use serde::{Deserialize, Serialize};

use crate::conversation::TokenUsage;

/// What a run may spend; nothing where there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Answers of the model.
    pub turns: Option<u64>,
    /// Calls of tools.
    pub steps: Option<u64>,
    /// Tokens, read and written together.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost: Option<u64>,
    /// Milliseconds from the start; time in which a person was asked does not count.
    pub time: Option<u64>,
}

/// What a run has spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpending {
    /// Answers of the model.
    pub turns: u64,
    /// Calls of tools.
    pub steps: u64,
    /// What the model used up.
    pub usage: TokenUsage,
    /// Milliseconds.
    pub time: u64,
}

impl RunSpending {
    /// Adds an answer of the model and what it used up.
    pub fn add(&mut self, usage: TokenUsage) {
        self.turns += 1;
        self.use_up(usage);
    }

    /// Adds what was used up beside the answers.
    pub fn use_up(&mut self, usage: TokenUsage) {
        self.usage.input = self.usage.input.saturating_add(usage.input);
        self.usage.cached = self.usage.cached.saturating_add(usage.cached);
        self.usage.output = self.usage.output.saturating_add(usage.output);
        if let Some(cost) = usage.cost {
            self.usage.cost = Some(self.usage.cost.unwrap_or(0).saturating_add(cost));
        }
    }

    /// The first limit that would be passed by this use alone, in words.
    pub fn passed_by(&self, usage: TokenUsage, limits: &RunLimits) -> Option<String> {
        let mut then = *self;
        then.use_up(usage);
        let passed = |spent: u64, limit: Option<u64>| limit.filter(|limit| spent > *limit);
        let tokens = passed(then.tokens(), limits.tokens).map(|limit| counted(limit, "token"));
        let cost = passed(then.usage.cost.unwrap_or(0), limits.cost).map(dollars);
        tokens.or(cost).map(|limit| format!("{limit}, which the next question would pass"))
    }

    /// Tokens, read and written together.
    pub fn tokens(&self) -> u64 {
        self.usage.input.saturating_add(self.usage.output)
    }

    /// The first limit that is in the way of what comes next, in words. After the last call the model
    /// still says what came of it.
    pub fn exceeded(&self, limits: &RunLimits, next: NextAction) -> Option<String> {
        let RunLimits { turns, steps, tokens, cost, .. } = *limits;
        if let Some(limit) = reached(self.turns, turns) {
            return Some(counted(limit, "turn"));
        }
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

    /// The limit of time, in words, if it is reached.
    pub fn out_of_time(&self, limits: &RunLimits) -> Option<String> {
        reached(self.time, limits.time).map(|limit| format!("{} s", limit / 1_000))
    }
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAction {
    /// The model is asked.
    Turn,
    /// A call is run.
    Call,
}

fn reached(spent: u64, limit: Option<u64>) -> Option<u64> {
    limit.filter(|limit| spent >= *limit)
}

/// Millionths of a US dollar as an amount: `$0.0123`.
pub fn dollars(millionths: u64) -> String {
    format!("${}.{:04}", millionths / 1_000_000, millionths % 1_000_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_passed_when_more_is_used_than_is_left() {
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
