//! `--fix` and `--fix-unsafe`: what is fixed, and what is left alone.

use std::fs;

use crate::test::{HELPER, Test};

/// One finding with a safe fix (the full stop), one with a fix that may change the meaning (the
/// name), one without any (`team`).
const TOML: &str = "name = \"Helper\"\ndescription = \"Answers questions.\"\nteam = \"support\"\n";

fn helper() -> Test {
    Test::new()
        .file("helper/agent.toml", TOML)
        .file("helper/system-prompt.md", "You answer questions.\n")
}

#[test]
fn check_lists_the_available_fixes() {
    insta::assert_snapshot!(helper().run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG2001]: name `Helper` is not kebab-case
     --> helper/agent.toml:1:8
      |
    1 | name = "Helper"
      |        ^^^^^^^^
      |
      = help: fix: write `helper` (--fix-unsafe)

    warning[AG2003]: the description ends with a full stop
     --> helper/agent.toml:2:15
      |
    2 | description = "Answers questions."
      |               ^^^^^^^^^^^^^^^^^^^^
      |
      = help: fix: remove the full stop (--fix)

    warning[AG0101]: `agent.toml` has no field `team`
     --> helper/agent.toml:3:1
      |
    3 | team = "support"
      | ^^^^

    checked 1 agent: 1 error, 2 warnings
    --- exit 1
    "#);
}

