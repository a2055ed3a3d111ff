//! `/mcp` as clients of both eras see it, byte by byte; `agentry mcp` and the official clients test the calls.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use agentry_mcp::ElicitationAnswer;
use agentry_mcp::serving::{CallResult, CallerPort, ServedTool, ServedTools};
use agentry_rpc::{RpcError, RpcFuture};
use agentry_server::TokenScope;
use serde_json::{Map, Value, json};

use crate::scripted_host::{LIMIT, TestServer};

/// One tool: it reports progress, asks if it can, and returns the answer. `wait` waits for the end of its caller.
pub(crate) struct ScriptedTools;

impl ServedTools for ScriptedTools {
    fn tools(&self) -> Vec<ServedTool> {
        let (input, output) = (json!({"type": "object"}), json!({"type": "object"}));
        let description = "Asks".to_owned();
        vec![ServedTool { name: "ask".to_owned(), description, input, output }]
    }

    fn call(
        &self,
        _tool: &str,
        arguments: Map<String, Value>,
        caller: CallerPort,
    ) -> RpcFuture<Result<CallResult, RpcError>> {
        Box::pin(async move {
            caller.progress("begun").await;
            if arguments.contains_key("wait") {
                caller.gone().await;
                return Ok(CallResult::failure("gone"));
            }
            let fields = [("answer".to_owned(), json!({"type": "string"}))].into_iter().collect();
            let answer = if caller.can_ask {
                caller.ask("may it?".to_owned(), fields).await
            } else {
                ElicitationAnswer::Decline
            };
            let text = match answer {
                ElicitationAnswer::Accept(content) => content["answer"].to_string(),
                ElicitationAnswer::Decline => "denied".to_owned(),
                ElicitationAnswer::Cancel => "no answer".to_owned(),
            };
            Ok(CallResult { text, structured: json!({"run": "r1"}), failed: false })
        })
    }

    fn close(&self) -> RpcFuture<()> {
        Box::pin(async {})
    }
}

const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";

/// A client with a token.
struct HttpClient<'a> {
    server: &'a TestServer,
    token: String,
    session: Option<String>,
}

impl<'a> HttpClient<'a> {
    fn new(server: &'a TestServer, scope: TokenScope) -> Self {
        Self { server, token: server.token(scope), session: None }
    }

    /// A client of the older era that can ask its user.
    fn begun(server: &'a TestServer, scope: TokenScope) -> Self {
        let mut client = Self::new(server, scope);
        let (status, reply) = client.post("", &initialize());
        assert_eq!(status, 200, "{reply}");
        let session = reply.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        client.session = Some(session.expect("a session").to_owned());
        client
    }

    fn headers(&self, more: &str) -> String {
        let session = self.session.as_ref();
        let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
        format!("{ACCEPT}{session}{more}")
    }

    fn post(&self, more: &str, message: &Value) -> (u16, String) {
        self.server.send_with("POST /mcp", &self.token, &self.headers(more), Some(message))
    }

    /// Posts a request that is answered with a stream, which is read message by message.
    fn stream(&self, more: &str, message: &Value) -> MessageReader {
        let mut stream = TcpStream::connect(self.server.address).expect("a server");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        let body = message.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{}Content-Type: \
             application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.server.address,
            self.token,
            self.headers(more),
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("a connection");
        MessageReader(BufReader::new(stream))
    }
}

/// Reads the messages of a stream.
struct MessageReader(BufReader<TcpStream>);

impl MessageReader {
    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        while self.0.read_line(&mut line).is_ok_and(|size| size > 0) {
            if let Some(data) = line.trim().strip_prefix("data: ") {
                return Some(serde_json::from_str(data).expect("JSON"));
            }
            line.clear();
        }
        None
    }
}

fn initialize() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn call(id: u64, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Parameters of the newer era.
fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}, "progressToken": "p"});
    params
}

fn routed(method: &str, name: &str) -> String {
    format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n")
}

fn body_of(reply: &str) -> Value {
    let body = reply.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str(body.trim()).unwrap_or(Value::Null)
}

