//! A run that another program steers (`--control`): commands on standard input, events on standard output.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::run::{keyed, with};
use crate::run_person::{asked, bash};
use crate::server::{Server, Turn};
use crate::test::Test;

/// The program that steers a run.
struct Steering {
    child: Child,
    commands: Option<ChildStdin>,
    events: BufReader<ChildStdout>,
    seen: Vec<Value>,
}

impl Steering {
    fn start(test: &Test, server: &Server, args: &[&str]) -> Self {
        let args: Vec<&str> =
            args.iter().copied().chain(["--format", "json", "--control"]).collect();
        let mut command = keyed(test, server, &args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let commands = child.stdin.take();
        let events = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, commands, events, seen: Vec::new() }
    }

    fn sends(&mut self, command: &Value) {
        let commands = self.commands.as_mut().expect("still open");
        writeln!(commands, "{command}").expect("it is read");
    }

    /// Reads until an event of that type.
    #[track_caller]
    fn sees(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            let read = self.events.read_line(&mut line).expect("text");
            assert!(read > 0, "never: {kind}; only {:#?}", self.seen);
            let event: Value = serde_json::from_str(&line).expect("JSON");
            self.seen.push(event.clone());
            if event["type"] == kind {
                return event;
            }
        }
    }

    /// Closes standard input, and reads to the end.
    #[track_caller]
    fn ends(mut self, code: i32) -> Vec<Value> {
        self.commands.take();
        for line in self.events.lines() {
            self.seen.push(serde_json::from_str(&line.expect("text")).expect("JSON"));
        }
        assert_eq!(self.child.wait().expect("it ends").code(), Some(code), "{:#?}", self.seen);
        self.seen
    }
}

fn consented(server: &Server) -> Test {
    let test = asked();
    with(&test, server, &["run", "asked", "hello", "--yes", "--unconfined"]).exits(0);
    test
}

const RUN: [&str; 4] = ["run", "asked", "go", "--unconfined"];

#[test]
fn a_program_answers_and_sends_messages() {
    let server = Server::playing([
        Turn::text("Hello.").into(),
        bash("echo one").into(),
        bash("echo two").into(),
        bash("echo two").into(),
        Turn::text("Done.").into(),
        Turn::text("Gladly.").into(),
    ]);
    let test = consented(&server);
    let mut program = Steering::start(&test, &server, &RUN);
    let asked = program.sees("approval");
    assert_eq!(asked["kind"], "call", "{asked}");
    assert_eq!(asked["call"]["arguments"], json!({ "command": "echo one" }));
    assert_eq!(asked["choices"], json!(["yes", "no", "always", "exact", "later"]));
    assert_eq!(asked["places"], json!(["asked/agent.toml:5"]), "{asked}");
    let answer = |asked: &Value, answer: &str| json!({ "type": "answer", "question": asked["question"], "answer": answer, "reason": "not now" });
    program.sends(&answer(&asked, "no"));
    let second = program.sees("approval");
    // An answer to a question that is answered already counts for nothing.
    program.sends(&answer(&asked, "yes"));
    assert_eq!(program.sees("rejected")["why"], "question 1 is not open");
    program.sends(&answer(&second, "exact"));
    // The same call again is covered by that answer.
    assert_eq!(program.sees("ended")["state"], "done");
    // The run goes on with the next message, until no more can come.
    program.sends(&json!({ "type": "message", "text": "thank you" }));
    assert_eq!(program.sees("ended")["state"], "done");
    program.ends(0);
    let asked = server.asked();
    assert_eq!(asked.last().expect("a request").user_texts, ["go", "thank you"]);
    let results = &asked.last().expect("a request").results;
    assert!(results[0].1.contains("not now"), "{results:?}");
    assert!(results[1].1.contains("two") && results[2].1.contains("two"), "{results:?}");
}

