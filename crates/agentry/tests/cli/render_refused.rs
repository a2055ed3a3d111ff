//! `agentry render` of refused agents, and of agents that the user's own settings affect.

use crate::render::agent;
use crate::test::Test;

const ASKS: &str = "[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:ask\"]\n";
const READS: &str = "[permissions.bash]\nintent = \"allow\"\nrules = [\"make *:ask\"]\n\
                     [permissions.edit]\nintent = \"deny\"\nrules = []\n\
                     [permissions.read]\nintent = \"allow\"\nrules = []\n\
                     [permissions.external_directory]\nintent = \"allow\"\nrules = []\n";
const WIDE: &str =
    "{\"permissions\": {\"allow\": [\"Edit\"], \"additionalDirectories\": [\"/srv\"]}}";
const SETTINGS: &str = ".claude/settings.json";
const LOCAL: &str = ".claude/settings.local.json";
/// A name that is built into Claude Code: the agent is refused.
const REFUSING: &str = "[render.claude-code.aliases]\nasks = \"explore\"\n";

/// The files of the last rendering stay, with their rules.
#[test]
fn a_refused_agent_alone_keeps_its_last_files() {
    let test = agent(Test::new(), "asks", ASKS);
    test.run("render --target claude-code --shared").exits(0);
    let before = test.read(SETTINGS);
    assert!(before.contains("Bash(rm *)"), "{before}");
    test.write("agentry.toml", REFUSING);
    test.run("render --target claude-code --shared").exits(1);
    assert!(test.has(".claude/agents/asks.md"));
    assert_eq!(test.read(SETTINGS), before);
}

/// Shared rules that are written for others do not fit it: its old files are removed.
#[test]
fn a_refused_agent_beside_others_loses_its_files() {
    let test = agent(agent(Test::new(), "asks", ASKS), "reads", READS);
    test.run("render --target claude-code --shared").exits(0);
    assert!(test.read(SETTINGS).contains("Bash(rm *)"));
    test.write("agentry.toml", REFUSING);
    test.run("render --target claude-code --shared").exits(1);
    assert!(!test.has(".claude/agents/asks.md") && test.has(".claude/agents/reads.md"));
    let settings = test.read(SETTINGS);
    assert!(!settings.contains("rm *") && settings.contains("make *"), "{settings}");
}

#[test]
fn user_settings_are_reported_and_change_no_files() {
    let test = agent(Test::new(), "asks", ASKS);
    test.run("render --target claude-code --shared").exits(0);
    let before = (test.read(".claude/agents/asks.md"), test.read(SETTINGS));
    for settings in ["home/.claude/settings.json", LOCAL] {
        test.write(settings, WIDE);
        let ran = test.run("render --target claude-code --shared").exits(0);
        let is_reported = |line: &str| {
            line.contains("your own settings in ")
                && line.contains("ask in the source and allow here by `Edit`")
        };
        assert!(ran.stdout.lines().any(is_reported), "{ran}");
        assert_eq!((test.read(".claude/agents/asks.md"), test.read(SETTINGS)), before);
        test.write(settings, "{}");
    }
    test.write("home/.codex/rules/default.rules", "prefix_rule(pattern = [\"rm\"])\n");
    let ran = test.run("render --target codex").exits(0);
    assert!(!ran.stdout.contains("not understood"), "{ran}");
}

