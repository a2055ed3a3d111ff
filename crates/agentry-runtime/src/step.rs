//! The loop, as a function: what happened, and what is to be done about it.

use crate::conversation::{Message, Usage};
use crate::event::{Answer, Class, Ending, Event, Failure, FailureKind, Happened, Judgement, Turn};
use crate::state::{Blocked, OnError, Phase, Progress, State};

/// The most calls of one answer that are run.
const MOST_CALLS: usize = 64;
/// How often a model is asked again before the next one is.
const MOST_ATTEMPTS: u32 = 4;
/// The longest time between two attempts, in milliseconds.
const LONGEST_WAIT: u64 = 60_000;
/// The share of a model's window after which fewer words are needed, in percent.
const FULL: u64 = 80;
/// The messages at the end that are kept as they are.
const KEPT: usize = 4;

/// Something that the driver is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Ask this model of the plan.
    Ask {
        /// Its place.
        model: usize,
    },
    /// Ask the policy about a call.
    Judge {
        /// The call.
        id: String,
    },
    /// Ask the person.
    Put(Question),
    /// Write down that a call starts, then run it.
    Run {
        /// The call.
        id: String,
    },
    /// Let time go by.
    Wait {
        /// Milliseconds.
        time: u64,
    },
    /// Put the first messages into fewer words.
    Compact {
        /// How many.
        messages: usize,
    },
    /// End whatever runs.
    Stop,
    /// Nothing is left to do for now.
    Finish(Ending),
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Whether a call may run.
    Call {
        /// The call.
        id: String,
        /// Why it is asked.
        reason: String,
    },
    /// Whether a call that was started before the run was killed is to be run again.
    Unfinished {
        /// The call.
        id: String,
    },
    /// Whether a call that failed is to be run again.
    Failed {
        /// The call.
        id: String,
        /// How.
        why: String,
    },
    /// Whether to go on although a limit is reached.
    Limit {
        /// Which.
        limit: String,
    },
    /// Whether to try all models again.
    Models {
        /// Why none of them answers.
        why: String,
    },
}

/// Takes an event in and says what is to be done.
pub fn step(state: &mut State, happened: Happened) -> Vec<Effect> {
    state.tick(happened.at);
    if matches!(state.phase, Phase::Ended(_)) && !matches!(happened.event, Event::Resumed) {
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
            state.messages.push(Message::user(text));
            ask(state)
        }
        Event::Turned(turn) => turned(state, turn),
        Event::TurnFailed(failure) => failed(state, &failure),
        Event::Judged { id, verdict, reason, class } => judged(state, &id, verdict, reason, class),
        Event::Answered { id: Some(id), answer } => answered(state, &id, answer),
        Event::Answered { id: None, answer } => unblocked(state, answer),
        Event::Started { id } => {
            if let Some(call) = state.call_mut(&id) {
                call.progress = Progress::Running;
            }
            Vec::new()
        }
        Event::Ended { id, text, failed } => ended(state, &id, text, failed),
        Event::Compacted { messages, summary, usage } => compacted(state, messages, summary, usage),
        Event::Moved { .. } => Vec::new(),
        Event::Waited => ask(state),
        Event::TimeUp => time_up(state),
        Event::Cancelled { run } => cancelled(state, run),
        Event::Resumed => resumed(state),
    }
}

/// Asks the model, unless a limit is reached or it has to hear fewer words first.
fn ask(state: &mut State) -> Vec<Effect> {
    if let Some(limit) = state.spent.exceeded(&state.limits) {
        return over(state, limit);
    }
    let full = |window: u64| state.last_tokens.saturating_mul(100) >= window.saturating_mul(FULL);
    if state.window.is_some_and(full) && state.messages.len() > state.compacted + KEPT {
        return compact(state);
    }
    state.phase = Phase::Asking;
    vec![Effect::Ask { model: state.model }]
}

fn compact(state: &mut State) -> Vec<Effect> {
    state.phase = Phase::Compacting;
    vec![Effect::Compact { messages: state.messages.len().saturating_sub(KEPT) }]
}

/// A limit is reached: the person decides, or the run ends.
fn over(state: &mut State, limit: String) -> Vec<Effect> {
    if state.asks_at_limit {
        state.phase = Phase::Blocked(Blocked::Limit(limit.clone()));
        return vec![Effect::Put(Question::Limit { limit })];
    }
    end(state, Ending::OverBudget { limit })
}

/// The time is over while something runs. Where a person is asked about limits, what runs may finish:
/// the limit is met before the next effect.
fn time_up(state: &mut State) -> Vec<Effect> {
    match state.spent.exceeded(&state.limits) {
        Some(limit) if !state.asks_at_limit => end(state, Ending::OverBudget { limit }),
        _ => Vec::new(),
    }
}

fn end(state: &mut State, ending: Ending) -> Vec<Effect> {
    state.phase = Phase::Ended(ending.clone());
    vec![Effect::Stop, Effect::Finish(ending)]
}

fn turned(state: &mut State, turn: Turn) -> Vec<Effect> {
    let Turn { message, usage, truncated, model } = turn;
    state.spent.add(usage);
    state.last_tokens = usage.input.saturating_add(usage.output);
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
    if state.calls.is_empty() {
        state.phase = Phase::Idle;
        return vec![Effect::Finish(Ending::Done)];
    }
    state.phase = Phase::Calling;
    let judging = state.calls.iter().filter(|call| call.progress == Progress::Judging);
    let effects: Vec<Effect> =
        judging.map(|call| Effect::Judge { id: call.call.id.clone() }).collect();
    if effects.is_empty() { advance(state) } else { effects }
}

