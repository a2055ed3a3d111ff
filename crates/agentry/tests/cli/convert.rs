//! `agentry convert`: every format to every other, with the losses.

use crate::new::FORMATS;
use crate::test::{BROKEN, HELPER, Test};

/// The path that an agent of a format is written to.
fn target(format: &str) -> &'static str {
    match format {
        "agent-md" => "out/agents/general_reviewer.agent.md",
        "manifest" => "out/reviewer.agent",
        _ => "out/reviewer",
    }
}

/// Either the result passes `check` and the losses are listed, or nothing is written because the
/// result would allow more than its source.
#[test]
fn every_format_converts_to_every_other() {
    let mut losses = String::new();
    for (from, path) in FORMATS {
        for (to, _) in FORMATS {
            let test = Test::new();
            test.run(&format!("new {from} reviewer")).exits(0);
            let lost = lost(&test, path, to);
            losses += &format!("{from} to {to}: {lost}\n");
        }
    }
    insta::assert_snapshot!(losses, @"
    agent-md to agent-md: nothing
    agent-md to agent-toml: dropped category, dropped icon, changed rules, dropped status, changed system, dropped version
    agent-md to manifest: dropped category, dropped display_name, dropped icon, narrowed permissions, dropped status
    agent-md to agentfs: dropped category, dropped status
    agent-md to agent-dir: dropped category, changed description, dropped display_name, dropped icon, added prompt.boundaries, added prompt.response_format, added prompt.tool_contract, added prompt.verification, dropped status, dropped version
    agent-toml to agent-md: added category, dropped max_turns, dropped mode, narrowed permissions, dropped tags
    agent-toml to agent-toml: nothing
    agent-toml to manifest: dropped display_name, dropped mode, narrowed permissions
    agent-toml to agentfs: dropped max_turns, dropped mode, narrowed permissions, dropped tags
    agent-toml to agent-dir: changed description, dropped display_name, dropped mode, changed permissions, added prompt.boundaries, added prompt.response_format, added prompt.tool_contract, added prompt.verification, dropped tags
    manifest to agent-md: dropped budget.cost_limit, dropped budget.on_exceed, dropped budget.step_limit, added category, added display_name, dropped max_turns, dropped model.capability, dropped model.fallback, dropped on_error, narrowed permissions, changed role, dropped skills.file-read, dropped skills.git, changed system, dropped tags, changed traits, narrowed trust, narrowed trust.exec
    manifest to agent-toml: dropped budget.cost_limit, dropped budget.on_exceed, dropped budget.step_limit, dropped model.capability, dropped model.fallback, dropped on_error, narrowed permissions, changed role, changed rules, changed system, changed traits, narrowed trust, narrowed trust.exec, dropped version
    manifest to manifest: nothing
    manifest to agentfs: dropped budget.cost_limit, dropped budget.on_exceed, dropped budget.step_limit, dropped max_turns, dropped model.capability, dropped model.fallback, dropped on_error, narrowed permissions, changed permissions.external_directory, changed permissions.mcp, added settings.file_security, dropped skills.file-read, dropped skills.git, dropped tags, narrowed trust, narrowed trust.exec
    manifest to agent-dir: dropped budget.cost_limit, dropped budget.on_exceed, dropped budget.step_limit, changed description, dropped model.capability, dropped model.fallback, dropped on_error, narrowed permissions, added prompt.boundaries, added prompt.response_format, added prompt.tool_contract, added prompt.verification, changed role, dropped skills.file-read, dropped skills.git, changed system, dropped tags, changed traits, narrowed trust, narrowed trust.exec, dropped version
    agentfs to agent-md: added category, dropped greeting, dropped risk_level, changed role, changed system, changed traits
    agentfs to agent-toml: dropped greeting, dropped risk_level, changed role, changed rules, changed system, changed traits, dropped version
    agentfs to manifest: dropped display_name, dropped greeting, narrowed permissions, dropped risk_level
    agentfs to agentfs: nothing
    agentfs to agent-dir: changed description, dropped display_name, dropped greeting, added prompt.boundaries, added prompt.response_format, added prompt.tool_contract, added prompt.verification, dropped risk_level, changed role, changed system, changed traits, dropped version
    agent-dir to agent-md: added category, added display_name, dropped max_turns, dropped prompt.boundaries, dropped prompt.response_format, dropped prompt.tool_contract, dropped prompt.verification, dropped schedules.weekly-review
    agent-dir to agent-toml: dropped prompt.boundaries, dropped prompt.response_format, dropped prompt.tool_contract, dropped prompt.verification, dropped schedules.weekly-review
    agent-dir to manifest: narrowed permissions, dropped prompt.boundaries, dropped prompt.response_format, dropped prompt.tool_contract, dropped prompt.verification, dropped schedules.weekly-review
    agent-dir to agentfs: dropped max_turns, dropped prompt.boundaries, dropped prompt.response_format, dropped prompt.tool_contract, dropped prompt.verification
    agent-dir to agent-dir: nothing
    ");
}

/// The losses of writing the agent at `path` as `format`.
fn lost(test: &Test, path: &str, format: &str) -> String {
    let out = target(format);
    let ran = test.run(&format!("convert {path} --to {format} -o {out} --format json"));
    if ran.code == Some(1) {
        assert!(!test.has("out"), "{ran}");
        let (_, why) = ran.stderr.split_once("without widening it: ").expect("a reason");
        return format!("refused, {}", why.lines().next().unwrap_or(""));
    }
    let check = test.run(&format!("check {out} --format json"));
    assert_eq!(check.json()["summary"]["errors"], 0, "{ran}\n{check}");
    assert_eq!(check.json()["agents"][0]["format"], *format, "{ran}\n{check}");
    let report = ran.exits(0).json();
    let losses = report["losses"].as_array().expect("a list").iter().map(|loss| {
        let part = |key: &str| loss[key].as_str().unwrap_or("?").to_owned();
        format!("{} {}", part("kind"), part("field"))
    });
    let losses: Vec<_> = losses.collect();
    if losses.is_empty() { "nothing".to_owned() } else { losses.join(", ") }
}

/// A format converted to itself loses nothing.
#[test]
fn a_format_to_itself_keeps_the_digest() {
    for (format, path) in FORMATS {
        let test = Test::new();
        test.run(&format!("new {format} reviewer")).exits(0);
        let out = target(format);
        test.run(&format!("convert {path} --to {format} -o {out} --strict")).exits(0);
        let before = test.run(&format!("hash {path} --full")).stdout;
        assert_eq!(before, test.run(&format!("hash {out} --full")).stdout, "{format}");
    }
}

fn lossy() -> Test {
    let test = Test::new();
    test.run("new manifest reviewer").exits(0);
    test
}

#[test]
fn convert_lists_the_losses() {
    let test = lossy();
    insta::assert_snapshot!(test.run("convert reviewer.agent --to agent-toml -o reviewer"), @r#"
    $ agentry convert reviewer.agent --to agent-toml -o reviewer
    --- stdout
    wrote reviewer/agent.toml
    wrote reviewer/system-prompt.md
    lost in agent-toml:
      budget.cost_limit  dropped   `0.5` has no place in the result
      budget.on_exceed   dropped   `"abort"` has no place in the result
      budget.step_limit  dropped   `40` has no place in the result
      model.capability   dropped   `"reasoning-high"` has no place in the result
      model.fallback     dropped   `"reasoning-mid"` has no place in the result
      on_error           dropped   `"ask"` has no place in the result
      permissions        narrowed  combined with the other limits of the agent
      role               changed   moved into the system text
      rules              changed   moved to the end of the prompt, under `## Rules`
      system             changed   what has no field of its own was added at its end
      traits             changed   moved into the system text
      trust              narrowed  written as `permissions` that allow no more, in part less
      trust.exec         narrowed  agent-toml cannot say `sandboxed`: no command is allowed
      version            dropped   `"0.1.0"` has no place in the result
    --- exit 0
    "#);
    insta::assert_snapshot!(test.read("reviewer/agent.toml"), @r#"
    name = "reviewer"
    description = "Reviews the changes of a Git branch and reports what should be fixed before it is merged"
    tags = ["review"]
    max_turns = 30

    skills = ["file-read", "git"]

    [permissions.bash]
    intent = "deny"
    rules = [
      "git status:deny",
      "git diff:deny",
      "git diff --stat:deny",
    ]

    [permissions.edit]
    intent = "deny"

    [permissions.read]
    intent = "allow"

    [permissions.webfetch]
    intent = "deny"

    [permissions.websearch]
    intent = "deny"

    [permissions.external_directory]
    intent = "deny"

    [permissions.mcp]
    intent = "deny"
    "#);
    insta::assert_snapshot!(test.read("reviewer/system-prompt.md"), @r#"
    Your role: careful reviewer.

    When you do not know, say so; never fill a gap with a guess.
    Mark what you are not sure of, and say why.
    Use as few words as the matter allows.

    ## Rules

    - Point to file and line for every finding
    - Say what is wrong, why it matters and how to fix it
    - Never change a file
    "#);
}

#[test]
fn a_conversion_never_widens() {
    let agent = "---\nversion: 0.1.0\nicon: 🔎\nstatus: active\nabilities:\n  allow: [sh:git, fs]\n---\n\
        # Reviewer\n\nReviews changes.\n";
    let test = Test::new().file("agents/general_reviewer.agent.md", agent);
    let args = "convert agents/general_reviewer.agent.md --to manifest -o reviewer.agent";
    insta::assert_snapshot!(test.run(args), @r#"
    $ agentry convert agents/general_reviewer.agent.md --to manifest -o reviewer.agent
    --- stdout
    wrote reviewer.agent
    lost in manifest:
      abilities         narrowed  as trust: filesystem full, network none, exec none
      category          dropped   `"general"` has no place in the result
      display_name      dropped   `"Reviewer"` has no place in the result
      icon              dropped   `"🔎"` has no place in the result
      permissions.env   changed   kept in `x-agentry`, which only Agentry reads
      permissions.tool  changed   kept in `x-agentry`, which only Agentry reads
      status            dropped   `"active"` has no place in the result
    --- exit 0
    "#);
}

#[test]
fn losses_in_the_json_format() {
    let args = "convert helper.agent --to agent-md -o x.agent.md --format json";
    let test = Test::new().file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run(args), @r#"
    $ agentry convert helper.agent --to agent-md -o x.agent.md --format json
    --- stdout
    {
      "files": [
        "x.agent.md"
      ],
      "removed": [],
      "losses": [
        {
          "field": "display_name",
          "kind": "added",
          "detail": "`\"Helper\"` is not in the source"
        },
        {
          "field": "trust",
          "kind": "narrowed",
          "detail": "abilities grant only what is allowed without exception"
        }
      ]
    }
    --- exit 0
    "#);
}

#[test]
fn strict_refuses_a_lossy_conversion() {
    let test = lossy();
    insta::assert_snapshot!(test.run("convert reviewer.agent --to agent-md -o x.agent.md --strict"), @r#"
    $ agentry convert reviewer.agent --to agent-md -o x.agent.md --strict
    --- stdout
    would write x.agent.md
    lost in agent-md:
      budget.cost_limit  dropped   `0.5` has no place in the result
      budget.on_exceed   dropped   `"abort"` has no place in the result
      budget.step_limit  dropped   `40` has no place in the result
      max_turns          dropped   `30` has no place in the result
      model.capability   dropped   `"reasoning-high"` has no place in the result
      model.fallback     dropped   `"reasoning-mid"` has no place in the result
      on_error           dropped   `"ask"` has no place in the result
      permissions        narrowed  abilities grant only what is allowed without exception
      role               changed   moved into the system text
      skills.file-read   dropped   a block of 1 has no place in the result
      skills.git         dropped   a block of 1 has no place in the result
      system             changed   what has no field of its own was added at its end
      tags               dropped   `["review"]` has no place in the result
      traits             changed   moved into the system text
      trust              narrowed  abilities grant only what is allowed without exception
      trust.exec         narrowed  agent-md cannot say `sandboxed`: no command is allowed
    added in agent-md:
      display_name  `"Reviewer"` is not in the source
    --- stderr
    error: something would be lost; nothing was written (`--strict`)
    --- exit 1
    "#);
    assert!(!test.has("x.agent.md"));
    insta::assert_snapshot!(test.run("convert reviewer.agent --to manifest -o out/reviewer --strict"), @r#"
    $ agentry convert reviewer.agent --to manifest -o out/reviewer --strict
    --- stdout
    wrote out/reviewer/agent.yaml
    wrote out/reviewer/RULES.md
    nothing is lost
    --- exit 0
    "#);
}

#[test]
fn a_dry_run_writes_nothing() {
    let test = Test::new().file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("convert helper.agent --to agent-toml -o helper --dry-run"), @r#"
    $ agentry convert helper.agent --to agent-toml -o helper --dry-run
    --- stdout
    would write helper/agent.toml
    would write helper/system-prompt.md
    lost in agent-toml:
      trust  changed  written as `permissions`
    --- exit 0
    "#);
    assert!(!test.has("helper"));
}

#[test]
fn existing_files_are_kept_without_force() {
    let test = Test::new().file("helper.agent", HELPER).file("helper/agent.toml", "mine\n");
    insta::assert_snapshot!(test.run("convert helper.agent --to agent-toml -o helper"), @r#"
    $ agentry convert helper.agent --to agent-toml -o helper
    --- stderr
    error: `helper/agent.toml` is there already
      = help: choose another path, or pass `--force`
    --- exit 2
    "#);
    assert_eq!(test.read("helper/agent.toml"), "mine\n");
    insta::assert_snapshot!(test.run("convert helper.agent --to agent-toml -o helper --force"), @r#"
    $ agentry convert helper.agent --to agent-toml -o helper --force
    --- stdout
    wrote helper/agent.toml
    wrote helper/system-prompt.md
    lost in agent-toml:
      trust  changed  written as `permissions`
    --- exit 0
    "#);
    test.run("check helper").exits(0);
}

#[test]
fn an_undiscoverable_output_name_is_noted() {
    let test = Test::new().file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("convert helper.agent --to agent-md -o helper.md"), @r#"
    $ agentry convert helper.agent --to agent-md -o helper.md
    --- stdout
    wrote helper.md
    lost in agent-md:
      trust  narrowed  abilities grant only what is allowed without exception
    added in agent-md:
      display_name  `"Helper"` is not in the source
    --- stderr
    note: a search passes over `helper.md`; its name lacks `.agent.md`
    --- exit 0
    "#);
}

#[test]
fn an_unwritable_target_is_an_error() {
    let test = Test::new().file("helper.agent", HELPER).file("taken", "");
    insta::assert_snapshot!(test.run("convert helper.agent --to agent-toml -o taken/helper"), @r#"
    $ agentry convert helper.agent --to agent-toml -o taken/helper
    --- stderr
    error: `taken/helper/agent.toml` cannot be written: not a directory
    --- exit 2
    "#);
    let test = test.file("dir/x", "");
    insta::assert_snapshot!(test.run("convert helper.agent --to agent-md -o dir --force"), @r#"
    $ agentry convert helper.agent --to agent-md -o dir --force
    --- stderr
    error: `dir` cannot be written: is a directory
    --- exit 2
    "#);
}

#[test]
fn an_agent_with_errors_is_not_converted() {
    let test = Test::new().file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("convert broken.agent --to agent-toml -o out"), @r#"
    $ agentry convert broken.agent --to agent-toml -o out
    --- stderr
    error[AG0104]: `filesystem` cannot be `readwrite`
     --> broken.agent:5:21
      |
    5 | trust: {filesystem: readwrite}
      |                     ^^^^^^^^^
      |
      = help: use one of `none`, `read-only`, `scoped`, `full`

    error: `broken.agent` has errors
      = help: `agentry check` shows all findings
    --- exit 1
    "#);
    assert!(!test.has("out"));
}

#[test]
fn a_link_in_the_target_is_refused() {
    let test = Test::new().file("helper.agent", HELPER).link("out/persona.md", "../victim.md");
    let ran = test.run("convert helper.agent --to agentfs -o out").exits(2);
    assert!(ran.stderr.contains("is a link"), "{ran}");
    assert!(!test.has("victim.md"));
}

/// A relative scope means another directory from the new path, so it is dropped.
#[test]
fn a_relative_scope_is_dropped() {
    let scoped = format!("{HELPER}trust: {{filesystem: scoped, scope: [., /srv/x]}}\n");
    let test = Test::new().file("agents/x/s.agent", scoped);
    let ran = test.run("convert agents/x/s.agent --to manifest -o moved.agent").exits(0);
    assert!(ran.stdout.contains("trust.scope") && ran.stdout.contains("narrowed"), "{ran}");
    assert!(!test.read("moved.agent").contains("- ."), "{}", test.read("moved.agent"));
    assert!(test.read("moved.agent").contains("/srv/x"));
}
