//! The loop, as a function: what happened, and what is to be done about it.

mod limits;
mod resume;

use std::sync::Arc;

use crate::again;
use crate::conversation::{Message, Usage};
pub use crate::effect::{Effect, Question};
use crate::event::{Answer, Class, Ending, Event, Failure, FailureKind, Happened, Judgement, Turn};
use crate::state::{Blocked, CallState, OnError, Phase, Progress, State};
use limits::{asking, more, over, time_up};

/// The most calls of one answer that are run.
const MOST_CALLS: usize = 64;
/// How often a model is asked again before the next one is.
const MOST_ATTEMPTS: u32 = 4;
/// The same where nobody is to be found, and nobody was before: a server that was never started.
const FEW_ATTEMPTS: u32 = 1;
/// The longest time between two attempts, in milliseconds, when there is another model to ask.
const LONG_WAIT: u64 = 60_000;
/// The longest time when there is none: who wants more is not asked any more.
const LONGEST_WAIT: u64 = 600_000;
/// How many answers with calls may be cut off, one after the other.
const MOST_CUT_OFF: u32 = 3;
/// The share of a model's window after which fewer words are needed, in percent.
const FULL: u64 = 80;
/// The share that is left when what could not be put into fewer words was cut.
const ROOMY: u64 = 60;
/// The messages at the end that are kept as they are.
const KEPT: usize = 4;
/// The messages that are kept when nothing else helps: an answer and its results.
const LAST: usize = 2;

/// Takes an event in and says what is to be done.
pub fn step(state: &mut State, happened: Happened) -> Vec<Effect> {
    if matches!(happened.event, Event::Resumed) {
        // Nothing was spent while no process ran it.
        state.clock = Some(happened.at);
        again::revive(state);
        return resume::resumed(state);
    }
    state.tick(happened.at);
    match happened.event {
        Event::Adjusted { limits, models, window } => {
            again::adjust(state, limits, models, window);
            return Vec::new();
        }
        Event::Said { .. } => again::reopen(state),
        _ => {}
    }
    if matches!(state.phase, Phase::Ended(_)) {
        return Vec::new();
    }
    match happened.event {
        Event::Began { limits, asks_at_limit, on_error, models, window } => {
            *state = State {
                limits,
                asks_at_limit,
                on_error,
                models,
                window,
                clock: state.clock,
                ..State::default()
            };
            Vec::new()
        }
        Event::Said { text } => {
            state.queue.push(text);
            if state.phase == Phase::Idle { ask(state) } else { Vec::new() }
        }
        Event::Asking { usage } => asking(state, usage),
        Event::Turned(turn) => turned(state, turn),
        Event::TurnFailed(failure) => failed(state, &failure),
        Event::Judged { id, verdict, reason, class } => judged(state, &id, verdict, reason, class),
        Event::Answered { id: Some(id), answer } => answered(state, &id, answer),
        Event::Answered { id: None, answer } => unblocked(state, answer),
        Event::Started { id } => {
            let launched = |call: &&mut CallState| call.progress == Progress::Launched;
            if let Some(call) = state.call_mut(&id).filter(launched) {
                call.progress = Progress::Running;
            }
            Vec::new()
        }
        Event::Ended { id, text, failed } => ended(state, &id, text, failed),
        Event::Compacted { messages, summary, usage } => compacted(state, messages, summary, usage),
        Event::Waited if state.phase == Phase::Waiting => ask(state),
        Event::TimeUp => time_up(state),
        Event::Cancelled { run } => cancelled(state, run),
        Event::Waited
        | Event::Moved { .. }
        | Event::Resumed
        | Event::Adjusted { .. }
        | Event::Undone { .. } => Vec::new(),
    }
}

/// Asks the model, unless a limit is reached or it has to hear fewer words first.
fn ask(state: &mut State) -> Vec<Effect> {
    let said = std::mem::take(&mut state.queue);
    said.into_iter().for_each(|text| state.hear(Message::user(text)));
    if let Some(limit) = state.exceeded() {
        return over(state, limit);
    }
    if let Some(effects) = state.window.and_then(|window| make_room(state, window)) {
        return effects;
    }
    state.asking = None;
    state.phase = Phase::Asking;
    vec![Effect::Ask { model: state.model }]
}

