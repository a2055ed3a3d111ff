//! A run that has ended or was stopped begins again: somebody says something more, or somebody goes on
//! with it under other limits.

use crate::budget::RunLimits;
use crate::conversation::MessageRole;
use crate::event::{CallClass, RunEnding};
use crate::state::{CallProgress, RunPhase, StepState};

/// Lets an ended run hear what is said now. Calls that were under way are over: the model is told so.
/// What was spent stays spent.
pub(crate) fn reopen(state: &mut StepState) {
    if !matches!(state.phase, RunPhase::Ended(_)) {
        return;
    }
    for call in &mut state.calls {
        let text = match &call.progress {
            CallProgress::Over(..) => continue,
            CallProgress::Failed(why) => why.clone(),
            CallProgress::Running if call.class != CallClass::Read => UNKNOWN.to_owned(),
            _ => "not run: the run had ended".to_owned(),
        };
        call.progress = CallProgress::Over(text, true);
    }
    state.report();
    afresh(state);
    state.phase = RunPhase::Idle;
}

/// Lets a run go on that ended for a reason which is gone, or whose turn was stopped.
pub(crate) fn revive(state: &mut StepState) {
    let goes_on = match &state.phase {
        RunPhase::Idle => false,
        RunPhase::Ended(RunEnding::OverBudget { .. }) => state.exceeded().is_none(),
        // A call that failed where that ends the run would fail it again.
        RunPhase::Ended(RunEnding::Failed { .. }) => !state.any_runs(),
        RunPhase::Ended(RunEnding::Cancelled) => true,
        _ => return,
    };
    let is_stopped = state.messages.last().is_some_and(|last| last.role == MessageRole::User);
    if goes_on && !state.calls.is_empty() {
        afresh(state);
        state.phase = RunPhase::Calling;
    } else if is_stopped && (goes_on || state.phase == RunPhase::Idle) {
        afresh(state);
        state.phase = RunPhase::Asking;
    }
}

/// Other limits and other models hold from now on.
pub(crate) fn adjust(state: &mut StepState, limits: RunLimits, models: usize, window: Option<u64>) {
    state.limits = limits;
    state.window = window;
    state.models = models.max(1);
    if state.model >= state.models {
        state.model = 0;
        state.attempts = 0;
    }
}

/// Nothing that failed before counts any more.
fn afresh(state: &mut StepState) {
    state.parking = None;
    state.attempts = 0;
    state.cut_off = 0;
    state.model = 0;
}

const UNKNOWN: &str = "the run ended while this call ran: it is not known what it did";
