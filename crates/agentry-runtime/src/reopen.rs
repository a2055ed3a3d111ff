//! Reopens a run that has ended: the user sends another message, or continues it with other limits.
//! Called by `step` when such an event arrives.

use crate::budget::RunLimits;
use crate::conversation::MessageRole;
use crate::event::{CallClass, RunEnding};
use crate::state::{CallProgress, ErrorStrategy, RunPhase, StepState};

/// Reopens an ended run for a new message. Calls that did not run end as failed, and the model is informed. A
/// call with unknown effects stays open: the user is asked about it first. What was spent stays spent.
/// Returns whether such a call is left.
pub(crate) fn reopen(state: &mut StepState) -> bool {
    if !matches!(state.phase, RunPhase::Ended(_)) {
        return false;
    }
    let asks = matches!(state.on_unfinished(), ErrorStrategy::Ask | ErrorStrategy::Retry);
    let mut is_unfinished = false;
    let begun: Vec<bool> = state.calls.iter().map(|it| state.has_past(&it.call.id)).collect();
    for (call, has_begun) in state.calls.iter_mut().zip(begun) {
        let text = match &call.progress {
            CallProgress::Over(..) => continue,
            CallProgress::Failed(why) => why.clone(),
            // Only a call that was running and may change something leaves its effects unknown.
            CallProgress::Running if call.class != CallClass::Read && asks => {
                is_unfinished = true;
                continue;
            }
            CallProgress::Running if call.class != CallClass::Read => UNKNOWN.to_owned(),
            _ if has_begun => "stopped before its end: the run had ended".to_owned(),
            _ => "not run: the run had ended".to_owned(),
        };
        call.progress = CallProgress::Over(text, true);
    }
    afresh(state);
    if is_unfinished {
        state.phase = RunPhase::Calling;
    } else {
        state.report();
        state.phase = RunPhase::Idle;
    }
    is_unfinished
}

/// Continues a run whose reason to end is gone, or whose turn was cancelled.
pub(crate) fn revive(state: &mut StepState) {
    let goes_on = match &state.phase {
        RunPhase::Idle => false,
        RunPhase::Ended(RunEnding::OverBudget { .. }) => state.exceeded().is_none(),
        // With the error strategy `fail`, a call that failed would fail the run again.
        RunPhase::Ended(RunEnding::Failed { .. }) => !state.any_runs(),
        RunPhase::Ended(RunEnding::Cancelled) => true,
        _ => return,
    };
    // A last message of the user means that the turn was stopped before the model answered.
    let is_stopped = state.messages.last().is_some_and(|last| last.role == MessageRole::User);
    if goes_on && !state.calls.is_empty() {
        afresh(state);
        state.phase = RunPhase::Calling;
    } else if is_stopped && (goes_on || state.phase == RunPhase::Idle) {
        afresh(state);
        state.phase = RunPhase::Asking;
    }
}

/// Applies the limits and models of the process that continues the run.
pub(crate) fn adjust(state: &mut StepState, limits: RunLimits, models: usize, window: Option<u64>) {
    state.limits = limits;
    state.window = window;
    state.models = models.max(1);
    if state.model >= state.models {
        state.model = 0;
        state.chosen = 0;
        state.attempts = 0;
    }
}

/// Resets everything that counts failures.
fn afresh(state: &mut StepState) {
    state.parking = None;
    state.attempts = 0;
    state.cut_off = 0;
    state.model = state.chosen;
}

const UNKNOWN: &str = "the run ended while this call ran: it is not known what it did";
