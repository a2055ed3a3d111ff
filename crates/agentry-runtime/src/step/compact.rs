//! Keeps the conversation within the context window: replaces older messages by a summary, or cuts them.

use std::sync::Arc;

use super::{RunEffect, ask, rest};
use crate::context_window::{fair_share, most_of_results, shortened};
use crate::conversation::{Message, MessageBlock, TokenUsage};
use crate::state::{RunPhase, StepState};

/// The share of the context window, in percent, at which the conversation is compacted.
const FULL: u64 = 80;
/// The share that remains used after texts were cut, because compaction was not enough.
const ROOMY: u64 = 60;
/// The messages at the end that compaction keeps.
const KEPT: usize = 4;
/// The messages that the last compaction keeps: an answer and its results.
const LAST: usize = 2;

/// Makes the conversation fit the context window, by estimate. Compacts older messages; if that was just
/// done, cuts the longest texts; if that is not enough, compacts all but the last exchange.
pub(super) fn make_room(state: &mut StepState, window: u64) -> Option<Vec<RunEffect>> {
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
pub(super) fn compact(state: &mut StepState) -> Option<Vec<RunEffect>> {
    if state.messages.len() <= state.compacted + KEPT {
        return None;
    }
    let messages = whole(&state.messages, state.messages.len() - KEPT);
    compacting(state, messages)
}

/// Compacts all but the last answer and its results.
pub(super) fn compact_most(state: &mut StepState) -> Option<Vec<RunEffect>> {
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

/// Adds to a summary the texts of the loaded skills that it would replace. They share a limit.
fn with_skills(state: &StepState, replaced: usize, summary: String) -> String {
    let kept: Vec<&Arc<Message>> = state.messages.iter().skip(replaced).collect();
    let is_kept = |id: &str| {
        let is_result =
            |block: &MessageBlock| matches!(block, MessageBlock::Result { id: of, .. } if of == id);
        kept.iter().any(|message| message.blocks.iter().any(is_result))
    };
    let lost = state.skills.loaded().iter().filter(|skill| !is_kept(&skill.id));
    let texts: Vec<&str> = lost.map(|skill| skill.text.as_str()).collect();
    let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
    let share = fair_share(&lengths, most_of_results(state.window));
    let texts: Vec<String> = texts.iter().map(|text| shortened(text, share)).collect();
    if texts.is_empty() {
        return summary;
    }
    format!("{summary}\n\nThese skills are still loaded:\n\n{}", texts.join("\n\n"))
}

/// Replaces the first messages by their summary, and asks the model.
pub(super) fn compacted(
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
    let summary = with_skills(state, messages, summary);
    state.messages_mut().splice(..messages, [Arc::new(Message::user(summary))]);
    state.compacted = state.messages.len();
    state.last = TokenUsage::default();
    state.attempts = 0;
    if std::mem::take(&mut state.only_compacts) { rest(state) } else { ask(state) }
}
