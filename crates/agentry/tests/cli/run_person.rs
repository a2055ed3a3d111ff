//! A run with a user at the terminal: what is shown, answered and typed.
#![cfg(target_os = "linux")]

use serde_json::json;

use crate::run::{WRITER, write};
use crate::server::{Reply, Server, Turn};
use crate::terminal::{Terminal, Window, wait_for};
use crate::test::Test;

/// An agent that asks about every command.
const ASKED: &str = "name = \"asked\"\ndescription = \"Runs commands\"\n\n\
    [permissions.bash]\nintent = \"ask\"\n";

pub(crate) fn bash(command: &str) -> Turn {
    Turn::call("bash", json!({ "command": command }))
}

pub(crate) fn asked() -> Test {
    Test::new()
        .file("asked/agent.toml", ASKED)
        .file("asked/system-prompt.md", "You run commands.\n")
}

#[test]
fn a_question_accepts_yes_no_always_and_exact() {
    let server = Server::playing([
        bash("echo one").into(),
        bash("echo two").into(),
        bash("echo three").into(),
        bash("printf four").into(),
        bash("echo three").into(),
        bash("printf five").into(),
        bash("rm -rf six").into(),
        Turn::text("That is all.").into(),
    ]);
    let test = asked().file("six/kept.txt", "kept");
    let mut terminal = Terminal::new(&test, &server, "run asked go --unconfined");
    let shown = terminal.sees("run it? [y]es  [n]o › ");
    assert!(shown.contains("runs only if you agree"), "{shown}");
    terminal.types("y");
    let shown = terminal.answers("y");
    assert!(shown.contains(" echo one"), "{shown}");
    assert!(shown.contains("why you are asked"), "{shown}");
    assert!(shown.contains("always in this run: `echo` with any arguments"), "{shown}");
    terminal.answers("n not now");
    terminal.answers("e");
    terminal.answers("a");
    // The same call, and another one of the same program, are approved; another program is not.
    let shown = terminal.answers("n");
    assert!(shown.contains(" rm -rf six"), "{shown}");
    let shown = terminal.ends(0);
    assert!(shown.contains("That is all."), "{shown}");
    assert!(test.has("six/kept.txt"));
    let results: Vec<String> =
        server.asked().last().expect("a request").results.iter().map(|it| it.1.clone()).collect();
    for (at, expected) in
        ["one", "not now", "three", "four", "three", "five", "refused by the person"]
            .iter()
            .enumerate()
    {
        assert!(results[at].contains(expected), "{at}: {results:?}");
    }
}

/// Whichever rule asks, only what the user saw is approved.
#[test]
fn always_covers_other_files_only_for_readers() {
    for rules in ["", "rules = [\"rm *:ask\", \"cat *:ask\"]\n"] {
        let server = Server::playing([
            bash("rm a").into(),
            bash("rm b").into(),
            bash("touch a && rm a").into(),
            bash("cd sub && rm a").into(),
            bash("cat b").into(),
            bash("cat sub/a").into(),
            Turn::text("That is all.").into(),
        ]);
        let test = asked().file("a", "").file("b", "kept\n").file("sub/a", "kept\n");
        test.write("asked/agent.toml", format!("{ASKED}{rules}"));
        // No line is broken.
        let window = Window { columns: 200, ..Window::default() };
        let args = "run asked go --yes --unconfined";
        let mut terminal = Terminal::in_window(&test, &server, args, window);
        let shown = terminal.answers("a");
        assert!(shown.contains("always in this run: exactly `rm a` in /"), "{shown}");
        let shown = terminal.answers("n");
        assert!(shown.contains("always in this run: exactly `rm b` in /"), "{shown}");
        // The allowed part is a removal; the other parts are asked about.
        let shown = terminal.answers("y");
        assert!(shown.contains("exactly `touch a` in /"), "{shown}");
        let shown = terminal.answers("n");
        assert!(shown.contains("exactly `cd sub && rm a` in /"), "{shown}");
        let shown = terminal.answers("a");
        let most = "any arguments that do no more than read, build or test";
        assert!(shown.contains(&format!("always in this run: `cat` with {most}")), "{shown}");
        terminal.sees("That is all.");
        terminal.ends(0);
        assert!(!test.has("a") && test.has("b") && test.has("sub/a"));
    }
}

#[test]
fn a_conversation_can_be_left_and_resumed() {
    let server = Server::playing([
        write("out.txt").into(),
        Turn::text("First answer.").into(),
        Turn::text("Second answer.").into(),
    ]);
    let test = Test::new()
        .file("writer/agent.toml", WRITER)
        .file("writer/system-prompt.md", "You write files.\n");
    let mut terminal = Terminal::new(&test, &server, "run writer --yes");
    terminal.sees("› ");
    terminal.types("my key is key-of-the-test");
    terminal.sees("First answer.");
    for (word, expected) in [
        ("/tools", "write"),
        ("/policy", "allow `out.txt`"),
        ("/cost", "2 of 200 turns"),
        ("/why", "    edit `"),
        ("/nothing", "there is no `/nothing`"),
    ] {
        terminal.sees("› ");
        terminal.types(word);
        terminal.sees(expected);
    }
    terminal.types("/exit");
    terminal.ends(0);
    let history = test.read("home/.agentry/history");
    assert!(history.contains("my key is [redacted: ANTHROPIC_API_KEY]"), "{history}");
    let mut terminal = Terminal::new(&test, &server, "resume last");
    terminal.sees("› ");
    terminal.types("and now?");
    terminal.sees("Second answer.");
    terminal.types("/exit");
    terminal.ends(0);
    assert_eq!(server.asked()[2].user_texts.last().map(String::as_str), Some("and now?"));
}

