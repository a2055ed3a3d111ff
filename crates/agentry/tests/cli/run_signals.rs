//! Ctrl-C, termination signals and a closed terminal: the current step stops, no process remains, the
//! terminal is restored, and the run can be resumed.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::confined::{WORKER, cannot_be_confined};
use crate::run::{keyed, with, writer};
use crate::run_person::{asked, bash};
use crate::server::{Reply, Server, Turn};
use crate::terminal::{Terminal, are_gone, family, signal, starts, wait_for};
use crate::test::Test;

pub(crate) fn worker() -> Test {
    Test::new().file("worker/agent.toml", WORKER).file("worker/system-prompt.md", "You work.\n")
}

/// The state of the only run, and its events.
fn recorded(test: &Test) -> (String, Vec<Value>) {
    let shown = test.run("runs show last --format json").exits(0).json();
    let events = shown["events"].as_array().expect("events").clone();
    (shown["state"].as_str().expect("a state").to_owned(), events)
}

/// What was stopped, event by event: the run, or only a turn.
fn stopped(events: &[Value]) -> Vec<bool> {
    let events = events.iter().filter(|it| it["event"]["type"] == "cancelled");
    events.map(|it| it["event"]["run"].as_bool().expect("whether it was the run")).collect()
}

#[test]
fn one_ctrl_c_stops_only_the_turn() {
    let server = Server::playing([
        Reply::Silent,
        bash("sleep 600 & sleep 601").into(),
        Turn::text("Here I am.").into(),
    ]);
    let test = worker();
    let mut terminal = Terminal::new(&test, &server, "run worker --yes --unconfined");
    terminal.sees("› ");
    terminal.types("first");
    wait_for("a request", || server.count() == 1);
    signal(terminal.pid(), "-INT");
    terminal.sees("stopped");
    server.wait_for_gone(1);
    terminal.sees("› ");
    terminal.types("/cost");
    terminal.sees("turns");
    // A Ctrl-C in another turn counts as the first one again.
    terminal.sees("› ");
    terminal.types("second");
    let pid = terminal.pid();
    let commands = starts(pid, "sleep").split_off(1);
    // No line is read meanwhile, so the terminal turns the key into a signal.
    terminal.presses("\u{3}");
    terminal.sees("stopped");
    are_gone(&commands);
    terminal.sees("› ");
    terminal.types("third");
    terminal.sees("Here I am.");
    terminal.sees("› ");
    terminal.types("/exit");
    terminal.ends(0);
    let (state, events) = recorded(&test);
    assert_eq!(stopped(&events), [false, false]);
    assert_eq!(state, "done");
}

#[test]
fn two_ctrl_c_stop_the_run() {
    for flags in ["", " --unconfined"] {
        let server = Server::playing([bash("sleep 600").into(), Turn::text("On it.").into()]);
        let test = worker();
        if flags.is_empty() && cannot_be_confined(&test) {
            continue;
        }
        let mut terminal = Terminal::new(&test, &server, &format!("run worker --yes{flags}"));
        terminal.sees("› ");
        terminal.types("go");
        let pid = terminal.pid();
        let all = starts(pid, "sleep");
        signal(pid, "-INT");
        terminal.sees("stopped");
        signal(pid, "-INT");
        let shown = terminal.ends(130);
        assert!(shown.contains("agentry resume"), "{shown}");
        are_gone(&all);
        assert_eq!(recorded(&test).0, "cancelled");
        let mut terminal = Terminal::new(&test, &server, "resume last");
        terminal.sees("› ");
        terminal.types("go on");
        terminal.sees("On it.");
        terminal.sees("› ");
        terminal.types("/exit");
        terminal.ends(0);
    }
}

