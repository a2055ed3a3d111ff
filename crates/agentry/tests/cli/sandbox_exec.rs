//! `agentry sandbox exec`, and the guard that puts commands of a sandboxed agent there.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::confined::cannot_be_confined;
use crate::test::Test;

/// An agent whose commands are granted only inside the sandbox.
const BOXED: &str = "name: boxed\nversion: 1.0.0\ndescription: Works\nsoul: You work.\n\
    trust: {filesystem: scoped, scope: [\".\"], network: none, exec: sandboxed}\n";

fn boxed() -> Test {
    Test::new().file("agentry.toml", "").file("boxed.agent", BOXED).file("note.txt", "one\n")
}

/// The program with input, in a directory.
fn piped(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

/// The answer of the guard of a harness to a command.
fn guarded(test: &Test, harness: &str, agent: &str, command: &str) -> (Option<i32>, Value) {
    let directory = test.path(".").canonicalize().expect("a directory");
    let question = match harness {
        "claude-code" => json!({
            "tool_name": "Bash", "cwd": directory,
            "tool_input": {"command": command, "description": "a call", "timeout": 1000},
        }),
        "pi" => json!({"tool": "bash", "input": {"command": command}, "directory": directory}),
        _ => json!({"tool": "bash", "args": {"command": command}, "directory": directory}),
    };
    let output = piped(&mut test.command(["guard", harness, agent]), &question.to_string());
    let answer = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), answer)
}

/// The command that the guard puts in place of another one.
fn rewritten(test: &Test, agent: &str, command: &str) -> String {
    let (code, answer) = guarded(test, "claude-code", agent, command);
    assert_eq!(code, Some(0), "{command}: {answer}");
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["permissionDecision"], "allow", "{command}: {answer}");
    assert_eq!(output["updatedInput"]["description"], "a call", "{answer}");
    assert_eq!(output["updatedInput"]["timeout"], 1000, "{answer}");
    output["updatedInput"]["command"].as_str().expect("a command").to_owned()
}

fn shell(test: &Test, line: &str) -> Output {
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(test.path("")).env_clear();
    command.env("HOME", test.path("home")).env("PATH", "/usr/bin:/bin").output().expect("bash runs")
}

#[test]
fn exec_passes_streams_and_exit_code_through() {
    let test = boxed();
    if cannot_be_confined(&test) {
        return;
    }
    let line = "cat; echo wrong >&2; echo new > made.txt; exit 7";
    let args = ["sandbox", "exec", "boxed.agent", "--", "bash", "-c", line];
    let output = piped(&mut test.command(args), "typed\n");
    let ran = test.ended("sandbox exec", &output).exits(7);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("typed\n", "wrong\n"));
    assert_eq!(test.read("made.txt"), "new\n");
    // In the directory of the caller, if that is in the workspace.
    std::fs::create_dir(test.path("deep")).expect("a directory");
    let mut command = test.command(["sandbox", "exec", "../boxed.agent", "--", "pwd"]);
    let output = command.current_dir(test.path("deep")).output().expect("it runs");
    assert_eq!(test.ended("pwd", &output).exits(0).stdout, "[DIR]/deep\n");
    let left = std::fs::read_dir(test.path("home/.agentry/runs"));
    assert_eq!(left.map_or(0, Iterator::count), 0, "nothing is left behind");
}

#[test]
fn a_command_is_confined_or_refused() {
    let test = boxed();
    let outside = tempfile::tempdir().expect("a directory");
    let path = outside.path().to_str().expect("text").to_owned();
    if !cannot_be_confined(&test) {
        let cases = [
            format!("echo x > {path}/made"),
            format!("bash -c 'echo x > {path}/made'"),
            "cat home/.agentry/secret".to_owned(),
            "echo x >> boxed.agent".to_owned(),
            "echo x > agentry.toml".to_owned(),
            "mkdir -p sub/.claude && echo '{}' > sub/.claude/settings.json && test ! -e /x"
                .to_owned(),
        ];
        test.write("home/.agentry/secret", "hush\n");
        for line in cases {
            let mut command = test.command(["sandbox", "exec", "boxed.agent", "--"]);
            let output = command.args(["bash", "-c", &line]).output().expect("it runs");
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(!printed.contains("hush"), "{line}: {printed}");
            assert!(!outside.path().join("made").exists(), "{line}");
            assert_eq!(test.read("boxed.agent"), BOXED, "{line}");
            assert!(!test.has("sub/.claude/settings.json"), "{line}");
        }
        assert_eq!(test.read("agentry.toml"), "");
    }
    // Refused, with nothing run.
    test.write("none.agent", BOXED.replace("sandboxed", "none").replace("boxed", "none"));
    let cases = [
        ("boxed.agent", "--digest sha256:00", "is not the definition that was rendered"),
        ("none.agent", "", "denied"),
        ("nowhere.agent", "", "does not exist"),
    ];
    for (agent, more, expected) in cases {
        let ran = test.run(&format!("sandbox exec {agent} {more} -- touch made.txt"));
        assert!(matches!(ran.code, Some(2 | 3)), "{ran}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran}");
        assert!(!test.has("made.txt"), "{ran}");
    }
    test.run("sandbox exec boxed.agent").exits(2);
}

