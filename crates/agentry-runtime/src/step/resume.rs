//! Continues a run in another process, from the state that its journal gives.

use super::{PersonQuestion, RunEffect, advance, ask, end};
use crate::event::{CallClass, RunEnding};
use crate::redact::is_redacted;
use crate::state::{BlockedRun, CallProgress, ErrorStrategy, RunPhase, StepState};

/// Returns the effects that continue what was under way when the process was killed.
pub(super) fn resumed(state: &mut StepState) -> Vec<RunEffect> {
    state.parking = None;
    match state.phase.clone() {
        RunPhase::Idle if !state.queue.is_empty() => ask(state),
        RunPhase::Idle => vec![RunEffect::Finish(RunEnding::Done)],
        RunPhase::Asking | RunPhase::Waiting | RunPhase::Compacting => {
            // The request may have reached the provider, so it is charged.
            state.abandon();
            ask(state)
        }
        RunPhase::Blocked(BlockedRun::Models(why)) => {
            vec![RunEffect::Put(PersonQuestion::Models { why })]
        }
        RunPhase::Blocked(BlockedRun::Limit(limit)) => {
            let mut effects = unfinished(state);
            // An unfinished call may have ended the run.
            if matches!(state.phase, RunPhase::Blocked(_)) {
                effects.push(RunEffect::Put(PersonQuestion::Limit { limit }));
            }
            effects
        }
        RunPhase::Ended(RunEnding::Parked { .. }) if state.calls.is_empty() => {
            state.model = state.chosen;
            state.attempts = 0;
            ask(state)
        }
        RunPhase::Ended(RunEnding::Parked { .. }) => {
            state.phase = RunPhase::Calling;
            unfinished(state)
        }
        RunPhase::Ended(ending) => vec![RunEffect::Finish(ending)],
        RunPhase::Calling => unfinished(state),
    }
}

/// Continues the calls that are not over. Reads are run again. A call that may have changed something is
/// put to the user, unless the definition writes another error strategy.
pub(super) fn unfinished(state: &mut StepState) -> Vec<RunEffect> {
    let mut effects = Vec::new();
    let on_unfinished = state.on_unfinished();
    state.keep_inner();
    for call in &mut state.calls {
        let id = call.call.id.clone();
        call.forgotten = is_redacted(&call.call.arguments);
        let may_have_changed = match call.progress {
            CallProgress::Over(..) | CallProgress::Failed(_) => true,
            CallProgress::Running => call.class != CallClass::Read,
            _ => false,
        };
        match &call.progress {
            CallProgress::Over(..) => {}
            _ if call.forgotten && !may_have_changed => {
                call.progress = CallProgress::Over(FORGOTTEN.to_owned(), true);
            }
            CallProgress::Judging => effects.push(RunEffect::Judge { id }),
            CallProgress::Asked => {
                let reason = call.reason.clone();
                effects.push(RunEffect::Put(PersonQuestion::Call { id, reason }));
            }
            // An answer to the first question counts for the second as well: it is the same.
            CallProgress::Failed(why) if why == UNKNOWN => {
                effects.push(RunEffect::Put(PersonQuestion::Unfinished { id }));
            }
            CallProgress::Failed(why) => {
                effects.push(RunEffect::Put(PersonQuestion::Failed { id, why: why.clone() }));
            }
            // The journal has no start of it, so it did not run.
            CallProgress::Launched => {
                state.spent.steps = state.spent.steps.saturating_sub(1);
                call.progress = CallProgress::Ready;
            }
            // A delegate continues its own run, which has a journal.
            CallProgress::Running if call.class.is_parallel() => {
                call.progress = CallProgress::Ready;
            }
            CallProgress::Running => match on_unfinished {
                // Running it again could do it twice, so the user decides.
                ErrorStrategy::Ask | ErrorStrategy::Retry => {
                    call.progress = CallProgress::Failed(UNKNOWN.to_owned());
                    effects.push(RunEffect::Put(PersonQuestion::Unfinished { id }));
                }
                ErrorStrategy::Fail => {
                    return end(state, RunEnding::Failed { why: UNKNOWN.to_owned() });
                }
                ErrorStrategy::Skip => call.progress = CallProgress::Over(UNKNOWN.to_owned(), true),
            },
            CallProgress::Ready => {}
        }
    }
    effects.extend(advance(state));
    effects
}

pub(super) const UNKNOWN: &str =
    "the run was killed while this call ran: it is not known what it did";
pub(super) const FORGOTTEN: &str = "not run: the run was killed, and the secrets in this call were not written \
    down; make the call again";
