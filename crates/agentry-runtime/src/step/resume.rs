//! A run that another process goes on with.

use super::{Effect, Question, advance, ask, end};
use crate::event::{Class, Ending};
use crate::redact::is_redacted;
use crate::state::{Blocked, OnError, Phase, Progress, State};

/// What was under way when the process was killed.
pub(super) fn resumed(state: &mut State) -> Vec<Effect> {
    state.parking = None;
    match state.phase.clone() {
        Phase::Idle if !state.queue.is_empty() => ask(state),
        Phase::Idle => vec![Effect::Finish(Ending::Done)],
        Phase::Asking | Phase::Waiting | Phase::Compacting => {
            state.abandon();
            ask(state)
        }
        Phase::Blocked(Blocked::Models(why)) => vec![Effect::Put(Question::Models { why })],
        Phase::Blocked(Blocked::Limit(limit)) => {
            let mut effects = unfinished(state);
            // Unless the calls have ended it.
            if matches!(state.phase, Phase::Blocked(_)) {
                effects.push(Effect::Put(Question::Limit { limit }));
            }
            effects
        }
        Phase::Ended(Ending::Parked { .. }) if state.calls.is_empty() => {
            state.model = 0;
            state.attempts = 0;
            ask(state)
        }
        Phase::Ended(Ending::Parked { .. }) => {
            state.phase = Phase::Calling;
            unfinished(state)
        }
        Phase::Ended(ending) => vec![Effect::Finish(ending)],
        Phase::Calling => unfinished(state),
    }
}

/// Goes on with the calls that are not over. What only looks is run again; what may have changed
/// something is put to the person, or follows what is said of errors.
fn unfinished(state: &mut State) -> Vec<Effect> {
    let mut effects = Vec::new();
    let on_error = state.on_error;
    for call in &mut state.calls {
        let id = call.call.id.clone();
        call.forgotten = is_redacted(&call.call.arguments);
        let may_have_changed = match call.progress {
            Progress::Over(..) | Progress::Failed(_) => true,
            Progress::Running => call.class != Class::Read,
            _ => false,
        };
        match &call.progress {
            Progress::Over(..) => {}
            _ if call.forgotten && !may_have_changed => {
                call.progress = Progress::Over(FORGOTTEN.to_owned(), true);
            }
            Progress::Judging => effects.push(Effect::Judge { id }),
            Progress::Asked => {
                let reason = call.reason.clone();
                effects.push(Effect::Put(Question::Call { id, reason }));
            }
            Progress::Failed(why) => {
                effects.push(Effect::Put(Question::Failed { id, why: why.clone() }));
            }
            // It was never written down that it runs, so it does not.
            Progress::Launched => {
                state.spent.steps = state.spent.steps.saturating_sub(1);
                call.progress = Progress::Ready;
            }
            Progress::Running if call.class == Class::Read => call.progress = Progress::Ready,
            Progress::Running => match on_error {
                // Once more could be twice, so that is for the person to say.
                OnError::Ask | OnError::Retry => {
                    call.progress = Progress::Failed(UNKNOWN.to_owned());
                    effects.push(Effect::Put(Question::Unfinished { id }));
                }
                OnError::Fail => return end(state, Ending::Failed { why: UNKNOWN.to_owned() }),
                OnError::Skip => call.progress = Progress::Over(UNKNOWN.to_owned(), true),
            },
            Progress::Ready => {}
        }
    }
    effects.extend(advance(state));
    effects
}

const UNKNOWN: &str = "the run was killed while this call ran: nobody knows what it has done";
pub(super) const FORGOTTEN: &str = "not run: the run was killed, and the secrets in this call were not written \
    down; make the call again";
