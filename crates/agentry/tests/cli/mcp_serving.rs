//! `agentry mcp`: other programs call agents as tools, in both eras of the protocol, and cannot widen what
//! they may do.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::acp::{consented, playing};
use crate::rpc_client::RpcClient;
use crate::run::{WRITER, keyed, with, write, writer};
use crate::server::{Reply, Server, Turn};
use crate::test::Test;

const COUNTER: &str = "name: counter\nversion: 1.0.0\ndescription: Counts\nsoul: You count.\n\
    trust: {filesystem: none, network: none, exec: none}\n\
    expose:\n  - name: count\n    description: Counts words\n    input: {text: str}\n    output: int\n";

/// A client of one era.
struct Caller {
    client: RpcClient,
    is_stateless: bool,
    can_ask: bool,
}

impl Caller {
    fn start(test: &Test, server: &Server, (is_stateless, can_ask): (bool, bool)) -> Self {
        Self::of(keyed(test, server, &["mcp", "writer"]), (is_stateless, can_ask))
    }

    fn of(command: std::process::Command, (is_stateless, can_ask): (bool, bool)) -> Self {
        let mut caller = Self { client: RpcClient::start(command), is_stateless, can_ask };
        if is_stateless {
            let found = caller.result("server/discover", json!({}));
            assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
        } else {
            let capabilities = caller.capabilities();
            let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"}});
            let found = caller.client.result("initialize", &params);
            assert_eq!(found["protocolVersion"], "2025-11-25");
            caller.client.notify("notifications/initialized", &json!({}));
        }
        caller
    }

    fn capabilities(&self) -> Value {
        if self.can_ask { json!({"elicitation": {"form": {}}}) } else { json!({}) }
    }

    fn completed(&self, mut params: Value) -> Value {
        params["_meta"] = json!({"progressToken": "p"});
        if self.is_stateless {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities();
        }
        params
    }

    #[track_caller]
    fn result(&mut self, method: &str, params: Value) -> Value {
        let params = self.completed(params);
        self.client.result(method, &params)
    }

    fn request(&mut self, params: Value) -> u64 {
        let params = self.completed(params);
        self.client.request("tools/call", &params)
    }

    #[track_caller]
    fn call(&mut self, arguments: &Value) -> Value {
        self.result("tools/call", json!({"name": "writer", "arguments": arguments}))
    }

    /// Calls, and answers the one question of the call with `answer`. Returns the question and the result.
    #[track_caller]
    fn call_and_answer(&mut self, arguments: &Value, answer: &Value) -> (Value, Value) {
        let params = json!({"name": "writer", "arguments": arguments});
        if self.is_stateless {
            let first = self.result("tools/call", params.clone());
            assert_eq!(first["resultType"], "input_required", "{first}");
            let mut again = params;
            again["requestState"] = first["requestState"].clone();
            again["inputResponses"] = json!({"approval": answer});
            let asked = first["inputRequests"]["approval"]["params"].clone();
            return (asked, self.result("tools/call", again));
        }
        let id = self.request(params);
        let asked = self.client.called("elicitation/create");
        self.client.reply(&asked, answer);
        (asked["params"].clone(), self.client.answer(id)["result"].clone())
    }
}

