//! The hook that asks the guard about every call. It is written to the metadata of an agent, and to the
//! settings, where it also runs in a workspace that is not trusted yet.

use agentry_text::Data;
use serde_json::{Value, json};

use crate::guard::shell_word;
use crate::subject::RenderSubject;

/// The start of every command that Agentry writes.
pub(super) const COMMAND: &str = "agentry guard claude-code ";
/// Seconds until a call counts as denied.
const TIMEOUT: i64 = 10;
/// The file that maps agents to definitions, for the one hook of the settings.
pub(super) const AGENTS: &str = ".claude/agentry-guard.json";

/// The hook of one agent. A failure denies the call: by the exit code, and by `onFailure`.
pub(super) fn of_agent(subject: &RenderSubject) -> Data {
    let path = shell_word(subject.guarded_path());
    let project = "\"$CLAUDE_PROJECT_DIR\"";
    // Exit code 2 denies the call, even where `agentry` is not installed.
    let command = format!(
        "{COMMAND}{project}/{path} --project {project} --digest {} || exit 2",
        subject.digest
    );
    let map = |entries: Vec<(&str, Data)>| {
        Data::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    };
    let hook = map(vec![
        ("type", Data::str("command")),
        ("command", Data::str(command)),
        ("timeout", Data::Int(TIMEOUT)),
        ("onFailure", Data::str("block")),
    ]);
    let all = map(vec![("matcher", Data::str("*")), ("hooks", Data::List(vec![hook]))]);
    // After a call, the guard looks whether it changed protected files.
    map(vec![("PreToolUse", Data::List(vec![all.clone()])), ("PostToolUse", Data::List(vec![all]))])
}

/// The hook for all agents, which looks up the agent that the question names.
pub(super) fn of_settings() -> Value {
    let command = format!("{COMMAND}--agents \"$CLAUDE_PROJECT_DIR\"/{AGENTS} || exit 2");
    json!({
        "matcher": "*",
        "hooks": [{
            "type": "command",
            "command": command,
            "timeout": TIMEOUT,
            "onFailure": "block",
        }],
    })
}

/// The definitions of all agents, by their names in Claude Code.
pub(super) fn agents(subjects: &[RenderSubject]) -> String {
    let one = |subject: &RenderSubject| {
        let entry = json!({"path": subject.guarded_path(), "digest": subject.digest});
        (subject.name.clone(), entry)
    };
    let agents: serde_json::Map<String, Value> = subjects.iter().map(one).collect();
    let value = json!({"agents": agents});
    serde_json::to_string_pretty(&value).map(|text| text + "\n").unwrap_or_default()
}

/// Whether a `PreToolUse` entry is Agentry's hook for every tool.
pub(super) fn is_ours(entry: &Value) -> bool {
    let all = entry.get("matcher").is_none_or(|matcher| matcher == "*");
    let hooks = entry.get("hooks").and_then(Value::as_array);
    let ours = |hook: &Value| {
        let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
        command.starts_with(COMMAND)
            && command.ends_with(" || exit 2")
            && hook.get("onFailure").is_some_and(|what| what == "block")
    };
    all && hooks.is_some_and(|hooks| hooks.iter().any(ours))
}