/// A user who runs agents unattended must not rely on a guard that does not exist.
#[test]
fn a_missing_guard_is_reported_once() {
    for (harness, title) in [
        ("codex", "Codex"),
        ("gemini", "Gemini CLI"),
        ("copilot", "GitHub Copilot"),
        ("agents-md", "AGENTS.md"),
        ("agent-skills", "Agent Skills"),
    ] {
        let test = agent(agent(Test::new(), "one", ""), "two", "");
        let report = |args: &str| test.run(&format!("render --target {harness} {args}")).exits(0);
        let line = format!("  no guard: there is none for {title}: only what is rendered holds");
        let ran = report("--guard");
        let lines = ran.stdout.lines().filter(|it| it.contains("no guard"));
        assert_eq!(lines.collect::<Vec<_>>(), [line.as_str()], "{ran}");
        assert!(!report("").stdout.contains("no guard"), "{harness}");
        // The gap that the guard would close is reported as before.
        let json = |args: &str| {
            let json = report(&format!("{args} --format json")).json();
            json["losses"].as_array().expect("losses").clone()
        };
        let (mut with, without) = (json("--guard"), json(""));
        let is_guard = |loss: &serde_json::Value| loss["field"] == "guard";
        let agents: Vec<_> = with.iter().filter(|it| is_guard(it)).map(|it| &it["agent"]).collect();
        assert_eq!(agents, ["one", "two"], "{harness}");
        assert!(with.iter().filter(|it| is_guard(it)).all(|it| it["kind"] == "gap"));
        with.retain(|loss| !is_guard(loss));
        assert_eq!(with, without, "{harness}");
    }
    let test = agent(Test::new(), "one", "");
    let ran = test.run("render --target claude-code --guard").exits(0);
    assert!(!ran.stdout.contains("no guard"), "{ran}");
    let ran = test.run("render --target opencode --guard").exits(0);
    assert!(ran.stdout.contains("  guard limit: OpenCode waits for its plugin package"), "{ran}");
    assert!(!ran.stdout.contains("no guard"), "{ran}");
}

