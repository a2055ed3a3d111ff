//! `agentry policy`: why, diff and test, as a user sees them.

use crate::test::{BROKEN, Test};

const REVIEWER: &str = r#"name = "reviewer"
description = "Reviews changes"

[permissions.bash]
intent = "ask"
rules = [
  "git push ** --force*:deny",
  "git log *:allow",
  "head *:allow",
  "rm *:deny",
  "sudo apt-get *:allow",
]
match = ["git log -5"]
not_match = ["git log --output=x"]

[permissions.edit]
intent = "deny"
rules = ["notes/**:allow"]

[permissions.webfetch]
intent = "deny"
rules = ["docs.example.org:allow", "http://localhost:8080/**:allow"]

[policy-tests.bash]
deny = ["git push origin --force", "git log; rm x"]
"#;

fn reviewer() -> Test {
    Test::new()
        .file("agentry.toml", "")
        .file("reviewer/agent.toml", REVIEWER)
        .file("reviewer/system-prompt.md", "You review.\n")
}

#[test]
fn why_gives_a_reason_for_each_command_part() {
    insta::assert_snapshot!(reviewer().run(
        "policy why reviewer bash 'FOO=1 git log $(rm x) | head -5 > notes/log; sh -c \"curl x\"'"
    ), @r#"
    $ agentry policy why reviewer bash 'FOO=1 git log $(rm x) | head -5 > notes/log; sh -c "curl x"'
    --- stdout
    deny

      rm x         deny   rm *:deny               reviewer/agent.toml:10:3 (permissions)
      curl x       deny   webfetch = deny         reviewer/agent.toml:21:10 (permissions)

      FOO=1        ask    no rule about env: ask  (default)
      git log …    ask    bash = ask              reviewer/agent.toml:5:10 (permissions)
      > notes/log  allow  notes/**:allow          reviewer/agent.toml:18:10 (permissions)
      head -5      allow  head *:allow            reviewer/agent.toml:9:3 (permissions)

    note: curl x: it fetches `x`

    note: git log …: for instance `git log --ext`: `--ext-diff` can run another program, and `git log *:allow` does not name it
    --- exit 0
    "#);
}

#[test]
fn why_asks_if_a_glob_may_be_an_option() {
    insta::assert_snapshot!(reviewer().run("policy why reviewer bash 'git log *'"), @r#"
    $ agentry policy why reviewer bash 'git log *'
    --- stdout
    ask

      git log *  ask  bash = ask  reviewer/agent.toml:5:10 (permissions)

    note: git log *: for instance `git log --ext`: `--ext-diff` can run another program, and `git log *:allow` does not name it
    --- exit 0
    "#);
}

#[test]
fn a_rule_with_a_wrapper_covers_the_inner_command() {
    insta::assert_snapshot!(reviewer().run("policy why reviewer bash 'sudo apt-get update'"), @r#"
    $ agentry policy why reviewer bash 'sudo apt-get update'
    --- stdout
    allow

      sudo apt-get update  allow  sudo apt-get *:allow  reviewer/agent.toml:11:3 (permissions)
      apt-get update       allow  sudo apt-get *:allow  reviewer/agent.toml:11:3 (permissions)
    --- exit 0
    "#);
    insta::assert_snapshot!(reviewer().run("policy why reviewer bash 'sudo rm x'"), @r#"
    $ agentry policy why reviewer bash 'sudo rm x'
    --- stdout
    deny

      rm x       deny  rm *:deny   reviewer/agent.toml:10:3 (permissions)

      sudo rm x  ask   bash = ask  reviewer/agent.toml:5:10 (permissions)
    --- exit 0
    "#);
}

#[test]
fn symlinks_are_resolved_before_judging() {
    let test = reviewer();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", test.path("notes")).expect("a link");
    insta::assert_snapshot!(test.run("policy why reviewer edit notes/passwd"), @r#"
    $ agentry policy why reviewer edit notes/passwd
    --- stdout
    deny

      notes/passwd  deny  edit = deny  reviewer/agent.toml:17:10 (permissions)
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("policy why reviewer bash 'git log > notes/passwd'"), @r#"
    $ agentry policy why reviewer bash 'git log > notes/passwd'
    --- stdout
    deny

      > notes/passwd  deny   edit = deny      reviewer/agent.toml:17:10 (permissions)

      git log         allow  git log *:allow  reviewer/agent.toml:8:3 (permissions)
    --- exit 0
    "#);
}

#[test]
fn local_addresses_need_an_explicit_rule() {
    insta::assert_snapshot!(
        reviewer().run("policy why reviewer webfetch http://localhost:8080/x"), @r#"
    $ agentry policy why reviewer webfetch http://localhost:8080/x
    --- stdout
    allow

      http://localhost:8080/x  allow  http://localhost:8080/**:allow  reviewer/agent.toml:22:36 (permissions)
    --- exit 0
    "#);
    insta::assert_snapshot!(reviewer().run("policy why reviewer webfetch http://127.1:8080/x"), @r#"
    $ agentry policy why reviewer webfetch http://127.1:8080/x
    --- stdout
    deny

      http://127.1:8080/x  deny  webfetch = deny  reviewer/agent.toml:21:10 (permissions)
    --- exit 0
    "#);
}

#[test]
fn why_lists_the_deciding_part_first() {
    insta::assert_snapshot!(reviewer().run("policy why reviewer bash 'git log | sh -c \"rm x; git log\"'"), @r#"
    $ agentry policy why reviewer bash 'git log | sh -c "rm x; git log"'
    --- stdout
    deny

      rm x     deny   rm *:deny        reviewer/agent.toml:10:3 (permissions)

      git log  allow  git log *:allow  reviewer/agent.toml:8:3 (permissions)
      git log  allow  git log *:allow  reviewer/agent.toml:8:3 (permissions)
    --- exit 0
    "#);
}

#[test]
fn why_judges_a_search_by_its_files() {
    let rules = "\n[permissions.read]\nintent = \"allow\"\nrules = [\"private/**:deny\"]\n";
    let test = crate::render::agent(Test::new(), "finder", rules)
        .file("docs/a.md", "")
        .file("private/b.md", "")
        .file("app/.env", "");
    insta::assert_snapshot!(test.run("policy why agents/finder read docs --search"), @r#"
    $ agentry policy why agents/finder read docs --search
    --- stdout
    allow

      docs  allow  read = allow  agents/finder/agent.toml:5:10 (permissions)
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("policy why agents/finder read . --search=**/*.md"), @r#"
    $ agentry policy why agents/finder read . --search=**/*.md
    --- stdout
    deny

      private/b.md  deny   private/**:deny  agents/finder/agent.toml:6:10 (permissions)

      .             allow  read = allow     agents/finder/agent.toml:5:10 (permissions)
    --- exit 0
    "#);
    let cases =
        [("app", "--search", "ask"), ("app", "--search=*.rs", "allow"), (".", "--search", "deny")];
    for (directory, search, expected) in cases {
        let ran = test.run(&format!("policy why agents/finder read {directory} {search}")).exits(0);
        assert_eq!(ran.stdout.lines().next(), Some(expected), "{directory} {search}");
    }
    test.run("policy why agents/finder bash ls --search").exits(2);
}

/// A search is judged by the files that its path and its glob reach; files ignored by Git are left out
/// where the tools leave them out.
#[test]
fn why_judges_searches_of_ignored_directories() {
    let rules = "\n[permissions.read]\nintent = \"allow\"\n";
    let test = || {
        let test = Test::new().file("src/a.rs", "").file("node_modules/x/.env", "");
        crate::render::agent(test, "finder", rules)
    };
    let ignoring = test().file(".gitignore", "/node_modules\n");
    let cases = [
        (".", "--search", "ask", "allow"),
        (".", "--search=node_modules/**", "ask", "ask"),
        (".", "--search=**/node_modules/**", "ask", "ask"),
        (".", "--search=*.rs", "allow", "allow"),
        ("node_modules/x", "--search", "ask", "ask"),
    ];
    for (directory, search, plain, ignored) in cases {
        for (test, expected) in [(&test(), plain), (&ignoring, ignored)] {
            let ran = test.run(&format!("policy why agents/finder read {directory} {search}"));
            assert_eq!(ran.stdout.lines().next(), Some(expected), "{directory} {search}: {ran}");
        }
    }
}

#[test]
fn why_prints_json() {
    insta::assert_snapshot!(
        reviewer().run("policy why reviewer bash 'git log; rm x' --format json"), @r#"
    $ agentry policy why reviewer bash 'git log; rm x' --format json
    --- stdout
    {
      "verdict": "deny",
      "reasons": [
        {
          "segment": "git log",
          "verdict": "allow",
          "decides": false,
          "rule": "git log *:allow",
          "path": "reviewer/agent.toml",
          "line": 8,
          "layer": "permissions",
          "note": null
        },
        {
          "segment": "rm x",
          "verdict": "deny",
          "decides": true,
          "rule": "rm *:deny",
          "path": "reviewer/agent.toml",
          "line": 10,
          "layer": "permissions",
          "note": null
        }
      ]
    }
    --- exit 0
    "#);
}

#[test]
fn the_policy_of_the_user_only_narrows() {
    let test = reviewer().file(
        "home/.config/agentry/config.toml",
        "[policy.bash]\nintent = \"allow\"\nrules = [\"git log *:ask\"]\n",
    );
    insta::assert_snapshot!(test.run("policy why reviewer bash 'git log'"), @r#"
    $ agentry policy why reviewer bash 'git log'
    --- stdout
    ask

      git log  ask  git log *:ask  [DIR]/home/.config/agentry/config.toml:3:10 (user)
    --- exit 0
    "#);
    let test =
        test.file("home/.config/agentry/config.toml", "[policy.bash]\nrules = [\"git log\"]\n");
    insta::assert_snapshot!(test.run("policy why reviewer bash 'git log'"), @r#"
    $ agentry policy why reviewer bash 'git log'
    --- stderr
    error[AG0171]: `git log` is not a rule
     --> [DIR]/home/.config/agentry/config.toml:2:10
      |
    2 | rules = ["git log"]
      |          ^^^^^^^^^
      |
      = help: write `pattern:allow`, `pattern:ask` or `pattern:deny`

    error: the user's policy has errors
    --- exit 2
    "#);
}

#[test]
fn diff_lists_gained_and_lost_permissions() {
    let new = REVIEWER
        .replace("  \"rm *:deny\",\n", "")
        .replace("\"git push ** --force*:deny\"", "\"git push *:allow\"")
        .replace("\"reviewer\"", "\"newer\"");
    let test =
        reviewer().file("newer/agent.toml", new).file("newer/system-prompt.md", "You review.\n");
    insta::assert_snapshot!(test.run("policy diff reviewer newer"), @r#"
    $ agentry policy diff reviewer newer
    --- stdout
    gained:  bash  `git push ** --force*`  deny → allow  as in `git push --force`
    gained:  bash  `git push *`            ask → allow   as in `git push`
    gained:  bash  `git push ** --force*`  deny → ask    as in `/git push --force`
    gained:  bash  `rm *`                  deny → ask    as in `rm`
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("policy diff reviewer reviewer"), @r#"
    $ agentry policy diff reviewer reviewer
    --- stdout
    nothing gained, nothing lost
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("policy diff newer reviewer --format json"), @r#"
    $ agentry policy diff newer reviewer --format json
    --- stdout
    {
      "gained": [],
      "lost": [
        {
          "section": "bash",
          "pattern": "git push ** --force*",
          "from": "allow",
          "to": "deny",
          "example": "git push --force"
        },
        {
          "section": "bash",
          "pattern": "git push ** --force*",
          "from": "ask",
          "to": "deny",
          "example": "/git push --force"
        },
        {
          "section": "bash",
          "pattern": "rm *",
          "from": "ask",
          "to": "deny",
          "example": "rm"
        },
        {
          "section": "bash",
          "pattern": "git push *",
          "from": "allow",
          "to": "ask",
          "example": "git push"
        }
      ],
      "unknown": [],
      "unasked": []
    }
    --- exit 0
    "#);
}

/// Every section is listed, also those without a rule.
#[test]
fn show_lists_every_section() {
    let test = Test::new().file(
        "helper.agent",
        "name: helper\ndescription: Answers\nsoul: You answer.\n\
         trust: {filesystem: read-only, network: none}\n",
    );
    insta::assert_snapshot!(test.run("policy show helper.agent"), @"
    $ agentry policy show helper.agent
    --- stdout
    bash
      deny   exec: none                     (trust)
    edit
      deny   filesystem: read-only          helper.agent:4:21 (trust)
    read
      allow  filesystem: read-only          helper.agent:4:21 (trust)
    webfetch
      deny   network: none                  helper.agent:4:41 (trust)
    websearch
      deny   network: none                  helper.agent:4:41 (trust)
    question
      allow  no rule about question: allow  (default)
    external_directory
      deny   filesystem: read-only          helper.agent:4:21 (trust)
    mcp
      deny   network: none, exec: none      helper.agent:4:41 (trust)
    tool
      ask    no rule about tool: ask        (default)
    skill
      ask    no rule about skill: ask       (default)
    delegate
      ask    no rule about delegate: ask    (default)
    env
      ask    no rule about env: ask         (default)

    in a layer, the first rule that matches decides; of several layers, the strictest
    built-in rules only make it stricter: `agentry policy why` shows them for a call
    --- exit 0
    ");
    let printed = reviewer().run("policy show reviewer --format json").exits(0).json();
    let sections = printed["sections"].as_array().expect("sections");
    assert_eq!(sections.len(), 12);
    let layer = &sections[0]["layers"][0];
    assert_eq!((&sections[0]["section"], &layer["layer"]), (&"bash".into(), &"permissions".into()));
    assert_eq!(layer["otherwise"]["pattern"], "**");
    assert_eq!(layer["rules"][0]["path"], "reviewer/agent.toml");
    let silent = sections.iter().find(|section| section["section"] == "mcp").expect("a section");
    assert_eq!(silent["layers"][0]["layer"], "default");
}

/// Exit code 1 would mean that something was gained.
#[test]
fn agents_with_errors_cannot_be_compared() {
    let test = reviewer().file("broken.agent", BROKEN);
    let printed = test.run("policy diff reviewer broken.agent --format json").exits(2).json();
    assert_eq!(printed["errors"][0]["path"], "broken.agent");
    let ran = test.run("policy diff broken.agent reviewer").exits(2);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("AG0104"), "{ran}");
}

#[test]
fn policy_test_checks_the_written_examples() {
    insta::assert_snapshot!(reviewer().run("policy test reviewer"), @r#"
    $ agentry policy test reviewer
    --- stdout
    ok  bash  git log -5               allow  reviewer/agent.toml:13
    ok  bash  git log --output=x       ask    reviewer/agent.toml:14
    ok  bash  git push origin --force  deny   reviewer/agent.toml:25
    ok  bash  git log; rm x            deny   reviewer/agent.toml:25
    4 examples hold
    --- exit 0
    "#);
    let test = reviewer()
        .file("reviewer/agent.toml", REVIEWER.replace("deny = [\"git push", "allow = [\"git push"));
    insta::assert_snapshot!(test.run("policy test reviewer"), @r#"
    $ agentry policy test reviewer
    --- stdout
    ok      bash  git log -5               allow                                           reviewer/agent.toml:13
    ok      bash  git log --output=x       ask                                             reviewer/agent.toml:14
    FAILED  bash  git push origin --force  deny, not allow by `git push ** --force*:deny`  reviewer/agent.toml:25
    FAILED  bash  git log; rm x            deny, not allow by `rm *:deny`                  reviewer/agent.toml:25
    2 of 4 examples do not hold
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("check reviewer"), @r#"
    $ agentry check reviewer
    --- stdout
    error[AG0016]: bash `git push origin --force` is deny, not allow
      --> reviewer/agent.toml:25:10
       |
     7 |   "git push ** --force*:deny",
       |   --------------------------- this decides
    ...
    25 | allow = ["git push origin --force", "git log; rm x"]
       |          ^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: `git push ** --force*:deny` decides about `git push origin --force`

    error[AG0016]: bash `git log; rm x` is deny, not allow
      --> reviewer/agent.toml:25:37
       |
    10 |   "rm *:deny",
       |   ----------- this decides
    ...
    25 | allow = ["git push origin --force", "git log; rm x"]
       |                                     ^^^^^^^^^^^^^^^
       |
       = help: `rm *:deny` decides about `rm x`

    checked 1 agent: 2 errors
    --- exit 1
    "#);
}

#[test]
fn why_suggests_a_misspelt_tool() {
    insta::assert_snapshot!(reviewer().run("policy why reviewer bahs ls"), @r#"
    $ agentry policy why reviewer bahs ls
    --- stderr
    error: invalid value 'bahs' for '<TOOL>': did you mean `bash`?

    For more information, try '--help'.
    --- exit 2
    "#);
}
