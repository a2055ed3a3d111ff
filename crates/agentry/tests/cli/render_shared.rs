//! `agentry render`: shared files, accepted losses, disabled agents, and the guard in another directory.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::render::{agent, workspace};
use crate::test::Test;

const DENIES: &str = "[permissions.bash]\nintent = \"ask\"\nrules = [\"git push *:deny\"]\n";
const SETTINGS: &str = ".claude/settings.json";

fn claude(test: Test) -> Test {
    test.file("agentry.toml", "[render]\ntargets = [\"claude-code\"]\n")
}

#[test]
fn shared_files_are_written_on_request_and_stay() {
    let test = claude(agent(Test::new(), "helper", DENIES));
    let ran = test.run("render").exits(0);
    assert!(!test.has(SETTINGS), "{ran}");
    assert!(ran.stdout.contains("`--shared` writes them"), "{ran}");
    let ran = test.run("render --shared").exits(0);
    assert!(test.read(SETTINGS).contains("Bash(git push *)"), "{ran}");
    // The report names the agent that needs the line.
    let line = "gets permissions.deny `Bash(git push *)` for helper";
    assert!(ran.stdout.contains(line), "{ran}");
    let with_rules = test.read(SETTINGS);
    let own = test.read(".claude/agents/helper.md");
    assert!(own.contains("Bash"), "{own}");
    // Without the request nothing shared changes, even if no agent needs it any more.
    test.run("render").exits(0);
    assert_eq!(test.read(SETTINGS), with_rules);
    assert_eq!(test.read(".claude/agents/helper.md"), own);
    test.write("agents/helper/agent.toml", "name = \"helper\"\ndescription = \"d\"\n");
    test.run("render").exits(0);
    assert_eq!(test.read(SETTINGS), with_rules);
    let ran = test.run("render --shared").exits(0);
    assert!(!test.has(SETTINGS), "{ran}");
}

#[test]
fn the_configuration_may_ask_for_shared_files() {
    let test = agent(Test::new(), "helper", DENIES)
        .file("agentry.toml", "[render]\ntargets = [\"claude-code\"]\nshared = true\n");
    test.run("render").exits(0);
    assert!(test.read(SETTINGS).contains("Bash(git push *)"));
}

#[test]
fn a_guard_keeps_earlier_denials_and_adds_its_hook() {
    let test = claude(agent(Test::new(), "helper", DENIES));
    test.run("render --shared").exits(0);
    let ran = test.run("render --guard").exits(0);
    let content = test.read(SETTINGS);
    assert!(content.contains("Bash(git push *)") && content.contains("agentry guard"), "{content}");
    assert!(ran.stdout.contains("gets hooks.PreToolUse `agentry guard claude-code`"), "{ran}");
    test.run("render --no-guard").exits(0);
    let content = test.read(SETTINGS);
    assert!(
        content.contains("Bash(git push *)") && !content.contains("agentry guard"),
        "{content}"
    );
}

#[test]
fn changing_one_agent_keeps_files_of_others() {
    let test = claude(agent(agent(Test::new(), "careful", DENIES), "free", ""));
    test.run("render --shared").exits(0);
    let free = test.read(".claude/agents/free.md");
    test.write(
        "agents/careful/agent.toml",
        format!("name = \"careful\"\ndescription = \"d\"\n{DENIES}").replace("push", "pull"),
    );
    let ran = test.run("render --shared").exits(0);
    assert_eq!(test.read(".claude/agents/free.md"), free);
    assert!(ran.stdout.contains("`Bash(git pull *)` for careful"), "{ran}");
}

#[test]
fn an_accepted_loss_is_counted_and_a_new_one_fails() {
    let test = Test::new().file("agentry.toml", "[render]\ntargets = [\"pi\"]\n");
    let test = agent(test, "helper", "");
    let losses = test.run("render --format json").exits(0).json();
    let fields: Vec<String> = losses["losses"]
        .as_array()
        .expect("losses")
        .iter()
        .map(|loss| format!("pi:{}", loss["field"].as_str().expect("a field")))
        .collect();
    assert!(!fields.is_empty());
    test.run("render --strict").exits(1);
    let ran = test.run(&format!("render --strict --accept {}", fields.join(","))).exits(0);
    assert!(ran.stdout.contains("accepted"), "{ran}");
    assert!(!ran.stdout.contains("permissions.bash"), "{ran}");
    assert!(test.read(".pi/agents/helper.md").contains("bash"), "{ran}");
    let list: Vec<String> = fields.iter().map(|field| format!("{field:?}")).collect();
    let config = format!("[render]\ntargets = [\"pi\"]\naccept = [{}]\n", list.join(", "));
    test.write("agentry.toml", config);
    test.run("render --strict").exits(0);
    // A loss that is not in the list fails.
    test.write(
        "agents/helper/agent.toml",
        "name = \"helper\"\ndescription = \"d\"\ntags = [\"x\"]\n",
    );
    test.run("render --strict").exits(1);
    test.write("agentry.toml", "[render]\ntargets = [\"pi\"]\naccept = [\"pie:x\"]\n");
    let ran = test.run("render").exits(2);
    assert!(ran.stderr.contains("`pie` is no target"), "{ran}");
    test.run("render --accept nothing").exits(2);
}

const DISABLED: &str = "---\ntitle: Helper\nversion: \"1.0.0\"\nstatus: disabled\n---\n# Helper\n\n\
                        Answers questions.\n\n## System\n\nYou answer.\n";