/// An entry that blocks a file is named, with a hint, and stays.
#[cfg(unix)]
#[test]
fn blocking_files_are_named_in_the_refusal() {
    let test = || agent(Test::new(), "helper", "");
    let cases: Vec<(&str, Test)> = vec![
        ("opencode", test().file(".opencode", "mine\n")),
        ("opencode", test().link(".opencode", "../outside")),
        ("opencode", test().link(".opencode/agents/helper.md", "../../../outside.md")),
        ("opencode", test().file(".opencode/agents/helper.md/x", "")),
        ("opencode", test().file("opencode.json", "{\n  \"mcp\": [}\n")),
        ("opencode", test().file(".agentry/rendered.json", "nonsense\n")),
        ("claude-code", test().file(".claude/settings.json", "{\n  \"permissions\": {,\n")),
        ("claude-code", test().file(".claude/settings.json", "{\"permissions\": []}\n")),
        ("opencode", agent(test(), "general", "")),
        ("opencode", test().file("b.agent", crate::test::HELPER)),
        ("copilot", test().file("agents/helper/system-prompt.md", "Long words. ".repeat(9_000))),
    ];
    let all: Vec<String> = cases
        .into_iter()
        .map(|(target, test)| {
            let ran = test.run(&format!("render --target {target}"));
            assert_ne!(ran.code, Some(0), "{ran}");
            let is_reported = |line: &&str| !line.starts_with("  gap ") && !line.is_empty();
            ran.to_string().lines().filter(is_reported).collect::<Vec<_>>().join("\n")
        })
        .collect();
    insta::assert_snapshot!(all.join("\n\n"), @r#"
    $ agentry render --target opencode
    --- stdout
    opencode
      refused  helper: `.opencode/agents/helper.md` lies below the file `.opencode`
        = help: remove what is in the way, or write elsewhere with `--output`
    rendered no agent for opencode: 1 refused
    --- exit 1

    $ agentry render --target opencode
    --- stdout
    opencode
      refused  helper: `.opencode/agents/helper.md` lies behind the link `.opencode`
        = help: remove what is in the way, or write elsewhere with `--output`
    rendered no agent for opencode: 1 refused
    --- exit 1

    $ agentry render --target opencode
    --- stdout
    opencode
      refused  helper: `.opencode/agents/helper.md` is a link
        = help: remove what is in the way, or write elsewhere with `--output`
    rendered no agent for opencode: 1 refused
    --- exit 1

    $ agentry render --target opencode
    --- stdout
    opencode
      refused  helper: `.opencode/agents/helper.md` is a directory
        = help: remove what is in the way, or write elsewhere with `--output`
    rendered no agent for opencode: 1 refused
    --- exit 1

    $ agentry render --target opencode
    --- stdout
    opencode
      refused  helper: `opencode.json:2:10` cannot be read, so its effect in OpenCode is not known
        = help: fix the file first
    rendered no agent for opencode: 1 refused
    --- exit 1

    $ agentry render --target opencode
    --- stderr
    error: `.agentry/rendered.json` is not a list of rendered files: line 1, column 2 is not JSON
      = help: restore it from version control; without it, `--force` is needed to render again
    --- exit 2

    $ agentry render --target claude-code
    --- stdout
    claude-code
      refused  helper: `.claude/settings.json:1:1`: `{` is never closed
        = help: fix the file; it is never overwritten
    rendered no agent for claude-code: 1 refused
    --- exit 1

    $ agentry render --target claude-code
    --- stdout
    claude-code
      refused  helper: `.claude/settings.json`: `permissions` must be an object, or Claude Code drops the file
        = help: fix the file; it is never overwritten
    rendered no agent for claude-code: 1 refused
    --- exit 1

    $ agentry render --target opencode
    --- stdout
    rendered 1 of 2 agents for opencode: 1 created, 1 refused; 4 gaps
    opencode
      created  .opencode/agents/helper.md
      refused  general: `general` is built into OpenCode
        = help: set another name in `agentry.toml`: `[render.opencode.aliases]` `general = "…"`
      = help: `agentry render --guard --target opencode` checks each call by these rules
    --- exit 1

    $ agentry render --target opencode
    --- stdout
    rendered none of 2 agents for opencode: 2 refused
    opencode
      refused  helper: `.opencode/agents/helper.md` would be written for `agents/helper/agent.toml` and for `b.agent`
        = help: rename one of them; an alias would be for both
      refused  helper: `.opencode/agents/helper.md` would be written for `b.agent` and for `agents/helper/agent.toml`
        = help: rename one of them; an alias would be for both
    --- exit 1

    $ agentry render --target copilot
    --- stdout
    copilot
      refused  helper: the prompt has 107999 characters; Copilot takes at most 30000
        = help: move parts of it into a skill
    rendered no agent for copilot: 1 refused
    --- exit 1
    "#);
}

/// A directory that cannot be written to: no other target is written either.
#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_directory_writes_nothing() {
    use std::fs::{Permissions, set_permissions};
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    let test = agent(Test::new(), "helper", "").file(".opencode/agents/other.txt", "");
    let shut = test.path(".opencode/agents");
    set_permissions(&shut, Permissions::from_mode(0o555)).expect("a folder");
    let is_shut = std::fs::write(test.path(".opencode/agents/try"), "").is_err();
    let ran = test.run("render --target pi,opencode");
    set_permissions(&shut, Permissions::from_mode(0o755)).expect("a folder");
    if !is_shut {
        writeln!(std::io::stderr(), "SKIPPED: this user may write everywhere").expect("a stream");
        return;
    }
    insta::assert_snapshot!(ran, @"
    $ agentry render --target pi,opencode
    --- stderr
    error: `.opencode/agents/helper.md` cannot be written: permission denied
      = help: nothing was changed; make the directory writable, or choose another
    --- exit 2
    ");
    assert!(!test.has(".pi") && !test.has(".agentry"), "nothing is half written");
}

/// `check` reports names that `render` would refuse.
#[test]
fn t55_check_reports_names_that_render_refuses() {
    let toml = |name: &str| format!("name = \"{name}\"\ndescription = \"Answers questions\"\n");
    for (name, hint) in [("a--b", "use `a-b`"), ("con", "use another one, such as `con-agent`")] {
        let test = Test::new()
            .file(format!("agents/{name}/agent.toml"), toml(name))
            .file(format!("agents/{name}/system-prompt.md"), "You answer questions.\n");
        let ran = test.run("check").exits(0);
        let line = format!("warning[AG9004]: the name `{name}` ");
        assert!(ran.stdout.contains(&line) && ran.stdout.contains(hint), "{ran}");
        let ran = test.run("render --target opencode").exits(1);
        assert!(ran.stdout.contains(&format!("`{name}` ")), "{ran}");
    }
}
