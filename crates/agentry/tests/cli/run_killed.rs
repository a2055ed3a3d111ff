//! A run is killed while a command runs. The command has no result, so the user is asked about it, whatever
//! the format of the agent is.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};

use crate::confined::WORKER;
use crate::run::{keyed, with};
use crate::run_person::bash;
use crate::server::{Server, Turn};
use crate::terminal::{Terminal, wait_for};
use crate::test::Test;

/// Leaves a mark, waits for the test, and leaves another one.
const COMMAND: &str = "echo started >> log; read line < gate; echo ended >> log";

/// `O_NONBLOCK`: without a reader, opening the pipe fails instead of waiting.
const NONBLOCK: i32 = 0o4000;

/// An agent of each format that may run commands without a question, and its path.
fn agents() -> Vec<(&'static str, Test)> {
    let test = |path: &str, text: &str| Test::new().file(path, text);
    vec![
        ("worker", test("worker/agent.toml", WORKER).file("worker/system-prompt.md", "Work.\n")),
        (
            "agents/dev_worker.agent.md",
            test(
                "agents/dev_worker.agent.md",
                "---\ntitle: Worker\ndescription: Works\nabilities: [sh, fs]\n---\n\n## System\n\nWork.\n",
            ),
        ),
        (
            "worker.agent",
            test(
                "worker.agent",
                "name: worker\nversion: 1.0.0\ndescription: Works\nsoul: You work.\n\
                 trust: {filesystem: full, network: none, exec: full}\n",
            ),
        ),
        (
            "worker",
            test(
                "worker/agent.json",
                "{\"name\": \"worker\", \"description\": \"Works\", \
                 \"tool_permissions\": {\"allowed\": [\"Bash\", \"Edit\", \"Read\"]}}",
            )
            .file("worker/persona.md", "You work.\n")
            .file("worker/principles.md", "Be careful.\n"),
        ),
    ]
}

/// Waits until the command has left its mark, kills the program, and lets the command end.
fn kill(test: &Test, pid: u32) {
    wait_for("the command", || test.has("log"));
    let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    assert!(killed.expect("`kill` runs").success());
    let open = || fs::OpenOptions::new().write(true).custom_flags(NONBLOCK).open(test.path("gate"));
    wait_for("the command at the gate", || {
        open().is_ok_and(|mut gate| gate.write_all(b"go\n").is_ok())
    });
}

fn gated(test: &Test) {
    let made = Command::new("mkfifo").arg(test.path("gate")).status();
    assert!(made.expect("`mkfifo` runs").success());
}

#[test]
fn resuming_asks_about_a_command_that_was_running() {
    for (agent, test) in agents() {
        gated(&test);
        let server = Server::playing([bash(COMMAND).into(), Turn::text("Done.").into()]);
        let mut command = keyed(&test, &server, &["run", agent, "go", "--yes", "--unconfined"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("the program runs");
        kill(&test, child.id());
        child.wait().expect("an end");
        wait_for("the end of the command", || test.read("log") == "started\nended\n");
        let ran = with(&test, &server, &["resume", "last", "--on-ask", "park"]).exits(3);
        assert!(ran.stderr.contains("agentry resume"), "{agent}: {ran}");
        assert_eq!(server.count(), 1, "{agent}: the model is not asked first");
        let shown = test.run("runs").exits(0).stdout;
        assert!(shown.contains("parked") && shown.contains("`bash` is to be run again"), "{shown}");
        let listed = test.run("runs --format json").json();
        assert_eq!(listed[0]["state"], "parked", "{agent}");
        assert_eq!(listed[0]["detail"], "whether `bash` is to be run again", "{agent}");
        // If nobody can be asked, it is not run again, and the model is informed.
        let ran = with(&test, &server, &["resume", "last", "--on-ask", "deny"]).exits(0);
        assert_eq!(ran.stdout, "Done.\n", "{agent}: {ran}");
        let results = server.asked()[1].results.clone();
        assert!(results[0].1.contains("it is not known what it did"), "{agent}: {results:?}");
        assert_eq!(test.read("log"), "started\nended\n", "{agent}");
    }
}

/// The format `agent-dir` has no permissions, so the command itself needs an approval.
#[test]
fn resuming_asks_again_about_an_approved_command() {
    let test = Test::new().file("worker/instructions.md", "You work.\n");
    let test = test.file("worker/agent.acl", "");
    gated(&test);
    let server = Server::playing([bash(COMMAND).into(), Turn::text("Done.").into()]);
    let mut terminal = Terminal::new(&test, &server, "run worker go --yes --unconfined");
    terminal.answers("y");
    kill(&test, terminal.pid());
    wait_for("the end of the command", || test.read("log") == "started\nended\n");
    let ran = with(&test, &server, &["resume", "last", "--on-ask", "park"]).exits(3);
    assert_eq!(server.count(), 1, "{ran}");
    let mut terminal = Terminal::new(&test, &server, "resume last");
    let shown = terminal.sees("answer › ");
    assert!(shown.contains("it is not known what it did"), "{shown}");
    terminal.types("n");
    terminal.sees("Done.");
    terminal.ends(0);
    assert_eq!(test.read("log"), "started\nended\n");
    assert_eq!(server.count(), 2);
}
