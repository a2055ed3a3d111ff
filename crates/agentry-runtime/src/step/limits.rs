//! The limits of a run: checked before an effect, and what happens when one is reached.

use super::{PersonQuestion, RunEffect, end};
use crate::conversation::TokenUsage;
use crate::event::RunEnding;
use crate::state::{BlockedRun, RunPhase, StepState};

/// Records the usage of a request. Prevents it if it alone would exceed a limit.
pub(super) fn asking(state: &mut StepState, usage: TokenUsage) -> Vec<RunEffect> {
    if !matches!(state.phase, RunPhase::Asking | RunPhase::Compacting) {
        return Vec::new();
    }
    // A second event reports the usage of a request that was already sent; it cannot be prevented.
    let is_sent = state.asking.is_some();
    let passed = state.spent.passed_by(usage, &state.limits);
    let Some(limit) = passed.filter(|_| !is_sent) else {
        state.asking = Some(usage);
        return Vec::new();
    };
    let over = over(state, limit);
    // Nothing was used, but this much more is needed: `more` adds it to the new limit.
    state.asking = matches!(state.phase, RunPhase::Blocked(_)).then_some(usage);
    over
}

/// Handles a reached limit: the user decides, or the run ends.
pub(super) fn over(state: &mut StepState, limit: String) -> Vec<RunEffect> {
    if state.asks_at_limit {
        state.phase = RunPhase::Blocked(BlockedRun::Limit(limit.clone()));
        return vec![RunEffect::Put(PersonQuestion::Limit { limit })];
    }
    end(state, RunEnding::OverBudget { limit })
}

/// Handles the end of the time limit while something runs. If the user is asked, running calls continue
/// until the answer; a request to a model is cancelled and sent again after it.
pub(super) fn time_up(state: &mut StepState) -> Vec<RunEffect> {
    let Some(limit) = state.spent.out_of_time(&state.limits) else { return Vec::new() };
    if state.waits_for_person() {
        return Vec::new();
    }
    let stops = state.asks_at_limit && state.phase != RunPhase::Calling;
    let mut effects = if stops { vec![RunEffect::Stop] } else { Vec::new() };
    state.abandon();
    effects.extend(over(state, limit));
    effects
}

/// Doubles every limit that is used up.
pub(super) fn more(state: &mut StepState) {
    let mut spent = state.spent;
    spent.use_up(state.asking.take().unwrap_or_default());
    let double = |limit: &mut Option<u64>, spent: u64| {
        if let Some(limit) = limit.as_mut().filter(|limit| spent >= **limit) {
            *limit = spent.saturating_mul(2).max(1);
        }
    };
    double(&mut state.limits.turns, spent.turns);
    double(&mut state.limits.steps, spent.steps);
    double(&mut state.limits.tokens, spent.tokens());
    double(&mut state.limits.cost, spent.usage.cost.unwrap_or(0));
    double(&mut state.limits.time, spent.time);
}
