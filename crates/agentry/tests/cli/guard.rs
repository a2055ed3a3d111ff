//! `agentry guard`: whatever goes wrong is a denial.

use std::io::Write as _;
use std::process::Stdio;

use crate::render::workspace;
use crate::test::Test;

/// Asks the guard, and gives its exit code with all that it said.
fn ask(test: &Test, args: &str, question: &[u8]) -> (Option<i32>, String) {
    let mut command = test.command(args.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    // It need not read a question that it cannot answer.
    let _ = child.stdin.take().expect("a pipe").write_all(question);
    let output = child.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn errors_are_denials() {
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
        let (code, said) = ask(&test, args, question);
        assert_eq!(code, Some(2), "{args}: {said}");
        assert!(!said.contains("\"allow\""), "{args}: {said}");
        assert!(!said.is_empty(), "{args}");
    }
}

#[test]
fn one_hook_serves_the_agents_that_a_file_lists() {
    let test = workspace();
    let (code, said) = ask(&test, "render agents/helper --target claude-code --guard", b"");
    assert_eq!(code, Some(0), "{said}");
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
    // Another agent, and the session of the person, are not asked about.
    for nobody in ["", "somebody-else"] {
        assert_eq!(
            ask(&test, args, question(nobody).as_bytes()),
            (Some(0), String::new()),
            "{nobody}"
        );
    }
    let (code, said) = ask(&test, args, question("helper").as_bytes());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("\"permissionDecision\"") && !said.contains("\"allow\""), "{said}");
    let (code, said) =
        ask(&test, "guard claude-code --agents nowhere.json", question("helper").as_bytes());
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn the_guard_is_kept_until_it_is_taken_away() {
    let test = workspace();
    let guard = ".claude/agentry-guard.json";
    test.run("render --target claude-code --guard").exits(0);
    test.run("render --target claude-code --check --guard").exits(0);
    let before = test.read(".claude/settings.json");
    // Another target is none of its business.
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
fn gaps_stay_closed_until_they_are_opened() {
    let test = workspace();
    let file = ".opencode/agents/pusher.md";
    test.run("render --target opencode").exits(0);
    let open = test.read(file);
    test.run("render --target opencode --close-gaps").exits(0);
    let closed = test.read(file);
    assert_ne!(open, closed);
    // Another target is none of its business.
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

/// What `policy why` says is what a harness with the guard does, also about paths that no rule opens.
#[test]
fn the_guard_and_policy_why_agree() {
    let rules = "[permissions.bash]\nintent = \"allow\"\nrules = [\"git push*:deny\"]\n\
                 [permissions.edit]\nintent = \"allow\"\n";
    let test = crate::render::agent(Test::new(), "all", rules);
    test.run("render agents/all --target claude-code --guard").exits(0);
    let cases = [
        ("bash", "git status", "allow"),
        ("bash", "git push", "deny"),
        ("bash", "git stash", "ask"),
        ("bash", "echo x > .claude/settings.json", "deny"),
        ("edit", ".claude/settings.json", "deny"),
        ("edit", "agents/all/agent.toml", "deny"),
        ("edit", ".agentry/rendered.json", "deny"),
        ("edit", "src/main.rs", "allow"),
    ];
    let directory = test.path(".");
    for (section, subject, expected) in cases {
        let mut why = test.command(["policy", "why", "agents/all", section, subject]);
        let said = why.output().expect("the program runs").stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert_eq!(said.lines().next(), Some(expected), "{subject}: {said}");
        let (tool, key) =
            if section == "bash" { ("Bash", "command") } else { ("Edit", "file_path") };
        let question = serde_json::json!({
            "tool_name": tool, "cwd": directory, "tool_input": {key: subject},
        });
        let (code, said) =
            ask(&test, "guard claude-code agents/all", question.to_string().as_bytes());
        assert_eq!(code, Some(0), "{said}");
        let decision = format!("\"permissionDecision\":\"{expected}\"");
        assert!(said.contains(&decision), "{subject}: {said}");
    }
}

#[test]
fn what_no_tool_of_a_run_writes_is_denied_by_the_guard_too() {
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
        let said = answer(path);
        assert!(said.contains("\"deny\""), "{path}: {said}");
        let why = test.run(&format!("policy why agents/one edit {path}")).exits(0);
        assert!(why.stdout.starts_with("deny\n"), "{path}: {why}");
    }
    let said = answer("src/main.rs");
    assert!(said.contains("\"allow\""), "{said}");
}
