//! What runs wait for that other processes parked: a terminal or a schedule.

use std::path::Path;

use agentry_runtime::journal::{JournalFollower, RunSummary};
use agentry_runtime::{ApprovalAnswer, CallJudgement, MessageBlock, RunEvent, ToolCall};
use serde_json::Value;

use super::approval_book::{ApprovalRecord, ApprovalState};

/// The question at which another process parked a run. A question of a delegate is only seen when the run continues.
pub(super) fn parked_question(home: &Path, run: &RunSummary) -> Option<ApprovalRecord> {
    let (mut follower, about) = JournalFollower::open(home, &run.id).ok()?;
    let mut calls: Vec<ToolCall> = Vec::new();
    let mut asked: Option<(String, String, u64)> = None;
    // Started by a process that did not write down how they ended.
    let mut started: Vec<(String, u64)> = Vec::new();
    for happened in follower.more().ok()? {
        match happened.event {
            RunEvent::Turned(turn) => {
                calls.extend(turn.message.blocks.into_iter().filter_map(|block| match block {
                    MessageBlock::Call(call) => Some(call),
                    _ => None,
                }));
            }
            RunEvent::Called { call, .. } => calls.push(call),
            RunEvent::Judged { id, verdict: CallJudgement::Ask, reason, .. } => {
                asked = Some((id, reason, happened.at));
            }
            RunEvent::Started { id } => started.push((id, happened.at)),
            RunEvent::Ended { id, .. } => started.retain(|it| it.0 != id),
            RunEvent::Answered { answer: ApprovalAnswer::Park, .. } => {}
            RunEvent::Answered { id, .. } if id == asked.as_ref().map(|it| it.0.clone()) => {
                asked = None;
            }
            _ => {}
        }
    }
    let unfinished = started.pop().filter(|_| asked.is_none());
    let kind = if unfinished.is_some() { "unfinished" } else { "call" };
    let asked = unfinished.map(|(id, at)| (id, String::new(), at)).or(asked);
    let (id, rule, since) = asked.unwrap_or_default();
    let call = calls.into_iter().rfind(|call| call.id == id);
    let texts = |texts: &[&str]| texts.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    Some(ApprovalRecord {
        id: String::new(),
        run: run.id.clone(),
        agent: about.name,
        kind: if call.is_some() { kind } else { "parked" }.to_owned(),
        choices: texts(if call.is_some() { &["yes", "no"] } else { &["yes"] }),
        tool: call.as_ref().map_or(String::new(), |call| call.tool.clone()),
        arguments: call.as_ref().map_or(Value::Null, |call| call.arguments.clone()),
        call: call.map(|call| call.id),
        rule,
        places: Vec::new(),
        covers: Vec::new(),
        diff: None,
        question: run.detail.clone().unwrap_or_default(),
        since: if since > 0 { since } else { about.started },
        state: ApprovalState::Parked,
        answer: None,
        reason: None,
        number: None,
    })
}