#[test]
fn fix_applies_only_safe_fixes() {
    let test = helper();
    insta::assert_snapshot!(test.run("check --fix"), @r#"
    $ agentry check --fix
    --- stdout
    error[AG2001]: name `Helper` is not kebab-case
     --> helper/agent.toml:1:8
      |
    1 | name = "Helper"
      |        ^^^^^^^^
      |
      = help: fix: write `helper` (--fix-unsafe)

    warning[AG0101]: `agent.toml` has no field `team`
     --> helper/agent.toml:3:1
      |
    3 | team = "support"
      | ^^^^

    checked 1 agent: 1 error, 1 warning
    --- stderr
    fixed 1 finding
    --- exit 1
    "#);
    insta::assert_snapshot!(test.read("helper/agent.toml"), @r#"
    name = "Helper"
    description = "Answers questions"
    team = "support"
    "#);
}

#[test]
fn fix_unsafe_applies_all_fixes() {
    let test = helper();
    insta::assert_snapshot!(test.run("check --fix-unsafe"), @r#"
    $ agentry check --fix-unsafe
    --- stdout
    warning[AG0101]: `agent.toml` has no field `team`
     --> helper/agent.toml:3:1
      |
    3 | team = "support"
      | ^^^^

    checked 1 agent: 1 warning
    --- stderr
    fixed 2 findings
    --- exit 0
    "#);
    insta::assert_snapshot!(test.read("helper/agent.toml"), @r#"
    name = "helper"
    description = "Answers questions"
    team = "support"
    "#);
}

#[test]
fn a_second_fix_changes_nothing() {
    for flag in ["--fix", "--fix-unsafe"] {
        let test = helper();
        test.run(&format!("check {flag}"));
        let (before, time) = (test.read("helper/agent.toml"), modified(&test));
        let ran = test.run(&format!("check {flag}"));
        assert_eq!(test.read("helper/agent.toml"), before, "{ran}");
        assert_eq!(modified(&test), time, "{flag}: written without need");
        assert!(!ran.stderr.contains("fixed"), "{ran}");
    }
}

fn modified(test: &Test) -> std::time::SystemTime {
    let metadata = fs::metadata(test.path("helper/agent.toml")).expect("a file");
    metadata.modified().expect("a time")
}

#[test]
fn fix_keeps_line_ends_and_byte_order_mark() {
    let windows = format!("\u{feff}{}", TOML.replace('\n', "\r\n"));
    let test = helper().file("helper/agent.toml", &windows);
    test.run("check --fix-unsafe");
    let expected = windows.replace("Helper", "helper").replace("questions.", "questions");
    assert_eq!(test.read("helper/agent.toml"), expected);
}

#[test]
fn a_file_that_is_not_utf8_is_left_alone() {
    let bytes = b"name = \"helper\"\ndescription = \"Answers caf\xe9 questions.\"\n";
    let test = helper().file("helper/agent.toml", bytes);
    insta::assert_snapshot!(test.run("check --fix-unsafe"), @r#"
    $ agentry check --fix-unsafe
    --- stdout
    error[AG0003]: the byte 0xE9 is not UTF-8
     --> helper/agent.toml:2:27
      |
    2 | description = "Answers caf� questions."
      |                           ^
      |
      = help: save the file as UTF-8

    warning[AG2003]: the description ends with a full stop
     --> helper/agent.toml:2:15
      |
    2 | description = "Answers caf� questions."
      |               ^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: remove the full stop

    checked 1 agent: 1 error, 1 warning
    --- exit 1
    "#);
    assert_eq!(fs::read(test.path("helper/agent.toml")).expect("a file"), bytes);
}

#[test]
fn fix_keeps_the_json_report_valid() {
    let ran = helper().run("check --fix --format json").exits(1);
    assert_eq!(ran.json()["summary"]["warnings"], 1, "{ran}");
    assert_eq!(ran.stderr, "fixed 1 finding\n");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn fix_keeps_file_permissions() {
        for mode in [0o600, 0o640, 0o755] {
            let test = helper();
            let path = test.path("helper/agent.toml");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a file");
            test.run("check --fix");
            let after = fs::metadata(&path).expect("a file").permissions().mode();
            assert_eq!(after & 0o777, mode, "{after:o}");
            assert!(test.read("helper/agent.toml").contains("questions\""));
        }
    }

    /// The target of a link is fixed, and the link stays a link.
    #[test]
    fn fix_keeps_symlinks() {
        let test = Test::new()
            .file("helper/real/agent.toml", TOML)
            .file("helper/system-prompt.md", "You answer questions.\n")
            .link("helper/agent.toml", "real/agent.toml");
        test.run("check helper --fix");
        let link = fs::symlink_metadata(test.path("helper/agent.toml")).expect("a link");
        assert!(link.is_symlink());
        assert!(test.read("helper/real/agent.toml").contains("questions\""));
    }

    #[test]
    fn files_outside_the_agent_are_not_fixed() {
        let test = Test::new()
            .file("elsewhere.toml", TOML)
            .file("helper/system-prompt.md", "You answer questions.\n")
            .link("helper/agent.toml", "../elsewhere.toml");
        insta::assert_snapshot!(test.run("check helper --fix-unsafe"), @r#"
        $ agentry check helper --fix-unsafe
        --- stdout
        error[AG0004]: this link leads out of the agent's directory
         --> helper/agent.toml:1:1
          |
          = help: copy the file to where the link is

        checked 1 agent: 1 error
        --- exit 1
        "#);
        assert_eq!(test.read("elsewhere.toml"), TOML);
    }

    #[test]
    fn fix_leaves_no_temporary_files() {
        let test = helper();
        test.run("check --fix-unsafe");
        let names = fs::read_dir(test.path("helper")).expect("a folder");
        let mut names: Vec<_> = names.map(|name| name.expect("a name").file_name()).collect();
        names.sort();
        assert_eq!(names, ["agent.toml", "system-prompt.md"]);
    }
}

/// `--fix` uses the same machine facts as `check`: both find a skill below `$AGENTRY_HOME`.
#[test]
fn fix_and_check_report_the_same() {
    let skill = |name: &str| {
        format!("---\nname: {name}\ndescription: Reviews a text\n---\nRead it twice.\n")
    };
    let test = Test::new()
        .env("AGENTRY_HOME", "elsewhere")
        .env("OLLAMA_HOST", "127.0.0.1:1")
        .file("elsewhere/skills/review/SKILL.md", skill("review"))
        .file("home/.agentry/skills/other/SKILL.md", skill("other"))
        .file("helper.agent", format!("{HELPER}skills: [review]\n"))
        .file("lost.agent", format!("{}skills: [other]\n", HELPER.replace("helper", "lost")));
    let checked = test.run("check");
    assert!(checked.stdout.contains("`other`"), "{checked}");
    assert!(!checked.stdout.contains("`review`"), "{checked}");
    for fixing in ["check --fix", "check --fix-unsafe"] {
        assert_eq!(test.run(fixing).stdout, checked.stdout, "{fixing}");
    }
}
