//! `resume`: a run that was stopped, killed or has ended continues, and never with more rights.
#![cfg(unix)]

use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::run::{WRITER, events, keyed, with, write, writer};
use crate::server::{Reply, Server, Turn};
use crate::test::Test;

/// The only run.
fn id(test: &Test) -> String {
    let runs = test.run("runs --format json").json();
    runs[0]["id"].as_str().expect("a run").to_owned()
}

fn state(test: &Test) -> String {
    let runs = test.run("runs --format json").json();
    runs[0]["state"].as_str().expect("a run").to_owned()
}

/// The number of events of a kind in the run.
fn count(test: &Test, kind: &str) -> usize {
    let shown = test.run(&format!("runs show {} --format json", id(test))).json();
    let events = shown["events"].as_array().expect("events").clone();
    events.iter().filter(|event| event["event"]["type"] == kind).count()
}

#[test]
fn resume_can_raise_a_limit() {
    let server = Server::answering(|asked| match asked.results.len() {
        0..=2 => write("out.txt").into(),
        _ => Turn::text("All done.").into(),
    });
    let test = writer();
    with(&test, &server, &["run", "writer", "go", "--yes", "--max-steps", "1"]).exits(3);
    let id = id(&test);
    for args in [vec!["resume", &id], vec!["resume", &id, "more"]] {
        let ran = with(&test, &server, &args).exits(3);
        assert!(ran.stderr.contains("limit of 1 step"), "{ran}");
    }
    assert_eq!(count(&test, "cancelled"), 0, "nothing happens again and again");
    let ran = with(&test, &server, &["resume", &id, "--max-steps", "9"]).exits(0);
    assert_eq!(ran.stdout, "All done.\n", "{ran}");
    assert_eq!(state(&test), "done");
}

#[test]
fn a_failed_run_is_resumed_with_a_message() {
    let server = Server::playing([Reply::status(401), Turn::text("Better now.").into()]);
    let test = writer();
    with(&test, &server, &["run", "writer", "go", "--yes"]).exits(1);
    let ran = with(&test, &server, &["resume", &id(&test), "try again"]).exits(0);
    assert_eq!(ran.stdout, "Better now.\n", "{ran}");
    assert_eq!(server.asked()[1].user_texts, ["go", "try again"]);
    let ran = with(&test, &server, &["resume", &id(&test)]).exits(0);
    assert!(ran.stderr.contains("nothing was left to do"), "{ran}");
}

#[test]
fn a_prompt_that_was_not_sent_is_sent_by_resume() {
    let server = Server::answering(|_| Turn::text("Done.").into());
    let test = writer();
    with(&test, &server, &["run", "writer", "go", "--yes"]).exits(0);
    // The journal of a process that was killed right after its first event.
    let journal = test.path(format!("home/.agentry/runs/{}/journal.db", id(&test)));
    let database = rusqlite::Connection::open(journal).expect("a journal");
    let cut = "DELETE FROM ending; DELETE FROM events WHERE seq > 1";
    database.execute_batch(cut).expect("a change");
    drop(database);
    assert_eq!(state(&test), "interrupted");
    let ran = with(&test, &server, &["resume", &id(&test)]).exits(0);
    assert_eq!(ran.stdout, "Done.\n", "{ran}");
    assert_eq!(server.asked()[1].user_texts, ["go"]);
    assert_eq!(state(&test), "done");
}

