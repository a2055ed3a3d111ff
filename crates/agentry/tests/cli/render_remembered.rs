//! `agentry render` without changes: the answer comes from the cache, and is never a wrong one.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::render::{agent, workspace};
use crate::test::{Ran, Test};

const CACHE: &str = "home/.cache/agentry/render";

/// A workspace that was rendered and checked.
fn settled() -> Test {
    let test = workspace();
    test.run("render").exits(0);
    test.run("render --check").exits(0);
    test
}

/// The only cached run.
fn remembered(test: &Test) -> PathBuf {
    let mut entries = fs::read_dir(test.path(CACHE)).expect("a cache").flatten();
    entries.next().expect("a run").path()
}

/// Runs a check; returns whether the answer came from the cache.
fn check(test: &Test) -> (Ran, bool) {
    let file = remembered(test);
    let old = SystemTime::UNIX_EPOCH;
    fs::File::options()
        .append(true)
        .open(&file)
        .and_then(|it| it.set_modified(old))
        .expect("a file");
    let ran = test.run("render --check");
    let now = fs::metadata(file).and_then(|it| it.modified()).expect("a file");
    let is_remembered = now == old;
    (ran, is_remembered)
}

/// The output of a check without a cache.
fn anew(test: &Test) -> Ran {
    fs::remove_dir_all(test.path(CACHE)).expect("a cache");
    test.run("render --check")
}

#[test]
fn an_unchanged_check_is_answered_from_the_cache() {
    let test = settled();
    let first = anew(&test).exits(0);
    let (second, is_remembered) = check(&test);
    assert!(is_remembered);
    assert_eq!(first.to_string(), second.exits(0).to_string());
    // Another command line has its own cache entry.
    test.run("render --check --strict").exits(1);
    assert_eq!(
        test.run("render --check --format json").exits(0).json()["refused"],
        serde_json::json!([])
    );
}

/// A change of a workspace.
type Happening = fn(&Test);

const HAPPENINGS: &[(&str, Happening)] = &[
    ("a definition", |it| {
        let text = it.read("agents/helper/agent.toml").replace("Answers", "Asks");
        it.write("agents/helper/agent.toml", text);
    }),
    ("a prompt", |it| it.write("agents/helper/system-prompt.md", "You ask.\n")),
    ("an agent more", |it| {
        it.write("agents/more/agent.toml", "name = \"more\"\ndescription = \"Asks\"\n");
        it.write("agents/more/system-prompt.md", "You ask.\n");
    }),
    ("an agent less", |it| fs::remove_dir_all(it.path("agents/pusher")).expect("a folder")),
    ("an agent that is ignored", |it| it.write(".gitignore", "agents/pusher\n")),
    ("a rendered file", |it| it.write(".opencode/agents/helper.md", "mine")),
    ("no rendered file", |it| {
        fs::remove_file(it.path(".opencode/agents/helper.md")).expect("a file");
    }),
    ("settings of the project", |it| it.write("opencode.json", "{\"permission\": \"allow\"}")),
    ("settings that cannot be read", |it| it.write("opencode.json", "{")),
    ("settings of the user", |it| {
        it.write("home/.config/opencode/opencode.json", "{\"permission\": \"allow\"}");
    }),
    ("the configuration", |it| {
        it.write("agentry.toml", "[render]\ntargets = [\"opencode\"]\nguard = true\n");
    }),
    ("the list of rendered files", |it| {
        fs::remove_file(it.path(".agentry/rendered.json")).expect("a file");
    }),
    ("a broken list of rendered files", |it| it.write(".agentry/rendered.json", "{")),
    ("a lock", |it| it.write("agentry.lock", "broken")),
    ("a workspace above an agent", |it| it.write("agents/helper/agentry.toml", "")),
    #[cfg(unix)]
    ("a link to the same text", |it| {
        let file = it.path(".opencode/agents/helper.md");
        fs::rename(&file, it.path("elsewhere.md")).expect("a file");
        std::os::unix::fs::symlink(it.path("elsewhere.md"), file).expect("a link");
    }),
    #[cfg(unix)]
    ("a definition behind a link", |it| {
        let file = it.path("agents/helper/system-prompt.md");
        fs::rename(&file, it.path("home/prompt.md")).expect("a file");
        std::os::unix::fs::symlink(it.path("home/prompt.md"), file).expect("a link");
    }),
];

#[test]
fn each_change_invalidates_the_cache() {
    for (case, happens) in HAPPENINGS {
        let test = settled();
        assert!(check(&test).1, "{case}");
        happens(&test);
        let with = test.run("render --check");
        assert_eq!(with.to_string(), anew(&test).to_string(), "{case}");
    }
}

#[test]
fn forged_or_truncated_cache_entries_are_ignored() {
    let test = settled();
    let whole = fs::read_to_string(remembered(&test)).expect("a file");
    test.write(".opencode/agents/helper.md", "mine");
    let drift = anew(&test).exits(1).to_string();
    let lines: Vec<&str> = whole.lines().collect();
    let without_questions = lines.get(..3).expect("a seal, a head, an answer").join("\n");
    let cut = whole.get(..whole.len() / 2).unwrap_or_default();
    for text in ["", "\n", "x\n", &without_questions, cut, &whole.replace("present", "absent")] {
        fs::create_dir_all(test.path(CACHE)).expect("a folder");
        let name = name_of(&test);
        fs::write(test.path(CACHE).join(&name), text).expect("a file");
        assert_eq!(test.run("render --check").exits(1).to_string(), drift, "{text:?}");
    }
}

/// The name of the cache entry for a check of the workspace.
fn name_of(test: &Test) -> String {
    let (file, edited) = (".opencode/agents/helper.md", "mine");
    fs::remove_file(test.path(file)).expect("a file");
    test.run("render").exits(0);
    test.run("render --check").exits(0);
    let name = remembered(test).file_name().unwrap_or_default().to_string_lossy().into_owned();
    test.write(file, edited);
    name
}

/// Without a key or a cache directory, a run is only slower.
#[test]
fn render_works_without_a_cache_directory() {
    let test =
        workspace().env("XDG_CACHE_HOME", "/dev/null/cache").env("AGENTRY_HOME", "/dev/null/home");
    test.run("render").exits(0);
    test.run("render --check").exits(0);
    test.run("render --check").exits(0);
    let test = agent(workspace(), "warned", "").env("AGENTRY_HOME", "/dev/null/home");
    test.run("render").exits(0);
    test.run("render --check").exits(0);
    assert!(!test.has(CACHE));
}
