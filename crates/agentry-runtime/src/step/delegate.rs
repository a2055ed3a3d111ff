//! What a call may do to its run beside giving a result: park it, end it with the output of a function, or
//! charge it for the run of a delegate.

use serde_json::Value;

use super::{RunEffect, advance, end};
use crate::budget::RunSpending;
use crate::event::RunEnding;
use crate::state::{CallProgress, CallState, RunPhase, StepState};

/// Charges what a delegate has spent since its last report.
pub(super) fn charge(state: &mut StepState, id: String, spent: RunSpending) {
    let before = state.delegated.insert(id, spent).unwrap_or_default();
    state.spent = state.spent.with(&spent.without(&before));
}

/// Parks the run, as soon as no other call runs. The call is run again after that: it continues its delegate.
pub(super) fn suspended(state: &mut StepState, id: &str, question: String) -> Vec<RunEffect> {
    let Some(call) = running(state, id) else { return Vec::new() };
    call.progress = CallProgress::Ready;
    state.spent.steps = state.spent.steps.saturating_sub(1);
    state.parking = Some(question);
    advance(state)
}

/// Ends the turn with the output of the function; other calls of the same answer are not run.
pub(super) fn returned(
    state: &mut StepState,
    id: &str,
    text: String,
    output: Result<Value, String>,
) -> Vec<RunEffect> {
    let Some(call) = running(state, id) else { return Vec::new() };
    call.progress = CallProgress::Over(text, output.is_err());
    for call in &mut state.calls {
        if !matches!(call.progress, CallProgress::Over(..)) {
            let text = "not run: the output was given before it".to_owned();
            call.progress = CallProgress::Over(text, true);
        }
    }
    state.report();
    state.output = Some(output.clone());
    match output {
        Ok(_) => {
            state.phase = RunPhase::Idle;
            vec![RunEffect::Stop, RunEffect::Finish(RunEnding::Done)]
        }
        Err(why) => end(state, RunEnding::Failed { why }),
    }
}

fn running<'a>(state: &'a mut StepState, id: &str) -> Option<&'a mut CallState> {
    let runs = |call: &&mut CallState| {
        matches!(call.progress, CallProgress::Launched | CallProgress::Running)
    };
    state.call_mut(id).filter(runs)
}
