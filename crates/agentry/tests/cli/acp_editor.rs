//! `agentry acp` with an editor that has files open and shows terminals.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::acp::{choose, consented, of_kind, opened, playing, prompt, updates};
use crate::rpc_client::RpcClient;
use crate::run::{keyed, with};
use crate::server::{Server, Turn};
use crate::test::Test;

/// An editor that has files open and shows terminals.
fn able_editor(test: &Test, server: &Server) -> RpcClient {
    let mut editor = RpcClient::start(keyed(test, server, &["acp", "writer"]));
    let fs = json!({"readTextFile": true, "writeTextFile": true});
    let abilities = json!({"fs": fs, "terminal": true});
    editor.result("initialize", &json!({"protocolVersion": 1, "clientCapabilities": abilities}));
    editor
}

/// The agent sees what the user sees, and a change goes through the editor, after the policy and the user decided.
#[test]
fn unsaved_text_is_read_from_the_editor_and_saved_by_it() {
    let edit = json!({"path": "a.txt", "old_string": "unsaved", "new_string": "edited"});
    let server = playing([
        Turn::call("read", json!({"path": "a.txt"})).into(),
        Turn::call("edit", edit).into(),
        Turn::text("Done.").into(),
    ]);
    let test = consented(&server).file("a.txt", "on disk\n");
    let path = std::fs::canonicalize(test.path("")).unwrap().join("a.txt");
    let mut editor = able_editor(&test, &server);
    let session = opened(&mut editor, &test);
    let turn = prompt(&mut editor, &session, "edit");
    let unsaved = json!({"content": "unsaved\n"});
    // For the call that reads, then for the preview of the edit.
    for _ in 0..2 {
        let asked = editor.called("fs/read_text_file");
        assert_eq!(asked["params"], json!({"sessionId": session, "path": path}));
        editor.reply(&asked, &unsaved);
    }
    let asked = editor.called("session/request_permission");
    let diff = &asked["params"]["toolCall"]["content"][0];
    assert_eq!((&diff["oldText"], &diff["newText"]), (&json!("unsaved\n"), &json!("edited\n")));
    choose(&mut editor, &asked, "yes");
    let asked = editor.called("fs/read_text_file");
    editor.reply(&asked, &unsaved);
    let asked = editor.called("fs/write_text_file");
    let expected = json!({"sessionId": session, "path": path, "content": "edited\n"});
    assert_eq!(asked["params"], expected);
    assert_eq!(test.read("a.txt"), "on disk\n", "only the editor writes");
    std::fs::write(&path, "edited\n").unwrap();
    editor.reply(&asked, &json!(null));
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "end_turn");
    let seen = serde_json::to_string(&editor.seen).unwrap();
    assert!(seen.contains("unsaved\\n") && !seen.contains("on disk"), "{seen}");
    editor.ends(0);
    // The text on disk comes back.
    test.run(&format!("runs undo {session}")).exits(0);
    assert_eq!(test.read("a.txt"), "on disk\n");
}

/// What the editor says about a change counts only if it is on disk.
#[test]
fn an_editor_that_refuses_to_save_fails_the_call() {
    let content = json!({"path": "out.txt", "content": "new\n"});
    let server = playing([Turn::call("write", content).into(), Turn::text("Sad.").into()]);
    let test = consented(&server).file("out.txt", "on disk\n");
    let mut editor = able_editor(&test, &server);
    let session = opened(&mut editor, &test);
    let turn = prompt(&mut editor, &session, "write");
    let asked = editor.called("fs/read_text_file");
    editor.reply(&asked, &json!({"content": "unsaved\n"}));
    let asked = editor.called("fs/write_text_file");
    editor.reply(&asked, &json!(null));
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "end_turn");
    let shown = serde_json::to_string(&updates(&mut editor)).unwrap();
    assert!(shown.contains("the editor did not save it"), "{shown}");
    assert_eq!(test.read("out.txt"), "on disk\n");
    editor.ends(0);
}

const RUNNER: &str = "name = \"writer\"\ndescription = \"Runs commands\"\n\n[permissions.bash]\nintent = \"allow\"\n";

/// An agent that runs commands, and that the user has agreed to.
fn agreed_runner(server: &Server) -> Test {
    let test = Test::new().file("writer/agent.toml", RUNNER);
    let test = test.file("writer/system-prompt.md", "You run commands.\n");
    with(&test, server, &["run", "writer", "hi", "--yes"]).exits(0);
    test
}

