//! `agentry guard`: every failure is a denial.

use std::io::Write as _;
use std::process::Stdio;

use crate::render::workspace;
use crate::test::Test;

/// Asks the guard, and returns its exit code with its whole output.
fn ask(test: &Test, args: &str, question: &[u8]) -> (Option<i32>, String) {
    let mut command = test.command(args.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    // The guard may end without reading a question that it cannot answer.
    let _ = child.stdin.take().expect("a pipe").write_all(question);
    let output = child.wait_with_output().expect("it ends");
    let reply = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&reply).into_owned())
}

#[test]
fn guard_errors_deny_the_call() {
    let test = workspace().file("broken.agent", crate::test::BROKEN);
    let cases: [(&str, &[u8]); 8] = [
        ("guard nothing agents/helper", b"{}"),
        ("guard opencode nowhere", b"{}"),
        ("guard opencode broken.agent", b"{}"),
        ("guard opencode agents/helper", b""),
        ("guard opencode agents/helper", b"nonsense"),
        ("guard opencode agents/helper", b"\xff\xfe"),
        ("guard opencode agents/helper --digest sha256:0", b"{}"),
        ("guard opencode", b"{}"),
    ];
    for (args, question) in cases {
        let (code, reply) = ask(&test, args, question);
        assert_eq!(code, Some(2), "{args}: {reply}");
        assert!(!reply.contains("\"allow\""), "{args}: {reply}");
        assert!(!reply.is_empty(), "{args}");
    }
}

/// A start-up tool must succeed before any call, and a guard cannot run it.
#[test]
fn an_agent_with_a_startup_tool_is_denied() {
    let agent = "---\ntitle: Helper\ndescription: Helps\nabilities:\n  allow: [fs, tool]\n\
        required:\n  startup: check\n---\n\n## System\n\nYou help.\n\n## Tools\n\n```js\n\
        return { check: { fn: () => 1, scheme: { name: \"check\", description: \"d\", \
        parameters: { type: \"object\" } } } };\n```\n";
    let test = Test::new().file("agents/team_helper.agent.md", agent).file("a.txt", "");
    let directory = test.path(".").canonicalize().expect("a directory");
    let question = |tool: &str| serde_json::json!({"tool_name": tool, "tool_input": {"file_path": "a.txt"}, "cwd": directory});
    let args = "guard claude-code agents/team_helper.agent.md";
    let (_, reply) = ask(&test, args, question("Read").to_string().as_bytes());
    assert!(reply.contains("`check` must succeed before it starts"), "{reply}");
    assert!(!reply.contains("\"allow\""), "{reply}");
}

/// Every guard answers a search like `policy why`.
#[test]
fn every_guard_answers_searches_like_policy_why() {
    let rules = "\n[permissions.read]\nintent = \"allow\"\nrules = [\"**/secret.txt:deny\"]\n";
    let test = Test::new().file("src/a.rs", "").file("node_modules/x/.env", "");
    let test = test.file("node_modules/y/secret.txt", "");
    let test = crate::render::agent(test, "finder", rules);
    let directory = test.path(".").canonicalize().expect("a directory");
    let cases = [
        ("node_modules/**", "deny"),
        ("node_modules/x/*", "ask"),
        ("**/node_modules/**", "deny"),
        ("*.txt", "deny"),
        ("*.rs", "allow"),
    ];
    for (glob, expected) in cases {
        let why = test.run(&format!("policy why agents/finder read . --search={glob}"));
        assert_eq!(why.stdout.lines().next(), Some(expected), "{glob}: {why}");
        let harnesses = [
            ("claude-code", "tool_name", "Grep", "tool_input", "glob", "cwd"),
            ("pi", "tool", "grep", "input", "glob", "directory"),
            ("opencode", "tool", "grep", "args", "include", "directory"),
        ];
        for (harness, tool, name, input, key, at) in harnesses {
            let question = serde_json::json!({
                tool: name, input: {"pattern": "x", key: glob}, at: directory,
            });
            let args = format!("guard {harness} agents/finder");
            let (code, reply) = ask(&test, &args, question.to_string().as_bytes());
            assert_eq!(code, Some(0), "{harness} {glob}: {reply}");
            assert!(
                reply.contains(&format!("ecision\":\"{expected}\"")),
                "{harness} {glob}: {reply}"
            );
        }
    }
}

