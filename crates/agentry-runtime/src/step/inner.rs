//! The calls that running calls make themselves.

use super::{PersonQuestion, RunEffect, advance, end};
use crate::budget::NextAction;
use crate::conversation::ToolCall;
use crate::event::{CallClass, RunEnding};
use crate::state::{CallProgress, CallState, ErrorStrategy, StepState};
use crate::step::resume::UNKNOWN;

/// The most calls below one call of the model.
const MOST_BELOW: usize = 1_000;

/// A running call made a call.
pub(super) fn called(state: &mut StepState, within: String, call: ToolCall) -> Vec<RunEffect> {
    // A call that is over makes no calls.
    if !state.call(&within).is_some_and(CallState::runs) {
        return Vec::new();
    }
    let id = call.id.clone();
    state.ids.insert(id.clone());
    state.inner_steps += 1;
    let is_over = |limit: String| CallProgress::Over(format!("refused: {limit}"), true);
    let refused = refused(state, &within).map(is_over);
    let past = if refused.is_none() { state.take_past(&within, &call) } else { None };
    state.inner.push(CallState::new(call, Some(within)));
    let on_unfinished = state.on_unfinished();
    let Some(inner) = state.inner.last_mut() else { return Vec::new() };
    if let Some(refused) = refused {
        inner.progress = refused;
        return Vec::new();
    }
    match past.map(|past| past.result) {
        None => vec![RunEffect::Judge { id }],
        Some(Some((text, failed))) => {
            inner.progress = CallProgress::Over(text, failed);
            inner.has_started = true;
            Vec::new()
        }
        // It was started and has no result: running it again could do it twice.
        Some(None) => match on_unfinished {
            ErrorStrategy::Ask | ErrorStrategy::Retry => {
                inner.progress = CallProgress::Failed(UNKNOWN.to_owned());
                vec![RunEffect::Put(PersonQuestion::Unfinished { id })]
            }
            ErrorStrategy::Fail => end(state, RunEnding::Failed { why: UNKNOWN.to_owned() }),
            ErrorStrategy::Skip => {
                inner.progress = CallProgress::Over(UNKNOWN.to_owned(), true);
                Vec::new()
            }
        },
    }
}

/// Returns the limit that forbids one more call.
fn refused(state: &StepState, within: &str) -> Option<String> {
    let root = root(state, within);
    if state.below(root).count() >= MOST_BELOW {
        return Some(format!("a call makes at most {MOST_BELOW} calls"));
    }
    // The calls of the model and those within them share the limit of the run.
    let mut spent = state.spent;
    spent.steps = spent.steps.saturating_add(state.inner_steps.saturating_sub(1));
    let limit = spent.exceeded(&state.limits, NextAction::Call)?;
    Some(format!("the limit of {limit} is reached"))
}

/// Returns the call of the model that a call is part of.
fn root<'a>(state: &'a StepState, mut id: &'a str) -> &'a str {
    while let Some(within) = state.call(id).and_then(|call| call.within.as_deref()) {
        id = within;
    }
    id
}

/// Starts every inner call that may run now: reads in parallel, the others alone and in their order.
pub(super) fn launch(state: &mut StepState) -> Vec<RunEffect> {
    let mut effects = Vec::new();
    for at in 0..state.inner.len() {
        let Some(call) = state.inner.get(at).filter(|it| it.progress == CallProgress::Ready) else {
            continue;
        };
        let is_read = call.class == CallClass::Read;
        let mut before = state.inner.iter().take(at).filter(|other| other.within == call.within);
        let is_free =
            before.all(|other| other.is_over() || (is_read && other.class == CallClass::Read));
        if !is_free {
            continue;
        }
        if let Some(call) = state.inner.get_mut(at) {
            call.progress = CallProgress::Launched;
            effects.push(RunEffect::Run { id: call.call.id.clone() });
        }
    }
    effects
}

/// An inner call ended. The call that made it gets the result, and decides what a failure means.
pub(super) fn ended(state: &mut StepState, id: &str, text: String, failed: bool) -> Vec<RunEffect> {
    let Some(call) = state.call_mut(id).filter(|call| !call.is_over()) else { return Vec::new() };
    call.progress = CallProgress::Over(text, failed);
    advance(state)
}
