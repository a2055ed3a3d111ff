//! `agentry render`: its files, its report and its exit codes.

use crate::test::{HELPER, Test};

/// An agent in agent-toml, with these lines after its name and description.
pub(crate) fn agent(test: Test, name: &str, lines: &str) -> Test {
    let head = format!("name = \"{name}\"\ndescription = \"Answers questions\"\n");
    test.file(format!("agents/{name}/agent.toml"), format!("{head}{lines}"))
        .file(format!("agents/{name}/system-prompt.md"), "You answer questions.\n")
}

/// A workspace of two agents that lists OpenCode.
pub(crate) fn workspace() -> Test {
    let test = Test::new().file("agentry.toml", "[render]\ntargets = [\"opencode\"]\n");
    let rules = "[permissions.bash]\nintent = \"ask\"\nrules = [\"git push*:deny\"]\n";
    agent(agent(test, "helper", ""), "pusher", rules)
}

const HELPER_FILE: &str = ".opencode/agents/helper.md";

#[test]
fn without_arguments_the_workspace_is_rendered() {
    let test = workspace();
    insta::assert_snapshot!(test.run("render").exits(0), @"
    $ agentry render
    --- stdout
    rendered 2 agents for opencode: 2 created; 11 gaps

    opencode
      created  .opencode/agents/helper.md
      created  .opencode/agents/pusher.md

      gap  permissions                     OpenCode asks in its ordinary mode, not with `opencode --auto`; a run without a person refuses what is asked about (both agents)
      gap  permissions.bash                OpenCode does not check nested shells, other spellings and variables; `sh -c 'git push'` is deny in the source and ask there (pusher)
      gap  permissions.external_directory  OpenCode lets every agent read the output of tools that it has cut off (both agents)
      gap  permissions.read                secrets: OpenCode does not check them; `.envrc` is ask in the source and allow there (both agents)
      gap  permissions.webfetch            private addresses: OpenCode does not check them; `http://localhost:80/` is deny in the source and ask there (both agents)
      = `--explain` lists all 11, with the rules of both sides

      = help: `agentry render --guard --target opencode` checks each call by these rules
    --- exit 0
    ");
    let file = test.read(HELPER_FILE);
    assert!(file.contains("# rendered by agentry from agents/helper/agent.toml\n"), "{file}");
    insta::assert_snapshot!(test.run("render").exits(0), @"
    $ agentry render
    --- stdout
    rendered 2 agents for opencode: 2 unchanged; 11 gaps

    opencode
      unchanged  2 files

      gap  permissions                     OpenCode asks in its ordinary mode, not with `opencode --auto`; a run without a person refuses what is asked about (both agents)
      gap  permissions.bash                OpenCode does not check nested shells, other spellings and variables; `sh -c 'git push'` is deny in the source and ask there (pusher)
      gap  permissions.external_directory  OpenCode lets every agent read the output of tools that it has cut off (both agents)
      gap  permissions.read                secrets: OpenCode does not check them; `.envrc` is ask in the source and allow there (both agents)
      gap  permissions.webfetch            private addresses: OpenCode does not check them; `http://localhost:80/` is deny in the source and ask there (both agents)
      = `--explain` lists all 11, with the rules of both sides

      = help: `agentry render --guard --target opencode` checks each call by these rules
    --- exit 0
    ");
    // From below, it is the same workspace.
    let below = test.run_in("agents", "render").exits(0);
    assert!(below.stdout.contains("2 unchanged"), "{below}");
    insta::assert_snapshot!(test.run("render --check").exits(0), @"
    $ agentry render --check
    --- stdout
    checked 2 agents for opencode: 2 unchanged; 11 gaps

    opencode
      unchanged  2 files
    --- exit 0
    ");
}

#[test]
fn dry_run_lists_planned_changes() {
    let test = workspace();
    insta::assert_snapshot!(test.run("render --dry-run agents/helper").exits(0), @"
    $ agentry render --dry-run agents/helper
    --- stdout
    opencode
      would create  .opencode/agents/helper.md

      gap  permissions                     OpenCode asks in its ordinary mode, not with `opencode --auto`; a run without a person refuses what is asked about
      gap  permissions.external_directory  OpenCode lets every agent read the output of tools that it has cut off
      gap  permissions.read                secrets: OpenCode does not check them; `.envrc` is ask in the source and allow there
      gap  permissions.webfetch            private addresses: OpenCode does not check them; `http://localhost:80/` is deny in the source and ask there

    would render 1 agent for opencode: 1 created; 4 gaps
      = help: `agentry render --guard agents/helper --target opencode` checks each call by these rules
    --- exit 0
    ");
    assert!(!test.has(".opencode") && !test.has(".agentry"));
}

#[test]
fn check_shows_drift_as_a_diff() {
    let test = workspace();
    let ran = test.run("render --check").exits(1);
    assert!(ran.stdout.contains("--- /dev/null\n+++ .opencode/agents/helper.md\n"), "{ran}");
    assert!(!test.has(".opencode") && !test.has(".agentry"));
    test.run("render").exits(0);
    test.write("agents/helper/system-prompt.md", "You answer every question.\n");
    insta::assert_snapshot!(test.run("render --check").exits(1), @"
    $ agentry render --check
    --- stdout
    2 agents for opencode: not as rendered: 1 updated, 1 unchanged; run `agentry render`

    --- .opencode/agents/helper.md
    +++ .opencode/agents/helper.md
    @@ -23,4 +23,4 @@
       external_directory: ask
     ---
     
    -You answer questions.
    +You answer every question.

    opencode
      would update  .opencode/agents/helper.md
      unchanged     1 file
    --- exit 1
    ");
    test.run("render").exits(0);
    test.run("render --check").exits(0);
}

#[test]
fn render_prints_json() {
    let test = workspace();
    let json = test.run("render agents/pusher --format json").exits(0).json();
    let path = ".opencode/agents/pusher.md";
    let file = serde_json::json!(
        {"agent": "pusher", "target": "opencode", "path": path, "change": "created"}
    );
    assert_eq!(json["files"], serde_json::json!([file]));
    assert_eq!(
        (&json["refused"], &json["removed"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    let losses = json["losses"].as_array().expect("a list");
    assert!(!losses.is_empty());
    for loss in losses {
        assert_eq!(
            (loss["agent"].as_str(), loss["target"].as_str()),
            (Some("pusher"), Some("opencode"))
        );
        assert!(["narrowed", "dropped", "gap"].contains(&loss["kind"].as_str().expect("a kind")));
        assert!(loss["field"].is_string() && loss["detail"].is_string());
    }
}

#[test]
fn strict_refuses_any_loss() {
    let test = workspace();
    let ran = test.run("render --strict").exits(1);
    assert!(ran.stdout.contains("something would be lost, nothing was written"), "{ran}");
    assert!(!test.has(".opencode"));
}

#[test]
fn explain_shows_source_and_target_rules() {
    let ran = workspace().run("render agents/pusher --dry-run --explain").exits(0);
    let bash = ran.stdout.split("  pusher  permissions.").find(|part| part.starts_with("bash"));
    insta::assert_snapshot!(bash.expect("a section"), @"
    bash
        source: permissions  git push*:deny
                             bash = ask
        opencode: bash       git push*: deny
                             *: ask
        = both say the same
    ");
    let read = "[permissions.read]\nintent = \"allow\"\nrules = [\"secret/**:deny\"]\n";
    let test = agent(Test::new(), "one", read);
    let ran = test.run("render --target opencode --dry-run --explain").exits(0);
    let read = ran.stdout.split("  one  permissions.").find(|part| part.starts_with("read"));
    insta::assert_snapshot!(read.expect("a section"), @"
    read
        source: permissions              secret/**:deny
                                         read = allow
        opencode: read                   secret/*: deny
                                         *.env.example: allow
                                         *.env.*: ask
                                         *.env: ask
                                         *: allow
        opencode: read                   inside the workspace: allow
                                         *: ask
        opencode: glob, grep, list, lsp  *: deny
        opencode: glob, grep, list, lsp  inside the workspace: allow
                                         *: ask
        = narrowed `glob`, `grep`, `list`, `lsp` are denied altogether: they look at many files at once, and some of these are; `--guard` makes it exact
    ");
    let json = workspace().run("render agents/pusher --dry-run --explain --format json").json();
    assert_eq!(json["sections"][0]["section"], "bash");
    assert_eq!(json["sections"][0]["difference"], serde_json::Value::Null);
}

/// Original grants may ask less than the source, which is reported as a gap. Copilot asks about commands and
/// changes, but not about other agents.
#[test]
fn explain_shows_restored_original_grants() {
    let asks = ["bash", "edit", "delegate"]
        .map(|it| format!("[permissions.{it}]\nintent = \"ask\"\n"))
        .concat();
    let words =
        "[x-harness.copilot.as-written]\ntools = [\"read\", \"edit\", \"execute\", \"agent\"]\n";
    let test = agent(Test::new(), "one", &format!("{asks}{words}"));
    let ran = test.run("render --target copilot --dry-run --explain").exits(0);
    let section = |name: &str| {
        let mut parts = ran.stdout.split("  one  permissions.");
        parts.find(|part| part.starts_with(name)).expect("a section").to_owned()
    };
    insta::assert_snapshot!(section("bash"), @"
    bash
        source: permissions  bash = ask
        copilot: execute     execute: allow
        copilot: execute     asked about: ask
        = both say the same
    ");
    let delegate = section("delegate");
    insta::assert_snapshot!(delegate.split("\n\n").next().expect("a part"), @"
    delegate
        source: permissions  delegate = ask
        copilot: agent       agent: allow
        = gap as it was written: `reviewer` is ask in the source and not asked about in GitHub Copilot; `--close-gaps` takes that away
    ");
}

/// Equal losses of several agents or targets are one line; `--explain` and JSON keep each.
#[test]
fn equal_losses_are_reported_once() {
    let test = workspace();
    let args = "render --target opencode,claude-code,pi --dry-run";
    insta::assert_snapshot!(test.run(args).exits(0), @"
    $ agentry render --target opencode,claude-code,pi --dry-run
    --- stdout
    would render 2 agents for opencode, claude-code, pi: 6 created; 10 narrowed, 24 gaps
    lost in claude-code: pusher loses bash; `--guard` keeps it with questions
    lost in pi: 2 agents (helper, pusher) lose bash, edit, webfetch, websearch; `--guard` keeps them with questions, `--accept pi:permissions.bash,pi:permissions.edit,pi:permissions.webfetch,pi:permissions.websearch` without

    opencode
      would create  .opencode/agents/helper.md
      would create  .opencode/agents/pusher.md
    claude-code
      would create  .claude/agents/helper.md
      would create  .claude/agents/pusher.md
    pi
      would create  .pi/agents/helper.md
      would create  .pi/agents/pusher.md

    losses
      narrowed  permissions.bash                            Claude Code has rules only for a whole project: without `Bash(git push*)` in `permissions.deny` of `.claude/settings.json` the tool is removed; `--shared` writes them (pusher; claude-code)
      narrowed  permissions.bash                            `git status` is ask in the source and deny here: the tool is removed; `--guard` makes it exact (pusher; claude-code)
      narrowed  permissions.{bash,edit,webfetch,websearch}  Pi checks no call and what is ask in the source: its tools left out; the guard would make it exact (both agents; pi)
      gap       permissions                                 OpenCode asks in its ordinary mode, not with `opencode --auto`; a run without a person refuses what is asked about (both agents; opencode)
      gap       permissions                                 Claude Code asks in its ordinary mode, not with the modes `auto`, `acceptEdits` or `bypassPermissions`; a run without a person refuses what is asked about (both agents; claude-code)
      gap       permissions.bash                            `ls` is ask in the source, and Claude Code runs it at once, like other commands that only read (helper; claude-code)
      gap       permissions.bash                            OpenCode does not check nested shells, other spellings and variables; `sh -c 'git push'` is deny in the source and ask there (pusher; opencode)
      gap       permissions.external_directory              OpenCode lets every agent read the output of tools that it has cut off (both agents; opencode)
      gap       permissions.external_directory              outside the workspace Claude Code asks by itself; in its auto mode a model answers instead of a person (both agents; claude-code)
      gap       permissions.read                            `/tmp/example.txt` is ask in the source, and Pi never asks about it (both agents; pi)
      gap       permissions.read                            secrets: the harness does not check them; e.g. `.envrc` is ask in the source and allow there for helper in opencode (both agents; all 3 targets)
      gap       permissions.webfetch                        private addresses: the harness does not check them; `http://localhost:80/` is deny in the source and ask there (both agents; opencode, claude-code)
      = `--explain` lists all 34, with the rules of both sides

      = help: `agentry render --guard --target opencode,claude-code,pi` checks each call by these rules
    --- exit 0
    ");
    let json = test.run(&format!("{args} --format json")).json();
    let all = json["losses"].as_array().expect("a list").len();
    let report = test.run(args).stdout;
    assert!(report.contains(&format!("`--explain` lists all {all}, with")), "{report}");
    let each = test.run(&format!("{args} --explain")).stdout;
    for loss in json["losses"].as_array().expect("a list") {
        assert!(each.contains(loss["detail"].as_str().expect("a text")), "{loss} in {each}");
    }
}

/// A loss is no drift, and leaves no empty line.
#[test]
fn check_does_not_count_losses_as_drift() {
    let test = workspace();
    test.run("render --target opencode,pi").exits(0);
    insta::assert_snapshot!(test.run("render --target opencode,pi --check").exits(0), @"
    $ agentry render --target opencode,pi --check
    --- stdout
    checked 2 agents for opencode, pi: 4 unchanged; 8 narrowed, 15 gaps
    lost in pi: 2 agents (helper, pusher) lose bash, edit, webfetch, websearch; `--guard` keeps them with questions, `--accept pi:permissions.bash,pi:permissions.edit,pi:permissions.webfetch,pi:permissions.websearch` without

    opencode
      unchanged  2 files

    pi
      unchanged  2 files
    --- exit 0
    ");
}

/// The example of a gap is a realistic command that the harness lets pass.
#[test]
fn gap_examples_are_realistic_commands() {
    let cases = [
        ("", "redirections", "echo hi > x"),
        ("\"git push:ask\", \"git status:allow\"", "redirections", "git status > x"),
    ];
    for (rules, gap, example) in cases {
        let bash = format!("[permissions.bash]\nintent = \"ask\"\nrules = [{rules}]\n");
        let edit = "[permissions.edit]\nintent = \"deny\"\n";
        let test = agent(Test::new(), "one", &format!("{bash}{edit}"));
        let json = test.run("render --target opencode --dry-run --format json").exits(0).json();
        let losses = json["losses"].as_array().expect("a list").iter();
        let details: Vec<&str> = losses.map(|loss| loss["detail"].as_str().unwrap()).collect();
        let report = details.iter().find(|detail| detail.starts_with(gap)).expect("a gap");
        assert!(report.contains(&format!("; `{example}` is deny in the source")), "{report}");
    }
}

#[test]
fn the_output_directory_is_the_project_root() {
    let test = workspace();
    let json = test.run("render --target opencode -o out/deep --format json").exits(0).json();
    assert_eq!(json["files"][0]["path"], "out/deep/.opencode/agents/helper.md");
    assert!(test.has("out/deep/.opencode/agents/helper.md"));
    assert!(test.has("out/deep/.agentry/rendered.json") && !test.has(".opencode"));
    test.run("render --target opencode -o out/deep --check").exits(0);
}

#[test]
fn the_user_scope_renders_to_the_home_directory() {
    let test = workspace();
    let json = test.run("render --scope user --format json").exits(0).json();
    let path = json["files"][0]["path"].as_str().expect("a path").to_owned();
    assert!(path.starts_with("[DIR]/home/"), "{path}");
    assert!(test.has("home/.agentry/rendered.json") && !test.has(".opencode"));
    // Another project of the same user leaves them alone.
    let other = agent(Test::new(), "third", "");
    let home = test.path("home");
    let mut command = other.command(["render", "--scope", "user", "--target", "opencode"]);
    assert!(command.env("HOME", &home).output().expect("it runs").status.success());
    let ledger = test.read("home/.agentry/rendered.json");
    assert_eq!(ledger.matches("\"path\"").count(), 3, "{ledger}");
    std::fs::remove_dir_all(test.path("agents/helper")).expect("a folder");
    let json = test.run("render --scope user --format json").exits(0).json();
    assert_eq!(json["removed"].as_array().map(Vec::len), Some(1), "{json}");
    assert!(test.read("home/.agentry/rendered.json").contains("third"));
}

#[test]
fn the_user_ledger_follows_agentry_home() {
    let test = workspace();
    let mut command = test.command(["render", "--scope", "user"]);
    assert!(
        command.env("AGENTRY_HOME", test.path("own")).output().expect("it runs").status.success()
    );
    assert!(test.has("own/rendered.json") && !test.has("home/.agentry"));
}

#[test]
fn configured_aliases_and_targets_are_used() {
    let config = "[render]\ntargets = [\"opencode\"]\n[render.aliases]\nplan = \"planner\"\n\
        helper = \"aide\"\n[render.opencode.aliases]\nhelper = \"hand\"\n";
    let test = Test::new().file("agentry.toml", config);
    let test = agent(agent(test, "plan", ""), "helper", "");
    let json = test.run("render --format json").exits(0).json();
    assert_eq!(json["files"][0]["agent"], "helper");
    assert_eq!(json["files"][0]["path"], ".opencode/agents/hand.md");
    assert_eq!(json["files"][1]["path"], ".opencode/agents/planner.md");
    // Without the alias it would change an agent that is built into the harness.
    let test = agent(Test::new(), "plan", "");
    insta::assert_snapshot!(test.run("render --target opencode").exits(1), @r#"
    $ agentry render --target opencode
    --- stdout
    opencode
      refused  plan: `plan` is built into OpenCode
        = help: set another name in `agentry.toml`: `[render.opencode.aliases]` `plan = "…"`

    rendered no agent for opencode: 1 refused
    --- exit 1
    "#);
    assert!(!test.has(".opencode"));
}

#[test]
fn mistakes_in_render_settings_are_reported() {
    let config =
        "[render]\ntargets = [\"opncode\"]\nscpe = \"user\"\n[render.pi]\nprimry = \"x\"\n";
    let test = agent(Test::new().file("agentry.toml", config), "helper", "");
    insta::assert_snapshot!(test.run("render"), @r#"
    $ agentry render
    --- stderr
    error[AG0104]: `targets` cannot be `opncode`
     --> agentry.toml:2:12
      |
    2 | targets = ["opncode"]
      |            ^^^^^^^^^
      |
      = help: did you mean `opencode`?

    error[AG0101]: `[render]` has no field `scpe`
     --> agentry.toml:3:1
      |
    3 | scpe = "user"
      | ^^^^
      |
      = help: did you mean `scope`?

    error[AG0101]: the options of a target has no field `primry`
     --> agentry.toml:5:1
      |
    5 | primry = "x"
      | ^^^^^^
      |
      = help: did you mean `primary`?

    error: `agentry.toml` has errors
    --- exit 2
    "#);
    test.run("check").exits(1);
}

/// Only Pi has one main session, and its agent must exist.
#[test]
fn a_primary_that_does_not_exist_is_an_error() {
    let config = |harness: &str, name: &str| {
        format!("[render]\ntargets = [\"{harness}\"]\n[render.{harness}]\nprimary = \"{name}\"\n")
    };
    let test = agent(Test::new(), "helper", "");
    for harness in ["opencode", "claude-code", "codex", "gemini", "copilot", "agents-md"] {
        test.write("agentry.toml", config(harness, "helper"));
        let ran = test.run("render").exits(2);
        let line = "error[AG0101]: the options of a target has no field `primary`";
        assert!(ran.stderr.contains(line), "{harness}: {ran}");
    }
    test.write("agentry.toml", config("pi", "nobody"));
    insta::assert_snapshot!(test.run("render"), @r#"
    $ agentry render
    --- stderr
    error: `[render.pi]` has `primary = "nobody"`, and no agent here has that name
      = help: name one, or take the line out
    --- exit 2
    "#);
    assert!(!test.has(".pi"));
    // A run for a part of the workspace does not know the other agents.
    test.run("render agents/helper").exits(0);
    test.write("agentry.toml", config("pi", "helpr"));
    assert!(test.run("render .").exits(2).stderr.contains("did you mean `helper`?"));
    test.write("agentry.toml", config("pi", "helper"));
    test.run("render").exits(0);
    test.write("agentry.toml", config("pi", "boss") + "[render.pi.aliases]\nhelper = \"boss\"\n");
    test.run("render").exits(0);
}

#[test]
fn unrenderable_agents_and_missing_targets_are_errors() {
    let test = agent(Test::new(), "helper", "");
    insta::assert_snapshot!(test.run("render"), @r#"
    $ agentry render
    --- stderr
    error: there is no target to render for
      = help: name some with `--target`, or list them in `agentry.toml`: `[render]` `targets = ["…"]`
    --- exit 2
    "#);
    insta::assert_snapshot!(test.run("render --target opencod"), @"
    $ agentry render --target opencod
    --- stderr
    error: invalid value 'opencod' for '--target <TARGETS>'
      [possible values: opencode, claude-code, pi, codex, gemini, copilot, cursor, agents-md, agent-skills]

      tip: a similar value exists: 'opencode'

    For more information, try '--help'.
    --- exit 2
    ");
    insta::assert_snapshot!(test.run("render nowhere --target opencode"), @"
    $ agentry render nowhere --target opencode
    --- stdout
    rendered 0 agents for opencode: no files
    --- stderr
    error: `nowhere` does not exist
      = help: name a file or a directory; `agentry agents` lists installed agents
    --- exit 2
    ");
    test.run("render --scope everywhere").exits(2);
    test.run("render --check --watch").exits(2);
    let test = Test::new().file("helper.agent", HELPER).file("broken.agent", crate::test::BROKEN);
    // The other agents are still rendered.
    let ran = test.run("render --target opencode").exits(1);
    assert!(ran.stderr.contains("`broken.agent` has errors and is not rendered"), "{ran}");
    assert!(test.has(HELPER_FILE));
}

#[test]
fn nested_workspaces_are_not_rendered() {
    let test = workspace().file("examples/agentry.toml", "");
    let test = test.file("examples/third.agent", HELPER.replace("helper", "third"));
    let ran = test.run("render").exits(0);
    assert!(ran.stderr.contains("the workspace `examples` lists no targets"), "{ran}");
    assert!(!test.has("examples/.opencode"));
    test.run("render --target opencode").exits(0);
    assert!(test.has("examples/.opencode/agents/third.md"));
    assert!(!test.has(".opencode/agents/third.md"));
}

/// Agents of all formats are rendered alike.
#[test]
fn agents_of_all_formats() {
    let test = Test::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let out = test.path("out");
    let args = ["render", examples, "--target", "opencode", "-o", out.to_str().expect("a path")];
    let count = || std::fs::read_dir(test.path("out/.opencode/agents")).expect("a folder").count();
    // One has a check before its start, which is the guard's, or is left out knowingly.
    let ran = test.run_args(&args).exits(1);
    assert!(ran.stdout.contains("refused  policy-auditor: OpenCode does not check what"), "{ran}");
    assert_eq!(count(), 10);
    test.run_args(&[&args[..], &["--accept", "required"]].concat()).exits(0);
    assert_eq!(count(), 11);
}
