//! `agentry acp`: an editor drives an agent, and cannot widen what it may do.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::rpc_client::RpcClient;
use crate::run::{keyed, with, write, writer};
use crate::server::{Reply, Server, Turn};
use crate::test::Test;

/// A server that first answers the run by which the user consents.
pub(crate) fn playing(replies: impl IntoIterator<Item = Reply>) -> Server {
    Server::playing([Turn::text("Hello.").into()].into_iter().chain(replies))
}

/// The writer, to which the user agreed.
pub(crate) fn consented(server: &Server) -> Test {
    let test = writer();
    with(&test, server, &["run", "writer", "hi", "--yes"]).exits(0);
    test
}

/// An editor that is introduced.
fn editor(test: &Test, server: &Server) -> RpcClient {
    let mut editor = RpcClient::start(keyed(test, server, &["acp", "writer"]));
    let about =
        editor.result("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
    assert_eq!(
        (&about["protocolVersion"], &about["agentCapabilities"]["loadSession"]),
        (&json!(1), &json!(true))
    );
    editor
}

fn place(test: &Test) -> Value {
    json!({"cwd": test.path(""), "mcpServers": []})
}

fn opened(editor: &mut RpcClient, test: &Test) -> String {
    let session = editor.result("session/new", &place(test));
    session["sessionId"].as_str().expect("an id").to_owned()
}

fn prompt(editor: &mut RpcClient, session: &str, text: &str) -> u64 {
    let blocks = json!([{"type": "text", "text": text}]);
    editor.request("session/prompt", &json!({"sessionId": session, "prompt": blocks}))
}

fn choose(editor: &mut RpcClient, asked: &Value, option: &str) {
    editor.reply(asked, &json!({"outcome": {"outcome": "selected", "optionId": option}}));
}

/// The updates that were seen since the last call.
fn updates(editor: &mut RpcClient) -> Vec<Value> {
    editor.seen.drain(..).map(|it| it["params"]["update"].clone()).collect()
}

fn of_kind<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
    updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
}

