//! `agentry check` on a whole workspace: duplicate names, and this repository itself.

use crate::test::{HELPER, Test};

/// An agent that was converted and kept in both formats would be rendered twice.
#[test]
fn one_agent_in_two_formats_warns() {
    let test = Test::new()
        .file(
            "agents/helper/agent.toml",
            "name = \"helper\"\ndescription = \"Answers questions\"\n",
        )
        .file("agents/helper/system-prompt.md", "You answer questions.\n")
        .file("helper.agent", HELPER)
        .file("other/agentry.toml", "")
        .file("other/helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    warning[AG0009]: the name `helper` is taken by `agents/helper`, which is agent-toml
     --> helper.agent:1:7
      |
    1 | name: helper
      |       ^^^^^^
      |
      = help: keep one of the two definitions, or give each agent of the workspace its own name

    checked 3 agents: 1 warning
    --- exit 0
    "#);
}

/// The test data of this repository are not its agents.
#[test]
fn this_repository_checks_clean() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let root = std::fs::canonicalize(root).expect("the repository");
    let ran = Test::new().run_args(&["check", root.to_str().expect("a path")]).exits(0);
    assert_eq!(ran.stdout, "checked 11 agents: all good\n", "{ran}");
}