#[test]
fn a_changed_definition_is_not_resumed() {
    let server = Server::answering(|_| Turn::text("Done.").into());
    let test = writer();
    with(&test, &server, &["run", "writer", "go", "--yes"]).exits(0);
    let id = id(&test);
    let asked = server.count();
    let config = "home/.config/agentry/config.toml";
    // A narrower policy applies at once.
    test.write(config, "[policy.bash]\nintent = \"deny\"\n[run]\nmax_turns = 1\n");
    let ran = with(&test, &server, &["resume", &id, "more"]);
    assert!(ran.stderr.contains("limit of 1 turn"), "{ran}");
    test.write(config, "");
    // Rules of a base or of the user that are gone since then need a new consent.
    test.run("consent revoke writer").exits(0);
    let ran = with(&test, &server, &["resume", &id, "more"]).exits(3);
    assert!(ran.stderr.contains("there is no consent to"), "{ran}");
    assert_eq!(server.count(), asked);
    with(&test, &server, &["run", "writer", "go", "--yes"]).exits(0);
    test.write("writer/agent.toml", WRITER.replace("out.txt:allow", "*.txt:allow"));
    let ran = with(&test, &server, &["resume", &id, "more"]).exits(3);
    assert!(ran.stderr.contains("+ edit: allow *.txt"), "{ran}");
    assert!(ran.stderr.contains("is not what it was"), "{ran}");
    let ran = with(&test, &server, &["resume", &id, "more", "--accept-changes"]).exits(3);
    assert!(ran.stderr.contains("there is no consent to"), "{ran}");
}

#[test]
fn resuming_with_a_wider_policy_needs_accept_changes() {
    let server = Server::answering(|_| Turn::text("Done.").into());
    let test = writer();
    let config = "home/.config/agentry/config.toml";
    test.write(config, "[policy.edit]\nintent = \"deny\"\n");
    with(&test, &server, &["run", "writer", "go", "--yes"]).exits(0);
    test.write(config, "");
    let ran = with(&test, &server, &["resume", &id(&test), "more"]).exits(3);
    assert!(ran.stderr.contains("- edit: deny everything else"), "{ran}");
    with(&test, &server, &["resume", &id(&test), "more", "--accept-changes"]).exits(0);
}

#[test]
fn undo_is_recorded_in_the_journal() {
    let server = Server::playing([write("out.txt").into(), Turn::text("Done.").into()]);
    let test = writer();
    with(&test, &server, &["run", "writer", "go", "--yes"]).exits(0);
    let shown = test.run("runs show last --format json").json();
    assert!(shown["policy"].as_str().expect("a digest").starts_with("sha256:"), "{shown}");
    assert!(shown["tools"].as_array().expect("a list").contains(&json!("write")), "{shown}");
    test.run("runs undo last --dry-run").exits(0);
    assert_eq!(count(&test, "undone"), 0);
    test.run("runs undo last").exits(0);
    assert_eq!(count(&test, "undone"), 1);
    assert_eq!(state(&test), "done");
}

#[test]
fn a_run_is_resumed_in_its_own_workspace() {
    let server = Server::playing([
        Turn::text("Hello.").into(),
        write("out.txt").into(),
        Turn::text("Done.").into(),
    ]);
    let test = writer().file("elsewhere/note.txt", "");
    std::fs::create_dir(test.path("elsewhere/.git")).expect("a folder");
    with(&test, &server, &["run", "writer", "go", "--yes"]).exits(0);
    let mut command = keyed(&test, &server, &["resume", &id(&test), "write it"]);
    let output = command.current_dir(test.path("elsewhere")).output().expect("the program runs");
    test.ended("resume", &output).exits(0);
    assert!(test.has("out.txt") && !test.has("elsewhere/out.txt"));
}