#[test]
fn a_signal_kills_the_running_commands() {
    for (name, flags) in [("-INT", ""), ("-TERM", ""), ("-HUP", ""), ("-TERM", "--unconfined")] {
        let server = Server::playing([bash("sleep 600").into(), Turn::text("On it.").into()]);
        let test = worker();
        if flags.is_empty() && cannot_be_confined(&test) {
            continue;
        }
        let args = ["run", "worker", "go", "--yes", flags];
        let args: Vec<&str> = args.into_iter().filter(|it| !it.is_empty()).collect();
        let mut command = keyed(&test, &server, &args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("the program runs");
        let all = starts(child.id(), "sleep");
        signal(child.id(), name);
        // The first one may have been enough.
        let again = Command::new("kill").args([name, &child.id().to_string()]).output();
        again.expect("`kill` runs");
        let ran = test.ended("run", &child.wait_with_output().expect("it ends")).exits(130);
        assert!(ran.stderr.contains("agentry resume"), "{ran}");
        are_gone(&all);
        assert_eq!(recorded(&test).0, "cancelled", "{name}");
        let ran = with(&test, &server, &["resume", "last"]).exits(0);
        assert_eq!(ran.stdout, "On it.\n", "{name}: {ran}");
    }
}

#[test]
fn two_ctrl_c_leave_a_conversation() {
    let server = Server::playing([Turn::text("Hello.").into()]);
    let test = writer();
    let mut terminal = Terminal::new(&test, &server, "run writer --yes");
    terminal.sees("› ");
    signal(terminal.pid(), "-INT");
    terminal.sees("once more ends the conversation");
    terminal.sees("› ");
    terminal.presses("\u{3}");
    terminal.ends(130);
    assert_eq!(recorded(&test).0, "cancelled");
}

#[test]
fn ctrl_c_at_a_question_keeps_the_conversation() {
    let server = Server::playing([bash("echo one").into(), Turn::text("Well.").into()]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, "run asked --yes --unconfined");
    terminal.sees("› ");
    terminal.types("go");
    terminal.sees("answer › ");
    signal(terminal.pid(), "-INT");
    terminal.sees("stopped");
    terminal.sees("› ");
    // This line is no answer to the earlier question.
    terminal.types("yes");
    terminal.sees("Well.");
    terminal.sees("› ");
    terminal.types("/exit");
    terminal.ends(0);
    assert_eq!(server.asked()[1].user_texts.last().map(String::as_str), Some("yes"));
    assert_eq!(stopped(&recorded(&test).1), [false]);
}

#[test]
fn ctrl_c_dismisses_a_question_of_the_agent() {
    let question = json!({ "question": "Which one?", "choices": ["this", "that"] });
    let server =
        Server::playing([Turn::call("question", question).into(), Turn::text("Well.").into()]);
    let test = worker();
    let agent = format!("{WORKER}\n[permissions.question]\nintent = \"allow\"\n");
    test.write("worker/agent.toml", agent);
    let mut terminal = Terminal::new(&test, &server, "run worker go --yes");
    terminal.sees("answer › ");
    terminal.presses("\u{3}");
    terminal.ends(130);
    assert_eq!(server.count(), 1, "the turn is over");
    assert_eq!(stopped(&recorded(&test).1), [false]);
}

/// The prompts that can be open, and how each is reached.
const PROMPTS: [(&str, &str, &str); 3] = [
    ("run asked go", "run it? [y]es  [n]o › ", ""),
    ("run asked go --yes --unconfined", "answer › ", "cancelled"),
    ("run asked --yes --unconfined", "› ", "cancelled"),
];

#[test]
fn a_signal_at_a_question_restores_the_terminal() {
    for (args, prompt, state) in PROMPTS {
        for name in ["-TERM", "-HUP"] {
            let server = Server::answering(|_| bash("echo one").into());
            let test = asked();
            let mut terminal = Terminal::new(&test, &server, args);
            terminal.sees(prompt);
            let all = family(terminal.pid());
            signal(terminal.pid(), name);
            terminal.ends(130);
            are_gone(&all);
            let runs = test.run("runs --format json").json();
            let states: Vec<&Value> =
                runs.as_array().expect("runs").iter().map(|run| &run["state"]).collect();
            let expected: Vec<Value> =
                Some(state).filter(|it| !it.is_empty()).map(|it| json!(it)).into_iter().collect();
            assert_eq!(states, expected.iter().collect::<Vec<_>>(), "{args} {name}");
        }
    }
}

#[test]
fn a_sandbox_ends_with_the_conversation() {
    let server = Server::playing([bash("echo one").into(), Turn::text("Well.").into()]);
    let test = worker();
    if cannot_be_confined(&test) {
        return;
    }
    let mut terminal = Terminal::new(&test, &server, "run worker --yes");
    terminal.sees("› ");
    terminal.types("go");
    terminal.sees("Well.");
    terminal.sees("› ");
    let all = family(terminal.pid());
    assert!(all.len() > 1, "the next command runs in the same sandbox: {all:?}");
    assert!(test.has("agentry.lock"), "it is held");
    signal(terminal.pid(), "-TERM");
    terminal.ends(130);
    are_gone(&all);
    assert!(!test.has("agentry.lock"), "nothing is left");
    assert_eq!(recorded(&test).0, "cancelled");
}

#[test]
fn closing_the_window_ends_the_run() {
    for (args, prompt, state) in PROMPTS {
        let server = Server::answering(|_| bash("echo one").into());
        let test = asked();
        let mut terminal = Terminal::new(&test, &server, args);
        terminal.sees(prompt);
        let all = family(terminal.pid());
        terminal.closes();
        are_gone(&all);
        // The end of the input may arrive before the signal: then the question waits, or the conversation
        // has ended.
        let runs = test.run("runs --format json").json();
        let found = runs[0]["state"].as_str().unwrap_or_default();
        let known = found == state || (!state.is_empty() && ["parked", "done"].contains(&found));
        assert!(known, "{args}: {found}");
    }
}

#[test]
fn closing_the_window_kills_a_running_command() {
    let server = Server::playing([bash("sleep 600").into()]);
    let test = worker();
    if cannot_be_confined(&test) {
        return;
    }
    let mut terminal = Terminal::new(&test, &server, "run worker go --yes");
    terminal.sees("sleep 600");
    let all = starts(terminal.pid(), "sleep");
    terminal.closes();
    are_gone(&all);
    assert_eq!(recorded(&test).0, "cancelled");
}
