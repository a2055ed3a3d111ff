//! The run loop as a pure function: takes an event, changes the state, and returns effects for the driver.

mod limits;
mod resume;

use std::sync::Arc;

use crate::conversation::{Message, TokenUsage};
pub use crate::effect::{PersonQuestion, RunEffect};
use crate::event::{
    ApprovalAnswer, CallClass, CallJudgement, ModelFailure, ModelFailureKind, ModelTurn, RunEnding,
    RunEvent, TimedEvent,
};
use crate::reopen;
use crate::state::{BlockedRun, CallProgress, CallState, ErrorStrategy, RunPhase, StepState};
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
/// The share of the context window, in percent, at which the conversation is compacted.
const FULL: u64 = 80;
/// The share that remains used after texts were cut, because compaction was not enough.
const ROOMY: u64 = 60;
/// The messages at the end that compaction keeps.
const KEPT: usize = 4;
/// The messages that the last compaction keeps: an answer and its results.
const LAST: usize = 2;

/// Applies an event to the state, and returns what is to be done.
pub fn step(state: &mut StepState, happened: TimedEvent) -> Vec<RunEffect> {
    if matches!(happened.event, RunEvent::Resumed) {
        // Time without a process does not count as spent.
        state.clock = Some(happened.at);
        reopen::revive(state);
        return resume::resumed(state);
    }
    state.tick(happened.at);
    match happened.event {
        RunEvent::Adjusted { limits, models, window } => {
            reopen::adjust(state, limits, models, window);
            return Vec::new();
        }
        RunEvent::Said { .. } => reopen::reopen(state),
        _ => {}
    }
    // A message reopens an ended run above; every other event comes too late.
    if matches!(state.phase, RunPhase::Ended(_)) {
        return Vec::new();
    }
    match happened.event {
        RunEvent::Began { limits, asks_at_limit, on_error, models, window } => {
            *state = StepState {
                limits,
                asks_at_limit,
                on_error,
                models,
                window,
                clock: state.clock,
                ..StepState::default()
            };
            Vec::new()
        }
        RunEvent::Said { text } => {
            state.queue.push(text);
            if state.phase == RunPhase::Idle { ask(state) } else { Vec::new() }
        }
        RunEvent::Asking { usage } => asking(state, usage),
        RunEvent::Turned(turn) => turned(state, turn),
        RunEvent::TurnFailed(failure) => failed(state, &failure),
        RunEvent::Judged { id, verdict, reason, class } => {
            judged(state, &id, verdict, reason, class)
        }
        RunEvent::Answered { id: Some(id), answer } => answered(state, &id, answer),
        RunEvent::Answered { id: None, answer } => unblocked(state, answer),
        RunEvent::Started { id } => {
            let launched = |call: &&mut CallState| call.progress == CallProgress::Launched;
            if let Some(call) = state.call_mut(&id).filter(launched) {
                call.progress = CallProgress::Running;
            }
            Vec::new()
        }
        RunEvent::Ended { id, text, failed } => ended(state, &id, text, failed),
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
        | RunEvent::Undone { .. } => Vec::new(),
    }
}

