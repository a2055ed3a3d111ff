//! `agentry rules`: the list of rules and their explanations.

use crate::test::Test;

#[test]
fn rules_lists_all_rules() {
    let ran = Test::new().run("rules").exits(0);
    let head: Vec<_> = ran.stdout.lines().take(6).collect();
    insta::assert_snapshot!(head.join("\n"), @r#"
    AG0001  error    unreadable-file
    AG0002  error    file-too-large
    AG0003  error    not-utf8
    AG0004  error    link-leaves-agent
    AG0005  error    too-many-files
    AG0006  error    ambiguous-directory
    "#);
    let rules = Test::new().run("rules --format json").exits(0).json();
    let count = rules.as_array().expect("a list").len();
    assert_eq!(count, ran.stdout.lines().count());
    for rule in rules.as_array().expect("a list") {
        let name = rule["name"].as_str().expect("a name");
        assert!(ran.stdout.contains(&format!("  {name}\n")), "{name}");
    }
}

#[test]
fn rules_explains_one_rule() {
    insta::assert_snapshot!(Test::new().run("rules ambiguous-directory"), @r#"
    $ agentry rules ambiguous-directory
    --- stdout
    ambiguous-directory (AG0006, error)

    A directory with the main files of two formats could be either agent; which one
    runs must not depend on the program that looks.

    This breaks it:

      helper/agent.toml
        name = "helper"
        description = "Answers questions"

      helper/system-prompt.md
        You answer questions.

      helper/agent.yaml
        name: helper
        description: Answers questions
        soul: You answer questions.

    Use instead:

      helper/agent.toml
        name = "helper"
        description = "Answers questions"

      helper/system-prompt.md
        You answer questions.
    --- exit 0
    "#);
    insta::assert_snapshot!(Test::new().run("rules AG0003"), @r#"
    $ agentry rules AG0003
    --- stdout
    not-utf8 (AG0003, error)

    Definitions are UTF-8 text. Bytes in another encoding would be read as other
    characters by other programs.

    This breaks it:

      a manifest with the byte 0xE9, which is `é` in Latin-1

    Use instead:

      helper.agent
        name: helper
        description: Answers questions
        soul: You answer questions.
    --- exit 0
    "#);
    insta::assert_snapshot!(Test::new().run("rules name-taken --format json"), @r#"
    $ agentry rules name-taken --format json
    --- stdout
    [
      {
        "code": "AG0009",
        "name": "name-taken",
        "severity": "error",
        "why": "Agents are called by their names; two agents of one name in a workspace cannot both be meant."
      }
    ]
    --- exit 0
    "#);
}

/// Every rule can be explained; invisible characters of its examples are spelt out.
#[test]
fn every_rule_can_be_explained() {
    let rules = Test::new().run("rules --format json").json();
    let test = Test::new();
    for rule in rules.as_array().expect("a list").iter().step_by(7) {
        let code = rule["code"].as_str().expect("a code");
        let ran = test.run(&format!("rules {code}")).exits(0);
        let bad = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stdout.contains(bad), "{ran}");
    }
    let ran = test.run("rules bidi-control").exits(0);
    assert!(!ran.stdout.contains('\u{202e}'), "{ran}");
}

#[test]
fn an_unknown_rule_is_an_error_with_a_suggestion() {
    insta::assert_snapshot!(Test::new().run("rules name-takn"), @r#"
    $ agentry rules name-takn
    --- stderr
    error: there is no rule `name-takn`
      = help: did you mean `name-taken`?
    --- exit 2
    "#);
    insta::assert_snapshot!(Test::new().run("rules ag0003"), @r#"
    $ agentry rules ag0003
    --- stdout
    not-utf8 (AG0003, error)

    Definitions are UTF-8 text. Bytes in another encoding would be read as other
    characters by other programs.

    This breaks it:

      a manifest with the byte 0xE9, which is `é` in Latin-1

    Use instead:

      helper.agent
        name: helper
        description: Answers questions
        soul: You answer questions.
    --- exit 0
    "#);
    insta::assert_snapshot!(Test::new().run("rules zzzzzzzzzzzzzz"), @r#"
    $ agentry rules zzzzzzzzzzzzzz
    --- stderr
    error: there is no rule `zzzzzzzzzzzzzz`
      = help: `agentry rules` lists them all
    --- exit 2
    "#);
}