#[test]
fn unconfined_is_refused_for_a_sandboxed_agent() {
    let test = boxed();
    let ran = test.run("run boxed.agent go --yes --unconfined").exits(3);
    assert!(ran.stderr.contains("`--unconfined` is refused"), "{ran}");
    assert!(ran.stderr.contains("agentry doctor") && ran.stderr.contains("exec: full"), "{ran}");
    test.write("boxed.agent", BOXED.replace("sandboxed", "full"));
    let ran = test.run("run boxed.agent go --yes --unconfined");
    assert!(!ran.stderr.contains("`--unconfined` is refused"), "{ran}");
    // A child inherits it.
    test.write("boxed.agent", BOXED);
    test.write(
        "child.agent",
        "name: child\nversion: 1.0.0\ndescription: Works\nbase: ./boxed.agent\n",
    );
    let ran = test.run("run child.agent go --yes --unconfined").exits(3);
    assert!(ran.stderr.contains("`--unconfined` is refused"), "{ran}");
}

/// Commands whose text must arrive unchanged.
const TEXTS: [&str; 8] = [
    "echo plain",
    "printf '%s\\n' \"it's \\\"quoted\\\"\"",
    "printf '%s\\n' 'a' \\'b\\' '\"c\"'",
    "echo one\necho two\n\necho three",
    "cat <<'END'\n$HOME `id` $(id) 'x'\nEND",
    "X=5; echo $X $((X + 1)) $(echo sub) `echo tick`",
    "echo 'trailing backslash \\'",
    "printf '%s|' a\tb 'ü €' '!history' '~' '*' '{a,b}'",
];

#[test]
fn a_rewritten_command_does_the_same() {
    let names =
        ["boxed.agent", "it's $(touch pwned) \"q\" `x`.agent", "-n.agent", "line\nfeed.agent"];
    for name in names {
        let test = boxed();
        test.write(name, BOXED);
        if cannot_be_confined(&test) {
            return;
        }
        let texts = if name == "boxed.agent" { &TEXTS[..] } else { &TEXTS[..2] };
        for text in texts {
            let path = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
            let line = rewritten(&test, &path, text);
            let (there, here) = (shell(&test, &line), shell(&test, text));
            let errors = String::from_utf8_lossy(&there.stderr);
            assert_eq!(there.stdout, here.stdout, "{name} {text}: {line}\n{errors}");
            assert_eq!(there.status.code(), here.status.code(), "{name} {text}");
            // A second hook sees the rewritten command and leaves it as it is.
            assert_eq!(rewritten(&test, &path, &line), line);
        }
        assert!(!test.has("pwned"));
    }
}

#[test]
fn a_rewritten_command_cannot_leave() {
    let test = boxed();
    if cannot_be_confined(&test) {
        return;
    }
    let outside = tempfile::tempdir().expect("a directory");
    let made = outside.path().join("made");
    let made = made.to_str().expect("text");
    let program = env!("CARGO_BIN_EXE_agentry");
    let nested = format!("{program} sandbox exec boxed.agent -- bash -c 'echo x > {made}'");
    let texts = [
        format!("'; echo x > {made}; '"),
        format!("echo a' ; echo x > {made} ; echo 'b"),
        format!("$(echo x > {made})"),
        format!("echo x\n' \necho x > {made}\n#"),
        format!("exit 0 -- bash -c 'echo x > {made}'"),
        nested,
    ];
    for text in texts {
        let (_, answer) = guarded(&test, "claude-code", "boxed.agent", &text);
        let new = answer["hookSpecificOutput"]["updatedInput"]["command"].as_str();
        // Denied, or confined.
        if let Some(line) = new {
            shell(&test, line);
        } else {
            assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{text}");
        }
        assert!(!outside.path().join("made").exists(), "{text}: {answer}");
    }
    // The digest is pinned: a definition that changed since then confines nothing.
    let line = rewritten(&test, "boxed.agent", "echo hi");
    test.write("boxed.agent", BOXED.replace("[\".\"]", "[\".\", \"../\"]"));
    assert_eq!(shell(&test, &line).status.code(), Some(3));
}

