//! The routes: bodies, lists, answers, and the document that describes them.

use agentry_server::{HostCall, TokenScope};
use serde_json::{Value, json};

use crate::scripted_host::TestServer;

fn body_of(reply: &str) -> Value {
    let body = reply.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {reply}"))
}

#[test]
fn a_run_starts_with_the_request_body() {
    let server = TestServer::new();
    let (paired, token) = server.tokens.issue("test", TokenScope::Run).expect("a token");
    let body = json!({ "agent": "helper", "prompt": "go" });
    let (status, reply) =
        server.send_with("POST /v1/runs", &token, "Idempotency-Key: k1\r\n", Some(&body));
    assert_eq!((status, body_of(&reply)), (200, json!({ "id": "r1" })));
    let (agent, prompt) = ("helper".to_owned(), "go".to_owned());
    // The key of another token is another key.
    let key = Some(format!("{} k1", paired.id));
    let expected = HostCall::Start { agent, prompt, commit: None, key, waits: true };
    assert_eq!(*server.host.calls.lock().expect("no panic"), [expected]);
    let unknown = json!({ "agent": "unknown", "prompt": "go" });
    let (status, reply) = server.send("POST /v1/runs", &token, Some(&unknown));
    assert_eq!((status, body_of(&reply)["error"].as_str()), (409, Some("consent")));
}

#[test]
fn invalid_requests_are_refused_with_a_reason() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Admin);
    let cases = [
        ("POST /v1/runs", json!({ "agent": "helper" }), 400, "`prompt` is missing"),
        ("POST /v1/runs", json!({ "agent": 1, "prompt": "x" }), 400, "`agent` is missing, or"),
        (
            "POST /v1/runs",
            json!({ "agent": "a", "prompt": "x", "yes": true }),
            400,
            "no field `yes`",
        ),
        (
            "POST /v1/approvals/r1.c1",
            json!({ "answer": "sure" }),
            400,
            "one of yes, no, always, exact",
        ),
        ("POST /v1/runs/r2/cancel", json!({}), 404, "there is no `r2`"),
        ("GET /v1/runs/r2", Value::Null, 404, "there is no `r2`"),
        ("GET /v1/runs?limit=0", Value::Null, 400, "from 1 to 1000"),
        ("GET /v1/runs?limit=1001", Value::Null, 400, "from 1 to 1000"),
        ("GET /v1/runs?all=1", Value::Null, 400, "no parameter `all`"),
        ("GET /v1/nothing", Value::Null, 404, "no such path"),
        ("GET /page/nothing", Value::Null, 404, "no such page"),
    ];
    for (line, body, expected, message) in cases {
        let (status, reply) = server.send(line, &token, Some(&body));
        assert_eq!(status, expected, "{line} {body}: {reply}");
        assert!(reply.contains(message), "{line} {body}: {reply}");
    }
}

#[test]
fn a_paged_list_links_its_next_page() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Read);
    let (_, reply) = server.send("GET /v1/runs?limit=1", &token, None);
    assert!(reply.contains("link: </v1/runs?limit=1&before=r1>; rel=\"next\""), "{reply}");
    let (_, reply) = server.send("GET /v1/runs?limit=1&before=r1", &token, None);
    assert!(!reply.contains("link:"), "{reply}");
}

#[test]
fn an_approval_is_answered_once() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Approve);
    let answer = |word: &str| {
        let body = json!({ "answer": word });
        let (status, reply) = server.send("POST /v1/approvals/r1.c1", &token, Some(&body));
        (status, body_of(&reply)["answer"].as_str().map(str::to_owned))
    };
    assert_eq!(answer("yes"), (200, Some("yes".to_owned())));
    assert_eq!(answer("yes"), (200, Some("yes".to_owned())), "the same answer again");
    assert_eq!(answer("no"), (409, Some("yes".to_owned())), "another answer gets the first");
}

#[test]
fn metrics_show_the_counts_of_the_host() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Read);
    let (_, reply) = server.send("GET /metrics", &token, None);
    for line in
        ["agentry_runs{state=\"done\"} 3\n", "agentry_approvals 1\n", "agentry_event_streams 0\n"]
    {
        assert!(reply.contains(line), "{line}: {reply}");
    }
}

