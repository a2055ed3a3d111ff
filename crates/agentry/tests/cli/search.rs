//! The search for agents: which files it finds, and which it skips.

use crate::test::{BROKEN, HELPER, Ran, Test, WARNED};

/// The paths of the agents that were found.
fn found(ran: &Ran) -> Vec<String> {
    let report = ran.json();
    let agents = report["agents"].as_array().expect("a list of agents");
    agents.iter().map(|agent| agent["path"].as_str().unwrap_or("").to_owned()).collect()
}

fn ignoring(test: Test) -> Test {
    test.file(".gitignore", "/build/\nsecret-*.agent\n")
        .file("agents/.gitignore", "old.agent\n")
        .file("a.agent", HELPER)
        .file("build/b.agent", HELPER)
        .file("agents/build/c.agent", HELPER)
        .file("agents/old.agent", HELPER)
        .file("agents/secret-x.agent", HELPER)
}

#[test]
fn gitignored_agents_are_skipped() {
    for test in [ignoring(Test::new()), ignoring(Test::outside_git())] {
        let ran = test.run("check --format json");
        assert_eq!(found(&ran), ["a.agent", "agents/build/c.agent"], "{ran}");
    }
}

#[test]
fn explicitly_named_ignored_agents_are_checked() {
    let test = ignoring(Test::new());
    let ran = test.run("check build/b.agent agents/old.agent --format json");
    assert_eq!(found(&ran), ["agents/old.agent", "build/b.agent"], "{ran}");
}

#[test]
fn git_and_node_modules_directories_are_skipped() {
    let test = Test::new()
        .file(".git/a.agent", HELPER)
        .file("node_modules/b/b.agent", HELPER)
        .file("deep/node_modules/c.agent", HELPER)
        .file(".agents/d.agent", HELPER)
        .file("deep/e.agent", HELPER);
    let ran = test.run("check --format json");
    assert_eq!(found(&ran), [".agents/d.agent", "deep/e.agent"], "{ran}");
}

#[test]
fn paths_are_shown_as_they_were_given() {
    let test = Test::new().file("a/warned.agent", WARNED);
    let absolute = test.path("a").to_string_lossy().into_owned();
    let cases = [
        ("a", "a/warned.agent:4:1"),
        ("a/", "a/warned.agent:4:1"),
        ("./a", "a/warned.agent:4:1"),
        (".", "a/warned.agent:4:1"),
        ("a/warned.agent", "a/warned.agent:4:1"),
        ("a/../a", "a/../a/warned.agent:4:1"),
        (&absolute, "[DIR]/a/warned.agent:4:1"),
    ];
    for (path, expected) in cases {
        let ran = test.run_args(&["check", path]);
        assert!(ran.stdout.contains(&format!("--> {expected}\n")), "{path}: {ran}");
    }
}

#[test]
fn a_directory_of_two_formats_is_an_error() {
    let test = Test::new()
        .file("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n")
        .file("helper/system-prompt.md", "You answer questions.\n")
        .file("helper/agent.yaml", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG0006]: this directory has `agent.toml` and `agent.yaml`: it could be any of them
     --> helper:1:1
      |
      = help: keep one, or pass the format with `--as`

    checked 0 agents: 1 error
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("check helper"), @r#"
    $ agentry check helper
    --- stdout
    error[AG0006]: this directory has `agent.toml` and `agent.yaml`: it could be any of them
     --> helper:1:1
      |
      = help: keep one, or pass the format with `--as`

    checked 0 agents: 1 error
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("show helper"), @r#"
    $ agentry show helper
    --- stderr
    error: `helper`: this directory has `agent.toml` and `agent.yaml`: it could be any of them
      = help: keep one, or pass the format with `--as`
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("check helper --as manifest"), @r#"
    $ agentry check helper --as manifest
    --- stdout
    checked 1 agent: all good
    --- exit 0
    "#);
}

/// Every agent is reported to programs and counted for a person, however many there are.
#[test]
fn two_thousand_broken_agents() {
    let mut test = Test::new();
    for number in 0..2000 {
        let agent = BROKEN.replace("broken", &format!("broken-{number}"));
        test = test.file(format!("agents/{}/{number}.agent", number % 40), agent);
    }
    let ran = test.run("check --format json");
    assert_eq!(found(&ran).len(), 2000);
    let report = ran.json();
    assert_eq!(report["summary"]["errors"], 2000);
    assert_eq!(report["summary"]["warnings"], 2000);
    assert_eq!(ran.code, Some(1));
    let ran = test.run("check").exits(1);
    // A person sees the first ones, the number of the others and where the complete list is.
    assert_eq!(ran.stdout.matches("error[AG0104]").count(), 4);
    assert!(ran.stdout.contains("error[AG0104]: 1997 more of "), "{ran}");
    assert!(ran.stdout.contains("`--format json` lists all of them"), "{ran}");
    assert!(ran.stdout.ends_with("checked 2000 agents: 2000 errors, 2000 warnings\n"));
    assert_eq!(ran.stderr, "");
}