#[test]
fn an_agent_is_called_and_continued_in_both_eras() {
    for is_stateless in [false, true] {
        let server = playing([
            write("out.txt").into(),
            write("a.txt").into(),
            Turn::text("All done.").into(),
            Turn::text("Gladly.").into(),
        ]);
        let test = consented(&server);
        let mut caller = Caller::start(&test, &server, (is_stateless, true));
        let listed = caller.result("tools/list", json!({}));
        assert_eq!(listed["tools"][0]["name"], "writer", "{listed}");
        assert_eq!(listed["tools"][0]["description"], "Writes files");
        let yes = json!({"action": "accept", "content": {"answer": "yes"}});
        let (asked, done) = caller.call_and_answer(&json!({"prompt": "write"}), &yes);
        let message = asked["message"].as_str().unwrap();
        for part in [
            "may `write` run?\n{\"path\":\"a.txt\",\"content\":\"hello\\n\"}",
            "+hello",
            "writer/agent.toml:",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert_eq!(
            asked["requestedSchema"]["properties"]["answer"]["enum"],
            json!(["yes", "no", "always", "exact"])
        );
        assert_eq!(done["content"][0]["text"], "All done.", "{done}");
        assert_eq!(
            (&done["isError"], &done["structuredContent"]["state"]),
            (&json!(false), &json!("done"))
        );
        assert!(test.has("a.txt"));
        let progress_texts: Vec<_> = caller
            .client
            .seen
            .drain(..)
            .filter(|it| it["method"] == "notifications/progress")
            .map(|it| it["params"].clone())
            .collect();
        assert!(
            progress_texts
                .iter()
                .any(|it| it["message"].as_str().unwrap().starts_with("write path=out.txt")),
            "{progress_texts:?}"
        );
        assert!(progress_texts.iter().all(|it| it["progressToken"] == "p"), "{progress_texts:?}");
        let run = &done["structuredContent"]["run"];
        let second = caller.call(&json!({"prompt": "thank you", "run": run}));
        assert_eq!(
            (&second["content"][0]["text"], &second["structuredContent"]["run"]),
            (&json!("Gladly."), run)
        );
        assert_eq!(server.asked().last().expect("a request").user_texts, ["write", "thank you"]);
        caller.client.ends(0);
    }
}

/// Without a user `ask` is denied, and the result says so.
#[test]
fn a_client_that_cannot_ask_is_denied() {
    for is_stateless in [false, true] {
        let server = playing([write("a.txt").into(), Turn::text("No.").into()]);
        let test = consented(&server);
        let mut caller = Caller::start(&test, &server, (is_stateless, false));
        let done = caller.call(&json!({"prompt": "write"}));
        let reply_text = done["content"][0]["text"].as_str().unwrap();
        assert!(
            reply_text
                .contains("[denied, because this client cannot ask its user: write path=a.txt"),
            "{reply_text}"
        );
        assert!(!test.has("a.txt"));
        let results = server.asked().last().expect("a request").results.clone();
        assert!(results[0].1.contains("the client cannot ask its user"), "{results:?}");
        caller.client.ends(0);
    }
}

/// Only a word that was offered allows anything; no answer parks the run, which can go on later.
#[test]
fn only_offered_answers_approve_others_park() {
    let cases = [
        (json!({"action": "decline"}), "done"),
        (json!({"action": "accept"}), "done"),
        (json!({"action": "accept", "content": {"answer": "YES!"}}), "done"),
        (json!({"action": "cancel"}), "parked"),
        (json!("yes"), "parked"),
    ];
    for is_stateless in [false, true] {
        for (answer, state) in &cases {
            let server = playing([
                write("a.txt").into(),
                Turn::text("No.").into(),
                Turn::text("Later.").into(),
            ]);
            let test = consented(&server);
            let mut caller = Caller::start(&test, &server, (is_stateless, true));
            let (_, done) = caller.call_and_answer(&json!({"prompt": "write"}), answer);
            assert_eq!(done["structuredContent"]["state"], *state, "{answer}: {done}");
            assert!(!test.has("a.txt"), "{answer}");
            if *state == "parked" {
                let again = json!({"prompt": "and now", "run": done["structuredContent"]["run"]});
                let yes = json!({"action": "accept", "content": {"answer": "yes"}});
                let (_, done) = caller.call_and_answer(&again, &yes);
                assert_eq!(done["structuredContent"]["state"], "done", "{done}");
                assert!(test.has("a.txt"));
                assert_eq!(
                    server.asked().last().expect("a request").user_texts,
                    ["write", "and now"]
                );
            }
            caller.client.ends(0);
        }
    }
}

/// The state of a question counts once, for its own call, and cannot be guessed.
#[test]
fn a_question_state_is_accepted_only_once() {
    let server = playing([write("a.txt").into(), Turn::text("Done.").into()]);
    let test = consented(&server);
    let mut caller = Caller::start(&test, &server, (true, true));
    let params = json!({"name": "writer", "arguments": {"prompt": "write"}});
    let first = caller.result("tools/call", params.clone());
    let state = first["requestState"].clone();
    let retried = |state: &Value, prompt: &str| {
        json!({"name": "writer", "arguments": {"prompt": prompt}, "requestState": state,
            "inputResponses": {"approval": {"action": "accept", "content": {"answer": "yes"}}}})
    };
    for (state, prompt) in
        [(&json!("0".repeat(32)), "write"), (&json!(1), "write"), (&state, "something else")]
    {
        let params = caller.completed(retried(state, prompt));
        let error = caller.client.error("tools/call", &params);
        assert!(error.contains("`requestState` is not that of a call that waits"), "{error}");
        assert!(!test.has("a.txt"));
    }
    let done = caller.result("tools/call", retried(&state, "write"));
    assert_eq!(done["structuredContent"]["state"], "done");
    let params = caller.completed(retried(&state, "write"));
    assert!(
        caller.client.error("tools/call", &params).contains("it was answered"),
        "a second time"
    );
    assert_eq!(server.count(), 3, "no call was begun twice");
    caller.client.ends(0);
}

#[test]
fn a_cancelled_call_stops_its_run() {
    for is_stateless in [false, true] {
        let server = Server::answering(|asked| match asked.user_texts.last().map(String::as_str) {
            Some("think") => Reply::Silent,
            _ => Turn::text("Back.").into(),
        });
        let test = consented(&server);
        let mut caller = Caller::start(&test, &server, (is_stateless, true));
        let id = caller.request(json!({"name": "writer", "arguments": {"prompt": "think"}}));
        let began = caller.client.called("notifications/progress");
        let run =
            began["params"]["message"].as_str().unwrap().split(' ').nth(1).unwrap().to_owned();
        caller
            .client
            .notify("notifications/cancelled", &json!({"requestId": id, "reason": "enough"}));
        let done = caller.call(&json!({"prompt": "hello"}));
        assert_eq!(done["content"][0]["text"], "Back.");
        let seen = caller.client.ends(0);
        assert!(!seen.iter().any(|it| it["id"] == id), "a cancelled request has no answer");
        let runs = test.run("runs --format json").json();
        let run = runs.as_array().unwrap().iter().find(|it| it["id"] == *run);
        assert_eq!(run.expect("the run")["state"], "cancelled");
    }
}

#[test]
fn a_client_that_leaves_parks_the_run() {
    for is_stateless in [false, true] {
        let server = playing([write("a.txt").into()]);
        let test = consented(&server);
        let mut caller = Caller::start(&test, &server, (is_stateless, true));
        if is_stateless {
            caller.call(&json!({"prompt": "write"}));
        } else {
            caller.request(json!({"name": "writer", "arguments": {"prompt": "write"}}));
            caller.client.called("elicitation/create");
        }
        caller.client.ends(0);
        let runs = test.run("runs --format json").json();
        assert_eq!(runs[0]["state"], "parked", "stateless: {is_stateless}: {runs}");
        assert!(!test.has("a.txt"));
    }
}

#[test]
fn functions_are_typed_tools() {
    let server = playing([Turn::call("result", json!({"result": 3})).into()]);
    let test = Test::new().file("counter.agent", COUNTER);
    with(&test, &server, &["run", "counter.agent", "hi", "--yes"]).exits(0);
    let mut caller = Caller::of(keyed(&test, &server, &["mcp", "counter.agent"]), (true, true));
    let listed = caller.result("tools/list", json!({}));
    assert_eq!(listed["tools"][1]["name"], "counter__count", "{listed}");
    assert_eq!(listed["tools"][1]["inputSchema"]["required"], json!(["text"]));
    assert_eq!(listed["tools"][1]["outputSchema"]["properties"]["result"]["type"], "integer");
    let call = |arguments: Value| json!({"name": "counter__count", "arguments": arguments});
    let wrong = caller.result("tools/call", call(json!({"words": 1})));
    assert!(
        wrong["content"][0]["text"].as_str().unwrap().starts_with("the input does not fit: "),
        "{wrong}"
    );
    assert_eq!(wrong["isError"], true);
    let done = caller.result("tools/call", call(json!({"text": "a b c"})));
    assert_eq!(
        (&done["structuredContent"]["result"], &done["content"][0]["text"]),
        (&json!(3), &json!("3")),
        "{done}"
    );
    // A function is over with its output; a message to its run would be lost.
    let again = json!({"prompt": "more", "run": done["structuredContent"]["run"]});
    let again = caller.result("tools/call", json!({"name": "counter", "arguments": again}));
    let reply_text = again["content"][0]["text"].as_str().unwrap();
    assert!(reply_text.contains("carries out a function, and takes no message"), "{reply_text}");
    caller.client.ends(0);
}

#[test]
fn a_client_cannot_consent_or_widen() {
    let server = Server::playing([]);
    let test = writer()
        .file("other/agent.toml", WRITER.replace("writer", "other"))
        .file("other/system-prompt.md", "You write files.\n");
    let mut caller = Caller::start(&test, &server, (false, true));
    let done = caller.call(&json!({"prompt": "write"}));
    let reply_text = done["content"][0]["text"].as_str().unwrap();
    assert!(
        reply_text.contains("there is no consent")
            && reply_text.contains("run `agentry run writer` in a terminal"),
        "{reply_text}"
    );
    assert_eq!(done["isError"], true);
    for (arguments, expected) in [
        (json!({"prompt": "--yes"}), "there is no consent"),
        (json!({"prompt": "x", "yes": true}), "there is no argument `yes`"),
        (json!({"prompt": "x", "agent": "other"}), "there is no argument `agent`"),
        (json!({"prompt": " "}), "`prompt` is missing"),
        (json!({"prompt": "x", "run": "last"}), "has no run `last`"),
        (json!({"prompt": "x", "run": "--yes"}), "has no run `--yes`"),
        (json!({"prompt": "x", "run": 1}), "`run` is no text"),
        (json!({"prompt": "x".repeat(200_000)}), "more than 100 KiB"),
    ] {
        let done = caller.call(&arguments);
        let reply_text = done["content"][0]["text"].as_str().unwrap();
        assert!(
            reply_text.contains(expected) && done["isError"] == true,
            "{expected}: {reply_text}"
        );
    }
    assert_eq!(server.count(), 0);
    assert_eq!(test.run("consent list --format json").json(), json!([]));
    // Runs of another agent, and without the sandbox, are not continued.
    with(&test, &server, &["run", "other", "hi", "--yes"]).exits(0);
    with(&test, &server, &["run", "writer", "hi", "--yes", "--unconfined"]).exits(0);
    let runs = test.run("runs --format json").json();
    for (at, expected) in [(0, "has no run"), (1, "was begun with `--unconfined`")] {
        let done = caller.call(&json!({"prompt": "x", "run": runs[at]["id"]}));
        let reply_text = done["content"][0]["text"].as_str().unwrap();
        assert!(reply_text.contains(expected), "{reply_text}");
    }
    let error = caller.client.error("tools/call", &json!({"name": "other", "arguments": {}}));
    assert_eq!(error, "there is no tool `other`");
    caller.client.ends(0);
}

#[test]
fn tools_are_introduced_under_unique_names() {
    let server = Server::playing([]);
    let test = writer()
        .file("other/agent.toml", WRITER)
        .file("other/system-prompt.md", "You write files.\n");
    let mut client = RpcClient::start(keyed(&test, &server, &["mcp", "writer"]));
    assert!(client.error("tools/list", &json!({})).contains("`initialize` was not called"));
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}});
    let id = client.request("tools/list", &meta);
    let answer = client.answer(id);
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert_eq!(answer["error"]["data"]["supported"], json!(["2026-07-28"]));
    for (asked, expected) in [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")] {
        let found =
            client.result("initialize", &json!({"protocolVersion": asked, "capabilities": {}}));
        assert_eq!(found["protocolVersion"], expected);
    }
    assert_eq!(client.result("ping", &json!({})), json!({}));
    client.ends(0);
    let ran = test.run("mcp writer other").exits(2);
    assert!(ran.stderr.contains("`other` and `writer` would both be the tool `writer`"), "{ran}");
}