#[test]
fn every_guard_confines_or_denies() {
    let test = boxed();
    let line = rewritten(&test, "boxed.agent", "echo hi");
    assert!(line.contains("' sandbox exec --digest sha256:"), "{line}");
    assert!(line.ends_with("/boxed.agent' -- bash -c 'echo hi'"), "{line}");
    for harness in ["opencode", "pi"] {
        let (code, answer) = guarded(&test, harness, "boxed.agent", "echo hi");
        assert_eq!((code, &answer["decision"]), (Some(2), &json!("deny")), "{answer}");
        let reason = answer["reason"].as_str().expect("a reason");
        assert!(reason.contains("only in the sandbox"), "{reason}");
    }
    // A tool that runs something else than a line of the shell, and a server that is a program.
    let directory = test.path(".").canonicalize().expect("a directory");
    for (tool, input) in [("PowerShell", json!({"command": "ls"})), ("mcp__files__read", json!({}))]
    {
        let question = json!({"tool_name": tool, "cwd": directory, "tool_input": input});
        let mut command = test.command(["guard", "claude-code", "boxed.agent"]);
        let output = piped(&mut command, &question.to_string());
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.contains("\"deny\""), "{tool}: {printed}");
    }
    // What the policy denies stays denied.
    test.write("none.agent", BOXED.replace("sandboxed", "none"));
    let (_, answer) = guarded(&test, "claude-code", "none.agent", "echo hi");
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{answer}");
    assert!(answer["hookSpecificOutput"]["updatedInput"].is_null(), "{answer}");
    // `exec: full` needs no sandbox.
    test.write("full.agent", BOXED.replace("sandboxed", "full"));
    let (_, answer) = guarded(&test, "claude-code", "full.agent", "echo hi");
    assert!(answer["hookSpecificOutput"]["updatedInput"].is_null(), "{answer}");
}

#[test]
fn unmet_start_conditions_deny_every_call() {
    let agent = |metadata: &str| {
        format!(
            "---\ntitle: Helper\ndescription: Helps\nabilities: [sh, fs, env]\n{metadata}---\n\n\
             ## System\n\nYou help.\n"
        )
    };
    let cases = [
        ("status: disabled\n", None, Some("its status is `disabled`")),
        ("status: Disabled\n", None, Some("its status is `disabled`")),
        ("status: deprecated\n", None, None),
        ("required:\n  env: [SOME_TOKEN]\n", None, Some("`SOME_TOKEN`, which is not set")),
        ("required:\n  env: [SOME_TOKEN]\n", Some(""), Some("`SOME_TOKEN`, which is not set")),
        ("required:\n  env: [SOME_TOKEN]\n", Some("x"), None),
        ("required:\n  startup: ready\n", None, Some("`ready` must succeed")),
    ];
    for (metadata, value, expected) in cases {
        let tool = if metadata.contains("startup") {
            "\n## Tools\n\n```js\nreturn { ready: { fn: () => ({ ok: true }), scheme: { name: \
             \"ready\", description: \"d\", parameters: { type: \"object\", properties: {} } } } }\n```\n"
        } else {
            ""
        };
        let path = "agents/dev_helper.agent.md";
        let test = Test::new().file(path, agent(metadata) + tool);
        let directory = test.path(".").canonicalize().expect("a directory");
        for (harness, tool, input, at) in [
            ("claude-code", "tool_name", "tool_input", "cwd"),
            ("pi", "tool", "input", "directory"),
            ("opencode", "tool", "args", "directory"),
        ] {
            let name = if harness == "claude-code" { "Bash" } else { "bash" };
            let question = json!({tool: name, input: {"command": "echo hi"}, at: directory});
            let mut command = test.command(["guard", harness, path]);
            command.env_remove("SOME_TOKEN");
            if let Some(value) = value {
                command.env("SOME_TOKEN", value);
            }
            let output = piped(&mut command, &question.to_string());
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            match expected {
                Some(reason) => {
                    assert_eq!(output.status.code(), Some(2), "{metadata}: {printed}");
                    assert!(
                        printed.contains("\"deny\"") && printed.contains(reason),
                        "{metadata}: {printed}"
                    );
                }
                None => assert!(printed.contains("\"allow\""), "{metadata} {harness}: {printed}"),
            }
        }
    }
}

