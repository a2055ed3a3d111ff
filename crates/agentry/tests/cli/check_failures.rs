//! `agentry check` on files that are no definitions: its messages and its JSON.

use crate::test::{HELPER, Test};

/// Paths that could not be checked are in the JSON document too.
#[test]
fn failed_paths_are_in_the_json_report() {
    let test = Test::new().file("odd.yaml", "a: 1\n").file("helper.agent", HELPER);
    let report = test.run("check odd.yaml nope helper.agent --format json").exits(2).json();
    let failed =
        |at: usize| (report["failures"][at]["path"].clone(), &report["failures"][at]["message"]);
    assert_eq!(failed(0), ("nope".into(), &"`nope` does not exist".into()));
    let message = "`odd.yaml` is not an agent definition";
    assert_eq!(failed(1), ("odd.yaml".into(), &message.into()));
    assert_eq!(report["agents"][0]["path"], "helper.agent");
}

/// Agents of a harness are no definitions, but they can be checked and imported.
#[test]
fn check_suggests_import_for_harness_agents() {
    let agent = "---\nname: x\ndescription: Answers questions\n---\nYou answer.\n";
    let test = Test::new()
        .file(".claude/agents/x.md", agent)
        .file("other/.cursor/agents/x.md", agent)
        .file("codex/.codex/agents/x.toml", "name = \"x\"\n")
        .file("none/x.md", agent);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG7008]: `description` is missing
     --> codex/.codex/agents/x.toml:1:1
      |
    1 | name = "x"
      | ^
      |
      = help: Codex ignores the agent, with a warning at its start

    error[AG7008]: `developer_instructions` is missing
     --> codex/.codex/agents/x.toml:1:1
      |
    1 | name = "x"
      | ^
      |
      = help: Codex ignores the agent, with a warning at its start

    checked 3 agents: 2 errors
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("show .claude/agents/x.md"), @r#"
    $ agentry show .claude/agents/x.md
    --- stderr
    error: `.claude/agents/x.md` is not an agent definition
      = help: agents of a harness: `agentry import .claude/agents/x.md --to agent-toml -o DIR`; else pass the format with `--as agent-md|agent-toml|manifest|agentfs|agent-dir`
    --- exit 2
    "#);
    let cases = [
        ("check .claude/agents", false),
        ("check codex", false),
        ("show other/.cursor/agents/x.md", true),
        ("policy why codex/.codex/agents/x.toml bash ls", true),
        ("lock --check other", true),
        ("check none", false),
        ("check none/x.md", false),
    ];
    for (args, expected) in cases {
        let ran = test.run(args);
        assert_eq!(ran.stderr.contains("agentry import"), expected, "{ran}");
    }
}