#[test]
fn the_greeting_is_shown_first() {
    let server = Server::playing([]);
    let agent = json!({ "name": "Helper", "description": "Helps", "greeting": "Good day." });
    let test = Test::new()
        .file("helper/agent.json", agent.to_string())
        .file("helper/persona.md", "You help.\n");
    let mut terminal = Terminal::new(&test, &server, "run helper --yes --as agentfs");
    let shown = terminal.sees("› ");
    assert!(shown.contains("Good day."), "{shown}");
    terminal.presses("\u{4}");
    terminal.ends(0);
    assert_eq!(server.count(), 0);
}

#[test]
fn ctrl_c_at_a_question_ends_the_run() {
    let server = Server::playing([bash("echo one").into(), Reply::Silent]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    terminal.sees("answer › ");
    terminal.presses("\u{3}");
    let shown = terminal.ends(130);
    assert!(shown.contains("agentry resume"), "{shown}");
    assert_eq!(server.count(), 1, "the turn is over");
}

/// An agent that may read, and asks about every other command.
pub(crate) fn reader() -> Test {
    let agent = format!("{ASKED}rules = [\"cat *:allow\"]\n");
    asked().file("asked/agent.toml", &agent)
}

/// A key that was pressed before a question was on the screen does not answer it.
#[test]
fn keys_pressed_before_the_question_do_not_answer_it() {
    let server = Server::playing([
        bash("cat gate").into(),
        bash("touch unseen").into(),
        Turn::text("That is all.").into(),
    ]);
    let test = reader();
    make_fifo(&test.path("gate"));
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    terminal.shows("cat gate  allowed");
    terminal.types("yes");
    // This key shows something, and the keys before it have arrived with it.
    terminal.presses("\u{f}");
    terminal.shows("there is no such result");
    std::fs::write(test.path("gate"), "open\n").expect("the command reads it");
    terminal.answers("n");
    let shown = terminal.ends(0);
    assert!(shown.contains("That is all."), "{shown}");
    assert!(!test.has("unseen"));
}

/// A call that ends while the question about another one is open is shown after the answer.
#[test]
fn a_result_does_not_overwrite_the_next_question() {
    let calls = bash("cat gate").and_call("bash", json!({ "command": "echo second" }));
    let server = Server::playing([calls.into(), Turn::text("That is all.").into()]);
    let test = reader();
    make_fifo(&test.path("gate"));
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    terminal.sees("may it run? bash");
    terminal.sees("answer › ");
    std::fs::write(test.path("gate"), "through the gate\n").expect("the command reads it");
    let is_recorded = || test.run("runs show last").stdout.contains("through the gate");
    wait_for("the result is in the journal", is_recorded);
    terminal.types("y");
    let shown = terminal.ends(0);
    let (answered, result) = (shown.find("answer › yes\r\n"), shown.find("· through the gate"));
    assert!(answered.is_some() && answered < result, "{shown}");
}

pub(crate) fn make_fifo(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|status| status.success()), "`mkfifo` of coreutils");
}

/// A standing approval of a command does not cover what its files make stricter.
#[test]
fn always_does_not_cover_a_secret() {
    for rules in ["", "rules = [\"cat *:ask\"]\n", "rules = [\"cat *:ask\", \"cat *:ask\"]\n"] {
        let server = Server::playing([
            bash("cat a").into(),
            bash("cat b").into(),
            bash("cat .env").into(),
            bash("cat b .env").into(),
            bash("cat < .env").into(),
            bash("cat asked/../.env").into(),
            Turn::text("That is all.").into(),
        ]);
        let test = asked().file("a", "1\n").file("b", "2\n").file(".env", "SECRET=hidden-value\n");
        test.write("asked/agent.toml", format!("{ASKED}{rules}"));
        // No line is broken.
        let window = Window { columns: 200, ..Window::default() };
        let args = "run asked go --yes --unconfined";
        let mut terminal = Terminal::in_window(&test, &server, args, window);
        let shown = terminal.answers("a");
        assert!(shown.contains("always in this run: `cat` with"), "{shown}");
        for secret in ["cat .env", "cat b .env", "cat < .env", "cat asked/../.env"] {
            let shown = terminal.answers("n");
            assert!(shown.contains(secret), "{rules}: {shown}");
        }
        terminal.ends(0);
        let results = server.asked().last().expect("a request").results.clone();
        assert!(!format!("{results:?}").contains("hidden-value"), "{rules}: {results:?}");
        assert!(results[1].1.contains('2'), "{results:?}");
    }
}
