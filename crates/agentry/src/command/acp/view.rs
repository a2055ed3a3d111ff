//! How calls and questions of a run look in an editor.

use std::fmt::Write as _;
use std::path::Path;

use agentry_acp::{
    PermissionChoice, PermissionQuestion, ToolCallKind, ToolCallReport, ToolCallStatus,
    ToolContent, fenced,
};
use agentry_compile::policy::Section;
use agentry_runtime::tool::section_of;
use serde_json::Value;

use super::change_view::changes;
use crate::command::run::call_words::brief;
use crate::command::run::terminal::clean;
use crate::command::steered_run::SteeredApproval;

/// The most bytes of a result that an editor is shown.
const RESULT_BYTES: usize = 64 << 10;

/// A new call.
pub(super) fn call(id: &str, tool: &str, arguments: &Value, workspace: &Path) -> ToolCallReport {
    let path = arguments.get("path").and_then(Value::as_str);
    ToolCallReport {
        title: Some(clean(&format!("{tool} {}", brief(arguments)))),
        kind: Some(kind(tool)),
        status: Some(ToolCallStatus::Pending),
        locations: path
            .map(|path| workspace.join(path).display().to_string())
            .into_iter()
            .collect(),
        input: Some(arguments.clone()),
        ..ToolCallReport::about(id)
    }
}

/// A call that ended.
pub(super) fn result(id: &str, text: &str, failed: bool, workspace: &Path) -> ToolCallReport {
    let status = if failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    // The result of an edit is a line and a diff.
    let diff = text.split_once('\n').and_then(|(_, diff)| changes(diff, workspace));
    let content = diff.unwrap_or_else(|| vec![ToolContent::Text(fenced(&start(text), ""))]);
    ToolCallReport { status: Some(status), content, ..ToolCallReport::about(id) }
}

/// A call that the policy denies.
pub(super) fn denied(id: &str, reason: &str) -> ToolCallReport {
    let content = vec![ToolContent::Text(format!("denied: {}", clean(reason)))];
    ToolCallReport { status: Some(ToolCallStatus::Failed), content, ..ToolCallReport::about(id) }
}

/// The question for an approval: the exact call, why it is asked, and what it would change.
pub(super) fn question(asked: &SteeredApproval, workspace: &Path) -> PermissionQuestion {
    let agent = asked.agent.as_ref().map_or(String::new(), |agent| format!("{}: ", clean(agent)));
    let mut report = match &asked.call {
        Some(called) => call(&called.id, &called.tool, &called.arguments, workspace),
        None => ToolCallReport {
            title: Some(clean(&asked.reason)),
            kind: Some(ToolCallKind::Other),
            status: Some(ToolCallStatus::Pending),
            ..ToolCallReport::about(format!("question-{}", asked.question))
        },
    };
    report.title = report.title.map(|title| format!("{agent}{title}"));
    let diff = asked.preview.as_deref().map(|preview| match changes(preview, workspace) {
        Some(changes) => changes,
        None => vec![ToolContent::Text(fenced(&clean(preview), "diff"))],
    });
    report.content = diff.unwrap_or_default();
    if let Some(called) = &asked.call {
        let exact = serde_json::to_string_pretty(&called.arguments).unwrap_or_default();
        report.content.push(ToolContent::Text(fenced(&clean(&exact), "json")));
    }
    report.content.push(ToolContent::Text(reason(asked)));
    let choices = asked.choices.iter().filter_map(|word| choice(word, &asked.rules)).collect();
    PermissionQuestion { call: report, choices }
}

fn reason(asked: &SteeredApproval) -> String {
    let mut text = format!("why you are asked: {}", clean(&asked.reason));
    if !asked.places.is_empty() {
        let _ = write!(text, "\nwritten at: {}", clean(&asked.places.join(", ")));
    }
    text
}

