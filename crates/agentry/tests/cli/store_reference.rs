//! Agents of the store, named by `name@version` or a digest wherever an agent is named; searches by tag.

use crate::run::{with, write};
use crate::server::{Server, Turn};
use crate::test::Test;

/// An agent that may write in the workspace.
const HELPER: &str = "name: helper\nversion: 1.0.0\ndescription: Helps\ntags: [Release-Notes, git]\n\
    soul: You help.\ntrust: {filesystem: scoped, scope: [\".\"], network: none, exec: none}\n";

/// A workspace whose store has the agent, and no file of it.
fn stored() -> (Test, String) {
    let test = Test::new().file("agentry.toml", "").file("helper.agent", HELPER);
    let digest = test.run("push helper.agent").exits(0).stdout.trim().to_owned();
    std::fs::remove_file(test.path("helper.agent")).expect("removed");
    (test, digest)
}

#[test]
fn every_command_accepts_a_store_reference() {
    let (test, digest) = stored();
    let short = test.run("show helper@1.0.0 --format json").exits(0).json();
    assert_eq!(short["name"], "helper");
    for reference in ["helper@1.0.0", digest.as_str()] {
        let lines = [
            format!("show {reference}"),
            format!("show {reference} --prompt"),
            format!("hash {reference} --full"),
            format!("policy why {reference} edit notes.txt"),
            format!("policy show {reference}"),
            format!("resolve {reference}"),
            format!("sandbox explain {reference}"),
            format!("convert {reference} --to agent-toml -o converted-{}", reference.len()),
            format!("render {reference} --target opencode --dry-run"),
        ];
        for line in lines {
            let ran = test.run(&line);
            // `resolve` finds no model here.
            let fine = ran.code == Some(0) || line.starts_with("resolve") && ran.code == Some(1);
            assert!(fine, "{line}: {ran}");
        }
        let hashed = test.run(&format!("hash {reference} --full")).stdout;
        assert_eq!(hashed.trim(), digest);
        // Paths of rules are those of the current workspace.
        let why = test.run(&format!("policy why {reference} edit notes.txt")).exits(0);
        assert_eq!(why.stdout.lines().next(), Some("allow"), "{why}");
    }
    test.run("render helper@1.0.0 --target opencode").exits(0);
    assert!(test.has(".opencode/agents/helper.md"));
    for (reference, code) in [("helper@2.0.0", 2), ("helpr@1.0.0", 2), ("sha256:00", 2)] {
        let ran = test.run(&format!("show {reference}"));
        assert_eq!(ran.code, Some(code), "{ran}");
    }
    // A path wins.
    test.write("helper@1.0.0/agent.yaml", HELPER.replace("name: helper", "name: other"));
    let shown = test.run("show helper@1.0.0 --format json").exits(0).json();
    assert_eq!(shown["name"], "other");
}

#[test]
fn a_stored_agent_runs_in_the_current_workspace() {
    let (test, digest) = stored();
    let server = Server::answering(|asked| match asked.results.len() {
        0 => write("notes.txt").into(),
        _ => Turn::text("Done.").into(),
    });
    let ran = with(&test, &server, &["run", "helper@1.0.0", "go", "--yes"]).exits(0);
    assert_eq!(ran.stdout, "Done.\n", "{ran}");
    assert_eq!(test.read("notes.txt"), "hello\n");
    let runs = test.run("runs --format json").json();
    assert_eq!(runs[0]["agent"], "helper@1.0.0");
    with(&test, &server, &["resume", "last", "more"]).exits(0);
    let shown = test.run("runs show last --format json").json();
    assert_eq!(shown["digest"], digest.as_str());
    // A lock of the workspace lists what may run here.
    test.write("locked.agent", HELPER.replace("name: helper", "name: locked"));
    test.run("lock locked.agent").exits(0);
    let ran = with(&test, &server, &["run", "helper@1.0.0", "go", "--yes"]).exits(3);
    assert!(ran.stderr.contains("agentry.lock"), "{ran}");
}

#[test]
fn a_damaged_stored_agent_is_refused() {
    let (test, digest) = stored();
    let digits = digest.strip_prefix("sha256:").expect("a digest");
    let file = format!("home/.agentry/store/objects/{}/{digits}/files/helper.agent", &digits[..2]);
    assert!(test.has(&file), "{file}");
    test.write(&file, HELPER.replace("exec: none", "exec: full"));
    for line in
        ["show helper@1.0.0", "run helper@1.0.0 go --yes", "render helper@1.0.0 --target pi"]
    {
        let ran = test.run(line);
        assert_eq!(ran.code, Some(1), "{ran}");
        assert!(ran.stderr.contains("damaged"), "{ran}");
    }
}

#[test]
fn a_search_finds_tags() {
    let (test, _) = stored();
    for (words, expected) in [
        ("release-notes", 1),
        ("RELEASE", 1),
        ("helper git", 1),
        ("helps release-notes git", 1),
        ("nothing", 0),
        ("git nothing", 0),
    ] {
        let found = test.run(&format!("search {words} --format json")).exits(0).json();
        assert_eq!(found.as_array().map(Vec::len), Some(expected), "{words}: {found}");
    }
}