/// Sees to it that what was said fits into the window, as far as can be told: older messages are put into
/// fewer words; if that was just done, the longest pieces are cut; if that is not enough, only the last
/// exchange is kept.
fn make_room(state: &mut State, window: u64) -> Option<Vec<Effect>> {
    let full = window.saturating_mul(FULL) / 100;
    let tokens = state.tokens();
    if tokens < full {
        return None;
    }
    compact(state).or_else(|| {
        state.shorten(tokens.saturating_sub(window.saturating_mul(ROOMY) / 100));
        // Where the prompt and the tools fill it, fewer words would not help.
        let helps = state.tokens() >= full && state.weight() >= window / 4;
        if helps { compact_most(state) } else { None }
    })
}

/// Puts all but the last messages into fewer words, unless that was just done.
fn compact(state: &mut State) -> Option<Vec<Effect>> {
    if state.messages.len() <= state.compacted + KEPT {
        return None;
    }
    let messages = whole(&state.messages, state.messages.len() - KEPT);
    compacting(state, messages)
}

/// Puts all but the last answer and its results into fewer words.
fn compact_most(state: &mut State) -> Option<Vec<Effect>> {
    let messages = whole(&state.messages, state.messages.len().saturating_sub(LAST));
    // One message in the place of one would go on for ever.
    compacting(state, if messages > 1 { messages } else { 0 })
}

fn compacting(state: &mut State, messages: usize) -> Option<Vec<Effect>> {
    if messages == 0 {
        return None;
    }
    state.asking = None;
    state.phase = Phase::Compacting;
    Some(vec![Effect::Compact { messages }])
}

/// The most messages from the start, at most `count`, that do not part a call from its result.
fn whole(messages: &[Arc<Message>], count: usize) -> usize {
    let parts = |count: &usize| messages.get(*count).is_some_and(|message| message.has_results());
    (0..=count.min(messages.len())).rev().find(|count| !parts(count)).unwrap_or(0)
}

fn end(state: &mut State, ending: Ending) -> Vec<Effect> {
    state.abandon();
    state.phase = Phase::Ended(ending.clone());
    vec![Effect::Stop, Effect::Finish(ending)]
}

fn turned(state: &mut State, turn: Turn) -> Vec<Effect> {
    let Turn { message, usage, truncated, model } = turn;
    state.spent.add(usage);
    state.asking = None;
    if state.phase != Phase::Asking {
        // The person stopped it when it was already on its way: paid for, but not heard.
        return Vec::new();
    }
    state.last = usage;
    state.attempts = 0;
    state.model = model;
    state.answered(message);
    for call in state.calls.iter_mut().skip(MOST_CALLS) {
        let text = format!("not run: more than {MOST_CALLS} calls in one answer");
        call.progress = Progress::Over(text, true);
    }
    if truncated {
        // Arguments that were cut off mean something else.
        for call in &mut state.calls {
            let text = "not run: the answer was cut off; make fewer or shorter calls".to_owned();
            call.progress = Progress::Over(text, true);
        }
    }
    state.cut_off = if truncated && !state.calls.is_empty() { state.cut_off + 1 } else { 0 };
    if state.cut_off > MOST_CUT_OFF {
        let why = format!("{} answers with calls were cut off in a row", state.cut_off);
        return end(state, Ending::Failed { why });
    }
    if state.calls.is_empty() {
        return rest(state);
    }
    state.phase = Phase::Calling;
    let judging = state.calls.iter().filter(|call| call.progress == Progress::Judging);
    let effects: Vec<Effect> =
        judging.map(|call| Effect::Judge { id: call.call.id.clone() }).collect();
    if effects.is_empty() { advance(state) } else { effects }
}

/// The model has nothing more to do, unless the person said something meanwhile.
fn rest(state: &mut State) -> Vec<Effect> {
    if !state.queue.is_empty() {
        return ask(state);
    }
    state.phase = Phase::Idle;
    vec![Effect::Finish(Ending::Done)]
}