#[test]
fn an_editor_drives_an_agent_and_approves() {
    let server = playing([
        write("out.txt").into(),
        write("a.txt").into(),
        write("b.txt").into(),
        write("secret/c.txt").into(),
        write("a.txt").into(),
        Turn::text("All done.").into(),
        Turn::text("Gladly.").into(),
    ]);
    let test = consented(&server);
    let mut editor = editor(&test, &server);
    let session = opened(&mut editor, &test);
    let turn = prompt(&mut editor, &session, "write");
    let asked = editor.called("session/request_permission");
    let call = &asked["params"]["toolCall"];
    assert_eq!(asked["params"]["sessionId"], *session);
    assert_eq!(call["rawInput"], json!({"path": "a.txt", "content": "hello\n"}), "the exact call");
    let path = std::fs::canonicalize(test.path("")).unwrap().join("a.txt");
    let diff = json!({"type": "diff", "path": path, "oldText": null, "newText": "hello\n"});
    assert_eq!((&call["kind"], &call["content"][0]), (&json!("edit"), &diff), "{call}");
    let shown = call["content"].to_string();
    assert!(shown.contains("writer/agent.toml:"), "the rule with its line: {shown}");
    let options: Vec<_> = asked["params"]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["optionId"].as_str().unwrap(), it["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(
        options,
        [
            ("yes", "allow_once"),
            ("no", "reject_once"),
            ("always", "allow_always"),
            ("exact", "allow_always")
        ]
    );
    choose(&mut editor, &asked, "exact");
    let asked = editor.called("session/request_permission");
    choose(&mut editor, &asked, "no");
    let answer = editor.answer(turn);
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    assert!(test.has("out.txt") && test.has("a.txt") && !test.has("b.txt") && !test.has("secret"));
    let shown = updates(&mut editor);
    let calls: Vec<_> = of_kind(&shown, "tool_call")
        .iter()
        .map(|it| it["title"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(calls.len(), 5, "{calls:?}");
    assert!(calls[0].starts_with("write path=out.txt"), "{calls:?}");
    let ended: Vec<_> = of_kind(&shown, "tool_call_update")
        .iter()
        .filter_map(|it| it["status"].as_str())
        .filter(|it| *it != "in_progress")
        .map(str::to_owned)
        .collect();
    assert_eq!(ended.iter().filter(|it| *it == "completed").count(), 3, "{shown:#?}");
    assert!(
        shown.iter().any(|it| it["content"]["text"]
            == "denied: edit `secret/c.txt`: secret/**:deny (permissions)")
            || shown.iter().any(|it| it.to_string().contains("denied: ")),
        "{shown:#?}"
    );
    let shown_text: String = of_kind(&shown, "agent_message_chunk")
        .iter()
        .filter_map(|it| it["content"]["text"].as_str())
        .collect();
    assert_eq!(shown_text, "All done.");
    // The same run takes the next message.
    let turn = prompt(&mut editor, &session, "thank you");
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "end_turn");
    assert_eq!(server.asked().last().expect("a request").user_texts, ["write", "thank you"]);
    editor.ends(0);
    let runs = test.run("runs --format json").json();
    let run = runs.as_array().unwrap().iter().find(|run| run["id"] == *session);
    assert_eq!(run.expect("the session is a run")["state"], "done");
}

#[test]
fn a_turn_is_cancelled_and_the_session_goes_on() {
    // By what was said: a turn that is cancelled at once may not reach the model.
    let server = Server::answering(|asked| match asked.user_texts.last().map(String::as_str) {
        Some("think") => Reply::Silent,
        Some("write") => write("a.txt").into(),
        _ => Turn::text("Here.").into(),
    });
    let test = consented(&server);
    let mut editor = editor(&test, &server);
    let session = opened(&mut editor, &test);
    let turn = prompt(&mut editor, &session, "think");
    // The cancellation comes right after the prompt: it must not be lost.
    editor.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "cancelled");
    let second = prompt(&mut editor, &session, "write");
    let error = editor.error(
        "session/prompt",
        &json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}),
    );
    assert_eq!(error, "a turn of this session is under way");
    let asked = editor.called("session/request_permission");
    editor.notify("session/cancel", &json!({"sessionId": session}));
    editor.reply(&asked, &json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(editor.answer(second)["result"]["stopReason"], "cancelled");
    assert!(!test.has("a.txt"));
    let third = prompt(&mut editor, &session, "still there?");
    assert_eq!(editor.answer(third)["result"]["stopReason"], "end_turn");
    editor.ends(0);
}

/// Closing parks the run; loading shows it and asks again.
#[test]
fn a_closed_session_is_parked_and_loaded_again() {
    let server =
        playing([write("a.txt").into(), Turn::text("Written.").into(), Turn::text("Yes.").into()]);
    let test = consented(&server);
    let mut first = editor(&test, &server);
    let session = opened(&mut first, &test);
    let turn = prompt(&mut first, &session, "write");
    first.called("session/request_permission");
    first.result("session/close", &json!({"sessionId": session}));
    let state = |test: &Test| {
        let runs = test.run("runs --format json").json();
        let run = runs.as_array().unwrap().iter().find(|run| run["id"] == *session).cloned();
        run.expect("the run")["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(&test), "parked");
    let _ = turn;
    assert!(
        first
            .error(
                "session/prompt",
                &json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]})
            )
            .contains("no open session")
    );
    first.ends(0);

    let mut second = editor(&test, &server);
    let listed = second.result("session/list", &json!({}));
    assert_eq!(listed["sessions"][0]["sessionId"], *session, "{listed}");
    let mut at = place(&test);
    at["sessionId"] = json!(session);
    second.result("session/load", &at);
    let shown = updates(&mut second);
    assert_eq!(of_kind(&shown, "user_message_chunk")[0]["content"]["text"], "write");
    assert_eq!(of_kind(&shown, "tool_call").len(), 1, "{shown:#?}");
    let turn = prompt(&mut second, &session, "is it there?");
    let asked = second.called("session/request_permission");
    choose(&mut second, &asked, "yes");
    assert_eq!(second.answer(turn)["result"]["stopReason"], "end_turn");
    assert!(test.has("a.txt"));
    assert_eq!(server.asked().last().expect("a request").user_texts, ["write", "is it there?"]);
    // `resume` shows nothing of the past.
    second.seen.clear();
    second.result("session/resume", &at);
    assert_eq!(updates(&mut second), Vec::<Value>::new());
    second.ends(0);
}

