//! Approvals that cover more than one call: all edits of a run, and standing ones. Each attack on them asks.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::run_person::{asked, bash};
use crate::server::{Reply, Server, Turn};
use crate::terminal::Terminal;
use crate::test::Test;

/// An agent that asks about every command, edit and file.
const CAREFUL: &str = "name = \"asked\"\ndescription = \"Runs commands\"\n\n\
    [permissions.bash]\nintent = \"ask\"\n\n[permissions.edit]\nintent = \"ask\"\n\n\
    [permissions.read]\nintent = \"ask\"\n";

fn careful() -> Test {
    asked().file("asked/agent.toml", CAREFUL).file(".env", "KEY=hidden-value\n").file("a", "1\n")
}

fn write(path: &str) -> Turn {
    Turn::call("write", json!({ "path": path, "content": "new\n" }))
}

/// The questions of a run, each answered with `no` unless it is the first one.
#[track_caller]
fn questions(test: &Test, server: &Server, first: &str, expected: &[&str]) -> String {
    let mut terminal = Terminal::new(test, server, "run asked go --yes --unconfined");
    for (at, question) in expected.iter().enumerate() {
        terminal.sees(&format!("may it run? {question}"));
        terminal.sees("answer › ");
        terminal.types(if at == 0 { first } else { "n" });
    }
    terminal.ends(0)
}

fn playing(calls: Vec<Turn>) -> Server {
    let end = Turn::text("That is all.");
    Server::playing(calls.into_iter().chain([end]).map(Reply::from))
}

#[test]
fn all_edits_covers_only_edits_that_a_rule_asks_about() {
    let server = playing(vec![
        write("one.txt"),
        write("two.txt"),
        write("deep/three.txt"),
        write(".env"),
        write("asked/agent.toml"),
        write(".claude/agents/x.md"),
        write("/tmp/agentry-outside.txt"),
        write("../outside.txt"),
        Turn::call("read", json!({ "path": "a" })),
        bash("touch four.txt"),
    ]);
    let test = careful();
    let shown = questions(
        &test,
        &server,
        "d",
        &[
            "write one.txt",
            "write .env",
            "write /tmp/agentry-outside.txt",
            "write ../outside.txt",
            "read a",
            "bash touch four.txt",
        ],
    );
    assert!(shown.contains("That is all."), "{shown}");
    for path in ["one.txt", "two.txt", "deep/three.txt"] {
        assert_eq!(test.read(path), "new\n", "{path}");
    }
    assert_eq!(test.read(".env"), "KEY=hidden-value\n");
    assert_eq!(test.read("asked/agent.toml"), CAREFUL);
    assert!(!test.has(".claude") && !test.has("four.txt") && !test.has("../outside.txt"));
}

#[test]
fn protected_calls_offer_no_standing_approval() {
    for call in [
        write(".env"),
        bash("cat .env"),
        bash("cat $x"),
        Turn::call("read", json!({ "path": ".env" })),
    ] {
        let test = careful();
        let server = playing(vec![call]);
        let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
        let shown = terminal.sees("answer › ");
        assert!(!shown.contains("remember") && !shown.contains("all edits"), "{shown}");
        // The letter of an answer that is not offered is no answer.
        terminal.types("r");
        terminal.sees("please answer with one of the letters");
        terminal.sees("answer › ");
        terminal.types("n");
        terminal.ends(0);
        assert_eq!(test.run("consent list --format json").json().as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn standing_approvals_hold_until_the_policy_changes() {
    let test = careful().file("b", "2\n");
    let calls = || vec![bash("cat a"), bash("cat b"), bash("cat .env"), bash("rm b")];
    let shown =
        questions(&test, &playing(calls()), "r", &["bash cat a", "bash cat .env", "bash rm b"]);
    assert!(shown.contains("That is all."), "{shown}");
    // A later run asks only about what was not remembered.
    let server = playing(calls());
    questions(&test, &server, "n", &["bash cat .env", "bash rm b"]);
    let results = server.asked().last().expect("a request").results.clone();
    assert!(results[0].1.contains('1') && results[1].1.contains('2'), "{results:?}");
    assert!(!format!("{results:?}").contains("hidden-value"), "{results:?}");
    // It is listed with what it covers.
    let ran = test.run("consent list").exits(0);
    assert!(ran.stdout.contains("`cat` with any arguments that do no more than read"), "{ran}");
    let listed = test.run("consent list --format json").json();
    let covers = listed.as_array().and_then(|all| all.iter().find_map(|it| it.get("covers")));
    assert!(covers.is_some_and(Value::is_array), "{listed}");
    // Another rule, even a stricter one, ends it.
    test.write("asked/agent.toml", format!("{CAREFUL}rules = [\"secret/**:deny\"]\n"));
    questions(
        &test,
        &playing(calls()),
        "n",
        &["bash cat a", "bash cat b", "bash cat .env", "bash rm b"],
    );
    // With the old rules it holds again, until it is revoked.
    test.write("asked/agent.toml", CAREFUL);
    questions(&test, &playing(calls()), "n", &["bash cat .env", "bash rm b"]);
    let ran = test.run("consent revoke asked").exits(0);
    assert!(ran.stderr.contains("asks again about `cat`"), "{ran}");
    questions(
        &test,
        &playing(calls()),
        "n",
        &["bash cat a", "bash cat b", "bash cat .env", "bash rm b"],
    );
}

/// A standing approval answers `ask`; a denial stays.
#[test]
fn a_standing_approval_never_overrides_a_denial() {
    let test = careful();
    questions(&test, &playing(vec![bash("cat a")]), "r", &["bash cat a"]);
    let denied = CAREFUL.replace(
        "[permissions.bash]\nintent = \"ask\"\n",
        "[permissions.bash]\nintent = \"deny\"\n",
    );
    test.write("asked/agent.toml", denied);
    let server = playing(vec![bash("cat a")]);
    questions(&test, &server, "y", &[]);
    let results = server.asked().last().expect("a request").results.clone();
    assert!(!results[0].1.contains("1\n"), "{results:?}");
}
