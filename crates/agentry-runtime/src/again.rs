//! A run that has ended or was stopped begins again: somebody says something more, or somebody goes on
//! with it under other limits.

use crate::budget::Limits;
use crate::conversation::Role;
use crate::event::{Class, Ending};
use crate::state::{Phase, Progress, State};

/// Lets an ended run hear what is said now. Calls that were under way are over: the model is told so.
/// What was spent stays spent.
pub(crate) fn reopen(state: &mut State) {
    if !matches!(state.phase, Phase::Ended(_)) {
        return;
    }
    for call in &mut state.calls {
        let text = match &call.progress {
            Progress::Over(..) => continue,
            Progress::Failed(why) => why.clone(),
            Progress::Running if call.class != Class::Read => UNKNOWN.to_owned(),
            _ => "not run: the run had ended".to_owned(),
        };
        call.progress = Progress::Over(text, true);
    }
    state.report();
    afresh(state);
    state.phase = Phase::Idle;
}

/// Lets a run go on that ended for a reason which is gone, or whose turn was stopped.
pub(crate) fn revive(state: &mut State) {
    let goes_on = match &state.phase {
        Phase::Idle => false,
        Phase::Ended(Ending::OverBudget { .. }) => state.exceeded().is_none(),
        // A call that failed where that ends the run would fail it again.
        Phase::Ended(Ending::Failed { .. }) => !state.any_runs(),
        Phase::Ended(Ending::Cancelled) => true,
        _ => return,
    };
    let is_stopped = state.messages.last().is_some_and(|last| last.role == Role::User);
    if goes_on && !state.calls.is_empty() {
        afresh(state);
        state.phase = Phase::Calling;
    } else if is_stopped && (goes_on || state.phase == Phase::Idle) {
        afresh(state);
        state.phase = Phase::Asking;
    }
}

/// Other limits and other models hold from now on.
pub(crate) fn adjust(state: &mut State, limits: Limits, models: usize, window: Option<u64>) {
    state.limits = limits;
    state.window = window;
    state.models = models.max(1);
    if state.model >= state.models {
        state.model = 0;
        state.attempts = 0;
    }
}

/// Nothing that failed before counts any more.
fn afresh(state: &mut State) {
    state.parking = None;
    state.attempts = 0;
    state.cut_off = 0;
    state.model = 0;
}

const UNKNOWN: &str = "the run ended while this call ran: nobody knows what it has done";