#[test]
fn one_hook_serves_the_agents_that_a_file_lists() {
    let test = workspace();
    let (code, reply) = ask(&test, "render agents/helper --target claude-code --guard", b"");
    assert_eq!(code, Some(0), "{reply}");
    let question = |agent: &str| {
        let directory = test.path(".");
        let agent =
            if agent.is_empty() { String::new() } else { format!("\"agent_type\":\"{agent}\",") };
        format!(
            "{{{agent}\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":\"{}\",\
             \"tool_input\":{{\"command\":\"rm -rf /\"}}}}",
            directory.display()
        )
    };
    let args = "guard claude-code --agents .claude/agentry-guard.json";
    // Another agent, and the user's own session, are not judged.
    for unknown_agent in ["", "somebody-else"] {
        assert_eq!(
            ask(&test, args, question(unknown_agent).as_bytes()),
            (Some(0), String::new()),
            "{unknown_agent}"
        );
    }
    let (code, reply) = ask(&test, args, question("helper").as_bytes());
    assert_eq!(code, Some(0), "{reply}");
    assert!(reply.contains("\"permissionDecision\"") && !reply.contains("\"allow\""), "{reply}");
    let (code, reply) =
        ask(&test, "guard claude-code --agents nowhere.json", question("helper").as_bytes());
    assert_eq!(code, Some(2), "{reply}");
}

#[test]
fn the_guard_is_kept_until_no_guard() {
    let test = workspace();
    let guard = ".claude/agentry-guard.json";
    test.run("render --target claude-code --guard").exits(0);
    test.run("render --target claude-code --check --guard").exits(0);
    let before = test.read(".claude/settings.json");
    // Another target keeps its state.
    let ran = test.run("render --target opencode").exits(0);
    assert!(!ran.stdout.contains("guard kept") && test.has(guard), "{ran}");
    for args in ["--check", "--dry-run", "", "agents/pusher"] {
        let ran = test.run(&format!("render --target claude-code {args}")).exits(0);
        assert!(ran.stdout.contains("  guard kept, as it was"), "{ran}");
        assert!(!ran.stdout.contains("updated"), "{ran}");
        assert_eq!(test.read(".claude/settings.json"), before, "{args}");
    }
    test.run("render --guard --no-guard").exits(2);
    test.run("render --target claude-code --no-guard --check").exits(1);
    test.run("render --target claude-code --no-guard").exits(0);
    assert!(!test.has(guard));
    let ran = test.run("render --target claude-code --check").exits(0);
    assert!(!ran.stdout.contains("guard kept"), "{ran}");
}

#[test]
fn closed_gaps_are_kept_until_opened() {
    let test = workspace();
    let file = ".opencode/agents/pusher.md";
    test.run("render --target opencode").exits(0);
    let open = test.read(file);
    test.run("render --target opencode --close-gaps").exits(0);
    let closed = test.read(file);
    assert_ne!(open, closed);
    // Another target keeps its state.
    let ran = test.run("render --target claude-code").exits(0);
    assert!(!ran.stdout.contains("gaps kept closed"), "{ran}");
    for args in ["--check", "--dry-run", "", "agents/pusher"] {
        let ran = test.run(&format!("render --target opencode {args}")).exits(0);
        assert!(ran.stdout.contains("  gaps kept closed, as before"), "{ran}");
        assert_eq!(test.read(file), closed, "{args}");
    }
    test.run("render --close-gaps --no-close-gaps").exits(2);
    test.run("render --target opencode --no-close-gaps").exits(0);
    assert_eq!(test.read(file), open);
    let ran = test.run("render --target opencode --check").exits(0);
    assert!(!ran.stdout.contains("gaps kept closed"), "{ran}");
}