#[test]
fn a_run_is_resumed_in_its_original_format() {
    let server = Server::answering(|_| Turn::text("Done.").into());
    let agent = json!({ "name": "writer", "description": "Writes files" });
    let test = writer().file("writer/agent.json", agent.to_string());
    let test = test.file("writer/persona.md", "You are the other one.\n");
    let ran = with(&test, &server, &["run", "writer", "go", "--yes"]).exits(1);
    assert!(ran.stderr.contains("--as"), "{ran}");
    for (at, (format, system)) in
        [("agent-toml", "You write files."), ("agentfs", "You are the other one.")]
            .into_iter()
            .enumerate()
    {
        with(&test, &server, &["run", "writer", "go", "--yes", "--as", format]).exits(0);
        with(&test, &server, &["resume", "last", "more"]).exits(0);
        let asked = server.asked().split_off(2 * at);
        assert_eq!(asked[1].user_texts, ["go", "more"], "{format}");
        assert!(asked.iter().all(|it| it.system.contains(system)), "{format}: {asked:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_kills_its_command_and_can_resume() {
    let test = Test::new()
        .file(
            "worker/agent.toml",
            "name = \"worker\"\ndescription = \"Works\"\n\n[permissions.bash]\nintent = \"allow\"\n\n\
             [permissions.edit]\nintent = \"allow\"\n",
        )
        .file("worker/system-prompt.md", "You work.\n")
        .file("elsewhere/note.txt", "");
    let doctor = test.run("doctor --format json").json();
    let checks = doctor["checks"].as_array().expect("a list").clone();
    if checks.iter().any(|it| it["what"] == "namespaces" && it["well"] != true) {
        return;
    }
    let server = Server::playing([
        Turn::call("bash", json!({ "command": "echo here > started.txt; sleep 77" })).into(),
        Turn::call("bash", json!({ "command": "echo again > again.txt" })).into(),
        Turn::text("Done.").into(),
    ]);
    let mut command = keyed(&test, &server, &["run", "worker", "go", "--yes"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    while !test.has("started.txt") {
        assert!(child.try_wait().expect("a process").is_none(), "it ended");
        std::thread::yield_now();
    }
    child.kill().expect("a process");
    child.wait().expect("a process");
    let mut command = keyed(&test, &server, &["resume", "last"]);
    let output = command.current_dir(test.path("elsewhere")).output().expect("the program runs");
    let ran = test.ended("resume last", &output).exits(0);
    assert_eq!(ran.stdout, "Done.\n", "{ran}");
    let results = server.asked()[1].results.clone();
    assert!(results[0].1.contains("it is not known what it did"), "{results:?}");
    assert_eq!(test.read("again.txt"), "again\n");
}

/// A run that waits for a silent model.
fn waiting(test: &Test, server: &Server) -> Child {
    let mut command = keyed(test, server, &["run", "writer", "go", "--yes", "--format", "json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the program runs");
    while server.count() == 0 {
        std::thread::yield_now();
    }
    child
}

fn signal(child: &Child, name: &str) {
    let done = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(done.expect("`kill` runs").success());
}

#[test]
fn a_signalled_run_is_cancelled_and_can_resume() {
    // One Ctrl-C stops the turn, and with it the prompt; the other signals stop the run.
    for (name, ends) in [("-INT", "cancelled"), ("-TERM", "cancelled"), ("-HUP", "cancelled")] {
        let server = Server::playing([Reply::Silent, Turn::text("Here I am.").into()]);
        let test = writer();
        let child = waiting(&test, &server);
        signal(&child, name);
        let ran = test.ended("run", &child.wait_with_output().expect("it ends")).exits(130);
        let last: Value = events(&ran).pop().expect("an event");
        assert_eq!((&last["type"], &last["state"]), (&json!("ended"), &json!(ends)), "{name}");
        assert!(ran.stderr.contains("agentry resume"), "{ran}");
        assert_eq!(state(&test), ends, "{name}");
        let ran = with(&test, &server, &["resume", &id(&test)]).exits(0);
        assert_eq!(ran.stdout, "Here I am.\n", "{name}: {ran}");
    }
}

#[test]
fn a_closed_output_pipe_cancels_the_run() {
    let server = Server::answering(|_| write("out.txt").into());
    let test = writer();
    let mut command = keyed(&test, &server, &["run", "writer", "go", "--yes", "--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut out = child.stdout.take().expect("its output");
    let mut first = [0; 64];
    out.read_exact(&mut first).expect("the first event");
    drop(out);
    test.ended("run", &child.wait_with_output().expect("it ends")).exits(130);
    assert_eq!(state(&test), "cancelled");
}
