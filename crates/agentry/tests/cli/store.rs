//! `agentry push`, `pull`, `list`, `search` and `gc`: agents into the store and out again.

use std::fs;

use crate::test::{BROKEN, HELPER, Test};

const VERSIONED: &str =
    "name: helper\nversion: 1.0.0\ndescription: Answers questions\nsoul: You answer questions.\n";
const TOML: &str = "name = \"writer\"\ndescription = \"Writes texts\"\n";
const SKILL: &str = "---\nname: review\ndescription: Reviews a change\n---\n\nLook at it.\n";

/// A directory agent that needs files of its workspace.
fn writer() -> Test {
    Test::new()
        .file(
            "agents/writer/agent.toml",
            "name = \"writer\"\ndescription = \"Writes texts\"\nskills = [\"review\"]\n\
             rules = [\"style\"]\ncontext = [\"../../docs/terms.md\"]\n",
        )
        .file("agents/writer/system-prompt.md", "You write.\n")
        .file("agents/writer/notes.txt", "not a part of it\n")
        .file("rules/style.md", "Be brief.\n")
        .file("docs/terms.md", "Agent: a program.\n")
        .file("skills/review/SKILL.md", SKILL)
        .file("skills/review/scripts/run.sh", "exit 0\n")
        .file("skills/review/assets/icon.bin", b"\xff\x00\xfe")
}

fn digest(test: &Test, agent: &str) -> String {
    test.run(&format!("hash --full {agent}")).exits(0).stdout.trim().to_owned()
}

