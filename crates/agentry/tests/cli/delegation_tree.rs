//! A tree of runs as one thing: it is stopped, resumed, undone, pruned, recorded and replayed together.
#![cfg(target_os = "linux")]

use std::process::Stdio;

use serde_json::{Value, json};

use crate::delegation::{WRITES, agent, asking_agent, delegate, lead, playing, runs, write};
use crate::run::{keyed, with};
use crate::server::{Reply, Server, Turn};
use crate::terminal::{Terminal, are_gone, signal, starts, wait_for};
use crate::test::Test;

/// A lead and a helper that may do everything here.
fn team() -> Test {
    let rules = format!("{WRITES}\n[permissions.bash]\nintent = \"allow\"\n");
    let lead = lead("helper: {ref: ./helper}", "").replace("exec: none", "exec: full");
    let lead =
        lead.replace("edit: {intent: allow}", "edit: {intent: allow}, bash: {intent: allow}");
    agent(Test::new(), "helper", &rules).file("lead.agent", lead)
}

fn content(path: &str, content: &str) -> Turn {
    Turn::call("write", json!({ "path": path, "content": content }))
}

fn bash(command: &str) -> Turn {
    Turn::call("bash", json!({ "command": command }))
}

#[test]
fn undo_restores_what_delegates_changed() {
    // Both change the same file in turn, and each has one of its own.
    let server = playing(vec![
        (
            "lead",
            vec![
                content("shared.txt", "one\n"),
                delegate("helper", "go"),
                content("shared.txt", "three\n"),
                content("lead.txt", "x\n"),
            ],
        ),
        (
            "helper",
            vec![
                content("shared.txt", "two\n"),
                content("old.txt", "new\n"),
                write("deep/own.txt"),
            ],
        ),
    ]);
    let test = team().file("old.txt", "old\n");
    with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
    assert_eq!((test.read("shared.txt"), test.read("old.txt")), ("three\n".into(), "new\n".into()));
    let dry = test.run("runs undo last --dry-run").exits(0);
    assert_eq!(dry.stdout.matches("would be restored").count(), 4, "{dry}");
    let undone = test.run("runs undo last").exits(0);
    assert_eq!(undone.stdout.matches("restored: ").count(), 4, "{undone}");
    for path in ["shared.txt", "lead.txt", "deep/own.txt", "deep"] {
        assert!(!test.has(path), "{path}: {undone}");
    }
    assert_eq!(test.read("old.txt"), "old\n");
    let again = test.run("runs undo last").exits(0);
    assert!(!again.stdout.contains("restored: "), "{again}");
}

/// A delegate alone can be undone; what its parent did stays.
#[test]
fn undoing_a_delegate_keeps_changes_of_its_parent() {
    let server = playing(vec![
        ("lead", vec![write("lead.txt"), delegate("helper", "go")]),
        ("helper", vec![write("own.txt")]),
    ]);
    let test = team();
    with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
    let child = runs(&test)[1]["id"].as_str().expect("an id").to_owned();
    test.run(&format!("runs undo {child}")).exits(0);
    assert!(test.has("lead.txt") && !test.has("own.txt"));
}

#[test]
fn prune_removes_a_tree_as_a_whole() {
    let server = playing(vec![("lead", vec![delegate("helper", "go")])]);
    let test = team();
    with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
    let dry = test.run("runs prune --older-than 0s --dry-run --format json").exits(0).json();
    assert_eq!(dry["removed"].as_array().map(Vec::len), Some(2), "{dry}");
    test.run("runs prune --older-than 1d").exits(0);
    assert_eq!(runs(&test).len(), 2);
    test.run("runs prune --older-than 0s").exits(0);
    assert_eq!(runs(&test).len(), 0);
}

#[test]
fn a_signal_ends_the_whole_tree() {
    for kind in ["-INT", "-TERM"] {
        let server = playing(vec![
            ("lead", vec![delegate("helper", "go")]),
            ("helper", vec![bash("sleep 600 & sleep 601")]),
        ]);
        let test = team();
        let args = ["run", "lead.agent", "go", "--yes", "--unconfined"];
        let mut command = keyed(&test, &server, &args);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        let processes = starts(child.id(), "sleep");
        signal(child.id(), kind);
        let status = child.wait().expect("an end");
        assert!(!status.success(), "{kind}");
        are_gone(&processes);
        let ended: Vec<Value> = runs(&test).iter().map(|run| run["state"].clone()).collect();
        assert_eq!(ended, ["cancelled", "cancelled"], "{kind}");
        assert_eq!(server.count(), 2, "nothing more is asked");
    }
}