/// Starts what the editor was asked to show in a terminal.
fn shown_in_terminal(asked: &Value) -> std::process::Child {
    let params = &asked["params"];
    let words = params["args"].as_array().expect("a list");
    let program = params["command"].as_str().expect("a program");
    let mut command = std::process::Command::new(program);
    command
        .args(words.iter().map(|it| it.as_str().expect("a word")))
        .env_clear()
        .stdout(std::process::Stdio::piped());
    command.spawn().expect("the program starts")
}

/// A terminal of the editor shows the output of a command, which runs in the sandbox all the same.
#[test]
fn a_terminal_of_the_editor_shows_a_command() {
    let command = "echo one; printf '\\033[2Jtwo\\n'; exit 3";
    let server = playing([
        Turn::call("bash", json!({"command": command})).into(),
        Turn::text("Done.").into(),
    ]);
    let test = agreed_runner(&server);
    let mut editor = able_editor(&test, &server);
    let session = opened(&mut editor, &test);
    let turn = prompt(&mut editor, &session, "run");
    let asked = editor.called("terminal/create");
    assert_eq!(asked["params"]["sessionId"], *session);
    let words = asked["params"].to_string();
    assert!(!words.contains("echo one"), "the editor runs no command of the agent: {words}");
    let terminal = shown_in_terminal(&asked);
    editor.reply(&asked, &json!({"terminalId": "t1"}));
    let asked = editor.called("terminal/wait_for_exit");
    let output = terminal.wait_with_output().expect("it ends");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.starts_with("one\n") && printed.contains("two\n"), "{printed}");
    assert!(!printed.contains('\u{1b}'), "{printed:?}");
    assert_eq!(output.status.code(), Some(1));
    editor.reply(&asked, &json!({"exitCode": 1}));
    let asked = editor.called("terminal/release");
    assert_eq!(asked["params"], json!({"sessionId": session, "terminalId": "t1"}));
    editor.reply(&asked, &json!(null));
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "end_turn");
    let shown = updates(&mut editor);
    let terminal = json!([{"type": "terminal", "terminalId": "t1"}]);
    let news = of_kind(&shown, "tool_call_update");
    let news: Vec<_> = news.iter().filter(|it| it["content"] == terminal).collect();
    assert!(news.iter().any(|it| it["status"] == "failed"), "{shown:#?}");
    assert!(news.len() >= 2, "it is shown while the command runs: {shown:#?}");
    editor.ends(0);
}

/// Who closes the terminal stops the command.
#[test]
fn a_closed_terminal_stops_the_turn() {
    let server = playing([
        Turn::call("bash", json!({"command": "echo begun; sleep 600"})).into(),
        Turn::text("Never.").into(),
    ]);
    let test = agreed_runner(&server);
    let mut editor = able_editor(&test, &server);
    let session = opened(&mut editor, &test);
    let turn = prompt(&mut editor, &session, "run");
    let asked = editor.called("terminal/create");
    let mut terminal = shown_in_terminal(&asked);
    editor.reply(&asked, &json!({"terminalId": "t1"}));
    let mut begun = [0; 6];
    std::io::Read::read_exact(terminal.stdout.as_mut().unwrap(), &mut begun).unwrap();
    assert_eq!(&begun, b"begun\n");
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    for method in ["terminal/wait_for_exit", "terminal/release"] {
        let asked = editor.called(method);
        editor.reply(&asked, &json!({}));
    }
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "cancelled");
    editor.ends(0);
}

/// An editor without these abilities, or one that fails, gets what it got before.
#[test]
fn a_failing_terminal_leaves_the_output_in_the_call() {
    let server = playing([
        Turn::call("bash", json!({"command": "echo one"})).into(),
        Turn::text("Done.").into(),
    ]);
    let test = agreed_runner(&server);
    let mut editor = able_editor(&test, &server);
    let session = opened(&mut editor, &test);
    let turn = prompt(&mut editor, &session, "run");
    let asked = editor.called("terminal/create");
    let error = json!({"code": -32603, "message": "no terminal"});
    editor.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "end_turn");
    let shown = serde_json::to_string(&updates(&mut editor)).unwrap();
    assert!(shown.contains("```\\none\\n```"), "{shown}");
    editor.ends(0);
}