/// Every operation of the document exists, and needs the token that the document says.
#[test]
fn the_openapi_document_matches_the_server() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Admin);
    let (_, reply) = server.send("GET /openapi.json", &token, None);
    let document = body_of(&reply);
    let mut count = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            count += 1;
            let line = format!("{} {}", method.to_uppercase(), path.replace("{id}", "x"));
            // A wrong field shows that the route exists, and does nothing.
            let body = json!({ "no such field": 1 });
            let body = operation["requestBody"].is_object().then_some(&body);
            let expected =
                if operation["security"].is_null() { [200, 400].as_slice() } else { &[401] };
            let without = server.send(&line, "", body).0;
            assert!(expected.contains(&without), "{line} without a token: {without}");
            let with = server.send(&line, &token, body).0;
            assert!(![401, 403, 405].contains(&with), "{line} with a token: {with}");
            // Another method is refused, and the answer names those that there are.
            let (status, reply) =
                server.send(&line.replacen(&method.to_uppercase(), "PUT", 1), &token, None);
            assert_eq!(status, 405, "{line}: {reply}");
            let allowed =
                reply.lines().find_map(|it| it.strip_prefix("allow: ")).unwrap_or_default();
            assert!(allowed.split(", ").any(|it| it == method.to_uppercase()), "{line}: {reply}");
            let known = operation["responses"].as_object().expect("responses");
            let is_known = known.contains_key(&with.to_string());
            // The host of this test has a defect on purpose.
            assert!(is_known || with == 500, "{line}: {with} is not in the document");
        }
    }
    assert!(count > 20, "{count}");
}

/// The data of the events of a stream.
fn data(reply: &str) -> Vec<String> {
    reply.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect()
}

#[test]
fn agents_answer_as_chat_models() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Run);
    let turn = |text: &str, calls: u64| json!({ "type": "turn", "text": text, "calls": calls });
    let spent = json!({ "usage": { "input": 3, "output": 4 } });
    server.host.events.lock().expect("no panic").extend([turn("One.", 1), turn("Two.", 0)]);
    *server.host.ended.lock().expect("no panic") =
        Some(json!({ "type": "ended", "state": "done", "spent": spent }));
    let (_, reply) = server.send("GET /v1/models", &token, None);
    assert_eq!(body_of(&reply)["data"][0]["id"], "helper");
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let body = json!({ "model": "helper", "messages": messages, "temperature": 0 });
    let (status, reply) = server.send("POST /v1/chat/completions", &token, Some(&body));
    let answer = body_of(&reply);
    assert_eq!(
        (status, &answer["choices"][0]["message"]["content"]),
        (200, &json!("One.\n\nTwo."))
    );
    assert_eq!(
        answer["usage"],
        json!({ "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 })
    );
    let (agent, prompt) = ("helper".to_owned(), "hi".to_owned());
    let expected = HostCall::Start { agent, prompt, commit: None, key: None, waits: false };
    assert_eq!(
        server.host.calls.lock().expect("no panic").last(),
        Some(&expected),
        "it denies what asks"
    );
    let streamed = json!({ "model": "helper", "messages": messages, "stream": true });
    let (_, reply) = server.send("POST /v1/chat/completions", &token, Some(&streamed));
    let chunks = data(&reply);
    assert_eq!(chunks.last().map(String::as_str), Some("[DONE]"), "{reply}");
    let text: String = chunks
        .iter()
        .filter_map(|chunk| {
            let chunk: Value = serde_json::from_str(chunk).ok()?;
            Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned())
        })
        .collect();
    assert_eq!(text, "One.\n\nTwo.");
    let body = json!({ "model": "helper", "input": "hi", "stream": true });
    let (_, reply) = server.send("POST /v1/responses", &token, Some(&body));
    let last: Value = serde_json::from_str(data(&reply).last().expect("an event")).expect("JSON");
    assert_eq!(last["type"], "response.completed", "{reply}");
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], "One.\n\nTwo.");
    let refused = json!({ "model": "unknown", "messages": messages });
    let (status, reply) = server.send("POST /v1/chat/completions", &token, Some(&refused));
    assert_eq!(
        (status, body_of(&reply)["error"]["code"].as_str()),
        (409, Some("consent")),
        "{reply}"
    );
    let tools = json!({ "model": "helper", "messages": messages, "tools": [] });
    let (status, reply) = server.send("POST /v1/chat/completions", &token, Some(&tools));
    assert!(status == 400 && reply.contains("no field `tools`"), "{reply}");
}
