//! `agentry.toml`: excludes, severities, and errors in the file itself.

use crate::test::{BROKEN, HELPER, Test, WARNED};

#[test]
fn excluded_paths_are_not_checked() {
    let cases = [
        ("vendor", "vendor/a.agent", true),
        ("vendor/", "vendor/deep/a.agent", true),
        ("./vendor", "vendor/a.agent", true),
        ("**/old", "x/old/a.agent", true),
        ("*.agent", "a.agent", true),
        ("*.agent", "deep/a.agent", false),
        ("**/*.agent", "deep/a.agent", true),
        (".hidden", ".hidden/a.agent", true),
        ("hidden", ".hidden/a.agent", false),
        ("vendor", "vendored/a.agent", false),
    ];
    for (pattern, path, expected) in cases {
        let config = format!("[check]\nexclude = [\"{pattern}\"]\n");
        let test = Test::new().file("agentry.toml", config).file(path, BROKEN);
        for run in ["check", "check ."] {
            let ran = test.run(run);
            assert_eq!(ran.code == Some(0), expected, "`{pattern}` and `{path}`: {ran}");
        }
    }
}

/// Patterns are relative to the file, wherever the program is started.
#[test]
fn excludes_work_from_every_directory() {
    let test = Test::new()
        .file("agentry.toml", "[check]\nexclude = [\"agents/old\"]\n")
        .file("agents/old/broken.agent", BROKEN)
        .file("agents/helper.agent", HELPER);
    let absolute = test.path("agents").to_string_lossy().into_owned();
    test.run("check").exits(0);
    test.run("check agents").exits(0);
    test.run("check ./agents/").exits(0);
    test.run_args(&["check", &absolute]).exits(0);
    test.run_in("agents", "check").exits(0);
    test.run_in("agents", "check .").exits(0);
    test.run_in("agents/old", "check ..").exits(0);
    test.run_in("agents/old", "check broken.agent").exits(1);
}

#[test]
fn configured_severities_replace_the_defaults() {
    let config = "[check]\nseverity = { unknown-field = \"error\", AG0104 = \"off\" }\n";
    let test = Test::new().file("agentry.toml", config).file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG0101]: the manifest has no field `team`
     --> broken.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 1 agent: 1 error
    --- exit 1
    "#);
}

#[test]
fn mistakes_in_the_configuration_are_reported() {
    let config = "[check]\nexclude = [\"vendor/[\"]\nseverty = {}\n\n\
        [check.severity]\nunknwon-field = \"error\"\nname-taken = \"loud\"\n";
    let test = Test::new().file("agentry.toml", config).file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG0022]: `vendor/[` is not a pattern: unclosed character class; missing ']'
     --> agentry.toml:2:12
      |
    2 | exclude = ["vendor/["]
      |            ^^^^^^^^^^

    error[AG0021]: there is no rule `unknwon-field`
     --> agentry.toml:6:1
      |
    6 | unknwon-field = "error"
      | ^^^^^^^^^^^^^
      |
      = help: did you mean `unknown-field`?

    error[AG0104]: `severity.name-taken` cannot be `loud`
     --> agentry.toml:7:14
      |
    7 | name-taken = "loud"
      |              ^^^^^^
      |
      = help: use one of `off`, `note`, `warning`, `error`

    warning[AG0101]: `[check]` has no field `severty`
     --> agentry.toml:3:1
      |
    3 | severty = {}
      | ^^^^^^^
      |
      = help: did you mean `severity`?

    checked 1 agent: 3 errors, 1 warning
    --- exit 1
    "#);
}

#[test]
fn a_configuration_that_is_not_toml_is_an_error() {
    let test = Test::new().file("agentry.toml", "[check\n").file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG0061]: the header is not closed
     --> agentry.toml:1:7
      |
    1 | [check
      |       ^
      |
      = help: add `]`, or `]]` after `[[`

    checked 1 agent: 1 error
    --- exit 1
    "#);
}

#[test]
fn a_configuration_that_is_a_directory_is_an_error() {
    let test = Test::new().file("agentry.toml/x", "").file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG0001]: the configuration cannot be read: it is not a file
     --> agentry.toml:1:1

    checked 1 agent: 1 error
    --- exit 1
    "#);
}

/// The nearest file counts, also from below.
#[test]
fn the_nearest_configuration_applies() {
    let test = Test::new()
        .file("agentry.toml", "[check]\nseverity = { unknown-field = \"off\" }\n")
        .file("agents/deep/warned.agent", WARNED);
    for (dir, args) in [("", "check"), ("agents", "check"), ("agents/deep", "check warned.agent")] {
        let ran = test.run_in(dir, args);
        assert_eq!(ran.stdout, "checked 1 agent: all good\n", "{ran}");
    }
}

/// Each agent is checked with the `agentry.toml` of its own workspace.
#[test]
fn each_agent_uses_its_workspace_configuration() {
    let test = Test::new()
        .file("one/agentry.toml", "[check]\n")
        .file("one/a.agent", crate::test::WARNED)
        .file("two/agentry.toml", "[check]\nseverity = { unknown-field = \"error\" }\n")
        .file("two/b.agent", crate::test::WARNED)
        .file("three/agentry.toml", "[check]\nexclude = [\"*.agent\"]\n")
        .file("three/c.agent", crate::test::WARNED);
    for args in ["check . --format json", "check one two three --format json"] {
        let summary = test.run(args).exits(1).json()["summary"].clone();
        let counts = ["agents", "errors", "warnings"].map(|key| summary[key].as_u64());
        assert_eq!(counts, [Some(2), Some(1), Some(1)], "{args}");
    }
}
