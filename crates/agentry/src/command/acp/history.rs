//! The journal of a run as an editor is shown it when a session is loaded.

use std::path::Path;

use agentry_acp::SessionUpdate;
use agentry_runtime::{CallJudgement, MessageBlock, RunEvent, TimedEvent};

use super::view;
use crate::command::run::terminal::clean;

/// All that an editor is shown of earlier turns.
pub(super) fn updates(events: &[TimedEvent], workspace: &Path) -> Vec<SessionUpdate> {
    events.iter().flat_map(|happened| update(&happened.event, workspace)).collect()
}

fn update(event: &RunEvent, workspace: &Path) -> Vec<SessionUpdate> {
    match event {
        RunEvent::UserSent { text } => vec![SessionUpdate::UserText(clean(text))],
        RunEvent::Turned(turn) => {
            turn.message.blocks.iter().filter_map(|it| block(it, workspace)).collect()
        }
        RunEvent::Called { call, .. } => {
            vec![SessionUpdate::Call(view::call(&call.id, &call.tool, &call.arguments, workspace))]
        }
        RunEvent::Judged { id, verdict: CallJudgement::Deny, reason, .. } => {
            vec![SessionUpdate::CallChanged(view::denied(id, reason))]
        }
        RunEvent::Ended { id, text, failed } => {
            vec![SessionUpdate::CallChanged(view::result(id, text, *failed, workspace))]
        }
        _ => Vec::new(),
    }
}

fn block(block: &MessageBlock, workspace: &Path) -> Option<SessionUpdate> {
    match block {
        MessageBlock::Text { text } => Some(SessionUpdate::AgentText(clean(text))),
        MessageBlock::Thinking { text, .. } => Some(SessionUpdate::Thought(clean(text))),
        MessageBlock::Call(call) => {
            let report = view::call(&call.id, &call.tool, &call.arguments, workspace);
            Some(SessionUpdate::Call(report))
        }
        MessageBlock::Result { .. } => None,
    }
}
