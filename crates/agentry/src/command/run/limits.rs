//! The limits of a run: those of the agent, of the workspace, of the user's configuration and of the
//! command line. Each of them only narrows.

use agentry_compile::SpendingCaps;
use agentry_compile::model::{Agent, ErrorReaction, LimitReaction};
use agentry_compile::text::FileId;
use agentry_runtime::{ErrorStrategy, RunEvent, RunLimits};

use crate::args::SpendingArguments;

/// The limit of turns where neither the agent nor the user sets one.
const MOST_TURNS: u64 = 200;

/// The limits of a new run. `caps` are those of the workspace and of the user.
pub(crate) fn limits(
    agent: &Agent,
    spending: &SpendingArguments,
    caps: &SpendingCaps,
) -> RunLimits {
    let SpendingArguments { max_cost, max_tokens, max_steps, max_turns, max_time } = *spending;
    let SpendingCaps { cost, tokens, steps, turns, seconds, .. } = *caps;
    let time = seconds.map(|seconds| seconds.saturating_mul(1_000));
    let count = |number: i64| u64::try_from(number).ok();
    let own = agent.behaviour.max_turns.as_ref().and_then(|it| count(it.value));
    let own_steps = agent.budget.step_limit.as_ref().and_then(|it| count(it.value));
    let own_cost = agent.budget.cost_limit.as_ref().map(|it| it.value);
    RunLimits {
        turns: least([own, max_turns, turns]).or(Some(MOST_TURNS)),
        steps: least([own_steps, max_steps, steps]),
        tokens: least([max_tokens, tokens, None]),
        cost: least([own_cost, max_cost, cost].map(|dollars| dollars.map(millionths))),
        time: least([max_time, time, None]),
    }
}

/// The limits of a resumed run. An option of this command line replaces the one of the first run; the
/// limits of the agent, the workspace and the user's configuration apply in any case.
pub(crate) fn limits_again(
    agent: &Agent,
    spending: &SpendingArguments,
    caps: &SpendingCaps,
    before: &RunLimits,
) -> RunLimits {
    let now = limits(agent, spending, caps);
    let most = limits(&Agent::default(), &SpendingArguments::default(), caps);
    let SpendingArguments { max_cost, max_tokens, max_steps, max_turns, max_time } = *spending;
    let one = |is_given: bool, now: Option<u64>, before: Option<u64>, most: Option<u64>| {
        if is_given { now } else { least([before, most, None]) }
    };
    RunLimits {
        turns: one(max_turns.is_some(), now.turns, before.turns, caps.turns),
        steps: one(max_steps.is_some(), now.steps, before.steps, most.steps),
        tokens: one(max_tokens.is_some(), now.tokens, before.tokens, most.tokens),
        cost: one(max_cost.is_some(), now.cost, before.cost, most.cost),
        time: one(max_time.is_some(), now.time, before.time, most.time),
    }
}

/// The first event of a run.
pub(crate) fn began(
    agent: &Agent,
    limits: RunLimits,
    models: usize,
    window: Option<u64>,
) -> RunEvent {
    let asks = agent.budget.on_exceed.as_ref().is_some_and(|it| it.value == LimitReaction::Ask);
    let on_error = agent.behaviour.on_error.as_ref();
    // A default of the format has the span of no file.
    let on_error_is_written = on_error.is_some_and(|it| it.span.file != FileId::BUILT_IN);
    let on_error = match on_error.map(|it| it.value) {
        Some(ErrorReaction::Ask) => ErrorStrategy::Ask,
        Some(ErrorReaction::Retry) => ErrorStrategy::Retry,
        Some(ErrorReaction::Fail) => ErrorStrategy::Fail,
        Some(ErrorReaction::Skip) | None => ErrorStrategy::Skip,
    };
    RunEvent::Began { limits, asks_at_limit: asks, on_error, on_error_is_written, models, window }
}

fn least(limits: [Option<u64>; 3]) -> Option<u64> {
    limits.into_iter().flatten().min()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a negative amount is nothing, and one beyond all money is all money"
)]
pub(crate) fn millionths(dollars: f64) -> u64 {
    (dollars * 1_000_000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_compile::text::{Span, Spanned};

    #[test]
    fn the_smallest_run_limit_counts() {
        let mut agent = Agent::default();
        let span = Span::start_of(FileId::BUILT_IN);
        agent.behaviour.max_turns = Some(Spanned::new(20, span));
        agent.budget.cost_limit = Some(Spanned::new(0.5, span));
        let flags = |max_cost, max_turns| SpendingArguments {
            max_cost,
            max_turns,
            ..SpendingArguments::default()
        };
        let cases = [
            (flags(None, None), Some(20), Some(500_000)),
            (flags(Some(0.25), Some(5)), Some(5), Some(250_000)),
            (flags(Some(9.0), Some(500)), Some(20), Some(500_000)),
        ];
        for (flags, turns, cost) in cases {
            let found = limits(&agent, &flags, &SpendingCaps::default());
            assert_eq!((found.turns, found.cost), (turns, cost), "{flags:?}");
        }
        let caps = SpendingCaps { turns: Some(3), seconds: Some(2), ..SpendingCaps::default() };
        let found = limits(&agent, &flags(None, None), &caps);
        assert_eq!((found.turns, found.time), (Some(3), Some(2_000)));
        let found = limits(&Agent::default(), &flags(None, None), &SpendingCaps::default());
        assert_eq!(found.turns, Some(MOST_TURNS));
        // Resumed: a new option may be higher than before, but never above the agent's own limit.
        let before = RunLimits { turns: Some(5), cost: Some(250_000), ..RunLimits::default() };
        let cases = [
            (flags(None, None), caps, Some(3), Some(250_000)),
            (flags(None, None), SpendingCaps::default(), Some(5), Some(250_000)),
            (flags(Some(0.4), Some(10)), SpendingCaps::default(), Some(10), Some(400_000)),
            (flags(Some(9.0), Some(500)), SpendingCaps::default(), Some(20), Some(500_000)),
            (flags(None, Some(10)), caps, Some(3), Some(250_000)),
        ];
        for (flags, caps, turns, cost) in cases {
            let found = limits_again(&agent, &flags, &caps, &before);
            assert_eq!((found.turns, found.cost), (turns, cost), "{flags:?}");
        }
    }
}
