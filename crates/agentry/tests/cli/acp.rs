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

pub(crate) fn opened(editor: &mut RpcClient, test: &Test) -> String {
    let session = editor.result("session/new", &place(test));
    session["sessionId"].as_str().expect("an id").to_owned()
}

pub(crate) fn prompt(editor: &mut RpcClient, session: &str, text: &str) -> u64 {
    let blocks = json!([{"type": "text", "text": text}]);
    editor.request("session/prompt", &json!({"sessionId": session, "prompt": blocks}))
}

pub(crate) fn choose(editor: &mut RpcClient, asked: &Value, option: &str) {
    editor.reply(asked, &json!({"outcome": {"outcome": "selected", "optionId": option}}));
}

/// The updates that were seen since the last call.
pub(crate) fn updates(editor: &mut RpcClient) -> Vec<Value> {
    editor.seen.drain(..).map(|it| it["params"]["update"].clone()).collect()
}

pub(crate) fn of_kind<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
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
