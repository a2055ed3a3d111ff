//! What an editor is shown of each event of a run.

use std::path::Path;

use agentry_acp::{SessionUpdate, ToolCallReport, ToolCallStatus};
use agentry_compile::text::report::visible;
use agentry_runtime::CallJudgement;

use super::view;
use crate::command::run::terminal::clean;
use crate::command::steered_run::SteeredEvent;

/// The updates for an event. What needs an answer or ends the turn has none.
pub(super) fn updates(event: &SteeredEvent, workspace: &Path) -> Vec<SessionUpdate> {
    match event {
        SteeredEvent::Text { text } => vec![SessionUpdate::AgentText(readable(text))],
        SteeredEvent::Thinking { text } => vec![SessionUpdate::Thought(readable(text))],
        SteeredEvent::Call { id, tool, arguments, verdict, reason } => {
            let mut found = vec![SessionUpdate::Call(view::call(id, tool, arguments, workspace))];
            if *verdict == CallJudgement::Deny {
                found.push(SessionUpdate::CallChanged(view::denied(id, reason)));
            } else {
                found.extend(view::plan(tool, arguments).map(SessionUpdate::Plan));
            }
            found
        }
        SteeredEvent::Started { id } => {
            let status = Some(ToolCallStatus::InProgress);
            let report = ToolCallReport { status, ..ToolCallReport::about(id) };
            vec![SessionUpdate::CallChanged(report)]
        }
        SteeredEvent::Result { id, text, failed } => {
            vec![SessionUpdate::CallChanged(view::result(id, text, *failed, workspace))]
        }
        SteeredEvent::Quarantined { path, why } => {
            vec![SessionUpdate::Notice(clean(&format!("`{path}` was rolled back: {why}")))]
        }
        SteeredEvent::ModelFailed { model, message } => {
            vec![SessionUpdate::Notice(clean(&format!("{model}: {message}")))]
        }
        SteeredEvent::Rejected { why } => vec![SessionUpdate::Notice(clean(why))],
        SteeredEvent::Delegate { agent, run, output } => delegated((agent, run), output, workspace),
        SteeredEvent::Run { .. }
        | SteeredEvent::Refused { .. }
        | SteeredEvent::Turn { .. }
        | SteeredEvent::Approval(_)
        | SteeredEvent::Question { .. }
        | SteeredEvent::Withdrawn { .. }
        | SteeredEvent::Output { .. }
        | SteeredEvent::Piece { .. }
        | SteeredEvent::FileRead { .. }
        | SteeredEvent::FileWrite { .. }
        | SteeredEvent::Ended { .. }
        | SteeredEvent::Other => Vec::new(),
    }
}

/// The calls of a delegate, under its name. Its texts are for the agent that it works for.
fn delegated(
    (agent, run): (&str, &str),
    output: &SteeredEvent,
    workspace: &Path,
) -> Vec<SessionUpdate> {
    let named = |report: ToolCallReport| ToolCallReport {
        title: report.title.map(|title| format!("{}: {title}", clean(agent))),
        id: format!("{run}:{}", report.id),
        ..report
    };
    let shown = updates(output, workspace).into_iter().filter_map(|update| match update {
        SessionUpdate::Call(report) => Some(SessionUpdate::Call(named(report))),
        SessionUpdate::CallChanged(report) => Some(SessionUpdate::CallChanged(named(report))),
        SessionUpdate::Notice(text) => {
            Some(SessionUpdate::Notice(format!("{}: {text}", clean(agent))))
        }
        SessionUpdate::UserText(_)
        | SessionUpdate::AgentText(_)
        | SessionUpdate::Thought(_)
        | SessionUpdate::Plan(_) => None,
    });
    shown.collect()
}

/// Text of a model without control characters. Tabs and line ends stay: editors show them.
fn readable(text: &str) -> String {
    let line = |line: &str| {
        let parts = line.trim_end_matches('\r').split('\t').map(|part| visible(part).into_owned());
        parts.collect::<Vec<_>>().join("\t")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_become_updates() {
        let read = |event| serde_json::from_value::<SteeredEvent>(event).unwrap();
        let call = json!({"type": "call", "id": "c", "tool": "bash", "arguments": {"command": "ls"},
            "verdict": "deny", "reason": "no", "class": "external"});
        let found = updates(&read(call.clone()), Path::new("/w"));
        let [SessionUpdate::Call(new), SessionUpdate::CallChanged(changed)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(
            (new.title.as_deref(), changed.status),
            (Some("bash ls"), Some(ToolCallStatus::Failed))
        );
        let nested =
            json!({"type": "delegate", "agent": "lead › helper", "run": "r2", "output": call});
        let found = updates(&read(nested), Path::new("/w"));
        let [SessionUpdate::Call(new), SessionUpdate::CallChanged(_)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((&*new.id, new.title.as_deref()), ("r2:c", Some("lead › helper: bash ls")));
        let text = json!({"type": "delegate", "agent": "a", "run": "r2", "output": {"type": "text", "text": "x"}});
        assert_eq!(updates(&read(text), Path::new("/w")), []);
        let hostile =
            updates(&read(json!({"type": "text", "text": "a\tb\r\n\u{1b}[2Jc"})), Path::new("/w"));
        let [SessionUpdate::AgentText(text)] = &hostile[..] else { panic!("{hostile:?}") };
        assert!(text.starts_with("a\tb\n") && !text.contains('\u{1b}'), "{text:?}");
    }
}