fn failed(state: &mut State, failure: &Failure) -> Vec<Effect> {
    state.spent.use_up(failure.usage);
    state.asking = None;
    if !matches!(state.phase, Phase::Asking | Phase::Compacting) {
        return Vec::new();
    }
    let is_last = state.model + 1 >= state.models;
    let longest = if is_last { LONGEST_WAIT } else { LONG_WAIT };
    let bearable = failure.retry_after.is_none_or(|time| time <= longest);
    let again = failure.kind == FailureKind::Temporary && bearable;
    let absent = failure.unreachable && state.spent.turns == 0;
    if again && state.attempts < if absent { FEW_ATTEMPTS } else { MOST_ATTEMPTS } {
        state.attempts += 1;
        state.phase = Phase::Waiting;
        let doubled = 1_000 << (state.attempts - 1);
        return vec![Effect::Wait { time: failure.retry_after.unwrap_or(doubled) }];
    }
    // Fewer words that are themselves too many help nobody.
    if failure.kind == FailureKind::TooLong
        && state.phase == Phase::Asking
        && let Some(effects) = compact(state).or_else(|| compact_most(state))
    {
        return effects;
    }
    // The last resort: half of what was said, where it is longest.
    if failure.kind == FailureKind::TooLong && is_last {
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

/// No model answers: the person decides, or the run ends.
fn no_model(state: &mut State, failure: &Failure) -> Vec<Effect> {
    let why = match failure.retry_after.filter(|time| *time > LONGEST_WAIT) {
        // Asking earlier would only make it worse.
        Some(time) => {
            let minutes = time.div_ceil(60_000);
            format!("{}; it wants to be asked again in {minutes} minutes", failure.message)
        }
        None => failure.message.clone(),
    };
    match state.on_error {
        OnError::Ask => {
            state.phase = Phase::Blocked(Blocked::Models(why.clone()));
            vec![Effect::Put(Question::Models { why })]
        }
        OnError::Retry | OnError::Fail | OnError::Skip => end(state, Ending::Failed { why }),
    }
}

fn judged(
    state: &mut State,
    id: &str,
    verdict: Judgement,
    reason: String,
    class: Class,
) -> Vec<Effect> {
    let Some(call) = state.call_mut(id).filter(|call| call.progress == Progress::Judging) else {
        return Vec::new();
    };
    call.class = class;
    call.reason.clone_from(&reason);
    match verdict {
        Judgement::Allow => call.progress = Progress::Ready,
        Judgement::Deny => call.progress = Progress::Over(format!("refused: {reason}"), true),
        Judgement::Ask => {
            call.progress = Progress::Asked;
            let mut effects = vec![Effect::Put(Question::Call { id: id.to_owned(), reason })];
            effects.extend(advance(state));
            return effects;
        }
    }
    advance(state)
}

fn answered(state: &mut State, id: &str, answer: Answer) -> Vec<Effect> {
    let Some(call) = state.call_mut(id) else { return Vec::new() };
    match (&call.progress, answer) {
        (Progress::Asked | Progress::Failed(_), Answer::Park) => {
            let verb =
                if call.progress == Progress::Asked { "may run" } else { "is to be run again" };
            state.parking = Some(format!("whether `{}` {verb}", call.call.tool));
        }
        (Progress::Asked | Progress::Failed(_), Answer::Yes | Answer::Always(_)) => {
            call.progress = Progress::Ready;
        }
        (Progress::Asked, Answer::No(why)) => {
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            call.progress = Progress::Over(format!("refused by the person{why}"), true);
        }
        (Progress::Failed(text), Answer::No(_)) => {
            call.progress = Progress::Over(text.clone(), true);
        }
        _ => return Vec::new(),
    }
    advance(state)
}

/// The person answered a question that concerns the whole run.
fn unblocked(state: &mut State, answer: Answer) -> Vec<Effect> {
    let Phase::Blocked(blocked) = state.phase.clone() else { return Vec::new() };
    match (blocked, answer) {
        (Blocked::Limit(_), Answer::Yes | Answer::Always(_)) => {
            more(state);
            go_on(state)
        }
        (Blocked::Models(_), Answer::Yes | Answer::Always(_)) => {
            state.model = 0;
            state.attempts = 0;
            ask(state)
        }
        (Blocked::Limit(limit), Answer::No(_)) => end(state, Ending::OverBudget { limit }),
        (Blocked::Models(why), Answer::No(_)) => end(state, Ending::Failed { why }),
        (Blocked::Limit(limit), Answer::Park) => {
            end(state, Ending::Parked { question: format!("whether to go on after {limit}") })
        }
        (Blocked::Models(why), Answer::Park) => end(state, Ending::Parked { question: why }),
    }
}

/// Goes on with the calls, or asks the model if there are none.
fn go_on(state: &mut State) -> Vec<Effect> {
    if state.calls.is_empty() {
        return ask(state);
    }
    state.phase = Phase::Calling;
    advance(state)
}

fn ended(state: &mut State, id: &str, text: String, failed: bool) -> Vec<Effect> {
    let on_error = state.on_error;
    let Some(call) = state.call_mut(id) else { return Vec::new() };
    if !matches!(call.progress, Progress::Launched | Progress::Running) {
        return Vec::new();
    }
    match on_error {
        OnError::Ask if failed => {
            call.progress = Progress::Failed(text.clone());
            return vec![Effect::Put(Question::Failed { id: id.to_owned(), why: text })];
        }
        // What may have changed something is not done twice: the model is told, and can look first.
        OnError::Retry if failed && call.retries == 0 && call.class == Class::Read => {
            call.retries += 1;
            call.progress = Progress::Ready;
        }
        OnError::Fail if failed => return end(state, Ending::Failed { why: text }),
        _ => call.progress = Progress::Over(text, failed),
    }
    advance(state)
}

/// Starts every call that may run now; when all are over, the model hears what they gave.
fn advance(state: &mut State) -> Vec<Effect> {
    if state.phase != Phase::Calling {
        return Vec::new();
    }
    if let Some(question) = state.parking.clone() {
        // What runs is let to its end; nothing else begins.
        return if state.any_runs() { Vec::new() } else { end(state, Ending::Parked { question }) };
    }
    for call in &mut state.calls {
        // Running it would do something else than was meant.
        if call.forgotten && call.progress == Progress::Ready {
            call.progress = Progress::Over(resume::FORGOTTEN.to_owned(), true);
        }
    }
    if state.calls.iter().all(|call| matches!(call.progress, Progress::Over(..))) {
        state.report();
        return ask(state);
    }
    let mut effects = Vec::new();
    // What only looks runs beside its like; whatever changes something runs alone, in its turn.
    let mut only_reads = true;
    for at in 0..state.calls.len() {
        let Some(call) = state.calls.get(at) else { break };
        if matches!(call.progress, Progress::Over(..)) {
            continue;
        }
        let is_read = call.class == Class::Read;
        let may_start = if is_read { only_reads } else { only_reads && is_first(state, at) };
        if call.progress == Progress::Ready && may_start {
            if let Some(limit) = state.exceeded() {
                let over = over(state, limit);
                if matches!(state.phase, Phase::Ended(_)) {
                    // Nothing is begun only to be stopped.
                    return over;
                }
                effects.extend(over);
                return effects;
            }
            state.spent.steps += 1;
            if let Some(call) = state.calls.get_mut(at) {
                call.progress = Progress::Launched;
                effects.push(Effect::Run { id: call.call.id.clone() });
            }
        }
        only_reads &= is_read;
    }
    effects
}

/// Whether every call before this one is over.
fn is_first(state: &State, at: usize) -> bool {
    state.calls.iter().take(at).all(|call| matches!(call.progress, Progress::Over(..)))
}

fn compacted(state: &mut State, messages: usize, summary: String, usage: Usage) -> Vec<Effect> {
    state.spent.use_up(usage);
    state.asking = None;
    if state.phase != Phase::Compacting {
        return Vec::new();
    }
    let messages = whole(&state.messages, messages);
    state.messages_mut().splice(..messages, [Arc::new(Message::user(summary))]);
    state.compacted = state.messages.len();
    state.last = Usage::default();
    state.attempts = 0;
    ask(state)
}

/// Stops the turn, or the whole run.
fn cancelled(state: &mut State, run: bool) -> Vec<Effect> {
    state.abandon();
    for call in &mut state.calls {
        if !matches!(call.progress, Progress::Over(..)) {
            call.progress = Progress::Over("stopped by the person".to_owned(), true);
        }
    }
    state.report();
    state.parking = None;
    state.attempts = 0;
    if run {
        return end(state, Ending::Cancelled);
    }
    state.phase = Phase::Idle;
    let mut effects = vec![Effect::Stop];
    if !state.queue.is_empty() {
        effects.extend(ask(state));
    }
    effects
}

#[cfg(test)]
#[path = "step_tests/mod.rs"]
mod tests;
