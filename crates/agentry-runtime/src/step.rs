//! The run loop as a pure function: takes an event, changes the state, and returns effects for the driver.

mod compact;
mod delegate;
mod inner;
mod limits;
mod resume;
mod user_request;

use crate::conversation::Message;
pub use crate::effect::{PersonQuestion, RunEffect};
use crate::event::{
    ApprovalAnswer, CallClass, CallJudgement, ModelFailure, ModelFailureKind, ModelTurn, RunEnding,
    RunEvent, TimedEvent,
};
use crate::reopen;
use crate::state::{BlockedRun, CallProgress, CallState, ErrorStrategy, RunPhase, StepState};
use compact::{compact, compact_most, compacted, make_room};
use limits::{asking, more, over, time_up};

/// The most calls of one answer that are run.
const MOST_CALLS: usize = 64;
/// How often a model is retried before the fallback.
const MOST_ATTEMPTS: u32 = 4;
/// The same for a server that was never reached in this run: it is probably not started.
const FEW_ATTEMPTS: u32 = 1;
/// The longest pause before a retry, in milliseconds, if there is a fallback.
const LONG_WAIT: u64 = 60_000;
/// The longest pause if there is no fallback. A server that demands more is given up.
const LONGEST_WAIT: u64 = 600_000;
/// How many answers with calls in a row may be truncated.
const MOST_CUT_OFF: u32 = 3;
/// Applies an event to the state, and returns what is to be done.
pub fn step(state: &mut StepState, happened: TimedEvent) -> Vec<RunEffect> {
    if matches!(happened.event, RunEvent::Resumed) {
        // Time without a process does not count as spent.
        state.clock = Some(happened.at);
        reopen::revive(state);
        return resume::resumed(state);
    }
    state.tick(happened.at);
    if let RunEvent::Adjusted { limits, models, window } = happened.event {
        reopen::adjust(state, limits, models, window);
        return Vec::new();
    }
    // A delegate may report its last request after the run has ended: it is charged anyway.
    if let RunEvent::Delegated { id, spent, run: _ } = happened.event {
        delegate::charge(state, id, spent);
        return Vec::new();
    }
    let is_unfinished =
        matches!(happened.event, RunEvent::UserSent { .. }) && reopen::reopen(state);
    // A message reopens an ended run above; every other event comes too late.
    if matches!(state.phase, RunPhase::Ended(_)) {
        return Vec::new();
    }
    match happened.event {
        event @ RunEvent::Began { .. } => begin(state, &event),
        RunEvent::UserSent { text } => {
            state.queue.push(text);
            state.output = None;
            match state.phase {
                RunPhase::Idle => ask(state),
                RunPhase::Calling if is_unfinished => resume::unfinished(state),
                _ => Vec::new(),
            }
        }
        RunEvent::Asking { usage } => asking(state, usage),
        RunEvent::Turned(turn) => turned(state, turn),
        RunEvent::TurnFailed(failure) => failed(state, &failure),
        RunEvent::Called { within, call } => inner::called(state, within, call),
        RunEvent::Judged { id, verdict, reason, class } => {
            judged(state, &id, verdict, reason, class)
        }
        RunEvent::Answered { id: Some(id), answer } => answered(state, &id, answer),
        RunEvent::Answered { id: None, answer } => unblocked(state, answer),
        RunEvent::Started { id } => started(state, &id),
        RunEvent::Ended { id, text, failed } => ended(state, &id, text, failed),
        RunEvent::Skill { id, note } => {
            state.skills.note(id, note);
            Vec::new()
        }
        RunEvent::Returned { id, text, output } => delegate::returned(state, &id, text, output),
        RunEvent::Suspended { id, question } => delegate::suspended(state, &id, question),
        RunEvent::Exhausted { limit } => end(state, RunEnding::OverBudget { limit }),
        RunEvent::Compacted { messages, summary, usage } => {
            compacted(state, messages, summary, usage)
        }
        RunEvent::Waited if state.phase == RunPhase::Waiting => ask(state),
        RunEvent::TimeUp => time_up(state),
        RunEvent::Cancelled { run } => cancelled(state, run),
        RunEvent::Waited
        | RunEvent::Moved { .. }
        | RunEvent::Resumed
        | RunEvent::Adjusted { .. }
        | RunEvent::Delegated { .. }
        | RunEvent::UserRan { .. } => Vec::new(),
        RunEvent::CompactionRequested => user_request::request_compaction(state),
        RunEvent::Switched { model } => user_request::switch(state, model),
        RunEvent::Cleared => user_request::clear(state),
        RunEvent::Undone { paths } => user_request::note_undone(state, &paths),
    }
}