/// The tree is killed while a command of the delegate runs: it is not run again without the person.
#[test]
fn a_command_of_a_killed_delegate_is_not_run_twice() {
    let server =
        Server::answering(|asked| match (asking_agent(asked).as_str(), asked.results.len()) {
            ("lead", 0) => delegate("helper", "go").into(),
            ("helper", 0) => {
                bash("echo once >> log; while [ ! -e gate ]; do sleep 0.05; done").into()
            }
            _ => Turn::text("All done.").into(),
        });
    let test = team();
    let mut command = keyed(&test, &server, &["run", "lead.agent", "go", "--yes", "--unconfined"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    wait_for("the command", || test.has("log") && test.read("log") == "once\n");
    child.kill().expect("it is killed");
    child.wait().expect("an end");
    test.write("gate", "");
    // Without a person nothing of it runs again.
    let ran = with(&test, &server, &["resume", "last", "--on-ask", "park"]).exits(3);
    assert_eq!(test.read("log"), "once\n", "{ran}");
    let mut terminal = Terminal::new(&test, &server, "resume last");
    let shown = terminal.sees("answer › ");
    assert!(
        shown.contains("lead › helper asks:") && shown.contains("the run was killed"),
        "{shown}"
    );
    terminal.types("n");
    terminal.sees("All done.");
    terminal.ends(0);
    assert_eq!(test.read("log"), "once\n");
    assert_eq!(runs(&test).len(), 2, "the delegate continued its own run");
}

/// The tree is killed at every request to a model in turn.
#[test]
fn a_resumed_tree_repeats_no_call() {
    // The request at which the model stays silent, so that the run is killed there.
    for silent in 0..5 {
        let server = Server::answering(move |asked| {
            if asked.number == silent {
                return Reply::Silent;
            }
            match (asking_agent(asked).as_str(), asked.results.len()) {
                ("lead", 0) => bash("echo lead >> log").into(),
                ("lead", 1) => delegate("helper", "go").into(),
                ("helper", 0) => bash("echo helper >> log").into(),
                _ => Turn::text("All done.").into(),
            }
        });
        let test = team();
        let args = ["run", "lead.agent", "go", "--yes", "--unconfined"];
        let mut command = keyed(&test, &server, &args);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        wait_for("the silent request", || server.count() == silent + 1);
        child.kill().expect("it is killed");
        child.wait().expect("an end");
        let ran = with(&test, &server, &["resume", "last"]).exits(0);
        assert_eq!(test.read("log"), "lead\nhelper\n", "killed at {silent}: {ran}");
        assert_eq!(runs(&test).len(), 2, "killed at {silent}");
    }
}

#[test]
fn a_run_with_delegates_is_recorded_and_replayed() {
    let server = playing(vec![
        ("lead", vec![delegate("helper", "write it"), Turn::text("All done.")]),
        ("helper", vec![write("out.txt"), Turn::text("Written.")]),
    ]);
    let test = team();
    let args = ["run", "lead.agent", "go", "--yes", "--record", "lead.cassette.jsonl"];
    with(&test, &server, &args).exits(0);
    let before = server.count();
    std::fs::remove_file(test.path("out.txt")).expect("a file");
    let ran = test.run("run lead.agent --replay lead.cassette.jsonl").exits(0);
    assert_eq!(ran.stdout, "All done.\n", "{ran}");
    test.run("test lead.agent").exits(0);
    // Nothing was executed, and no delegate began.
    assert!(!test.has("out.txt") && server.count() == before);
    assert_eq!(runs(&test).len(), 2);
    // What the tool offers is a part of the recording.
    test.write("helper/agent.toml", "name = \"helper\"\ndescription = \"Another helper\"\n");
    test.run("run lead.agent --replay lead.cassette.jsonl").exits(1);
}

#[test]
fn a_pipeline_is_recorded_and_replayed() {
    let server = playing(vec![("helper", vec![Turn::text("Helped.")])]);
    let test = agent(Test::new(), "helper", WRITES)
        .file("lead.agent", lead("helper: {ref: ./helper}", "pipeline: [{call: helper}]\n"));
    let args = ["run", "lead.agent", "look", "--yes", "--record", "lead.cassette.jsonl"];
    with(&test, &server, &args).exits(0);
    let ran = test.run("run lead.agent --replay lead.cassette.jsonl").exits(0);
    assert_eq!(ran.stdout, "Helped.\n", "{ran}");
}

#[test]
fn a_function_call_is_recorded_and_replayed() {
    let counter = "name: counter\nversion: 1.0.0\ndescription: Counts\nsoul: You count.\n\
        expose:\n  - {name: count, input: {text: str}, output: int}\n";
    let result = |value: Value| Turn::call("result", json!({ "result": value }));
    let cases: Vec<(Vec<Turn>, u8, &str)> = vec![
        (vec![result(json!(3))], 0, "3\n"),
        (vec![Turn::text("3")], 0, "3\n"),
        (vec![result(json!("three")), result(json!(3))], 0, "3\n"),
        (vec![Turn::text("three"), Turn::text("3")], 0, "3\n"),
        (vec![Turn::text("three"), Turn::text("many")], 1, ""),
        (vec![result(json!("three")), result(json!("many"))], 1, ""),
    ];
    for (turns, code, printed) in cases {
        let server = Server::playing(turns.into_iter().map(Reply::from));
        let test = Test::new().file("counter.agent", counter);
        let called = ["--call", "count", "--input", r#"{"text": "a b c"}"#];
        let cassette = "counter.cassette.jsonl";
        let args = [&["run", "counter.agent", "--yes", "--record", cassette][..], &called].concat();
        let ran = with(&test, &server, &args).exits(code.into());
        assert_eq!(ran.stdout, printed, "{ran}");
        let before = server.count();
        let replay = ["run", "counter.agent", "--replay", cassette];
        for args in [replay.to_vec(), [&replay[..], &called].concat()] {
            let ran = test.run_args(&args).exits(code.into());
            assert_eq!(ran.stdout, printed, "{ran}");
        }
        let other = ["--call", "count", "--input", r#"{"text": "other"}"#];
        let ran = test.run_args(&[&replay[..], &other].concat()).exits(1);
        assert!(ran.stderr.contains("goes another way"), "{ran}");
        assert_eq!(server.count(), before, "no model is asked");
    }
}
