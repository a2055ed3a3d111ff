//! `check --changed-since` and `policy diff --since`: a real repository, compared with one of its commits.

use std::process::Command;

use crate::test::{BROKEN, HELPER, Ran, Test};

const REVIEWER: &str = "name = \"reviewer\"\ndescription = \"Reviews changes\"\n\n\
    [permissions.bash]\nintent = \"deny\"\nrules = [\"git log *:allow\"]\n";

/// A workspace that is a repository, with one commit of these files.
pub(crate) fn committed(files: &[(&str, &str)]) -> Test {
    let test = Test::outside_git();
    git(&test, &["init", "--quiet", "--initial-branch=main"]);
    files.iter().for_each(|(path, text)| test.write(path, text));
    commit(&test, "base");
    test.env("PATH", "/usr/local/bin:/usr/bin:/bin")
}

pub(crate) fn commit(test: &Test, message: &str) {
    git(test, &["add", "--all", "."]);
    git(test, &["commit", "--quiet", "--allow-empty", "-m", message]);
}

pub(crate) fn git(test: &Test, args: &[&str]) {
    let name = |role: &str| {
        [(format!("GIT_{role}_NAME"), "dev"), (format!("GIT_{role}_EMAIL"), "dev@example.org")]
    };
    let done = Command::new("git")
        .args(["-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null"])
        .args(args)
        .current_dir(test.path(""))
        .envs(name("AUTHOR").into_iter().chain(name("COMMITTER")))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000")
        .status()
        .expect("git runs");
    assert!(done.success(), "git {args:?}");
}

/// The output, with the commit masked.
fn shown(ran: &Ran) -> String {
    let is_commit = |word: &&str| word.len() == 12 && word.bytes().all(|it| it.is_ascii_hexdigit());
    let text = ran.to_string();
    let commit =
        text.split(|c: char| !c.is_ascii_alphanumeric()).find(is_commit).map(str::to_owned);
    text.replace(&commit.expect("a commit"), "[COMMIT]")
}

/// The paths of the agents that `check --changed-since` reports.
fn changed(test: &Test, since: &str) -> Vec<String> {
    let ran = test.run(&format!("check --changed-since {since} --format json"));
    let value = ran.json();
    let agents = value["agents"].as_array().expect("a list");
    agents.iter().map(|it| it["path"].as_str().expect("a path").to_owned()).collect()
}

fn team() -> Test {
    committed(&[
        ("agentry.toml", ""),
        ("old.agent", HELPER),
        ("reviewer/agent.toml", REVIEWER),
        ("reviewer/system-prompt.md", "You review.\n"),
        ("base.agent", "name: base\ndescription: The base\nsoul: You help.\n"),
        ("built.agent", "name: built\ndescription: Built\nbase: ./base.agent\nsoul: You help.\n"),
        ("README.md", "# Agents\n"),
    ])
}

#[test]
fn changed_since_selects_agents_by_their_files() {
    let everything = ["base.agent", "built.agent", "old.agent", "reviewer"];
    let cases: &[(&str, Option<&str>, &[&str])] = &[
        ("README.md", Some("# Other\n"), &[]),
        ("old.agent", Some("name: helper\ndescription: Helps\nsoul: x\n"), &["old.agent"]),
        // A part of an agent in a directory, a part that is removed, one that is new.
        ("reviewer/system-prompt.md", Some("You review well.\n"), &["reviewer"]),
        ("reviewer/system-prompt.md", None, &["reviewer"]),
        ("new.agent", Some(HELPER), &["new.agent"]),
        // A base counts for the agents that are built on it.
        (
            "base.agent",
            Some("name: base\ndescription: A base\nsoul: You help.\n"),
            &["base.agent", "built.agent"],
        ),
        ("agentry.toml", Some("[check]\nseverity = { no-description = \"off\" }\n"), &everything),
    ];
    for (path, content, expected) in cases {
        let test = team();
        match content {
            Some(content) => test.write(path, content),
            None => std::fs::remove_file(test.path(path)).expect("a file"),
        }
        assert_eq!(changed(&test, "HEAD"), *expected, "uncommitted: {path}");
        commit(&test, "change");
        assert_eq!(changed(&test, "HEAD~1"), *expected, "committed: {path}");
        assert_eq!(changed(&test, "HEAD"), [""; 0], "the last commit: {path}");
    }
}

#[test]
fn changed_since_ignores_commits_of_the_other_branch() {
    let test = team();
    git(&test, &["checkout", "--quiet", "-b", "topic"]);
    test.write("built.agent", "name: built\ndescription: Other\nbase: ./base.agent\nsoul: x\n");
    commit(&test, "on the topic");
    git(&test, &["checkout", "--quiet", "main"]);
    test.write("old.agent", BROKEN);
    commit(&test, "on main");
    git(&test, &["checkout", "--quiet", "topic"]);
    assert_eq!(changed(&test, "main"), ["built.agent"]);
}

