//! `agentry sandbox explain` and `agentry doctor`: how commands are confined on this machine.
#![cfg(target_os = "linux")]

use serde_json::Value;

use crate::test::Test;

const CAREFUL: &str = "\
name = \"careful\"
description = \"Writes notes\"

[permissions.edit]
intent = \"deny\"
rules = [\"notes/**:allow\"]

[permissions.webfetch]
intent = \"deny\"
rules = [\"docs.example.org:allow\"]
";

fn careful() -> Test {
    Test::new()
        .file("careful/agent.toml", CAREFUL)
        .file("careful/system-prompt.md", "You write notes.\n")
        .file("notes/one.md", "one\n")
        .file("notes/server.key", "secret\n")
}

/// The paths of a list that lie in the workspace.
fn list(value: &Value, name: &str) -> Vec<String> {
    let all = value[name].as_array().expect("a list").iter().filter_map(Value::as_str);
    all.filter_map(|path| path.strip_prefix("[DIR]/")).map(str::to_owned).collect()
}

#[test]
fn explain_lists_the_sandbox_of_an_agent() {
    let agent = careful();
    let value = agent.run("sandbox explain careful --format json").exits(0).json();
    assert_eq!(list(&value, "writes"), ["notes"]);
    let hidden = list(&value, "hidden");
    assert!(hidden.contains(&"notes/server.key".to_owned()), "{hidden:?}");
    assert_eq!(value["network"], "proxy");
    assert_eq!(value["hosts"], serde_json::json!(["docs.example.org"]));
    let shown = agent.run("sandbox explain careful").exits(0).stdout;
    assert!(shown.contains("the proxy lets through: docs.example.org"), "{shown}");
}

#[test]
fn explain_lists_protected_paths() {
    let open = CAREFUL.replacen("\"deny\"", "\"allow\"", 1);
    let agent = careful().file("careful/agent.toml", open).file(".claude/settings.json", "{}\n");
    let value = agent.run("sandbox explain careful --format json").exits(0).json();
    let read_only = list(&value, "read_only");
    // Existing and missing paths, by their usual names.
    for name in ["careful", ".agentry", ".claude", ".codex", ".pi", "agentry.lock", "agentry.toml"]
    {
        let is_listed = read_only.iter().any(|it| it == name);
        assert!(is_listed || value["back_end"] == "landlock", "{name}: {read_only:?}");
    }
    assert!(!read_only.iter().any(|it| it.ends_with("/settings")), "{read_only:?}");
}

#[test]
fn doctor_reports_the_checks_of_this_machine() {
    let ran = Test::new().run("doctor --format json");
    let value = ran.json();
    let checks = value["checks"].as_array().expect("a list");
    let names: Vec<&str> = checks.iter().filter_map(|it| it["what"].as_str()).collect();
    let sandbox = ["namespaces", "Landlock", "seccomp", "control groups", "commands"];
    let others = ["home", "bash", "models", "keys", "editors"];
    assert_eq!(names, [&sandbox[..], &others[..]].concat());
    assert_eq!(ran.code == Some(0), checks.iter().all(|it| it["well"] != false), "{ran}");
}