fn failed(state: &mut State, failure: &Failure) -> Vec<Effect> {
    let again = failure.kind == FailureKind::Temporary && state.attempts < MOST_ATTEMPTS;
    if again {
        state.attempts += 1;
        state.phase = Phase::Waiting;
        let doubled = 1_000 << (state.attempts - 1);
        return vec![Effect::Wait {
            time: failure.retry_after.unwrap_or(doubled).min(LONGEST_WAIT),
        }];
    }
    if failure.kind == FailureKind::TooLong && state.messages.len() > state.compacted + KEPT {
        return compact(state);
    }
    state.attempts = 0;
    if state.model + 1 < state.models {
        state.model += 1;
        return ask(state);
    }
    let why = failure.message.clone();
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
        (_, Answer::Park) => {
            let question = format!("whether `{}` may run", call.call.tool);
            return end(state, Ending::Parked { question });
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
        _ => {}
    }
    advance(state)
}

/// The person answered a question that concerns the whole run.
fn unblocked(state: &mut State, answer: Answer) -> Vec<Effect> {
    let Phase::Blocked(blocked) = state.phase.clone() else { return Vec::new() };
    match (blocked, answer) {
        (Blocked::Limit(_), Answer::Yes | Answer::Always(_)) => {
            more(state);
            if state.calls.is_empty() { ask(state) } else { advance(state) }
        }
        (Blocked::Models(_), Answer::Yes | Answer::Always(_)) => {
            state.model = 0;
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

/// Allows as much again as was spent, of whatever has run out.
fn more(state: &mut State) {
    let spent = state.spent;
    let used = spent.usage.input.saturating_add(spent.usage.output);
    let double = |limit: &mut Option<u64>, spent: u64| {
        if let Some(limit) = limit.as_mut().filter(|limit| spent >= **limit) {
            *limit = spent.saturating_mul(2).max(1);
        }
    };
    double(&mut state.limits.turns, spent.turns);
    double(&mut state.limits.steps, spent.steps);
    double(&mut state.limits.tokens, used);
    double(&mut state.limits.cost, spent.usage.cost.unwrap_or(0));
    double(&mut state.limits.time, spent.time);
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
        OnError::Retry if failed && call.retries == 0 => {
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
        if !matches!(state.phase, Phase::Blocked(Blocked::Limit(_))) {
            return Vec::new();
        }
        state.phase = Phase::Calling;
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
            if let Some(limit) = state.spent.exceeded(&state.limits) {
                effects.extend(over(state, limit));
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
    state.spent.add(usage);
    let messages = messages.min(state.messages.len());
    state.messages.drain(..messages);
    state.messages.insert(0, Message::user(summary));
    state.compacted = state.messages.len();
    state.last_tokens = 0;
    ask(state)
}

/// Stops the turn, or the whole run.
fn cancelled(state: &mut State, run: bool) -> Vec<Effect> {
    for call in &mut state.calls {
        if !matches!(call.progress, Progress::Over(..)) {
            call.progress = Progress::Over("stopped by the person".to_owned(), true);
        }
    }
    state.report();
    if run {
        return end(state, Ending::Cancelled);
    }
    state.phase = Phase::Idle;
    vec![Effect::Stop]
}

/// What was under way when the process was killed.
fn resumed(state: &mut State) -> Vec<Effect> {
    match state.phase.clone() {
        Phase::Idle => Vec::new(),
        Phase::Asking | Phase::Waiting => ask(state),
        Phase::Compacting => compact(state),
        Phase::Blocked(Blocked::Limit(limit)) => vec![Effect::Put(Question::Limit { limit })],
        Phase::Blocked(Blocked::Models(why)) => vec![Effect::Put(Question::Models { why })],
        Phase::Ended(Ending::Parked { .. }) => {
            state.phase = if state.calls.is_empty() { Phase::Asking } else { Phase::Calling };
            if state.calls.is_empty() { ask(state) } else { unfinished(state) }
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
        match &call.progress {
            Progress::Judging => effects.push(Effect::Judge { id }),
            Progress::Asked => {
                let reason = "it was asked before".to_owned();
                effects.push(Effect::Put(Question::Call { id, reason }));
            }
            Progress::Failed(why) => {
                effects.push(Effect::Put(Question::Failed { id, why: why.clone() }));
            }
            // It was never written down that it runs, so it does not.
            Progress::Launched => {
                state.spent.steps -= 1;
                call.progress = Progress::Ready;
            }
            Progress::Running if call.class == Class::Read => call.progress = Progress::Ready,
            Progress::Running => match on_error {
                OnError::Ask => {
                    call.progress = Progress::Failed(UNKNOWN.to_owned());
                    effects.push(Effect::Put(Question::Unfinished { id }));
                }
                OnError::Retry => call.progress = Progress::Ready,
                OnError::Fail => return end(state, Ending::Failed { why: UNKNOWN.to_owned() }),
                OnError::Skip => call.progress = Progress::Over(UNKNOWN.to_owned(), true),
            },
            Progress::Ready | Progress::Over(..) => {}
        }
    }
    effects.extend(advance(state));
    effects
}

const UNKNOWN: &str = "the run was killed while this call ran: nobody knows what it has done";