/// `policy why` and the guard agree, also about protected paths.
#[test]
fn the_guard_and_policy_why_agree() {
    let rules = "[permissions.bash]\nintent = \"allow\"\nrules = [\"git push*:deny\"]\n\
                 [permissions.edit]\nintent = \"allow\"\n";
    let test = crate::render::agent(Test::new(), "all", rules);
    test.run("render agents/all --target claude-code --guard").exits(0);
    let cases = [
        ("bash", "git status", "allow"),
        ("bash", "git push", "deny"),
        // It merely could touch protected files: the guard looks after the call.
        ("bash", "git stash", "allow"),
        ("bash", "echo x > .claude/settings.json", "deny"),
        ("edit", ".claude/settings.json", "deny"),
        ("edit", "agents/all/agent.toml", "deny"),
        ("edit", ".agentry/rendered.json", "deny"),
        ("edit", "src/main.rs", "allow"),
    ];
    let directory = test.path(".");
    for (section, subject, expected) in cases {
        let mut why = test.command(["policy", "why", "agents/all", section, subject]);
        let reply = why.output().expect("the program runs").stdout;
        let reply = String::from_utf8_lossy(&reply).into_owned();
        assert_eq!(reply.lines().next(), Some(expected), "{subject}: {reply}");
        let (tool, key) =
            if section == "bash" { ("Bash", "command") } else { ("Edit", "file_path") };
        let question = serde_json::json!({
            "tool_name": tool, "cwd": directory, "tool_input": {key: subject},
        });
        let (code, reply) =
            ask(&test, "guard claude-code agents/all", question.to_string().as_bytes());
        assert_eq!(code, Some(0), "{reply}");
        let decision = format!("\"permissionDecision\":\"{expected}\"");
        assert!(reply.contains(&decision), "{subject}: {reply}");
    }
}

#[test]
fn protected_files_are_denied_by_the_guard() {
    let agent = "name = \"one\"\ndescription = \"Writes\"\n\n[permissions.bash]\nintent = \"deny\"\n\n\
                 [permissions.edit]\nintent = \"allow\"\n";
    let test = Test::new()
        .file("agentry.toml", "")
        .file("agents/one/agent.toml", agent)
        .file("agents/one/system-prompt.md", "You write.\n")
        .file(".git/config", "[core]\n");
    test.run("render --target claude-code --guard").exits(0);
    let directory = test.path(".");
    let directory = directory.display();
    let answer = |path: &str| {
        let question = format!(
            "{{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Write\",\"cwd\":\"{directory}\",\
             \"tool_input\":{{\"file_path\":\"{directory}/{path}\",\"content\":\"x\"}}}}"
        );
        ask(&test, "guard claude-code agents/one/agent.toml", question.as_bytes()).1
    };
    let protected = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/commondir",
        "sub/.GIT/hooks/x",
        ".vscode/tasks.json",
        "one.cassette.jsonl",
        ".cursor/x",
        "agentry.lock",
    ];
    for path in protected {
        let reply = answer(path);
        assert!(reply.contains("\"deny\""), "{path}: {reply}");
        let why = test.run(&format!("policy why agents/one edit {path}")).exits(0);
        assert!(why.stdout.starts_with("deny\n"), "{path}: {why}");
    }
    let reply = answer("src/main.rs");
    assert!(reply.contains("\"allow\""), "{reply}");
}

/// An agent that may do all that a rule can allow.
fn allowed() -> Test {
    let open = ["bash", "edit", "read", "webfetch", "websearch", "external_directory"];
    let rules = open.map(|section| format!("[permissions.{section}]\nintent = \"allow\"\n"));
    crate::render::agent(Test::new(), "all", &rules.concat())
}

