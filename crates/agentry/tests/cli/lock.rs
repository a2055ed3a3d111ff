//! `agentry lock`: what is pinned, what is reported, and that no partial file remains.

use std::fs;

use crate::test::{BROKEN, HELPER, Test};

const BASE: &str = "name: base\ndescription: Answers questions\nsoul: You answer questions.\n\
    trust: {filesystem: read-only, network: none}\n";
const CHILD: &str = "name: child\ndescription: Answers hard questions\nbase: ./base.agent\n";
const LOCK: &str = "agentry.lock";

fn chain() -> Test {
    Test::new().file("base.agent", BASE).file("team/child.agent", CHILD.replace("./", "../"))
}

#[test]
fn lock_check_reports_unlocked_and_changed_agents() {
    let test = chain();
    insta::assert_snapshot!(test.run("lock --check"), @r#"
    $ agentry lock --check
    --- stdout
    base.agent: not locked
    team/child.agent: not locked
    agentry.lock: 2 agents, 2 not as locked
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("lock"), @r#"
    $ agentry lock
    --- stdout
    base.agent: locked
    team/child.agent: locked
    wrote agentry.lock: 2 agents
    --- exit 0
    "#);
    let lock = test.read(LOCK);
    insta::assert_snapshot!(test.run("lock"), @r#"
    $ agentry lock
    --- stdout
    agentry.lock: 2 agents, nothing changed
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("lock --check"), @r#"
    $ agentry lock --check
    --- stdout
    agentry.lock: 2 agents, all as locked
    --- exit 0
    "#);
    assert_eq!(test.read(LOCK), lock);
    test.write("base.agent", BASE.replace("network: none", "network: allowed"));
    insta::assert_snapshot!(test.run("lock --check"), @r#"
    $ agentry lock --check
    --- stdout
    base.agent: changed
      file `base.agent` changed
      it gained network: webfetch `*` was deny and is allow, as in `https://example.com/`
      it gained web search: websearch `*` was deny and is allow, as in `x`
    team/child.agent: changed
      its base's file `base.agent` changed
      its base gained network: webfetch `*` was deny and is allow, as in `https://example.com/`
      its base gained web search: websearch `*` was deny and is allow, as in `x`
    agentry.lock: 2 agents, 2 not as locked
    --- exit 1
    "#);
    assert_eq!(test.read(LOCK), lock, "checking writes nothing");
    insta::assert_snapshot!(test.run("lock --check team --format json"), @r#"
    $ agentry lock --check team --format json
    --- stdout
    {
      "locks": [
        {
          "path": "agentry.lock",
          "written": false,
          "agents": [
            {
              "path": "team/child.agent",
              "name": "child",
              "digest": "sha256:ac5e7370be22a111458817be95b673e887d320dd8b9317aee3c26dba5175388a",
              "state": "changed",
              "changes": [
                {
                  "kind": "base",
                  "subject": "base.agent",
                  "message": "its base's file `base.agent` changed"
                },
                {
                  "kind": "policy",
                  "subject": "webfetch",
                  "message": "its base gained network: webfetch `*` was deny and is allow, as in `https://example.com/`"
                },
                {
                  "kind": "policy",
                  "subject": "websearch",
                  "message": "its base gained web search: websearch `*` was deny and is allow, as in `x`"
                }
              ]
            }
          ]
        }
      ]
    }
    --- exit 1
    "#);
}

#[test]
fn lock_update_changes_only_the_named_agents() {
    let test = chain();
    test.run("lock").exits(0);
    test.write("base.agent", format!("{BASE}license: MIT\n"));
    insta::assert_snapshot!(test.run("lock --update team/child.agent"), @r#"
    $ agentry lock --update team/child.agent
    --- stdout
    team/child.agent: changed, locked again
      its base's file `base.agent` changed
    wrote agentry.lock: 1 of 2 agents
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("lock --check"), @r#"
    $ agentry lock --check
    --- stdout
    base.agent: changed
      file `base.agent` changed
    agentry.lock: 2 agents, 1 not as locked
    --- exit 1
    "#);
    test.write("new.agent", HELPER);
    insta::assert_snapshot!(test.run("lock --update new.agent"), @r#"
    $ agentry lock --update new.agent
    --- stderr
    error: `new.agent` is not locked
      = help: `agentry lock new.agent` adds it
    --- exit 2
    "#);
    fs::remove_file(test.path("team/child.agent")).expect("a file");
    insta::assert_snapshot!(test.run("lock --check"), @r#"
    $ agentry lock --check
    --- stdout
    team/child.agent: locked, but gone
    base.agent: changed
      file `base.agent` changed
    new.agent: not locked
    agentry.lock: 2 agents, 3 not as locked
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("lock"), @r#"
    $ agentry lock
    --- stdout
    team/child.agent: gone, no longer locked
    base.agent: changed, locked again
      file `base.agent` changed
    new.agent: locked
    wrote agentry.lock: 2 agents
    --- exit 0
    "#);
    test.run("lock --check").exits(0);
}

/// Each agent has its own table: changes of two branches merge without conflicts.
#[test]
fn each_agent_is_a_table_of_its_own() {
    let test = Test::new().file("a.agent", HELPER.replace("helper", "a"));
    test.write("b.agent", HELPER.replace("helper", "b"));
    test.run("lock").exits(0);
    let before = test.read(LOCK);
    test.write("c.agent", HELPER.replace("helper", "c"));
    test.write("a.agent", format!("{}license: MIT\n", HELPER.replace("helper", "a")));
    test.run("lock").exits(0);
    let after = test.read(LOCK);
    let table = |text: &str, key: &str| {
        let start = text.find(&format!("[agents.\"{key}\"]")).expect("a table");
        let rest = &text[start..];
        rest[..rest.find("\n\n").unwrap_or(rest.len())].trim_end().to_owned()
    };
    assert_eq!(table(&before, "b.agent"), table(&after, "b.agent"));
    assert_ne!(table(&before, "a.agent"), table(&after, "a.agent"));
    assert!(after.lines().all(|line| line.len() < 200 && !line.ends_with(' ')), "{after}");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(&table(&before, "a.agent")), lines(&table(&after, "a.agent")));
    let changed = old.iter().zip(&new).filter(|(old, new)| old != new).count();
    assert_eq!((old.len(), changed), (new.len(), 2), "the digest, and that of the file");
}

#[test]
fn a_removed_agent_is_reported_by_lock() {
    let test = chain();
    test.run("lock").exits(0);
    fs::remove_file(test.path("base.agent")).expect("a file");
    for args in ["lock --check base.agent", "lock --update base.agent"] {
        let ran = test.run(args).exits(2);
        assert!(ran.stderr.contains("`base.agent` is locked, but gone"), "{ran}");
    }
    let ran = test.run("lock --check").exits(2);
    assert!(ran.stderr.contains("the base `../base.agent` does not exist"), "{ran}");
    let ran = test.run("lock --check other.agent").exits(2);
    assert!(ran.stderr.contains("`other.agent` does not exist"), "{ran}");
}

#[test]
fn an_agent_with_errors_is_not_locked() {
    let test = chain().file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("lock"), @r#"
    $ agentry lock
    --- stderr
    error[AG0104]: `filesystem` cannot be `readwrite`
     --> broken.agent:5:21
      |
    5 | trust: {filesystem: readwrite}
      |                     ^^^^^^^^^
      |
      = help: use one of `none`, `read-only`, `scoped`, `full`

    error: `broken.agent` has errors; nothing was locked
      = help: `agentry check` shows all findings
    --- exit 1
    "#);
    assert!(!test.has(LOCK));
    for (args, code) in [("lock --format json", 1), ("lock --check --format json", 2)] {
        let printed = test.run(args).exits(code).json();
        assert_eq!(printed["errors"][0]["code"], "AG0104", "{args}");
        assert_eq!(printed["errors"].as_array().map(Vec::len), Some(1), "{args}");
    }
    test.run("lock base.agent").exits(0);
    let skill = HELPER.replace("helper", "skilled") + "skills: [web-search]\n";
    test.write("skilled.agent", &skill);
    insta::assert_snapshot!(test.run("lock skilled.agent"), @r#"
    $ agentry lock skilled.agent
    --- stderr
    error[AG0040]: nothing provides the skill `web-search`: `websearch` needs `SEARXNG_URL`, `BRAVE_API_KEY` or `TAVILY_API_KEY`; an MCP server would do as well (brave, serper, tavily, exa, duckduckgo, searxng)
     --> skilled.agent:4:10
      |
    4 | skills: [web-search]
      |          ^^^^^^^^^^
      |
      = help: add what is missing, or mark the skill `optional: true`

    error: `skilled.agent` has errors; nothing was locked
      = help: `agentry check` shows all findings
    --- exit 1
    "#);
    // A server of the user provides it; the lock is the same with or without.
    test.write("home/.config/agentry/config.toml", "[mcp_servers.brave]\ncommand = \"brave\"\n");
    test.run("lock skilled.agent").exits(0);
    let lock = test.read(LOCK);
    assert!(lock.contains("web-search: nothing in the workspace"), "{lock}");
    assert!(!lock.contains("brave"), "{lock}");
}

#[test]
fn unusable_locks_are_errors() {
    let test = chain();
    test.run("lock").exits(0);
    let lock = test.read(LOCK);
    let cases = [
        ("newer", lock.replace("version = 1", "version = 9")),
        ("merging", lock.replace("format = ", "<<<<<<< ours\nformat = ")),
        ("half", lock[..lock.len() / 2].to_owned()),
        ("binary", "\u{0}\u{1}".to_owned()),
        ("nothing", String::new()),
    ];
    let mut printed = String::new();
    for (case, text) in cases {
        test.write(LOCK, &text);
        for command in ["lock --check", "lock"] {
            let ran = test.run(command).exits(2);
            assert_eq!(test.read(LOCK), text, "{case}: {command}");
            if command == "lock" {
                printed += &format!("{case}: {}", ran.stderr);
            }
        }
    }
    insta::assert_snapshot!(printed, @r#"
    newer: error: `agentry.lock` has version 9; this agentry knows versions up to 1
      = help: use the newer agentry that wrote it
    merging: error: agentry.lock:6: the lock has unresolved merge conflicts
      = help: take either side, then run `agentry lock`: it writes what the files say now
    half: error: agentry.lock:56: the header is not closed
      = help: restore it from version control, or remove it and write it anew with `agentry lock`
    binary: error: agentry.lock:1: `  ` has no value
      = help: restore it from version control, or remove it and write it anew with `agentry lock`
    nothing: error: `agentry.lock` does not say which version it has
      = help: restore it from version control, or remove it and write it anew with `agentry lock`
    "#);
    fs::remove_file(test.path(LOCK)).expect("a file");
    fs::create_dir(test.path(LOCK)).expect("a folder");
    test.run("lock").exits(2);
}

#[test]
fn a_lock_of_version_0_is_written_anew() {
    let test = Test::new().file("helper.agent", HELPER);
    let digest = test.run("hash --full helper.agent").stdout.trim().to_owned();
    test.write(
        LOCK,
        format!(
            "version = 0\n[[agent]]\npath = \"helper.agent\"\nname = \"helper\"\n\
             format = \"manifest\"\ndigest = \"{digest}\"\npolicy = \"sha256:0\"\nfiles = {{}}\n"
        ),
    );
    insta::assert_snapshot!(test.run("lock --check"), @r#"
    $ agentry lock --check
    --- stdout
    helper.agent: changed
      file `helper.agent` is new
      its policy changed
    agentry.lock: 1 agent, 1 not as locked
    --- exit 1
    "#);
    test.run("lock").exits(0);
    assert!(test.read(LOCK).contains("\nversion = 1\n"));
    assert!(!test.read(LOCK).contains("\nversion = 0\n"));
    test.run("lock --check").exits(0);
}

/// A file size limit stands for a full disk: a write fails half way.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_lock() {
    let test = Test::new();
    for number in 0..40 {
        test.write(format!("a{number}.agent"), HELPER.replace("helper", &format!("a{number}")));
    }
    test.run("lock a1.agent").exits(0);
    let before = test.read(LOCK);
    let program = env!("CARGO_BIN_EXE_agentry");
    let script = format!("trap '' XFSZ; ulimit -f 8; exec '{program}' lock");
    let run = || {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).current_dir(test.path("")).env("HOME", test.path("home"));
        shell.output().expect("a shell")
    };
    let output = run();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(test.read(LOCK), before);
    let left: Vec<_> = fs::read_dir(test.path("")).expect("a folder").flatten().collect();
    let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
    assert_eq!(left.len(), 40 + 2, "{left:?}");
    fs::remove_file(test.path(LOCK)).expect("a file");
    assert_eq!(run().status.code(), Some(2));
    assert!(!test.has(LOCK));
}

/// The same text wherever the workspace lies, wherever the program runs, and whatever the clock says.
#[test]
fn locks_are_identical_on_all_machines() {
    let one = chain();
    one.run("lock").exits(0);
    let other = chain().env("ANTHROPIC_API_KEY", "x").env("OLLAMA_HOST", "http://127.0.0.1:9");
    for (path, text) in [("base.agent", BASE), ("team/child.agent", &CHILD.replace("./", "../"))] {
        other.write(path, text);
        let file = fs::File::options().write(true).open(other.path(path)).expect("a file");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("a file system with times");
    }
    other.run_in("team", "lock").exits(0);
    assert_eq!(one.read(LOCK), other.read(LOCK));
    other.run_in("team", "lock --check child.agent").exits(0);
    other.run_in("team", "lock --check ../base.agent").exits(0);
}

#[test]
fn agents_with_the_same_name_are_locked_by_path() {
    let test = Test::new().file("a/helper.agent", HELPER).file("b/helper.agent", HELPER);
    test.run("lock").exits(0);
    let lock = test.read(LOCK);
    assert!(
        lock.contains("[agents.\"a/helper.agent\"]")
            && lock.contains("[agents.\"b/helper.agent\"]")
    );
    test.write("b/helper.agent", HELPER.replace("You answer", "You guess"));
    let ran = test.run("lock --check").exits(1);
    assert!(
        ran.stdout.contains("b/helper.agent: changed") && !ran.stdout.contains("a/helper"),
        "{ran}"
    );
}

#[test]
fn locks_skip_excluded_agents_and_nested_workspaces() {
    let test = Test::new()
        .file("agentry.toml", "[check]\nexclude = [\"old/**\"]\n")
        .file("old/x.agent", BROKEN)
        .file("helper.agent", HELPER)
        .file("sub/agentry.toml", "")
        .file("sub/helper.agent", HELPER);
    insta::assert_snapshot!(test.run("lock"), @r#"
    $ agentry lock
    --- stdout
    helper.agent: locked
    wrote agentry.lock: 1 agent
    sub/helper.agent: locked
    wrote sub/agentry.lock: 1 agent
    --- exit 0
    "#);
    assert!(test.has("sub/agentry.lock"));
    let empty = Test::new();
    insta::assert_snapshot!(empty.run("lock"), @r#"
    $ agentry lock
    --- stdout
    agentry.lock: 0 agents, nothing changed
    --- exit 0
    "#);
    assert!(!empty.has(LOCK));
}

/// Pushed bases and their signatures are part of the lock.
#[test]
fn bases_of_the_store_are_pinned_by_digest() {
    let test = Test::new().file("base.agent", BASE.to_owned() + "version: 1.0.0\n");
    let digest = test.run("push base.agent").exits(0).stdout.trim().to_owned();
    test.write("child.agent", CHILD.replace("./base.agent", "base@1.0.0"));
    test.run("lock child.agent").exits(0);
    let lock = test.read(LOCK);
    assert!(lock.contains(&format!("\"base@1.0.0 {digest}\"")), "{lock}");
    assert!(lock.contains("\"base@1.0.0/base.agent sha256:"), "{lock}");
    test.run("lock --check child.agent").exits(0);
    test.write("home/.config/agentry/config.toml", "[signing]\nrequired = true\n");
    insta::assert_snapshot!(test.run("lock --check child.agent"), @r#"
    $ agentry lock --check child.agent
    --- stderr
    error[AG0031]: the base `base@1.0.0` (`sha256:3abe1f392b331e7e6cde1363bc6646c2ecbb429783c6186f43f14f5159a0ef8b`) is refused: it is not signed: `child.agent` → `base@1.0.0`
     --> child.agent:3:7
      |
    3 | base: base@1.0.0
      |       ^^^^^^^^^^
      |
      = help: your `config.toml` asks for signatures: it needs a signature by a key that is in `trusted` in `[signing]`

    error: `child.agent` has errors
      = help: `agentry check` shows all findings
    --- exit 2
    "#);
    let ran = test.run("lock child.agent").exits(1);
    assert!(ran.stderr.contains("is not signed"), "{ran}");
}