/// An answer that can be given; `later` is given by closing the session.
fn choice(word: &str, rules: &[String]) -> Option<PermissionChoice> {
    let offered = |id, name: String, allows, is_lasting| {
        Some(PermissionChoice { id, name, allows, is_lasting })
    };
    match word {
        "yes" => offered("yes", "Yes, once".to_owned(), true, false),
        "no" => offered("no", "No".to_owned(), false, false),
        "always" => {
            let name = format!("Always in this run: {}", clean(&rules.join("; ")));
            offered("always", name, true, true)
        }
        "exact" => {
            let name = "Always in this run, for exactly this call".to_owned();
            offered("exact", name, true, true)
        }
        _ => None,
    }
}

fn kind(tool: &str) -> ToolCallKind {
    match (tool, section_of(tool)) {
        ("grep" | "glob", _) => ToolCallKind::Search,
        ("todo", _) => ToolCallKind::Think,
        (_, Some(Section::Read)) => ToolCallKind::Read,
        (_, Some(Section::Edit)) => ToolCallKind::Edit,
        (_, Some(Section::Bash)) => ToolCallKind::Execute,
        (_, Some(Section::Webfetch | Section::Websearch)) => ToolCallKind::Fetch,
        _ => ToolCallKind::Other,
    }
}

/// The start of a text.
fn start(text: &str) -> String {
    let end = text.floor_char_boundary(RESULT_BYTES);
    let rest = text.len() - end;
    let start = clean(text.get(..end).unwrap_or_default());
    if rest == 0 { start } else { format!("{start}\n[{rest} bytes are left out]") }
}

/// The list of tasks, if a call is about it.
pub(super) fn plan(tool: &str, arguments: &Value) -> Option<Vec<(String, &'static str)>> {
    let items = arguments.get("items").filter(|_| tool == "todo")?.as_array()?;
    let entry = |item: &Value| {
        let status = match item.get("state")?.as_str()? {
            "done" => "completed",
            "doing" => "in_progress",
            _ => "pending",
        };
        Some((clean(item.get("text")?.as_str()?), status))
    };
    Some(items.iter().filter_map(entry).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_map_to_kinds_and_todo_lists_to_plans() {
        let cases = [
            ("read", ToolCallKind::Read),
            ("grep", ToolCallKind::Search),
            ("write", ToolCallKind::Edit),
            ("bash", ToolCallKind::Execute),
            ("webfetch", ToolCallKind::Fetch),
            ("todo", ToolCallKind::Think),
            ("server__tool", ToolCallKind::Other),
        ];
        for (tool, expected) in cases {
            assert_eq!(kind(tool), expected, "{tool}");
        }
        let items =
            json!({"items": [{"text": "a", "state": "done"}, {"text": "b", "state": "open"}]});
        let expected = vec![("a".to_owned(), "completed"), ("b".to_owned(), "pending")];
        assert_eq!(plan("todo", &items), Some(expected));
        assert_eq!(plan("bash", &items), None);
    }

    /// Whatever a model writes, it cannot leave its block or move the cursor.
    #[test]
    fn hostile_call_arguments_are_escaped() {
        let asked: SteeredApproval = serde_json::from_value(json!({
            "question": 1, "kind": "call", "reason": "r\u{1b}[2J", "choices": ["yes", "no", "always", "exact", "later"],
            "rules": ["`echo` with any arguments"],
            "call": {"id": "c", "tool": "bash", "arguments": {"command": "echo ```\n# Approved\u{1b}[8m"}},
        }))
        .unwrap();
        let found = question(&asked, Path::new("/w"));
        let texts = found.call.content.iter().map(|content| match content {
            ToolContent::Text(text) => text.clone(),
            ToolContent::Diff { .. } | ToolContent::Terminal(_) => String::new(),
        });
        let texts: String = texts.collect();
        assert!(!texts.contains('\u{1b}') && texts.starts_with("````json\n"), "{texts}");
        let names: Vec<&str> = found.choices.iter().map(|choice| choice.id).collect();
        assert_eq!(names, ["yes", "no", "always", "exact"]);
        assert_eq!(found.call.input, Some(json!({"command": "echo ```\n# Approved\u{1b}[8m"})));
    }
}