/// Begins the run with an empty state.
fn begin(state: &mut StepState, event: &RunEvent) -> Vec<RunEffect> {
    let &RunEvent::Began { limits, asks_at_limit, on_error, on_error_is_written, models, window } =
        event
    else {
        return Vec::new();
    };
    *state = StepState {
        limits,
        asks_at_limit,
        on_error,
        on_error_is_written,
        models,
        window,
        clock: state.clock,
        ..StepState::default()
    };
    Vec::new()
}

/// The journal has the start of a call.
fn started(state: &mut StepState, id: &str) -> Vec<RunEffect> {
    let launched = |call: &&mut CallState| call.progress == CallProgress::Launched;
    if let Some(call) = state.call_mut(id).filter(launched) {
        call.progress = CallProgress::Running;
        call.has_started = true;
    }
    Vec::new()
}

/// Asks the model, unless a limit is reached or the conversation must be compacted first.
fn ask(state: &mut StepState) -> Vec<RunEffect> {
    if state.only_compacts {
        return user_request::compact_once(state);
    }
    let notes = std::mem::take(&mut state.notes);
    let queued = std::mem::take(&mut state.queue);
    notes.into_iter().chain(queued).for_each(|text| state.push_message(Message::user(text)));
    if let Some(limit) = state.exceeded() {
        return over(state, limit);
    }
    if let Some(effects) = state.window.and_then(|window| make_room(state, window)) {
        return effects;
    }
    state.asking = None;
    state.phase = RunPhase::Asking;
    vec![RunEffect::Ask { model: state.model }]
}

fn end(state: &mut StepState, ending: RunEnding) -> Vec<RunEffect> {
    state.abandon();
    state.only_compacts = false;
    state.phase = RunPhase::Ended(ending.clone());
    vec![RunEffect::Stop, RunEffect::Finish(ending)]
}

fn turned(state: &mut StepState, turn: ModelTurn) -> Vec<RunEffect> {
    let ModelTurn { message, usage, truncated, model } = turn;
    state.spent.add(usage);
    state.asking = None;
    if state.phase != RunPhase::Asking {
        // The user cancelled while the answer was on its way: it is charged, but not used.
        return Vec::new();
    }
    state.last = usage;
    state.attempts = 0;
    state.model = model;
    state.answered(message);
    for call in state.calls.iter_mut().skip(MOST_CALLS) {
        // Every call needs a result, so the calls above the limit get a failed one.
        let text = format!("not run: more than {MOST_CALLS} calls in one answer");
        call.progress = CallProgress::Over(text, true);
    }
    if truncated {
        // Truncated arguments could mean something else.
        for call in &mut state.calls {
            let text = "not run: the answer was cut off; make fewer or shorter calls".to_owned();
            call.progress = CallProgress::Over(text, true);
        }
    }
    state.cut_off = if truncated && !state.calls.is_empty() { state.cut_off + 1 } else { 0 };
    if state.cut_off > MOST_CUT_OFF {
        let why = format!("{} answers with calls were cut off in a row", state.cut_off);
        return end(state, RunEnding::Failed { why });
    }
    if state.calls.is_empty() {
        return rest(state);
    }
    state.phase = RunPhase::Calling;
    let judging = state.calls.iter().filter(|call| call.progress == CallProgress::Judging);
    let effects: Vec<RunEffect> =
        judging.map(|call| RunEffect::Judge { id: call.call.id.clone() }).collect();
    // If every call is over already, no event would come to continue the run.
    if effects.is_empty() { advance(state) } else { effects }
}

/// Ends the turn, or continues if the user sent a message meanwhile.
fn rest(state: &mut StepState) -> Vec<RunEffect> {
    if !state.queue.is_empty() {
        return ask(state);
    }
    state.phase = RunPhase::Idle;
    vec![RunEffect::Finish(RunEnding::Done)]
}

fn failed(state: &mut StepState, failure: &ModelFailure) -> Vec<RunEffect> {
    state.spent.use_up(failure.usage);
    state.asking = None;
    if !matches!(state.phase, RunPhase::Asking | RunPhase::Compacting) {
        return Vec::new();
    }
    let is_last = state.model + 1 >= state.models;
    let longest = if is_last { LONGEST_WAIT } else { LONG_WAIT };
    let bearable = failure.retry_after.is_none_or(|time| time <= longest);
    // A pause that is too long makes the fallback the better choice.
    let again = failure.kind == ModelFailureKind::Temporary && bearable;
    let absent = failure.unreachable && state.spent.turns == 0;
    if again && state.attempts < if absent { FEW_ATTEMPTS } else { MOST_ATTEMPTS } {
        state.attempts += 1;
        state.phase = RunPhase::Waiting;
        let doubled = 1_000 << (state.attempts - 1);
        return vec![RunEffect::Wait { time: failure.retry_after.unwrap_or(doubled) }];
    }
    // A summary request that is itself too long is not compacted again.
    if failure.kind == ModelFailureKind::TooLong
        && state.phase == RunPhase::Asking
        && let Some(effects) = compact(state).or_else(|| compact_most(state))
    {
        return effects;
    }
    // The last resort: cut half of the conversation, the longest texts first.
    if failure.kind == ModelFailureKind::TooLong && is_last {
        let half = state.weight() / 2;
        if state.shorten(half) {
            return ask(state);
        }
    }
    state.attempts = 0;
    if !is_last {
        state.model += 1;
        return ask(state);
    }
    no_model(state, failure)
}