#[test]
fn an_agent_is_pushed_listed_found_and_pulled() {
    let test = Test::new().file("helper.agent", VERSIONED);
    insta::assert_snapshot!(test.run("push helper.agent"), @r#"
    $ agentry push helper.agent
    --- stdout
    sha256:a99050e45386ebb29733bbab2932a7d91d0d9b9344014cd92f537a8e8a594637
    --- stderr
    helper@1.0.0 is in the store now
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("push helper.agent"), @r#"
    $ agentry push helper.agent
    --- stdout
    sha256:a99050e45386ebb29733bbab2932a7d91d0d9b9344014cd92f537a8e8a594637
    --- stderr
    helper@1.0.0 was in the store already
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("list"), @r#"
    $ agentry list
    --- stdout
    helper  1.0.0  sha256:a99050e45386ebb29733bbab2932a7d91d0d9b9344014cd92f537a8e8a594637
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("search ANSWERS help"), @r#"
    $ agentry search ANSWERS help
    --- stdout
    helper  1.0.0  Answers questions
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("search answers nothing"), @r#"
    $ agentry search answers nothing
    --- stderr
    no agent of the store has all these words
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("pull helper -o out"), @r#"
    $ agentry pull helper -o out
    --- stdout
    wrote out/helper.agent
    --- exit 0
    "#);
    assert_eq!(test.read("out/helper.agent"), VERSIONED);
    insta::assert_snapshot!(test.run("pull helper@1.0.0 -o copy.agent"), @r#"
    $ agentry pull helper@1.0.0 -o copy.agent
    --- stdout
    wrote copy.agent
    --- exit 0
    "#);
    assert_eq!(test.read("copy.agent"), VERSIONED);
    let listed = test.run("list --format json").exits(0).json();
    let row = serde_json::json!([
        {"name": "helper", "version": "1.0.0", "digest": digest(&test, "helper.agent")}
    ]);
    assert_eq!(listed, row);
}

#[test]
fn a_home_without_a_store_is_empty() {
    let test = Test::new();
    insta::assert_snapshot!(test.run("list"), @r#"
    $ agentry list
    --- stderr
    the store is empty
    --- exit 0
    "#);
    assert_eq!(test.run("list --format json").exits(0).json(), serde_json::json!([]));
    insta::assert_snapshot!(test.run("pull helper -o out"), @r#"
    $ agentry pull helper -o out
    --- stderr
    error: there is no store at `[DIR]/home/.agentry/store` yet
      = help: `agentry push AGENT` makes one
    --- exit 2
    "#);
    test.run("gc").exits(0);
    assert!(!test.has("home"), "nothing was made");
}

#[test]
fn every_reference_form_pulls_the_agent() {
    let test = Test::new().file("helper.agent", VERSIONED);
    let full = test.run("push helper.agent").exits(0).stdout.trim().to_owned();
    let short = test.run("hash helper.agent").exits(0).stdout.trim().to_owned();
    assert_eq!(full, digest(&test, "helper.agent"));
    for (at, reference) in ["helper", "helper@1.0.0", &full, &short].into_iter().enumerate() {
        test.run(&format!("pull {reference} -o out{at}")).exits(0);
        assert_eq!(digest(&test, &format!("out{at}")), full, "{reference}");
    }
    let none = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let wrong =
        ["other", "helper@2.0.0", none, "ag1:000000000000", "sha256:12", "a/b", "../helper"];
    for reference in wrong {
        test.run(&format!("pull {reference} -o none")).exits(2);
        assert!(!test.has("none"), "{reference}");
    }
}

/// Ordered by version; the order of pushing and the clock do not matter.
#[test]
fn a_bare_name_is_the_latest_release() {
    let test = Test::new();
    for version in ["0.10.0", "2.0.0-rc.1", "0.9.0"] {
        test.write("helper.agent", VERSIONED.replace("1.0.0", version));
        test.run("push helper.agent").exits(0);
    }
    let pulled = test.run("pull helper -o out --format json").exits(0).json();
    assert_eq!(pulled["version"], "0.10.0");
    let listed = test.run("list --format json").exits(0).json();
    let versions: Vec<_> =
        listed.as_array().into_iter().flatten().map(|row| row["version"].clone()).collect();
    assert_eq!(versions, ["0.9.0", "0.10.0", "2.0.0-rc.1"]);
}

#[test]
fn pushing_a_changed_agent_under_a_used_version_fails() {
    let test = Test::new().file("helper.agent", VERSIONED);
    test.run("push helper.agent").exits(0);
    test.write("helper.agent", VERSIONED.replace("questions.", "nothing."));
    insta::assert_snapshot!(test.run("push helper.agent"), @r#"
    $ agentry push helper.agent
    --- stderr
    error: `helper@1.0.0` is `sha256:a99050e45386ebb29733bbab2932a7d91d0d9b9344014cd92f537a8e8a594637` already, and stays so
      = help: give the agent a new version, in its definition or with `--version`
    --- exit 1
    "#);
    test.write("helper.agent", format!("# The same in other words.\n{VERSIONED}"));
    insta::assert_snapshot!(test.run("push helper.agent"), @r#"
    $ agentry push helper.agent
    --- stdout
    sha256:a99050e45386ebb29733bbab2932a7d91d0d9b9344014cd92f537a8e8a594637
    --- stderr
    helper@1.0.0 was in the store already
    --- exit 0
    "#);
    test.run("pull helper -o out").exits(0);
    assert_eq!(test.read("out/helper.agent"), VERSIONED);
}

#[test]
fn push_takes_a_version_for_formats_without_one() {
    let test = Test::new()
        .file("writer/agent.toml", TOML)
        .file("writer/system-prompt.md", "You write.\n")
        .file("helper.agent", VERSIONED);
    let pushed = test.run("push writer --version 1.0.0 --format json").exits(0).json();
    assert_eq!(pushed["version"], "1.0.0");
    insta::assert_snapshot!(test.run("push writer --version 1.1.0"), @r#"
    $ agentry push writer --version 1.1.0
    --- stderr
    error: the same content is in the store as `writer@1.0.0`
      = help: use that name, or change the agent first
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("push helper.agent --version 2.0.0"), @r#"
    $ agentry push helper.agent --version 2.0.0
    --- stderr
    error: `helper.agent` is version `1.0.0`, not `2.0.0`
    --- exit 1
    "#);
    test.run("push writer --version ../1").exits(1);
    test.write("writer/system-prompt.md", "You write well.\n");
    test.run("push writer --version 1.0.0").exits(1);
    test.run("push writer --version 1.1.0").exits(0);
}

#[test]
fn push_stores_exactly_the_files_of_the_agent() {
    let test = writer();
    let pushed = test.run("push agents/writer --format json").exits(0).json();
    let files = serde_json::json!([
        "agents/writer/agent.toml",
        "agents/writer/system-prompt.md",
        "docs/terms.md",
        "rules/style.md",
        "skills/review/SKILL.md",
        "skills/review/assets/icon.bin",
        "skills/review/scripts/run.sh",
    ]);
    assert_eq!(pushed["files"], files);
    insta::assert_snapshot!(test.run("pull writer -o out"), @r#"
    $ agentry pull writer -o out
    --- stdout
    wrote out/agents/writer/agent.toml
    wrote out/agents/writer/system-prompt.md
    wrote out/docs/terms.md
    wrote out/rules/style.md
    wrote out/skills/review/SKILL.md
    wrote out/skills/review/assets/icon.bin
    wrote out/skills/review/scripts/run.sh
    wrote out/agentry.toml
    --- exit 0
    "#);
    assert_eq!(pushed["digest"].as_str(), Some(digest(&test, "out").as_str()));
    let icon = fs::read(test.path("out/skills/review/assets/icon.bin")).expect("a file");
    assert_eq!(icon, b"\xff\x00\xfe");
    test.run("check out --deny-warnings").exits(0);
}

/// The digest does not cover additional files of a skill of the workspace; the store does.
#[test]
fn changed_extra_files_need_a_new_version() {
    let test = writer();
    test.run("push agents/writer").exits(0);
    test.write("skills/review/scripts/run.sh", "exit 1\n");
    insta::assert_snapshot!(test.run("push agents/writer"), @r#"
    $ agentry push agents/writer
    --- stderr
    error: `writer@0.0.0` is in the store with another `skills/review/scripts/run.sh`
      = help: give the agent a new version, in its definition or with `--version`
    --- exit 1
    "#);
    test.run("sign agents/writer").exits(2);
}

#[test]
fn pull_keeps_the_directory_name_only_if_needed() {
    let test = writer()
        .file("agents/keeper/instructions.md", "# Keeper\n\nYou keep things.\n")
        .file("agents/keeper/agent.acl", "default_model = \"openai/gpt-5\"\n")
        .file("one/agent.toml", TOML)
        .file("one/system-prompt.md", "You write.\n");
    test.run("push agents/keeper").exits(0);
    test.run("push one --version 3.0.0").exits(0);
    test.run("pull writer@3.0.0 -o flat").exits(0);
    assert!(test.has("flat/agent.toml"));
    test.run("pull keeper -o other").exits(0);
    assert!(test.has("other/keeper/instructions.md"));
    test.run("pull keeper -o new/keeper").exits(0);
    assert!(test.has("new/keeper/instructions.md"));
    for (pulled, pushed) in [("flat", "one"), ("other/keeper", "agents/keeper")] {
        assert_eq!(digest(&test, pulled), digest(&test, pushed), "{pulled}");
    }
}

#[test]
fn pull_replaces_files_only_by_force() {
    let test = Test::new()
        .file("keeper/instructions.md", "# Keeper\n\nYou keep things.\n")
        .file("keeper/skills/review/SKILL.md", SKILL)
        .file("mine/keeper/instructions.md", "mine\n")
        .file("mixed/keeper/skills/other/SKILL.md", SKILL.replace("review", "other"));
    test.run("push keeper").exits(0);
    insta::assert_snapshot!(test.run("pull keeper -o mine"), @r#"
    $ agentry pull keeper -o mine
    --- stderr
    error: `mine/keeper/instructions.md` is there already
      = help: choose another path, or pass `--force`
    --- exit 2
    "#);
    assert_eq!(test.read("mine/keeper/instructions.md"), "mine\n");
    assert!(!test.has("mine/keeper/skills"));
    test.run("pull keeper -o mine --force").exits(0);
    assert_eq!(test.read("mine/keeper/instructions.md"), "# Keeper\n\nYou keep things.\n");
    insta::assert_snapshot!(test.run("pull keeper -o mixed"), @r#"
    $ agentry pull keeper -o mixed
    --- stderr
    error: `mixed/keeper/instructions.md` would be another agent: files that lie there would become a part of it
      = help: pull it into an empty directory
    --- exit 1
    "#);
    assert!(!test.has("mixed/keeper/instructions.md"));
    assert!(!test.has("mixed/keeper/skills/review"));
    assert!(test.has("mixed/keeper/skills/other/SKILL.md"));
}

#[cfg(unix)]
#[test]
fn pull_through_a_symlink_is_refused() {
    let test = writer().file("elsewhere/x", "").link("out/rules", "../elsewhere");
    test.run("push agents/writer").exits(0);
    for force in ["", "--force"] {
        test.run(&format!("pull writer -o out {force}")).exits(2);
        assert!(!test.has("elsewhere/style.md"));
        assert!(!test.has("out/agents"));
    }
}

#[test]
fn agents_with_secrets_or_errors_are_not_pushed() {
    let key = "sk-ant-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let test = Test::new()
        .file(
            "soul.agent",
            format!("{HELPER}  The key is {key}.\n").replace("soul: ", "soul: |\n  "),
        )
        .file("keeper/instructions.md", "# Keeper\n\nYou keep things.\n")
        .file("keeper/skills/review/SKILL.md", SKILL)
        .file("keeper/skills/review/run.sh", format!("export KEY={key}\n"))
        .file("keeper/skills/review/.env", "KEY=1\n")
        .file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("push soul.agent"), @r#"
    $ agentry push soul.agent
    --- stderr
    error: `soul.agent` holds secrets: `soul.agent:5:14` (a secret)
      = help: put them into the environment and name the variable, as `${env:NAME}`
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("push keeper"), @r#"
    $ agentry push keeper
    --- stderr
    error: `keeper` holds secrets: `keeper/skills/review/.env` (an environment file), `keeper/skills/review/run.sh:1:12` (an Anthropic key)
      = help: put them into the environment and name the variable, as `${env:NAME}`
    --- exit 1
    "#);
    test.run("push broken.agent").exits(1);
    test.run("push nothing.agent").exits(2);
    assert!(!test.has("home"), "nothing was written");
}

#[test]
fn user_and_run_files_are_not_pushed() {
    let test = Test::new()
        .file("agents/x/agent.json", "{\"name\": \"X\", \"role\": \"x\", \"version\": \"1.0.0\"}\n")
        .file("agents/x/persona.md", "You are x.\n")
        .file("agents/x/principles.md", "## Never Do\n\n- Lie\n")
        .file("agents/x/runs/1/log.md", "private\n")
        .file("agents/x/users/u/profile.md", "private\n")
        .file("agents/x/cache/c.md", "private\n")
        .file("agents/x/logs/l.md", "private\n")
        .file("users/u/profile.md", "private\n")
        .file("writer/agent.toml", format!("{TOML}context = [\"logs/l.md\"]\n"))
        .file("writer/logs/l.md", "private\n")
        .file("writer/system-prompt.md", "You write.\n");
    let pushed = test.run("push agents/x --format json").exits(0).json();
    let files = serde_json::json!(["x/agent.json", "x/persona.md", "x/principles.md"]);
    assert_eq!(pushed["files"], files);
    insta::assert_snapshot!(test.run("push writer"), @r#"
    $ agentry push writer
    --- stderr
    error: `writer` cannot be pushed: `[DIR]/writer/logs/l.md` lies among users, runs, caches or logs, which stay here
    --- exit 1
    "#);
}

#[cfg(unix)]
#[test]
fn unportable_file_names_are_not_pushed() {
    let test = Test::new()
        .file("keeper/instructions.md", "# Keeper\n\nYou keep things.\n")
        .file("keeper/skills/review/SKILL.md", SKILL)
        .file("keeper/skills/review/a.md", "a\n")
        .file("keeper/skills/review/A.md", "A\n");
    insta::assert_snapshot!(test.run("push keeper"), @r#"
    $ agentry push keeper
    --- stderr
    error: `keeper` cannot be pushed: the paths `keeper/skills/review/A.md` and `keeper/skills/review/a.md` are the same without case
    --- exit 1
    "#);
    fs::remove_file(test.path("keeper/skills/review/A.md")).expect("a file");
    test.write("keeper/skills/review/aux.md", "");
    test.run("push keeper").exits(1);
}

/// `show` and `push` use the same version.
#[test]
fn the_default_version_is_the_one_of_the_format() {
    let test = Test::new()
        .file("helper.agent", HELPER)
        .file("writer/agent.toml", TOML)
        .file("writer/system-prompt.md", "You write.\n");
    let cases = [("helper.agent", "0.1.0"), ("writer", "0.0.0")];
    for (agent, expected) in cases {
        let pushed = test.run(&format!("push {agent} --format json")).exits(0).json();
        assert_eq!(pushed["version"], expected, "{agent}");
    }
    let shown = test.run("show helper.agent --format json").exits(0).json();
    assert_eq!(shown["version"], "0.1.0");
}

#[test]
fn a_missing_store_index_is_rebuilt() {
    let test = Test::new().file("helper.agent", VERSIONED);
    test.run("push helper.agent").exits(0);
    let before = test.run("list --format json").stdout;
    fs::remove_dir_all(test.path("home/.agentry/store/index")).expect("a folder");
    test.run("gc").exits(0);
    assert_eq!(test.run("list --format json").stdout, before);
}

#[test]
fn a_misspelt_store_reference_is_suggested() {
    let test = Test::new().file("helper.agent", crate::test::HELPER);
    test.run("push helper.agent").exits(0);
    for (given, meant) in [("helpr", "helper"), ("helper@0.1.1", "helper@0.1.0")] {
        for command in ["pull -o out", "verify"] {
            let ran = test.run(&format!("{command} {given}")).exits(2);
            let expected =
                format!("the store has no `{given}`\n  = help: did you mean `{meant}`?\n");
            assert!(ran.stderr.contains(&expected), "{ran}");
        }
    }
    let ran = test.run("pull -o out something").exits(2);
    assert!(ran.stderr.contains("= help: `agentry list` shows what there is"), "{ran}");
}