/// An editor that is closed with an open question parks the run, too.
#[test]
fn an_editor_that_leaves_parks_the_run() {
    for is_killed in [false, true] {
        let server = playing([write("a.txt").into()]);
        let test = consented(&server);
        let mut editor = editor(&test, &server);
        let session = opened(&mut editor, &test);
        prompt(&mut editor, &session, "write");
        editor.called("session/request_permission");
        if is_killed {
            let pid = rustix::process::Pid::from_raw(i32::try_from(editor.pid()).unwrap());
            rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::TERM).unwrap();
        }
        editor.ends(if is_killed { 130 } else { 0 });
        let runs = test.run("runs --format json").json();
        let run = runs.as_array().unwrap().iter().find(|run| run["id"] == *session);
        assert_eq!(run.expect("the run")["state"], "parked", "killed: {is_killed}");
        assert!(!test.has("a.txt"));
    }
}

#[test]
fn an_editor_cannot_give_consent() {
    let server = Server::playing([]);
    let test = writer();
    let mut editor = editor(&test, &server);
    let hint =
        "run `agentry run writer` in a terminal: it lists what the agent may do and asks you";
    let places = [
        place(&test),
        json!({"cwd": test.path(""), "mcpServers": [], "_meta": {"yes": true, "consent": true, "--yes": true}, "yes": true}),
    ];
    for place in places {
        let error = editor.error("session/new", &place);
        assert!(error.contains("there is no consent") && error.ends_with(hint), "{error}");
    }
    let error = editor.error("authenticate", &json!({"methodId": "consent"}));
    assert_eq!(error, "there is nothing to log in to");
    editor.ends(0);
    assert_eq!(server.count(), 0);
    assert_eq!(test.run("consent list --format json").json(), json!([]));
}

/// What the editor brings never widens what the agent may do.
#[test]
fn directories_and_servers_of_the_editor_are_not_used() {
    let server =
        playing([Turn::call("bash", json!({"command": "ls"})).into(), Turn::text("No.").into()]);
    let outside = Test::new();
    let test = consented(&server).link("way-out", &outside.path("").display().to_string());
    let mut editor = editor(&test, &server);
    let at = |path: &str| json!({"cwd": path, "mcpServers": []});
    for (path, expected) in [
        (outside.path("").display().to_string(), "is outside"),
        ("/".to_owned(), "is outside"),
        (test.path("way-out").display().to_string(), "is outside"),
        (test.path("writer/../..").display().to_string(), "is outside"),
        ("writer".to_owned(), "no absolute path"),
        (test.path("missing").display().to_string(), "no such file"),
    ] {
        let error = editor.error("session/new", &at(&path));
        assert!(error.contains(expected), "{path}: {error}");
    }
    let made = test.path("made-by-the-server");
    let place = json!({"cwd": test.path("writer"), "additionalDirectories": ["/etc"], "mcpServers": [
        {"name": "helper", "command": "/usr/bin/touch", "args": [made], "env": []}]});
    let session = editor.result("session/new", &place)["sessionId"].as_str().unwrap().to_owned();
    let turn = prompt(&mut editor, &session, "go");
    assert_eq!(editor.answer(turn)["result"]["stopReason"], "end_turn");
    let shown = updates(&mut editor);
    let remarks = of_kind(&shown, "agent_thought_chunk");
    assert!(
        remarks[0].to_string().contains("The MCP servers of the editor are not used (`helper`)"),
        "{remarks:?}"
    );
    assert!(remarks[1].to_string().contains("further directories"), "{remarks:?}");
    assert!(!made.exists());
    let asked = server.asked();
    let last = asked.last().expect("a request");
    assert!(
        !last.tools.iter().any(|tool| tool.contains("helper") || tool == "bash"),
        "{:?}",
        last.tools
    );
    editor.ends(0);
}