#[test]
fn the_older_era_has_sessions_and_asks_on_the_stream() {
    let server = TestServer::new();
    let client = HttpClient::begun(&server, TokenScope::Admin);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(client.post("", &initialized).0, 202);
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let (status, reply) = client.post("MCP-Protocol-Version: 2025-11-25\r\n", &list);
    assert_eq!((status, &body_of(&reply)["result"]["tools"][0]["name"]), (200, &json!("ask")));
    let params = json!({"name": "ask", "_meta": {"progressToken": 7}});
    let mut stream = client.stream("", &call(3, &params));
    let progress = stream.next().expect("progress");
    assert_eq!(progress["params"]["message"], "begun", "{progress}");
    let asked = stream.next().expect("a question");
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    // Another client with the same session name is not this one.
    let mut other = HttpClient::new(&server, TokenScope::Admin);
    other.session.clone_from(&client.session);
    let answer = |text: &str| json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"answer": text}}});
    assert_eq!(other.post("", &answer("forged")).0, 404);
    assert_eq!(client.post("", &answer("yes")).0, 202);
    // A second answer finds no question.
    assert_eq!(client.post("", &answer("late")).0, 202);
    let result = stream.next().expect("a result");
    assert_eq!(result["id"], 3);
    assert_eq!(result["result"]["content"][0]["text"], "\"yes\"");
    assert_eq!(stream.next(), None);
}