/// Everything but a valid question is a denial, even for an agent that may do everything.
#[test]
fn malformed_guard_questions_are_denied() {
    let test = allowed();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let huge = "x".repeat(17 * 1024 * 1024);
    let shapes = [
        ("claude-code", "tool_name", "tool_input", "cwd", ["Bash", "Read", "Grep"]),
        ("opencode", "tool", "args", "directory", ["bash", "read", "grep"]),
        ("pi", "tool", "input", "directory", ["bash", "read", "grep"]),
    ];
    for (harness, tool, input, cwd, [bash, read, grep]) in shapes {
        let of = |name: &str, given: &str| {
            format!("{{\"{tool}\":\"{name}\",\"{input}\":{given},\"{cwd}\":\"/\"}}")
        };
        let command = of(bash, "{\"command\":\"ls\"}");
        let twice = |key: &str, value: &str| command.replacen('{', &format!("{{{key}:{value},"), 1);
        let questions: Vec<Vec<u8>> = [
            String::new(),
            "null".to_owned(),
            "[]".to_owned(),
            "\"Bash\"".to_owned(),
            format!("\u{feff}{command}"),
            format!("{command}{command}"),
            command.trim_end_matches('}').to_owned(),
            twice(&format!("\"{tool}\""), "\"TodoWrite\""),
            twice(&format!("\"{input}\""), "{\"command\":\"ls\"}"),
            twice(&format!("\"{cwd}\""), "\"/tmp\""),
            of(bash, "{\"command\":\"rm x\",\"command\":\"ls\"}"),
            of(bash, "{\"command\":\"ls\",\"\\u0063ommand\":\"ls\"}"),
            of(bash, "{\"command\":[\"ls\"]}"),
            of(bash, "{\"command\":null}"),
            of(bash, "{\"command\":\"ls\\u0000\"}"),
            of(bash, "{\"command\":\"\\ud800\"}"),
            of(bash, "[\"ls\"]"),
            of(bash, "\"ls\""),
            of(bash, "{}"),
            of(read, "{\"file_path\":1,\"filePath\":1,\"path\":1}"),
            of(
                read,
                "{\"file_path\":\"a\\u0000b\",\"filePath\":\"a\\u0000\",\"path\":\"a\\u0000\"}",
            ),
            of(grep, "{\"pattern\":\"x\",\"path\":[\"/\"]}"),
            of(bash, &deep),
            of(bash, &format!("{{\"command\":\"{huge}\"}}")),
            command.replace("\"/\"", "\".\""),
            command.replace("\"/\"", "7"),
            command.replace(&format!(",\"{cwd}\":\"/\""), ""),
            command.replace(&format!("\"{tool}\":\"{bash}\","), ""),
        ]
        .map(String::into_bytes)
        .into_iter()
        .chain([[command.as_bytes(), b"\xff"].concat(), command.clone().into_bytes()])
        .collect();
        let (last, questions) = questions.split_last().expect("questions");
        for question in questions {
            let start = String::from_utf8_lossy(question).chars().take(120).collect::<String>();
            let (code, reply) = ask(&test, &format!("guard {harness} agents/all"), question);
            assert_eq!(code, Some(2), "{harness} {start}: {reply}");
            assert!(!reply.contains("\"allow\"") && reply.contains("\"deny\""), "{start}: {reply}");
            assert!(!reply.contains("a defect in agentry"), "{harness} {start}: {reply}");
        }
        let (code, reply) = ask(&test, &format!("guard {harness} agents/all"), last);
        assert!(code == Some(0) && reply.contains("\"allow\""), "{harness}: {reply}");
    }
}

#[test]
fn unknown_tools_and_events_are_asked_about() {
    let test = allowed();
    let event = |name: &str| {
        format!(
            "{{\"hook_event_name\":\"{name}\",\"tool_name\":\"Bash\",\"cwd\":\"/\",\
             \"tool_input\":{{\"command\":\"ls\"}}}}"
        )
    };
    for name in ["PostToolUseFailure", "Stop", "", "pretooluse"] {
        let (code, reply) = ask(&test, "guard claude-code agents/all", event(name).as_bytes());
        assert!(code == Some(2) && reply.contains("\"deny\""), "{name}: {reply}");
    }
    let (_, reply) = ask(&test, "guard claude-code agents/all", event("PreToolUse").as_bytes());
    assert!(reply.contains("\"allow\""), "{reply}");
    for tool in ["Teleport", "bash", "Bash ", "", "mcp__x__y", "guarded_x", "../Read"] {
        let question = serde_json::json!({"tool_name": tool, "tool": tool, "cwd": "/",
            "directory": "/", "tool_input": {}, "args": {}, "input": {}});
        for harness in ["claude-code", "opencode", "pi"] {
            let (_, reply) =
                ask(&test, &format!("guard {harness} agents/all"), question.to_string().as_bytes());
            assert!(!reply.contains("\"allow\""), "{harness} {tool}: {reply}");
        }
    }
    // Even for a very long line, the answer is short enough for a hook.
    let long = format!("echo {}", "$(ls) ".repeat(200_000));
    let question = serde_json::json!({"tool": "bash", "args": {"command": long}, "directory": "/"});
    let (_, reply) = ask(&test, "guard opencode agents/all", question.to_string().as_bytes());
    assert!(reply.len() < 4_000, "{} bytes", reply.len());
}

