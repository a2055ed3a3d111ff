//! What a run may spend: what the agent says, and what the user says now. Each only narrows.

use agentry_compile::model::{Agent, OnError as Declared, OnExceed};
use agentry_runtime::{Event, Limits, OnError};

use crate::args::Spending;

/// What an agent may spend in one run, if neither it nor the user says how much.
const MOST_TURNS: u64 = 200;

/// What a run may spend.
pub(crate) fn limits(agent: &Agent, spending: &Spending) -> Limits {
    let Spending { max_cost, max_tokens, max_steps, max_turns, max_time } = *spending;
    let count = |number: i64| u64::try_from(number).ok();
    let own = agent.behaviour.max_turns.as_ref().and_then(|it| count(it.value));
    let own_steps = agent.budget.step_limit.as_ref().and_then(|it| count(it.value));
    let own_cost = agent.budget.cost_limit.as_ref().map(|it| it.value);
    Limits {
        turns: least(own, max_turns).or(Some(MOST_TURNS)),
        steps: least(own_steps, max_steps),
        tokens: max_tokens,
        cost: least(own_cost.map(millionths), max_cost.map(millionths)),
        time: max_time,
    }
}

/// The first event of a run.
pub(crate) fn began(agent: &Agent, limits: Limits, models: usize, window: Option<u64>) -> Event {
    let asks = agent.budget.on_exceed.as_ref().is_some_and(|it| it.value == OnExceed::Ask);
    let on_error = match agent.behaviour.on_error.as_ref().map(|it| it.value) {
        Some(Declared::Ask) => OnError::Ask,
        Some(Declared::Retry) => OnError::Retry,
        Some(Declared::Fail) => OnError::Fail,
        Some(Declared::Skip) | None => OnError::Skip,
    };
    Event::Began { limits, asks_at_limit: asks, on_error, models, window }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a negative amount is nothing, and one beyond all money is all money"
)]
fn millionths(dollars: f64) -> u64 {
    (dollars * 1_000_000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_compile::text::{FileId, Span, Spanned};

    #[test]
    fn the_smaller_limit_counts() {
        let mut agent = Agent::default();
        let span = Span::start_of(FileId::BUILT_IN);
        agent.behaviour.max_turns = Some(Spanned::new(20, span));
        agent.budget.cost_limit = Some(Spanned::new(0.5, span));
        let flags = |max_cost, max_turns| Spending { max_cost, max_turns, ..Spending::default() };
        let cases = [
            (flags(None, None), Some(20), Some(500_000)),
            (flags(Some(0.25), Some(5)), Some(5), Some(250_000)),
            (flags(Some(9.0), Some(500)), Some(20), Some(500_000)),
        ];
        for (flags, turns, cost) in cases {
            let found = limits(&agent, &flags);
            assert_eq!((found.turns, found.cost), (turns, cost), "{flags:?}");
        }
        assert_eq!(limits(&Agent::default(), &flags(None, None)).turns, Some(MOST_TURNS));
    }
}