#[test]
fn the_newer_era_asks_by_a_result() {
    let server = TestServer::new();
    let client = HttpClient::new(&server, TokenScope::Admin);
    let mut params = stateless(json!({"name": "ask", "arguments": {}}));
    let mut stream = client.stream(&routed("tools/call", "ask"), &call(1, &params));
    assert_eq!(stream.next().expect("progress")["params"]["progressToken"], "p");
    let asked = stream.next().expect("a result")["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] =
        json!({"approval": {"action": "accept", "content": {"answer": "yes"}}});
    // The state means nothing with another token.
    let other = HttpClient::new(&server, TokenScope::Admin);
    let (_, reply) = other.post(&routed("tools/call", "ask"), &call(1, &params));
    assert_eq!(body_of(&reply)["error"]["code"], -32602, "{reply}");
    let mut stream = client.stream(&routed("tools/call", "ask"), &call(2, &params));
    assert_eq!(stream.next().expect("a result")["result"]["content"][0]["text"], "\"yes\"");
    // It counts once.
    let (_, reply) = client.post(&routed("tools/call", "ask"), &call(3, &params));
    assert_eq!(body_of(&reply)["error"]["code"], -32602, "{reply}");
}

/// Two clients may number their requests alike.
#[test]
fn a_stream_that_ends_cancels_its_own_call() {
    let server = TestServer::new();
    let client = HttpClient::new(&server, TokenScope::Run);
    let params = stateless(json!({"name": "ask", "arguments": {"wait": true}}));
    let headers = routed("tools/call", "ask");
    let mut first = client.stream(&headers, &call(1, &params));
    let mut second = client.stream(&headers, &call(1, &params));
    assert!(first.next().is_some() && second.next().is_some());
    drop(first);
    let notice =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(client.post(&routed("notifications/cancelled", ""), &notice).0, 202);
    // Its session cancels a call of the older era; its stream then ends without an answer.
    let session = HttpClient::begun(&server, TokenScope::Run);
    let waiting =
        json!({"name": "ask", "arguments": {"wait": true}, "_meta": {"progressToken": 1}});
    let mut third = session.stream("", &call(1, &waiting));
    assert!(third.next().is_some());
    assert_eq!(session.post("", &notice).0, 202);
    assert_eq!(third.next(), None);
    server.stop();
    // It was under way until the server ended.
    assert!(std::iter::from_fn(|| second.next()).all(|message| message["result"].is_null()));
}

/// Who starts runs does not approve of their calls.
#[test]
fn a_token_that_runs_is_asked_nothing() {
    let server = TestServer::new();
    let session = HttpClient::begun(&server, TokenScope::Run);
    let mut stream = session.stream("", &call(2, &json!({"name": "ask"})));
    assert_eq!(stream.next().expect("a result")["result"]["content"][0]["text"], "denied");
    let client = HttpClient::new(&server, TokenScope::Run);
    let params = stateless(json!({"name": "ask", "arguments": {}}));
    let mut stream = client.stream(&routed("tools/call", "ask"), &call(1, &params));
    let messages: Vec<_> = std::iter::from_fn(|| stream.next()).collect();
    let last = messages.last().expect("a result");
    assert_eq!(last["result"]["content"][0]["text"], "denied", "{messages:?}");
}

#[test]
fn wrong_messages_are_refused() {
    let server = TestServer::new();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let session = HttpClient::begun(&server, TokenScope::Run);
    let none = HttpClient::new(&server, TokenScope::Run);
    let unknown =
        HttpClient { session: Some("0".repeat(32)), ..HttpClient::new(&server, TokenScope::Run) };
    let newer =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": stateless(json!({}))});
    let other =
        json!({"jsonrpc": "2.0", "id": 1, "method": "none", "params": stateless(json!({}))});
    let nothing = call(1, &stateless(json!({"name": "nothing"})));
    let version = "MCP-Protocol-Version: 2026-07-28\r\n";
    let cases = [
        ("no session", &none, String::new(), &list, 400, -32600),
        ("an unknown session", &unknown, String::new(), &list, 404, -32600),
        (
            "an unknown version",
            &session,
            "MCP-Protocol-Version: 1999-01-01\r\n".to_owned(),
            &list,
            400,
            -32022,
        ),
        ("a list", &session, String::new(), &json!([list]), 400, -32600),
        ("no routing headers", &none, version.to_owned(), &newer, 400, -32020),
        ("another method in the header", &none, routed("tools/call", ""), &newer, 400, -32020),
        ("no version in the body", &none, routed("tools/list", ""), &list, 400, -32602),
        ("an unknown method", &none, routed("none", ""), &other, 404, -32601),
        ("an unknown tool", &none, routed("tools/call", "nothing"), &nothing, 200, -32602),
    ];
    for (case, client, headers, message, status, code) in cases {
        let (found, reply) = client.post(&headers, message);
        assert_eq!(
            (found, &body_of(&reply)["error"]["code"]),
            (status, &json!(code)),
            "{case}: {reply}"
        );
    }
    let send =
        |headers: &str| server.send_with("POST /mcp", &session.token, headers, Some(&list)).0;
    assert_eq!(send("Accept: application/json\r\n"), 406);
    assert_eq!(server.send_with("GET /mcp", &session.token, ACCEPT, None).0, 405);
    for scope in [TokenScope::Read, TokenScope::Approve] {
        let token = server.token(scope);
        assert_eq!(
            server.send_with("POST /mcp", &token, ACCEPT, Some(&initialize())).0,
            403,
            "{scope}"
        );
    }
    assert_eq!(server.send_with("POST /mcp", "", ACCEPT, Some(&initialize())).0, 401);
    let foreign = format!("{ACCEPT}Origin: http://127.0.0.1:3000\r\n");
    assert_eq!(server.send_with("POST /mcp", &session.token, &foreign, Some(&initialize())).0, 403);
}

#[test]
fn a_session_is_ended_by_its_owner() {
    let server = TestServer::new();
    let session = HttpClient::begun(&server, TokenScope::Run);
    let end = |token: &str| server.send_with("DELETE /mcp", token, &session.headers(""), None).0;
    assert_eq!(end(&server.token(TokenScope::Run)), 404);
    let waiting =
        json!({"name": "ask", "arguments": {"wait": true}, "_meta": {"progressToken": 1}});
    let mut stream = session.stream("", &call(1, &waiting));
    assert!(stream.next().is_some());
    assert_eq!(end(&session.token), 200);
    assert_eq!(stream.next(), None, "its calls end with it");
    assert_eq!(end(&session.token), 404);
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(session.post("", &list).0, 404);
}

/// A client that never ends its sessions takes no place of others.
#[test]
fn abandoned_sessions_make_room() {
    let server = TestServer::new();
    let abandoning = HttpClient::new(&server, TokenScope::Run);
    for number in 0..300 {
        let (status, reply) = abandoning.post("", &initialize());
        assert_eq!(status, 200, "session {number}: {reply}");
    }
    let other = HttpClient::begun(&server, TokenScope::Run);
    let listed = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(other.post("", &listed).0, 200);
}