/// `..` behind a link is one file for the system and another one by its text: both are judged.
#[cfg(unix)]
#[test]
fn the_guard_follows_symlinks_before_judging() {
    let rules = "[permissions.read]\nintent = \"allow\"\nrules = [\"private/**:deny\"]\n";
    let test = crate::render::agent(Test::new(), "all", rules)
        .file("private/deep/x", "")
        .file("private/y", "")
        .file("docs/deep/x", "")
        .file("docs/y", "");
    std::os::unix::fs::symlink("docs/deep", test.path("link")).expect("a link");
    std::os::unix::fs::symlink("../private/deep", test.path("docs/in")).expect("a link");
    let directory = test.path(".");
    let cases = [
        ("docs/y", "allow"),
        ("docs/in/x", "deny"),
        // By its text it is `docs/y`, for the system `private/y`.
        ("docs/in/../y", "deny"),
        ("link/x", "allow"),
        // By its text it is `private/y`, for the system `docs/private/y`.
        ("link/../private/y", "deny"),
    ];
    for (path, expected) in cases {
        let question = serde_json::json!({
            "tool_name": "Read", "cwd": directory, "tool_input": {"file_path": path},
            "tool": "read", "directory": directory, "args": {"filePath": path},
        });
        for harness in ["claude-code", "opencode"] {
            let (code, reply) =
                ask(&test, &format!("guard {harness} agents/all"), question.to_string().as_bytes());
            assert_eq!(code, Some(0), "{reply}");
            assert!(reply.contains(&format!("\"{expected}\"")), "{harness} {path}: {reply}");
        }
    }
}

/// A call that changed protected files is reported, and every further call is denied until a person looked.
#[test]
fn changed_protected_files_deny_further_calls() {
    let test = workspace();
    let question = |event: &str, id: &str| {
        serde_json::json!({
            "hook_event_name": event, "tool_name": "Bash", "tool_use_id": id,
            "cwd": test.path("."), "tool_input": {"command": "git status"},
        })
        .to_string()
    };
    let args = "guard claude-code agents/helper";
    let before = |id: &str| ask(&test, args, question("PreToolUse", id).as_bytes());
    let after = |id: &str| ask(&test, args, question("PostToolUse", id).as_bytes());
    let allowed = before("one");
    assert!(!allowed.1.contains("protected files"), "{allowed:?}");
    test.write("src/new.rs", "x");
    assert_eq!(after("one"), (Some(0), String::new()), "an ordinary file");
    // What the user changes between two calls is no change by a call.
    test.write("agentry.toml", "[check]\n");
    let (_, reply) = before("two");
    assert!(!reply.contains("protected files"), "{reply}");
    test.write(".claude/settings.json", "{\"disableAllHooks\": true}");
    let (code, reply) = after("two");
    assert_eq!(code, Some(2), "{reply}");
    assert!(reply.contains("\"block\"") && reply.contains(".claude/settings.json"), "{reply}");
    for id in ["three", "four"] {
        let (code, reply) = before(id);
        assert_eq!(code, Some(2), "{reply}");
        assert!(reply.contains("\"deny\"") && reply.contains("--accept"), "{reply}");
    }
    // Only a person at a terminal lets calls through again.
    let (code, reply) = ask(&test, "guard claude-code agents/helper --accept", b"");
    assert_eq!(code, Some(2), "{reply}");
    assert!(reply.contains("terminal"), "{reply}");
    let (_, reply) = before("five");
    assert!(reply.contains("\"deny\""), "{reply}");
}