/// Whatever a program sends, nothing of it consents or approves by accident.
#[test]
fn unknown_control_commands_are_rejected() {
    let server = Server::playing([
        Turn::text("Hello.").into(),
        bash("touch made").into(),
        Turn::text("No.").into(),
    ]);
    let test = consented(&server);
    let mut program = Steering::start(&test, &server, &RUN);
    let question = program.sees("approval")["question"].clone();
    let cases = [
        (json!("yes"), "invalid type"),
        (json!({ "type": "consent" }), "unknown variant `consent`"),
        (json!({ "type": "answer", "answer": "yes" }), "missing field `question`"),
        (json!({ "type": "answer", "question": question, "answer": "y" }), "unknown variant `y`"),
        (json!({ "type": "answer", "question": 99, "answer": "yes" }), "question 99 is not open"),
        (
            json!({ "type": "reply", "question": question, "text": "yes" }),
            "is answered with `answer`",
        ),
        (
            json!({ "type": "answer", "question": question, "answer": "yes", "all": true }),
            "unknown field `all`",
        ),
    ];
    for (command, why) in cases {
        program.sends(&command);
        let rejected = program.sees("rejected");
        assert!(rejected["why"].as_str().expect("a text").contains(why), "{command}: {rejected}");
    }
    program.sends(&json!({ "type": "answer", "question": question, "answer": "no" }));
    program.sees("ended");
    program.ends(0);
    assert!(!test.has("made"));
}

#[test]
fn a_controlled_run_without_consent_is_refused() {
    let server = Server::playing([]);
    let test = asked();
    let mut program = Steering::start(&test, &server, &RUN);
    let refused = program.sees("refused");
    assert!(refused["message"].as_str().expect("a text").contains("no consent"), "{refused}");
    program.ends(3);
    assert!(server.asked().is_empty());
    let ran = test.run("run asked go --control").exits(2);
    assert!(ran.stderr.contains("add `--format json`"), "{ran}");
}

/// The program goes away while a question is open: the question gets the answer of a run without a person.
#[test]
fn a_disconnected_controller_does_not_end_the_run() {
    let turns =
        || [Turn::text("Hello.").into(), bash("touch made").into(), Turn::text("Then not.").into()];
    let server = Server::playing(turns());
    let test = consented(&server);
    let mut program = Steering::start(&test, &server, &RUN);
    program.sees("approval");
    let seen = program.ends(0);
    let refused = json!({ "no": "no user is present to answer" });
    assert!(seen.iter().any(|it| it["answer"] == refused), "{seen:#?}");
    assert!(!test.has("made"));

    let server = Server::playing(turns());
    let test = consented(&server);
    let mut program = Steering::start(&test, &server, &[&RUN[..], &["--on-ask", "park"]].concat());
    program.sees("approval");
    let seen = program.ends(3);
    assert_eq!(seen.last().expect("an event")["state"], "parked");
    // Another program resumes it, and is asked again.
    let mut program = Steering::start(&test, &server, &["resume"]);
    let question = program.sees("approval")["question"].clone();
    program.sends(&json!({ "type": "answer", "question": question, "answer": "yes" }));
    assert_eq!(program.sees("ended")["state"], "done");
    program.ends(0);
    assert!(test.has("made"));
}

#[test]
fn a_program_parks_cancels_and_stops() {
    let server = Server::playing([
        Turn::text("Hello.").into(),
        bash("echo one").into(),
        Turn::text("Fine.").into(),
        bash("echo two").into(),
        bash("echo three").into(),
    ]);
    let test = consented(&server);
    let mut program = Steering::start(&test, &server, &RUN);
    program.sees("approval");
    program.sends(&json!({ "type": "cancel" }));
    assert_eq!(program.sees("withdrawn")["question"], 1);
    assert_eq!(program.sees("ended")["state"], "cancelled");
    program.sends(&json!({ "type": "message", "text": "go on" }));
    assert_eq!(program.sees("ended")["state"], "done");
    program.sends(&json!({ "type": "message", "text": "again" }));
    program.sees("approval");
    program.sends(&json!({ "type": "park" }));
    assert_eq!(program.sees("ended")["state"], "parked");
    program.ends(3);
    let mut program = Steering::start(&test, &server, &["resume"]);
    program.sees("approval");
    program.sends(&json!({ "type": "stop" }));
    assert_eq!(program.sees("ended")["state"], "cancelled");
    program.ends(130);
}