/// Asks the model, unless a limit is reached or the conversation must be compacted first.
fn ask(state: &mut StepState) -> Vec<RunEffect> {
    let said = std::mem::take(&mut state.queue);
    said.into_iter().for_each(|text| state.hear(Message::user(text)));
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

/// Makes the conversation fit the context window, by estimate. Compacts older messages; if that was just
/// done, cuts the longest texts; if that is not enough, compacts all but the last exchange.
fn make_room(state: &mut StepState, window: u64) -> Option<Vec<RunEffect>> {
    let full = window.saturating_mul(FULL) / 100;
    let tokens = state.tokens();
    if tokens < full {
        return None;
    }
    compact(state).or_else(|| {
        state.shorten(tokens.saturating_sub(window.saturating_mul(ROOMY) / 100));
        // If the prompt and the tools fill the window, compaction would not help.
        let helps = state.tokens() >= full && state.weight() >= window / 4;
        if helps { compact_most(state) } else { None }
    })
}

/// Compacts all but the last messages, unless that was just done.
fn compact(state: &mut StepState) -> Option<Vec<RunEffect>> {
    if state.messages.len() <= state.compacted + KEPT {
        return None;
    }
    let messages = whole(&state.messages, state.messages.len() - KEPT);
    compacting(state, messages)
}

/// Compacts all but the last answer and its results.
fn compact_most(state: &mut StepState) -> Option<Vec<RunEffect>> {
    let messages = whole(&state.messages, state.messages.len().saturating_sub(LAST));
    // A summary in place of a single message would repeat for ever.
    compacting(state, if messages > 1 { messages } else { 0 })
}

fn compacting(state: &mut StepState, messages: usize) -> Option<Vec<RunEffect>> {
    if messages == 0 {
        return None;
    }
    state.asking = None;
    state.phase = RunPhase::Compacting;
    Some(vec![RunEffect::Compact { messages }])
}

/// Returns the largest count of messages, at most `count`, that does not separate a call from its result.
fn whole(messages: &[Arc<Message>], count: usize) -> usize {
    let parts = |count: &usize| messages.get(*count).is_some_and(|message| message.has_results());
    (0..=count.min(messages.len())).rev().find(|count| !parts(count)).unwrap_or(0)
}

fn end(state: &mut StepState, ending: RunEnding) -> Vec<RunEffect> {
    state.abandon();
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
        ErrorStrategy::Ask => {
            state.phase = RunPhase::Blocked(BlockedRun::Models(why.clone()));
            vec![RunEffect::Put(PersonQuestion::Models { why })]
        }
        ErrorStrategy::Retry | ErrorStrategy::Fail | ErrorStrategy::Skip => {
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
            state.model = 0;
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
    if !matches!(call.progress, CallProgress::Launched | CallProgress::Running) {
        return Vec::new();
    }
    match on_error {
        ErrorStrategy::Ask if failed => {
            call.progress = CallProgress::Failed(text.clone());
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
    advance(state)
}

/// Starts every call that may run now. When all are over, sends their results to the model.
fn advance(state: &mut StepState) -> Vec<RunEffect> {
    if state.phase != RunPhase::Calling {
        return Vec::new();
    }
    if let Some(question) = state.parking.clone() {
        // Running calls may finish; no other call starts.
        return if state.any_runs() {
            Vec::new()
        } else {
            end(state, RunEnding::Parked { question })
        };
    }
    for call in &mut state.calls {
        // Its arguments have placeholders instead of secrets, so it would do something else.
        if call.forgotten && call.progress == CallProgress::Ready {
            call.progress = CallProgress::Over(resume::FORGOTTEN.to_owned(), true);
        }
    }
    if state.calls.iter().all(|call| matches!(call.progress, CallProgress::Over(..))) {
        state.report();
        return ask(state);
    }
    let mut effects = Vec::new();
    // Reads run in parallel; a call that changes something runs alone, in its order.
    let mut only_reads = true;
    for at in 0..state.calls.len() {
        let Some(call) = state.calls.get(at) else { break };
        if matches!(call.progress, CallProgress::Over(..)) {
            continue;
        }
        let is_read = call.class == CallClass::Read;
        let may_start = if is_read { only_reads } else { only_reads && is_first(state, at) };
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
        only_reads &= is_read;
    }
    effects
}

/// Returns whether every call before this one is over.
fn is_first(state: &StepState, at: usize) -> bool {
    state.calls.iter().take(at).all(|call| matches!(call.progress, CallProgress::Over(..)))
}

fn compacted(
    state: &mut StepState,
    messages: usize,
    summary: String,
    usage: TokenUsage,
) -> Vec<RunEffect> {
    state.spent.use_up(usage);
    state.asking = None;
    if state.phase != RunPhase::Compacting {
        return Vec::new();
    }
    // The count comes from an effect or a journal; it is checked again before messages are replaced.
    let messages = whole(&state.messages, messages);
    state.messages_mut().splice(..messages, [Arc::new(Message::user(summary))]);
    state.compacted = state.messages.len();
    state.last = TokenUsage::default();
    state.attempts = 0;
    ask(state)
}

/// Cancels the turn, or the whole run.
fn cancelled(state: &mut StepState, run: bool) -> Vec<RunEffect> {
    state.abandon();
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
