//! What the user asks of the run itself between two turns: another model, a shorter or a new conversation.
//! While a turn is under way such a request changes nothing.

use super::{RunEffect, compact_most, over, rest};
use crate::conversation::TokenUsage;
use crate::skill::progress::SkillProgress;
use crate::state::{RunPhase, StepState};

/// The most restored files that are named to the model.
const MOST_NAMED: usize = 20;

/// Uses another model of the plan from now on.
pub(super) fn switch(state: &mut StepState, model: usize) -> Vec<RunEffect> {
    // The index may come from a journal.
    if state.phase == RunPhase::Idle && model < state.models {
        state.model = model;
        state.chosen = model;
        state.attempts = 0;
    }
    Vec::new()
}

/// Forgets the conversation. What was spent stays spent.
pub(super) fn clear(state: &mut StepState) -> Vec<RunEffect> {
    if state.phase == RunPhase::Idle {
        state.messages_mut().clear();
        state.notes.clear();
        // A new conversation has loaded no skill; it begins with the policy of the agent, as a new run does.
        state.skills = SkillProgress::default();
        state.compacted = 0;
        state.cut_off = 0;
        state.last = TokenUsage::default();
    }
    Vec::new()
}

/// Compacts the conversation, and asks the model nothing else.
pub(super) fn request_compaction(state: &mut StepState) -> Vec<RunEffect> {
    if state.phase != RunPhase::Idle {
        return Vec::new();
    }
    state.only_compacts = true;
    compact_once(state)
}

/// Sends the request for a summary; again after a failure or a raised limit.
pub(super) fn compact_once(state: &mut StepState) -> Vec<RunEffect> {
    if let Some(limit) = state.exceeded() {
        return over(state, limit);
    }
    compact_most(state).unwrap_or_else(|| {
        state.only_compacts = false;
        rest(state)
    })
}

/// Notes for the next request that files are not what the model left.
pub(super) fn note_undone(state: &mut StepState, paths: &[String]) -> Vec<RunEffect> {
    if state.phase == RunPhase::Idle && !state.messages.is_empty() && !paths.is_empty() {
        let named: Vec<String> =
            paths.iter().take(MOST_NAMED).map(|path| format!("`{path}`")).collect();
        let more = paths.len().saturating_sub(named.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        state.notes.push(format!(
            "(I have undone your changes to {}{more}: these files are as they were before.)",
            named.join(", ")
        ));
    }
    Vec::new()
}