#[test]
fn a_disabled_agent_is_not_rendered_and_its_files_removed() {
    let path = "agents/tools_helper.agent.md";
    let test = Test::new()
        .file(path, DISABLED.replace("status: disabled\n", ""))
        .file("agentry.toml", "[render]\ntargets = [\"opencode\", \"claude-code\"]\n");
    test.run("render").exits(0);
    assert!(test.has(".claude/agents/helper.md") && test.has(".opencode/agents/helper.md"));
    test.write(path, DISABLED);
    let ran = test.run("render --check").exits(1);
    assert!(ran.stdout.contains("`helper` is disabled"), "{ran}");
    let ran = test.run("render").exits(0);
    assert!(!test.has(".claude/agents/helper.md") && !test.has(".opencode/agents/helper.md"));
    assert!(ran.stdout.contains("`helper` is disabled"), "{ran}");
    let json = test.run("render --format json").exits(0).json();
    assert_eq!(json["disabled"], serde_json::json!(["helper"]));
}

#[test]
fn the_report_ends_with_the_command_that_makes_it_exact() {
    let test = claude(agent(Test::new(), "helper", DENIES));
    let ran = test.run("render agents").exits(0);
    let last = ran.stdout.lines().last().unwrap_or_default().to_owned();
    assert_eq!(
        last,
        "  = help: `agentry render --guard agents --target claude-code` checks each call by these rules"
    );
    let ran = test.run("render agents --guard").exits(0);
    assert!(!ran.stdout.contains("checks each call by these rules"), "{ran}");
}

/// Runs the command of the hook in a rendered file, from the root of the project.
#[test]
fn a_guard_in_another_directory_finds_its_definition() {
    let allow = "[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:deny\"]\n";
    let test = agent(Test::new(), "helper", allow);
    test.run("render --guard -o out/project --target claude-code").exits(0);
    let root = test.path("out/project");
    let content = test.read("out/project/.claude/agents/helper.md");
    let line =
        content.lines().find_map(|line| line.trim().strip_prefix("command: ")).expect(&content);
    let hook: String =
        serde_json::from_str(line).unwrap_or_else(|_| line.trim_matches('\'').to_owned());
    let bin = fs::canonicalize(env!("CARGO_BIN_EXE_agentry")).expect("the program");
    let path = format!("{}:/usr/bin:/bin", bin.parent().expect("a directory").display());
    let settings: serde_json::Value =
        serde_json::from_str(&test.read("out/project/.claude/settings.json")).expect("json");
    let shared = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str();
    for command in [hook.as_str(), shared.expect("a hook")] {
        for (line, expected) in [("ls", "allow"), ("rm x", "deny")] {
            let question = serde_json::json!({
                "hook_event_name": "PreToolUse", "tool_name": "Bash", "agent_type": "helper",
                "cwd": root, "tool_input": {"command": line},
            });
            let mut child = Command::new("sh")
                .args(["-c", command])
                .current_dir(&root)
                .env_clear()
                .env("PATH", &path)
                .env("HOME", test.path("home"))
                .env("CLAUDE_PROJECT_DIR", &root)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("a shell");
            let mut input = child.stdin.take().expect("an input");
            input.write_all(question.to_string().as_bytes()).expect("a question");
            drop(input);
            let output = child.wait_with_output().expect("an answer");
            let answer = String::from_utf8_lossy(&output.stdout).into_owned();
            let wanted = format!("\"permissionDecision\":\"{expected}\"");
            assert!(answer.contains(&wanted), "{command}\n{line}: {answer}");
        }
    }
}

#[test]
fn a_private_key_in_a_prompt_is_masked() {
    let line = "-----BEGIN PRIVATE KEY-----";
    let key = format!(
        "{line}\nMIIEpAIBAAKCAQEAy8Dbv8prpJ0kKhlGeJYozo2t60EG8L0561g13R29LvMR5hy\n\
         -----END PRIVATE KEY-----"
    );
    let test = agent(Test::new(), "helper", "");
    test.write("agents/helper/system-prompt.md", format!("Search for `{line}` in files.\n"));
    let ran = test.run("render --target opencode").exits(0);
    assert!(test.read(".opencode/agents/helper.md").contains(line));
    assert!(!ran.stdout.contains("secret in"), "{ran}");
    test.write("agents/helper/system-prompt.md", format!("Use\n{key}\nalways.\n"));
    let ran = test.run("render --target opencode").exits(0);
    let content = test.read(".opencode/agents/helper.md");
    assert!(content.contains("Use\n***\nalways.") && !content.contains("MIIE"), "{content}");
    assert!(ran.stdout.contains("a secret in `agents/helper/system-prompt.md"), "{ran}");
}

/// What was rendered for runs without a person stays so until it is revoked.
#[test]
fn unattended_is_kept_until_revoked() {
    let test = workspace();
    test.run("render --unattended").exits(0);
    let before = test.read(".opencode/agents/helper.md");
    assert!(!before.contains(": ask"), "{before}");
    let ran = test.run("render --check").exits(0);
    assert!(ran.stdout.contains("questions kept denied, as before"), "{ran}");
    test.run("render").exits(0);
    assert_eq!(test.read(".opencode/agents/helper.md"), before);
    test.run("render --check --no-unattended").exits(1);
    test.run("render --no-unattended").exits(0);
    assert!(test.read(".opencode/agents/helper.md").contains(": ask"));
    test.run("render --check").exits(0);
}
