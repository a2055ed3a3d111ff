//! A guard judges by the project that its agent was rendered into, wherever the definition lies.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::test::Test;

const AGENT: &str = "name = \"e\"\ndescription = \"Edits files\"\n\
    [permissions.bash]\nintent = \"allow\"\n\
    [permissions.read]\nintent = \"allow\"\nrules = [\"secrets/**:deny\"]\n\
    [permissions.edit]\nintent = \"allow\"\nrules = [\"docs/**:deny\"]\n";

/// A workspace with the definition, and a project beside it.
fn rendered(more: &str) -> Test {
    let test = Test::new()
        .file("ws/agentry.toml", "")
        .file("ws/agents/e/agent.toml", format!("{AGENT}{more}"))
        .file("ws/agents/e/system-prompt.md", "You edit files.")
        .file("ws/src/a", "")
        .file("proj/agents/other/agent.toml", "name = \"other\"\ndescription = \"Works\"\n")
        .file("proj/agents/other/system-prompt.md", "You work.")
        .file("proj/secrets/key", "")
        .file("proj/docs/a.md", "")
        .file("proj/src/a", "");
    let ran =
        test.run_in("ws", "render agents/e --guard --target claude-code,opencode,pi -o ../proj");
    ran.exits(0);
    test
}

/// The three guards, as the rendered files start them.
fn guards(test: &Test) -> [(&'static str, String); 4] {
    let agent = test.read("proj/.claude/agents/e.md");
    let hook =
        agent.lines().find_map(|line| line.trim().strip_prefix("command: ")).expect("a hook");
    let hook = hook.trim_matches('\'').replace("''", "'");
    let settings: Value =
        serde_json::from_str(&test.read("proj/.claude/settings.json")).expect("JSON");
    let shared = settings.pointer("/hooks/PreToolUse/0/hooks/0/command").and_then(Value::as_str);
    let plugin = test.read("proj/.opencode/plugins/agentry-guard.js");
    assert!(plugin.contains("[\"--project\", \".\"]"), "{plugin}");
    let extension = test.read("proj/.pi/guard/e.ts");
    let words = extension.lines().find_map(|line| {
        let list = line.split_once("[\"agentry\"")?.1;
        Some(format!("[\"agentry\"{}", list.split_once(']')?.0) + "]")
    });
    let words: Vec<String> = serde_json::from_str(&words.expect("the guard")).expect("JSON");
    [
        ("claude-code", hook),
        ("claude-code", shared.expect("a hook").to_owned()),
        ("opencode", "agentry guard opencode ../ws/agents/e/agent.toml --project .".to_owned()),
        ("pi", words.join(" ")),
    ]
}

/// A question of a harness about a tool.
fn question(harness: &str, tool: &str, subject: &str, project: &Path) -> Value {
    let path = || project.join(subject);
    match (harness, tool) {
        ("claude-code", "bash") => json!({"agent_type": "e", "tool_name": "Bash",
            "tool_input": {"command": subject}, "cwd": project}),
        ("claude-code", _) => json!({"agent_type": "e",
            "tool_name": if tool == "read" { "Read" } else { "Write" },
            "tool_input": {"file_path": path(), "content": ""}, "cwd": project}),
        ("opencode", "bash") => {
            json!({"tool": "bash", "args": {"command": subject}, "directory": project})
        }
        ("opencode", _) => {
            json!({"tool": tool, "args": {"filePath": path()}, "directory": project})
        }
        (_, "bash") => json!({"tool": "bash", "input": {"command": subject}, "directory": project}),
        (_, _) => json!({"tool": tool, "input": {"path": path()}, "directory": project}),
    }
}

/// Runs a hook as its harness does: by a shell, in the project.
fn answer(test: &Test, hook: &str, project: &Path, question: &Value) -> String {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_agentry"));
    let path = format!("{}:/usr/bin:/bin", program.parent().expect("a directory").display());
    let mut command = Command::new("sh");
    command.args(["-c", hook]).current_dir(project).env_clear().env("PATH", path);
    command.env("HOME", test.path("home")).env("AGENTRY_HOME", test.path("home/.agentry"));
    command.env("CLAUDE_PROJECT_DIR", project);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a shell");
    let _ = child.stdin.take().expect("a pipe").write_all(question.to_string().as_bytes());
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn the_guard_judges_by_the_rendered_project() {
    let outside = "[permissions.external_directory]\nintent = ";
    let open = format!("{outside}\"allow\"\n");
    let shut = format!("{outside}\"deny\"\n");
    // What the agent may do outside its workspace, the tool, its subject, and the answer.
    let cases = [
        (&open, "read", "secrets/key", "deny"),
        (&open, "write", "docs/a.md", "deny"),
        (&open, "bash", "cat secrets/key", "deny"),
        (&open, "bash", "echo x > docs/a.md", "deny"),
        (&open, "read", "src/a", "allow"),
        (&open, "bash", "cat src/a", "allow"),
        // Files that decide about agents, in the project and where the definition lies.
        (&open, "write", "agents/other/agent.toml", "deny"),
        (&open, "write", "../ws/agents/e/agent.toml", "deny"),
        (&open, "write", ".claude/agents/e.md", "deny"),
        (&open, "bash", "rm -rf ../ws/agents/e", "deny"),
        (&shut, "read", "src/a", "allow"),
        (&shut, "bash", "ls", "allow"),
        (&shut, "write", "src/b", "allow"),
        (&shut, "read", "../ws/src/a", "deny"),
        (&shut, "bash", "cat ../ws/src/a", "deny"),
    ];
    for more in [&open, &shut] {
        let test = rendered(more);
        let project = test.path("proj").canonicalize().expect("a directory");
        for (harness, hook) in guards(&test) {
            for (_, tool, subject, expected) in cases.iter().filter(|(of, ..)| *of == more) {
                let question = question(harness, tool, subject, &project);
                let reply = answer(&test, &hook, &project, &question);
                let wanted = format!("ecision\":\"{expected}\"");
                assert!(reply.contains(&wanted), "{hook}\n{tool} {subject}: {reply}");
            }
        }
    }
}

/// Without a project, or with one that is not there, nothing is allowed that the project decides about.
#[test]
fn a_missing_project_is_denied() {
    let test = rendered("[permissions.external_directory]\nintent = \"allow\"\n");
    let project = test.path("proj").canonicalize().expect("a directory");
    for missing in ["nowhere", "src/a"] {
        let hook = format!("agentry guard pi ../ws/agents/e --project {missing} || exit 2");
        let reply = answer(&test, &hook, &project, &question("pi", "read", "src/a", &project));
        assert!(reply.contains("is not a directory") && !reply.contains("\"allow\""), "{reply}");
    }
}