/// No model answers: the user decides, or the run ends.
fn no_model(state: &mut StepState, failure: &ModelFailure) -> Vec<RunEffect> {
    let why = match failure.retry_after.filter(|time| *time > LONGEST_WAIT) {
        // An earlier retry would only prolong the rate limit.
        Some(time) => {
            let minutes = time.div_ceil(60_000);
            format!("{}; retry in {minutes} minutes", failure.message)
        }
        None => failure.message.clone(),
    };
    match state.on_error {
        ErrorStrategy::Ask if failure.kind != ModelFailureKind::Final => {
            state.phase = RunPhase::Blocked(BlockedRun::Models(why.clone()));
            vec![RunEffect::Put(PersonQuestion::Models { why })]
        }
        ErrorStrategy::Ask | ErrorStrategy::Retry | ErrorStrategy::Fail | ErrorStrategy::Skip => {
            end(state, RunEnding::Failed { why })
        }
    }
}

fn judged(
    state: &mut StepState,
    id: &str,
    verdict: CallJudgement,
    reason: String,
    class: CallClass,
) -> Vec<RunEffect> {
    let Some(call) = state.call_mut(id).filter(|call| call.progress == CallProgress::Judging)
    else {
        return Vec::new();
    };
    call.class = class;
    call.reason.clone_from(&reason);
    match verdict {
        CallJudgement::Allow => call.progress = CallProgress::Ready,
        CallJudgement::Deny => {
            call.progress = CallProgress::Over(format!("refused: {reason}"), true);
        }
        CallJudgement::Ask => {
            call.progress = CallProgress::Asked;
            let mut effects =
                vec![RunEffect::Put(PersonQuestion::Call { id: id.to_owned(), reason })];
            effects.extend(advance(state));
            return effects;
        }
    }
    advance(state)
}

fn answered(state: &mut StepState, id: &str, answer: ApprovalAnswer) -> Vec<RunEffect> {
    let Some(call) = state.call_mut(id) else { return Vec::new() };
    match (&call.progress, answer) {
        (CallProgress::Asked | CallProgress::Failed(_), ApprovalAnswer::Park) => {
            let verb =
                if call.progress == CallProgress::Asked { "may run" } else { "is to be run again" };
            state.parking = Some(format!("whether `{}` {verb}", call.call.tool));
        }
        (
            CallProgress::Asked | CallProgress::Failed(_),
            ApprovalAnswer::Yes | ApprovalAnswer::Always(_),
        ) => {
            call.progress = CallProgress::Ready;
        }
        (CallProgress::Asked, ApprovalAnswer::No(why)) => {
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            call.progress = CallProgress::Over(format!("refused by the person{why}"), true);
        }
        (CallProgress::Failed(text), ApprovalAnswer::No(_)) => {
            call.progress = CallProgress::Over(text.clone(), true);
        }
        _ => return Vec::new(),
    }
    advance(state)
}

/// Handles the user's answer to a question about the whole run.
fn unblocked(state: &mut StepState, answer: ApprovalAnswer) -> Vec<RunEffect> {
    let RunPhase::Blocked(blocked) = state.phase.clone() else { return Vec::new() };
    match (blocked, answer) {
        (BlockedRun::Limit(_), ApprovalAnswer::Yes | ApprovalAnswer::Always(_)) => {
            more(state);
            go_on(state)
        }
        (BlockedRun::Models(_), ApprovalAnswer::Yes | ApprovalAnswer::Always(_)) => {
            state.model = state.chosen;
            state.attempts = 0;
            ask(state)
        }
        (BlockedRun::Limit(limit), ApprovalAnswer::No(_)) => {
            end(state, RunEnding::OverBudget { limit })
        }
        (BlockedRun::Models(why), ApprovalAnswer::No(_)) => end(state, RunEnding::Failed { why }),
        (BlockedRun::Limit(limit), ApprovalAnswer::Park) => {
            end(state, RunEnding::Parked { question: format!("whether to continue after {limit}") })
        }
        (BlockedRun::Models(why), ApprovalAnswer::Park) => {
            end(state, RunEnding::Parked { question: why })
        }
    }
}

