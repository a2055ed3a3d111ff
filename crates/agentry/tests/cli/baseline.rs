//! Baselines: an old repository adopts `check`, and only new findings fail.

use crate::test::{BROKEN, Test, WARNED};

fn adopted() -> Test {
    let config = "[check]\nbaseline = \"known.json\"\n";
    let test = Test::new().file("agentry.toml", config).file("agents/broken.agent", BROKEN);
    test.run("check --write-baseline").exits(0);
    test
}

#[test]
fn write_baseline_records_all_findings() {
    let test = Test::new().file("agents/broken.agent", BROKEN).file("warned.agent", WARNED);
    insta::assert_snapshot!(test.run("check --write-baseline"), @r#"
    $ agentry check --write-baseline
    --- stderr
    wrote 3 findings to `agentry-baseline.json`
      = help: add `baseline = "agentry-baseline.json"` to `[check]` in `agentry.toml`
    --- exit 0
    "#);
    insta::assert_snapshot!(test.read("agentry-baseline.json"), @r#"
    {
      "version": 1,
      "findings": [
        {"path":"agents/broken.agent","code":"AG0101","message":"the manifest has no field `team`","count":1},
        {"path":"agents/broken.agent","code":"AG0104","message":"`filesystem` cannot be `readwrite`","count":1},
        {"path":"warned.agent","code":"AG0101","message":"the manifest has no field `team`","count":1}
      ]
    }
    "#);
    insta::assert_snapshot!(test.run("check --baseline agentry-baseline.json"), @r#"
    $ agentry check --baseline agentry-baseline.json
    --- stdout
    checked 2 agents: all good (3 known findings in the baseline)
    --- exit 0
    "#);
}

#[test]
fn write_baseline_without_findings_is_empty() {
    let test = Test::new().file("warned.agent", crate::test::HELPER);
    insta::assert_snapshot!(test.run("check --write-baseline --baseline known.json"), @r#"
    $ agentry check --write-baseline --baseline known.json
    --- stderr
    wrote 0 findings to `known.json`
    --- exit 0
    "#);
    insta::assert_snapshot!(test.read("known.json"), @r#"
    {
      "version": 1,
      "findings": []
    }
    "#);
}

#[test]
fn only_findings_outside_the_baseline_fail() {
    let test = adopted();
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    checked 1 agent: all good (2 known findings in the baseline)
    --- exit 0
    "#);
    // Moved text gives no new findings.
    test.write("agents/broken.agent", format!("# a comment\n\n{BROKEN}"));
    test.run("check").exits(0);
    // The same mistake in another file is new.
    test.write("agents/other.agent", BROKEN.replace("broken", "other"));
    insta::assert_snapshot!(test.run("check --format github"), @r#"
    $ agentry check --format github
    --- stdout
    ::warning file=agents/other.agent,line=4,col=1,endLine=4,endColumn=5,title=AG0101 unknown-field::the manifest has no field `team`
    ::error file=agents/other.agent,line=5,col=21,endLine=5,endColumn=30,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`%0Ahelp: use one of `none`, `read-only`, `scoped`, `full`
    --- exit 1
    "#);
}

/// A baseline uses paths from the root, wherever the program is started.
#[test]
fn a_baseline_works_from_every_directory() {
    let test = adopted();
    let absolute = test.path("agents").to_string_lossy().into_owned();
    test.run("check ./agents").exits(0);
    test.run("check agents/broken.agent").exits(0);
    test.run_in("agents", "check").exits(0);
    test.run_in("agents", "check broken.agent").exits(0);
    test.run_args(&["check", &absolute]).exits(0);
    // Written from below, it is the same file.
    let before = test.read("known.json");
    test.run_in("agents", "check .. --write-baseline").exits(0);
    assert_eq!(test.read("known.json"), before);
}

#[test]
fn an_unreadable_baseline_is_an_error() {
    let test = Test::new().file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("check --baseline known.json"), @r#"
    $ agentry check --baseline known.json
    --- stderr
    error: the baseline `known.json` cannot be read: no such file or directory
      = help: make one with `--write-baseline`
    --- exit 2
    "#);
    test.write("known.json", "{\"version\": 2, \"findings\": []}");
    insta::assert_snapshot!(test.run("check --baseline known.json"), @r#"
    $ agentry check --baseline known.json
    --- stderr
    error: `known.json` is not a baseline: version 2 is not known; this program reads 1
    --- exit 2
    "#);
    test.write("known.json", "known: everything\n");
    insta::assert_snapshot!(test.run("check --baseline known.json"), @r#"
    $ agentry check --baseline known.json
    --- stderr
    error: `known.json` is not a baseline: expected value at line 1 column 1
    --- exit 2
    "#);
    test.write("known.json", "{\"version\": 1}");
    insta::assert_snapshot!(test.run("check --baseline known.json"), @r#"
    $ agentry check --baseline known.json
    --- stderr
    error: `known.json` is not a baseline: it has no list `findings`
    --- exit 2
    "#);
}

#[test]
fn a_configured_baseline_outside_the_workspace_is_refused() {
    for path in ["../victim.txt", "/tmp/victim.txt", "~/victim.txt"] {
        let config = format!("[check]\nbaseline = \"{path}\"\n");
        let test =
            Test::new().file("agentry.toml", config).file("helper.agent", crate::test::HELPER);
        let ran = test.run("check . --write-baseline").exits(2);
        assert!(ran.stderr.contains("leaves the workspace"), "{ran}");
    }
}
