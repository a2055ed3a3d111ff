//! `agentry sandbox explain` and `agentry doctor`: what confines commands on this machine.
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

fn list(test: &Test, value: &Value, name: &str) -> Vec<String> {
    let root = test.path("").canonicalize().expect("a path");
    let all = value[name].as_array().expect("a list").iter();
    let own = all.filter_map(|path| std::path::Path::new(path.as_str()?).strip_prefix(&root).ok());
    own.map(|path| path.display().to_string()).collect()
}

#[test]
fn an_agent_is_explained() {
    let test = careful();
    let ran = test.run("sandbox explain careful --format json");
    assert_eq!(ran.code, Some(0), "{ran}");
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(list(&test, &value, "writes"), ["notes"]);
    let hidden = list(&test, &value, "hidden");
    assert!(hidden.contains(&"notes/server.key".to_owned()), "{hidden:?}");
    assert_eq!(value["network"], "proxy");
    assert_eq!(value["hosts"], serde_json::json!(["docs.example.org"]));
    let text = test.run("sandbox explain careful").stdout;
    assert!(text.contains("the proxy lets through: docs.example.org"), "{text}");
}

#[test]
fn a_machine_is_looked_at() {
    let test = Test::new();
    let ran = test.run("doctor --format json");
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let checks = value["checks"].as_array().expect("a list");
    let names: Vec<&str> = checks.iter().filter_map(|it| it["what"].as_str()).collect();
    let expected =
        ["namespaces", "Landlock", "seccomp", "control groups", "commands", "home", "bash"];
    assert_eq!(names, expected);
    assert_eq!(ran.code == Some(0), checks.iter().all(|it| it["well"] != false), "{ran}");
}