/// What the policy allows, the sandbox offers: in every format, a command with the verdict `allow` works.
#[test]
fn allowed_commands_work_in_the_sandbox() {
    let outside = tempfile::tempdir().expect("a directory");
    let out = outside.path().canonicalize().expect("a path");
    let out = out.to_str().expect("text");
    let toml = |rules: &str| {
        format!(
            "name = \"worker\"\ndescription = \"Works\"\n\n[permissions.bash]\nintent = \"allow\"\n{rules}"
        )
    };
    let section = |name: &str, intent: &str, rules: &str| {
        format!("\n[permissions.{name}]\nintent = \"{intent}\"\nrules = [{rules}]\n")
    };
    let open = section("edit", "allow", "") + &section("external_directory", "allow", "");
    let named = format!("\"{out}/**:allow\"");
    let md = |abilities: &str| {
        format!(
            "---\ntitle: Worker\ndescription: Works\nabilities: [{abilities}]\n---\n\n## System\n\nWork.\n"
        )
    };
    let trust = |axes: &str| {
        format!("name: w\nversion: 1.0.0\ndescription: W\nsoul: W.\ntrust: {{{axes}}}\n")
    };
    // The file, its text, and how many of the commands must be allowed at least.
    let agents: [(&str, String, usize); 10] = [
        ("worker/agent.toml", toml(""), 2),
        ("worker/agent.toml", toml(&section("edit", "allow", "")), 3),
        ("worker/agent.toml", toml(&open), 6),
        (
            "worker/agent.toml",
            toml(&(section("edit", "allow", "") + &section("external_directory", "deny", &named))),
            6,
        ),
        (
            "worker/agent.toml",
            toml(
                &(section("edit", "deny", &named) + &section("external_directory", "deny", &named)),
            ),
            3,
        ),
        (
            "worker/agent.toml",
            toml(
                &(section("edit", "deny", "\"notes/*.txt:allow\"")
                    + &section("external_directory", "deny", &format!("\"{out}/*/**:allow\""))),
            ),
            3,
        ),
        ("agents/dev_worker.agent.md", md("sh"), 1),
        ("agents/dev_worker.agent.md", md("sh, fs"), 6),
        ("worker.agent", trust("filesystem: full, network: none, exec: sandboxed"), 6),
        ("worker.agent", trust("filesystem: read-only, network: none, exec: sandboxed"), 2),
    ];
    for (path, text, least) in agents {
        let test =
            Test::new().file("agentry.toml", "").file(path, &text).file("notes/a.txt", "in\n");
        let test =
            test.file("worker/system-prompt.md", "Work.\n").file("worker/persona.md", "W.\n");
        let test = test.file("worker/principles.md", "Care.\n");
        if cannot_be_confined(&test) {
            return;
        }
        let directory = outside.path();
        std::fs::create_dir_all(directory.join("deep")).expect("a directory");
        std::fs::write(directory.join("a.txt"), "out\n").expect("a file");
        std::fs::write(directory.join("deep/b.txt"), "deep\n").expect("a file");
        let agent = match path.rsplit_once('/') {
            Some(("worker", _)) => "worker",
            _ => path,
        };
        let lines = [
            "echo hello".to_owned(),
            "cat notes/a.txt".to_owned(),
            "echo more >> notes/a.txt".to_owned(),
            format!("cat {out}/a.txt"),
            format!("cat {out}/deep/b.txt"),
            format!("echo new > {out}/deep/c.txt"),
            format!("cd {out} && cat a.txt"),
        ];
        let mut allowed = 0;
        for line in &lines {
            let why = test.run_args(&["policy", "why", agent, "bash", line]);
            if why.stdout.lines().next() != Some("allow") {
                continue;
            }
            allowed += 1;
            let ran = test.run_args(&["sandbox", "exec", agent, "--", "bash", "-c", line]);
            assert_eq!(ran.code, Some(0), "{text}\n{line}: {ran}");
        }
        assert!(allowed >= least, "{text}: {allowed} are allowed");
    }
}