/// An editor goes on only with runs that it could have begun itself.
#[test]
fn other_runs_cannot_be_loaded_as_sessions() {
    let server = Server::playing([]);
    let test = writer()
        .file("other/agent.toml", crate::run::WRITER.replace("writer", "other"))
        .file("other/system-prompt.md", "You write files.\n");
    with(&test, &server, &["run", "writer", "hi", "--yes"]).exits(0);
    with(&test, &server, &["run", "writer", "hi", "--yes", "--unconfined"]).exits(0);
    with(&test, &server, &["run", "other", "hi", "--yes"]).exits(0);
    let mut of_another_user = keyed(&test, &server, &["run", "writer", "hi"]);
    assert!(
        of_another_user.env("AGENTRY_USER", "somebody").output().expect("it runs").status.success()
    );
    let runs = test.run("runs --format json").json();
    let id = |at: usize| runs[at]["id"].as_str().unwrap().to_owned();
    let (own, unconfined, other, of_another_user) = (id(0), id(1), id(2), id(3));
    let mut editor = editor(&test, &server);
    let listed = editor.result("session/list", &json!({}));
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    let part = own[..own.len() - 2].to_owned();
    for (session, expected) in [
        (unconfined, "was begun with `--unconfined`"),
        (other.clone(), "has no run"),
        (of_another_user, "has no run"),
        (part, "has no run"),
        ("last".to_owned(), "has no run"),
        (format!("../runs/{other}"), "has no run"),
        ("--yes".to_owned(), "has no run"),
    ] {
        let mut at = place(&test);
        at["sessionId"] = json!(session);
        for method in ["session/load", "session/resume"] {
            let error = editor.error(method, &at);
            assert!(error.contains(expected), "{session}: {error}");
        }
    }
    editor.ends(0);
}

#[test]
fn malformed_requests_get_an_error() {
    let server = Server::playing([]);
    let test = writer();
    let mut editor = RpcClient::start(keyed(&test, &server, &["acp", "writer"]));
    assert_eq!(
        editor.error("session/new", &place(&test)),
        "`session/new` was called before `initialize`"
    );
    editor.result("initialize", &json!({"protocolVersion": 9}));
    assert_eq!(
        editor.error("session/set_mode", &json!({})),
        "there is no method `session/set_mode`"
    );
    assert_eq!(editor.error("session/new", &json!({})), "`cwd` is missing");
    assert_eq!(
        editor.error(
            "session/prompt",
            &json!({"sessionId": "x", "prompt": [{"type": "text", "text": "a"}]})
        ),
        "there is no open session `x`"
    );
    editor.send(&json!(["no message"]));
    assert_eq!(editor.waits("an error", |it| it["id"].is_null())["error"]["code"], -32600);
    editor.ends(0);
    let ran = test.run("acp nowhere").exits(2);
    assert!(ran.stderr.contains("`nowhere` does not exist"), "{ran}");
}

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

/// Starts what the editor was asked to show in a terminal.
fn shown_in_terminal(asked: &Value) -> std::process::Child {
    let params = &asked["params"];
    let arguments = params["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    let mut command = std::process::Command::new(params["command"].as_str().unwrap());
    command.args(arguments).env_clear().stdout(std::process::Stdio::piped());
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
    let test = Test::new().file("writer/agent.toml", RUNNER);
    let test = test.file("writer/system-prompt.md", "You run commands.\n");
    with(&test, &server, &["run", "writer", "hi", "--yes"]).exits(0);
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
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("one\n") && text.contains("two\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
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
    let test = Test::new().file("writer/agent.toml", RUNNER);
    let test = test.file("writer/system-prompt.md", "You run commands.\n");
    with(&test, &server, &["run", "writer", "hi", "--yes"]).exits(0);
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
    let test = Test::new().file("writer/agent.toml", RUNNER);
    let test = test.file("writer/system-prompt.md", "You run commands.\n");
    with(&test, &server, &["run", "writer", "hi", "--yes"]).exits(0);
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