/// Continues the open calls, or asks the model if there are none.
fn go_on(state: &mut StepState) -> Vec<RunEffect> {
    if state.calls.is_empty() {
        return ask(state);
    }
    state.phase = RunPhase::Calling;
    advance(state)
}

fn ended(state: &mut StepState, id: &str, text: String, failed: bool) -> Vec<RunEffect> {
    let on_error = state.on_error;
    let Some(call) = state.call_mut(id) else { return Vec::new() };
    if call.within.is_some() {
        return inner::ended(state, id, text, failed);
    }
    if !matches!(call.progress, CallProgress::Launched | CallProgress::Running) {
        return Vec::new();
    }
    match on_error {
        ErrorStrategy::Ask if failed => {
            call.progress = CallProgress::Failed(text.clone());
            state.forget_inner(id);
            return vec![RunEffect::Put(PersonQuestion::Failed { id: id.to_owned(), why: text })];
        }
        // A call that may have changed something is not repeated. The model gets the failure and can check.
        ErrorStrategy::Retry if failed && call.retries == 0 && call.class == CallClass::Read => {
            call.retries += 1;
            call.progress = CallProgress::Ready;
        }
        ErrorStrategy::Fail if failed => return end(state, RunEnding::Failed { why: text }),
        _ => call.progress = CallProgress::Over(text, failed),
    }
    // Another attempt begins anew: the failure may be that of an inner call.
    state.forget_inner(id);
    advance(state)
}

/// Starts every call that may run now. When all are over, sends their results to the model.
fn advance(state: &mut StepState) -> Vec<RunEffect> {
    if state.phase != RunPhase::Calling {
        return Vec::new();
    }
    if let Some(question) = state.parking.clone() {
        // Running calls may finish; no other call starts.
        if state.any_runs() {
            return Vec::new();
        }
        state.suspend();
        return end(state, RunEnding::Parked { question });
    }
    for call in &mut state.calls {
        // Its arguments have placeholders instead of secrets, so it would do something else.
        // A delegate that has begun has its own journal.
        let is_lost = call.forgotten && call.class != CallClass::Delegate;
        if is_lost && call.progress == CallProgress::Ready {
            call.progress = CallProgress::Over(resume::FORGOTTEN.to_owned(), true);
        }
    }
    if state.calls.iter().all(|call| matches!(call.progress, CallProgress::Over(..))) {
        state.report();
        return ask(state);
    }
    let mut effects = Vec::new();
    // Reads and delegates run in parallel; any other call runs alone, in its order.
    let mut only_parallel = true;
    for at in 0..state.calls.len() {
        let Some(call) = state.calls.get(at) else { break };
        if matches!(call.progress, CallProgress::Over(..)) {
            continue;
        }
        let is_parallel = call.class.is_parallel();
        let may_start = only_parallel && (is_parallel || is_first(state, at));
        if call.progress == CallProgress::Ready && may_start {
            if let Some(limit) = state.exceeded() {
                let over = over(state, limit);
                if matches!(state.phase, RunPhase::Ended(_)) {
                    // The run ends here, so calls that were just chosen must not start.
                    return over;
                }
                effects.extend(over);
                return effects;
            }
            state.spent.steps += 1;
            if let Some(call) = state.calls.get_mut(at) {
                call.progress = CallProgress::Launched;
                effects.push(RunEffect::Run { id: call.call.id.clone() });
            }
        }
        only_parallel &= is_parallel;
    }
    effects.extend(inner::launch(state));
    effects
}

/// Returns whether every call before this one is over.
fn is_first(state: &StepState, at: usize) -> bool {
    state.calls.iter().take(at).all(|call| matches!(call.progress, CallProgress::Over(..)))
}

/// Cancels the turn, or the whole run.
fn cancelled(state: &mut StepState, run: bool) -> Vec<RunEffect> {
    state.abandon();
    state.only_compacts = false;
    for call in &mut state.calls {
        if !matches!(call.progress, CallProgress::Over(..)) {
            call.progress = CallProgress::Over("stopped by the person".to_owned(), true);
        }
    }
    state.report();
    state.parking = None;
    state.attempts = 0;
    if run {
        return end(state, RunEnding::Cancelled);
    }
    state.phase = RunPhase::Idle;
    let mut effects = vec![RunEffect::Stop];
    if !state.queue.is_empty() {
        effects.extend(ask(state));
    }
    effects
}

#[cfg(test)]
#[path = "step_tests/mod.rs"]
mod tests;