#[test]
fn only_findings_of_changed_agents_fail() {
    let test = committed(&[("agentry.toml", ""), ("broken.agent", BROKEN), ("old.agent", HELPER)]);
    test.write("old.agent", "name: helper\ndescription: Helps people\nsoul: You help.\n");
    insta::assert_snapshot!(test.run("check --changed-since HEAD"), @"
    $ agentry check --changed-since HEAD
    --- stdout
    checked 1 agent: all good
    --- exit 0
    ");
    commit(&test, "change");
    insta::assert_snapshot!(test.run("check --changed-since HEAD"), @"
    $ agentry check --changed-since HEAD
    --- stderr
    note: no agent and no file of a harness changed since `HEAD`
    --- exit 0
    ");
}

#[test]
fn a_wrong_reference_is_a_usage_error() {
    let test = team();
    insta::assert_snapshot!(test.run("check --changed-since nowhere"), @"
    $ agentry check --changed-since nowhere
    --- stderr
    error: the repository has no commit `nowhere`
      = help: name a branch, a tag or a commit that this clone has; a shallow clone has only the last ones (`git fetch` brings more)
    --- exit 2
    ");
    // A word that Git would take for an option stays a reference.
    test.run("check --changed-since=--output=x").exits(2);
    assert!(!test.has("x"));
    let outside = Test::outside_git().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    outside.write("old.agent", HELPER);
    outside.run("check --changed-since main").exits(2);
}

#[test]
fn changed_since_before_the_first_commit_selects_all() {
    let test = Test::outside_git().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    git(&test, &["init", "--quiet"]);
    test.write("old.agent", HELPER);
    assert_eq!(changed(&test, "HEAD"), ["old.agent"]);
}

#[test]
fn git_filters_of_the_repository_are_not_run() {
    let test = team();
    let program = test.path("evil.sh");
    test.write("evil.sh", format!("#!/bin/sh\ntouch {}/ran\ncat\n", test.path("").display()));
    let mut mode = std::fs::metadata(&program).expect("a file").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&program, mode).expect("a mode");
    test.write(".gitattributes", "* filter=evil diff=evil\n");
    let evil = program.display().to_string();
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.external",
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
    ] {
        git(&test, &["config", key, &evil]);
    }
    test.write("old.agent", "name: helper\ndescription: Helps\nsoul: x\n");
    assert_eq!(changed(&test, "HEAD"), ["old.agent"]);
    test.run("policy diff --since HEAD");
    assert!(!test.has("ran"));
}

#[test]
fn a_comparison_with_a_commit_shows_what_agents_gained() {
    let test = team();
    test.write("reviewer/agent.toml", REVIEWER.replace("git log *:allow", "git *:allow"));
    test.write("new.agent", "name: new\ndescription: New\nsoul: x\ntrust: {network: allowed}\n");
    std::fs::remove_file(test.path("old.agent")).expect("a file");
    insta::assert_snapshot!(shown(&test.run("policy diff --since HEAD")), @"
    $ agentry policy diff --since HEAD
    --- stdout
    new.agent: new
      gained:  webfetch   `*`  ask → allow  as in `https://example.com/`
      gained:  websearch  `*`  ask → allow  as in `x`
    old.agent: gone
    reviewer: changed
      gained:  bash  `git *`  deny → allow  as in `git`
    2 of 4 agents may do more than at HEAD ([COMMIT])
    --- exit 1
    ");
    insta::assert_snapshot!(shown(&test.run("policy diff --since HEAD --format markdown")), @"
    $ agentry policy diff --since HEAD --format markdown
    --- stdout
    ### What agents gained

    **`new.agent`** (new)

    | section | may now | before → now | for example |
    | --- | --- | --- | --- |
    | webfetch | `*` | ask → allow | `https://example.com/` |
    | websearch | `*` | ask → allow | `x` |

    **`reviewer`** (changed)

    | section | may now | before → now | for example |
    | --- | --- | --- | --- |
    | bash | `git *` | deny → allow | `git` |

    Other changes: `old.agent` (gone).

    <sub>Compared with `HEAD` at `[COMMIT]`; 2 other agents unchanged. `agentry policy diff --since` shows the same.</sub>
    --- exit 1
    ");
    let value = test.run("policy diff --since HEAD --format json").exits(1).json();
    assert_eq!(value["agents"][2]["state"], "changed");
    assert_eq!(value["agents"][2]["gained"][0]["section"], "bash");
    test.run("policy diff --since HEAD README.md").exits(0);
}

#[test]
fn a_comparison_without_gains_exits_0() {
    let test = team();
    test.write("reviewer/agent.toml", REVIEWER.replace("git log *:allow", "git log -5:allow"));
    insta::assert_snapshot!(shown(&test.run("policy diff --since HEAD")), @"
    $ agentry policy diff --since HEAD
    --- stdout
    reviewer: changed
      lost:  bash  `git log *`  allow → deny  as in `git log`
    0 of 4 agents may do more than at HEAD ([COMMIT])
    --- exit 0
    ");
    git(&test, &["mv", "built.agent", "moved.agent"]);
    let moved = test.run("policy diff --since HEAD --format json moved.agent built.agent");
    assert_eq!(moved.json()["agents"][0]["moved_from"], "built.agent", "{moved}");
}

#[test]
fn a_change_cannot_hide_the_agent_that_it_widens() {
    let test = team();
    test.write("reviewer/agent.toml", REVIEWER.replace("git log *:allow", "git *:allow"));
    test.write("agentry.toml", "[check]\nexclude = [\"reviewer\"]\n");
    let ran = test.run("policy diff --since HEAD").exits(1);
    assert!(ran.stdout.contains("gained:"), "{ran}");
    // An agent with errors is not «nothing gained».
    test.write("reviewer/agent.toml", "name = [\n");
    test.run("policy diff --since HEAD").exits(2);
}

#[test]
fn a_hostile_path_stays_text_in_the_comment() {
    let test = team();
    test.write(
        "a` | <img src=x> ![x](http:x).agent",
        "name: evil\ndescription: x\nsoul: x\ntrust: {network: allowed}\n",
    );
    let ran = test.run("policy diff --since HEAD --format markdown");
    assert!(ran.stdout.contains("**``a` | <img src=x> ![x](http:x).agent``** (new)"), "{ran}");
}
