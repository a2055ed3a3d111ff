//! What other pages, other names and other programs try, byte by byte.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use agentry_server::{HostCall, ServerLimits, ServerSetup, TokenScope};
use serde_json::json;

use crate::scripted_host::{LIMIT, TestServer};

/// A request of an attacker, and what it gets. `HOST` stands for the address of the server, `TOKEN` for a token.
const ATTACKS: &[(&str, &str, u16)] = &[
    (
        "the right request",
        "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN",
        200,
    ),
    (
        "by name",
        "GET /v1/runs HTTP/1.1\r\nHost: localhost:PORT\r\nAuthorization: Bearer TOKEN",
        200,
    ),
    (
        "a further name",
        "GET /v1/runs HTTP/1.1\r\nHost: agents.example\r\nAuthorization: Bearer TOKEN",
        200,
    ),
    ("no token", "GET /v1/runs HTTP/1.1\r\nHost: HOST", 401),
    ("an empty token", "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer ", 401),
    ("another scheme", "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Basic TOKEN", 401),
    (
        "two tokens",
        "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer x\r\nAuthorization: Bearer TOKEN",
        401,
    ),
    ("a token in the address", "GET /v1/runs?token=TOKEN HTTP/1.1\r\nHost: HOST", 401),
    ("a token as a cookie", "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nCookie: token=TOKEN", 401),
    ("an unknown path without a token", "GET /v1/nothing HTTP/1.1\r\nHost: HOST", 401),
    ("a fragment without a token", "GET /page/runs HTTP/1.1\r\nHost: HOST", 401),
    ("metrics without a token", "GET /metrics HTTP/1.1\r\nHost: HOST", 401),
    ("the document without a token", "GET /openapi.json HTTP/1.1\r\nHost: HOST", 401),
    ("health", "GET /healthz HTTP/1.1\r\nHost: HOST", 200),
    ("the shell", "GET / HTTP/1.1\r\nHost: HOST", 200),
    (
        "a rebound name",
        "GET /v1/runs HTTP/1.1\r\nHost: evil.test:PORT\r\nAuthorization: Bearer TOKEN",
        421,
    ),
    ("a rebound name asks for health", "GET /healthz HTTP/1.1\r\nHost: evil.test", 421),
    ("a rebound name asks for the shell", "GET / HTTP/1.1\r\nHost: evil.test", 421),
    ("a name with our address in it", "GET / HTTP/1.1\r\nHost: HOST.evil.test", 421),
    ("another port", "GET / HTTP/1.1\r\nHost: 127.0.0.1:1", 421),
    ("no host", "GET / HTTP/1.1", 421),
    ("two hosts", "GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.test", 421),
    ("another host in the line", "GET http://evil.test/ HTTP/1.1\r\nHost: HOST", 421),
    (
        "a page of another port",
        "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nOrigin: http://127.0.0.1:3000",
        403,
    ),
    (
        "our own page",
        "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nOrigin: http://HOST",
        200,
    ),
    (
        "our page by another scheme",
        "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nOrigin: https://HOST",
        403,
    ),
    (
        "a page without an origin",
        "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nOrigin: null",
        403,
    ),
    (
        "two origins",
        "GET /healthz HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nOrigin: http://evil.test",
        403,
    ),
    (
        "a preflight",
        "OPTIONS /v1/runs HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.test\r\nAccess-Control-Request-Method: POST",
        403,
    ),
    (
        "a preflight of our page",
        "OPTIONS /v1/runs HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nAuthorization: Bearer TOKEN",
        405,
    ),
    (
        "an upgrade from another page",
        "GET /v1/runs/r1/events HTTP/1.1\r\nHost: HOST\r\nOrigin: http://127.0.0.1:3000\r\nAuthorization: Bearer TOKEN\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        403,
    ),
    (
        "an image of another site",
        "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors",
        403,
    ),
    (
        "an image of another port",
        "GET /healthz HTTP/1.1\r\nHost: HOST\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors",
        403,
    ),
    (
        "a link to the shell",
        "GET / HTTP/1.1\r\nHost: HOST\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate",
        200,
    ),
    (
        "a link to the API",
        "GET /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate",
        403,
    ),
    (
        "another method",
        "DELETE /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN",
        405,
    ),
    (
        "a path with dots",
        "GET /v1/../../etc/passwd HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN",
        404,
    ),
    ("no HTTP", "\u{16}\u{3}\u{1} nonsense", 400),
    ("our host in the line", "GET http://HOST/v1/runs HTTP/1.1\r\nHost: HOST", 401),
    ("our host in the line only", "GET http://HOST/v1/runs HTTP/1.1\r\nHost: evil.test", 421),
    ("a user before our host", "GET / HTTP/1.1\r\nHost: evil@HOST", 421),
    ("our host with a dot", "GET / HTTP/1.1\r\nHost: HOST.", 421),
    ("our address without a port", "GET / HTTP/1.1\r\nHost: 127.0.0.1", 421),
    ("another spelling of our address", "GET / HTTP/1.1\r\nHost: 2130706433:PORT", 421),
    ("the unspecified address", "GET / HTTP/1.1\r\nHost: 0.0.0.0:PORT", 421),
    ("a forwarded host", "GET / HTTP/1.1\r\nHost: evil.test\r\nX-Forwarded-Host: HOST", 421),
    ("an old version without a host", "GET /v1/runs HTTP/1.0", 421),
    ("a tunnel", "CONNECT HOST HTTP/1.1\r\nHost: HOST", 401),
    ("an echo", "TRACE /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN", 405),
    ("only the head", "HEAD /v1/runs HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN", 405),
    (
        "a method that a header names",
        "GET /v1/runs/r1/cancel HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nX-HTTP-Method-Override: POST",
        405,
    ),
    ("options of everything", "OPTIONS * HTTP/1.1\r\nHost: HOST", 401),
    (
        "a path with encoded dots",
        "GET /v1/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN",
        404,
    ),
    ("a free path before another", "GET /healthz/../v1/runs HTTP/1.1\r\nHost: HOST", 401),
    ("a free path with a parameter", "GET /healthz;/../../v1/runs HTTP/1.1\r\nHost: HOST", 401),
    ("a space before a colon", "GET / HTTP/1.1\r\nHost: HOST\r\nOrigin : http://evil.test", 400),
    ("a folded header", "GET / HTTP/1.1\r\nHost: HOST\r\n evil.test", 400),
    (
        "two lengths",
        "POST /v1/runs HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\nContent-Length: 3",
        400,
    ),
    ("a length with a sign", "POST /v1/runs HTTP/1.1\r\nHost: HOST\r\nContent-Length: +2", 400),
    (
        "chunks that are not last",
        "POST /v1/runs HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked, identity",
        400,
    ),
    ("almost chunks", "POST /v1/runs HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: xchunked", 400),
    ("the second version of HTTP", "PRI * HTTP/2.0", 400),
    (
        "an event before the first",
        "GET /v1/runs/r1/events HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nLast-Event-ID: -1",
        400,
    ),
    (
        "an event beyond all numbers",
        "GET /v1/runs/r1/events HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nLast-Event-ID: 18446744073709551616",
        400,
    ),
    (
        "an event that is no number",
        "GET /v1/runs/r1/events HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nLast-Event-ID: 1 OR 1=1",
        400,
    ),
    (
        "two events",
        "GET /v1/runs/r1/events HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nLast-Event-ID: 1\r\nLast-Event-ID: 2",
        400,
    ),
];

#[test]
fn every_attack_is_refused() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Admin);
    let (host, port) = (server.address.to_string(), server.address.port().to_string());
    for (case, request, expected) in ATTACKS {
        let request =
            request.replace("HOST", &host).replace("PORT", &port).replace("TOKEN", &token);
        let (status, reply) = server.raw(&format!("{request}\r\nConnection: close\r\n\r\n"));
        assert_eq!(status, *expected, "{case}: {reply}");
        let head = reply.split("\r\n\r\n").next().unwrap_or_default().to_lowercase();
        assert!(!head.contains("access-control-allow"), "{case}: {head}");
        assert!(!head.contains("set-cookie"), "{case}: {head}");
        assert!(!reply.contains(&token), "{case}: {reply}");
        if *expected != 400 {
            assert!(head.contains("content-security-policy: default-src 'none'"), "{case}: {head}");
            assert!(head.contains("cache-control: no-store"), "{case}: {head}");
        }
    }
}

/// Every route, by the document that the server has of itself: a token of another scope never gets an answer of the host.
#[test]
fn tokens_are_limited_to_their_scope() {
    use TokenScope::{Admin, Approve, Read, Run};
    let server = TestServer::new();
    let tokens = [Read, Approve, Run, Admin].map(|scope| server.token(scope));
    let (approves, runs) = ([403, 200, 403, 200], [403, 403, 200, 200]);
    let start = json!({ "agent": "helper", "prompt": "go" });
    let chat = json!({ "model": "helper", "messages": [{ "role": "user", "content": "go" }] });
    let cases = [
        ("POST /v1/runs", Some(start), runs),
        ("POST /v1/runs/r1/resume", None, runs),
        ("POST /v1/runs/r1/messages", Some(json!({ "text": "go on" })), runs),
        ("POST /v1/runs/r1/cancel", None, [403, 403, 404, 404]),
        ("POST /v1/runs/r1/undo", None, [403, 403, 500, 500]),
        ("POST /v1/chat/completions", Some(chat), runs),
        ("POST /v1/responses", Some(json!({ "model": "helper", "input": "go" })), runs),
        ("POST /mcp", None, [403, 403, 406, 406]),
        ("DELETE /mcp", None, [403, 403, 404, 404]),
        ("POST /v1/approvals/r1.c1", Some(json!({ "answer": "no" })), approves),
        ("POST /v1/agents/helper/proposals/p1", Some(json!({ "decision": "accept" })), approves),
        ("POST /v1/agents/helper/consent", Some(json!({ "digest": "sha256:0" })), approves),
    ];
    let ended = json!({ "type": "ended", "state": "done", "spent": {} });
    *server.host.ended.lock().expect("no panic") = Some(ended);
    for (line, body, expected) in &cases {
        let found = tokens.each_ref().map(|token| server.send(line, token, body.as_ref()).0);
        assert_eq!(found, *expected, "{line}");
    }
    // What is not in the table only reads, and every token may.
    let (_, document) = server.send("GET /openapi.json", &tokens[0], None);
    let document = document.split_once("\r\n\r\n").expect("a body").1;
    let document: serde_json::Value = serde_json::from_str(document).expect("JSON");
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let (method, path) = (method.to_uppercase(), path.replace("{proposal}", "p1"));
            let is_listed = |(line, ..): &(&str, _, _)| {
                line.split_once(' ')
                    .is_some_and(|(its, line)| its == method && is_path_of(&path, line))
            };
            if path == "/v1/pair" || cases.iter().any(is_listed) {
                continue;
            }
            assert_eq!(method, "GET", "{path} is not in the table");
            let line = format!("GET {}", path.replace("{id}", "r1"));
            for token in &tokens {
                assert_eq!(server.send(&line, token, None).0, 200, "{line}");
            }
        }
    }
}

/// Whether a path of the document is that of a request.
fn is_path_of(pattern: &str, path: &str) -> bool {
    let (pattern, path) = (pattern.split('/'), path.split('/'));
    pattern.clone().count() == path.clone().count()
        && pattern.zip(path).all(|(wanted, part)| wanted == part || wanted.starts_with('{'))
}

/// What follows a body in chunks is not a request: a proxy in front may have found another end of the body.
#[test]
fn a_body_in_chunks_ends_the_connection() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Run);
    let head = format!("Host: {}\r\nAuthorization: Bearer {token}\r\n", server.address);
    let body = "{\"agent\":\"helper\",\"prompt\":\"go\"}";
    let second = format!("POST /v1/runs/r1/resume HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n");
    for lengths in ["", "Content-Length: 4\r\n", "Content-Length: 400\r\n"] {
        let request = format!(
            "POST /v1/runs HTTP/1.1\r\n{head}Content-Type: application/json\r\n{lengths}\
             Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n{second}",
            body.len()
        );
        let (status, reply) = server.raw(&request);
        assert_eq!(status, 200, "{lengths}: {reply}");
        assert!(reply.to_lowercase().contains("connection: close"), "{lengths}: {reply}");
        assert_eq!(reply.matches("HTTP/1.1 ").count(), 1, "{lengths}: {reply}");
    }
    let calls = server.host.calls.lock().expect("no panic");
    assert!(calls.iter().all(|call| matches!(call, HostCall::Start { .. })), "{calls:?}");
}

/// Ids reach the host as they are meant, and are never a path of the server.
#[test]
fn encoded_ids_stay_ids() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Read);
    let cases = [
        ("%2e%2e%2f%2e%2e%2fetc%2fpasswd", Some("../../etc/passwd")),
        ("r1%00", Some("r1\0")),
        ("r1%2fevents", Some("r1/events")),
        ("r1%0d%0aX-Evil:%201", Some("r1\r\nX-Evil: 1")),
        ("%C3%BC", Some("\u{fc}")),
        ("%c0%ae%c0%ae", None),
        ("%ff", None),
        ("%2", Some("%2")),
        ("r1?", Some("r1")),
    ];
    for (id, expected) in cases {
        server.host.calls.lock().expect("no panic").clear();
        let (status, reply) = server.send(&format!("GET /v1/runs/{id}"), &token, None);
        let is_there = expected == Some("r1");
        assert_eq!(status, if is_there { 200 } else { 404 }, "{id}: {reply}");
        let expected: Vec<_> =
            expected.map(|id| HostCall::Run(id.to_owned())).into_iter().collect();
        assert_eq!(*server.host.calls.lock().expect("no panic"), expected, "{id}");
        let head = reply.split("\r\n\r\n").next().unwrap_or_default().to_lowercase();
        assert!(!head.contains("x-evil"), "{id}: {head}");
    }
}

/// Deep and strange JSON is refused, and costs nothing.
#[test]
fn strange_json_is_refused() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Run);
    let deep = 50_000;
    let cases = [
        ("lists in lists", format!("{{\"agent\":{}", "[".repeat(deep))),
        ("a whole tree", format!("{}1{}", "{\"a\":".repeat(deep), "}".repeat(deep))),
        ("a huge number", "{\"agent\":1e999999,\"prompt\":\"x\"}".to_owned()),
        ("half a character", "{\"agent\":\"\\ud800\",\"prompt\":\"x\"}".to_owned()),
        ("two documents", "{\"agent\":\"a\",\"prompt\":\"x\"}{}".to_owned()),
        ("a prototype", "{\"agent\":\"a\",\"prompt\":\"x\",\"__proto__\":{}}".to_owned()),
    ];
    for (case, body) in cases {
        for path in ["/v1/runs", "/v1/chat/completions", "/mcp"] {
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                server.address,
                body.len()
            );
            let (status, reply) = server.raw(&request);
            assert_eq!(status, 400, "{case} at {path}: {reply}");
        }
    }
    assert!(server.host.calls.lock().expect("no panic").is_empty(), "nothing was started");
}

#[test]
fn a_revoked_token_is_refused() {
    let server = TestServer::new();
    let (paired, token) = server.tokens.issue("phone", TokenScope::Read).expect("a token");
    assert_eq!(server.send("GET /v1/runs", &token, None).0, 200);
    assert!(server.tokens.revoke(&paired.id).expect("a token"));
    assert_eq!(server.send("GET /v1/runs", &token, None).0, 401);
}

#[test]
fn a_pairing_code_is_exchanged_once() {
    let server = TestServer::new();
    let code = server.tokens.issue_code("phone", TokenScope::Approve).expect("a code");
    let body = json!({ "code": code });
    let (status, reply) = server.send("POST /v1/pair", "", Some(&body));
    assert_eq!(status, 200, "{reply}");
    let reply = reply.rsplit("\r\n\r\n").next().unwrap_or_default().to_owned();
    let reply: serde_json::Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!(reply["scope"], "approve");
    let token = reply["token"].as_str().expect("a token");
    assert_eq!(server.send("GET /v1/runs", token, None).0, 200);
    assert_eq!(server.send("POST /v1/pair", "", Some(&body)).0, 401);
    assert_eq!(server.send("POST /v1/pair", "", Some(&json!({ "code": "../token" }))).0, 401);
}

#[test]
fn oversized_requests_are_cut_off() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Run);
    let host = server.address;
    let head =
        format!("POST /v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n");
    let kind = "Content-Type: application/json\r\n";
    let many: String = "X-Many: 1\r\n".repeat(500);
    let long = format!("X-Long: {}\r\n", "x".repeat(200_000));
    let large = "x".repeat(2_000_000);
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let cases = [
        ("many headers", format!("{head}{many}Connection: close\r\n\r\n"), 431),
        ("a long header", format!("{head}{long}Connection: close\r\n\r\n"), 431),
        (
            "100 MB announced",
            format!("{head}{kind}Content-Length: 104857600\r\nConnection: close\r\n\r\n"),
            413,
        ),
        (
            "a large body",
            format!(
                "{head}{kind}Content-Length: {}\r\nConnection: close\r\n\r\n{large}",
                large.len()
            ),
            413,
        ),
        (
            "a large body in chunks",
            format!("{head}{kind}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n{chunk}"),
            413,
        ),
        (
            "a form",
            format!(
                "{head}Content-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
            ),
            415,
        ),
        ("no JSON", format!("{head}{kind}Content-Length: 3\r\nConnection: close\r\n\r\nx=1"), 400),
        ("a list", format!("{head}{kind}Content-Length: 2\r\nConnection: close\r\n\r\n[]"), 400),
    ];
    for (case, request, expected) in cases {
        let (status, reply) = server.raw(&request);
        assert_eq!(status, expected, "{case}: {reply}");
    }
    assert!(server.host.calls.lock().expect("no panic").is_empty(), "nothing was started");
    assert_eq!(
        server
            .raw(&format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
            .0,
        200
    );
}

#[test]
fn many_idle_connections_do_not_stop_others() {
    let server = TestServer::new();
    let idle: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).expect("a server");
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").expect("a connection");
            stream
        })
        .collect();
    let request =
        format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address);
    assert_eq!(server.raw(&request).0, 200);
    drop(idle);
}

/// Clients that send a byte now and then are cut off: each is answered or closed, and nothing was started.
#[test]
fn slow_clients_are_cut_off() {
    let server = TestServer::impatient(Duration::from_millis(200));
    let token = server.token(TokenScope::Run);
    let host = server.address;
    let head =
        format!("POST /v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n");
    let body = "Content-Type: application/json\r\nContent-Length: 40\r\n\r\n{";
    let cases = [
        ("nothing", String::new(), [0, 408]),
        ("half a head", head.clone(), [0, 408]),
        ("half a body", format!("{head}{body}"), [408, 408]),
        ("half a message", format!("{head}{body}").replace("/v1/runs", "/mcp"), [408, 408]),
    ];
    for (case, request, expected) in cases {
        let (status, reply) = server.raw(&request);
        assert!(expected.contains(&status), "{case}: {reply}");
    }
    assert!(server.host.calls.lock().expect("no panic").is_empty(), "nothing was started");
}

#[test]
fn the_socket_is_private_and_needs_a_token() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Admin);
    let mode = std::fs::metadata(&server.socket).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let request = |token: &str| {
        format!(
            "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        )
    };
    assert_eq!(server.raw_unix(&request("")).0, 401);
    assert_eq!(server.raw_unix(&request(&token)).0, 200);
    let socket = server.socket.clone();
    server.stop();
    assert!(!socket.exists(), "it is removed at the end");
}

#[test]
fn other_machines_are_refused_without_tls() {
    let directory = tempfile::tempdir().expect("a writable directory");
    let tokens = agentry_server::TokenStore::open(directory.path()).expect("a store");
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let setup = ServerSetup {
            listen: listen.parse().expect("an address"),
            tls: None,
            names: Vec::new(),
            socket: directory.path().join("socket"),
            tokens: tokens.clone(),
            limits: ServerLimits::for_open_files(0),
        };
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let Err(error) = runtime.block_on(setup.bind()) else { panic!("{listen} was taken") };
        assert!(error.to_string().contains("needs a certificate"), "{error}");
        assert!(!directory.path().join("socket").exists());
    }
}

/// A defect behind one request is an error of that request.
#[test]
fn a_panic_of_the_host_is_a_500_response() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Run);
    assert_eq!(server.send("POST /v1/runs/r1/undo", &token, None).0, 500);
    assert_eq!(server.send("GET /v1/runs", &token, None).0, 200);
}

/// A client that never reads gets a bounded amount, and the server ends nevertheless.
#[test]
fn a_slow_reader_does_not_block_the_shutdown() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Read);
    let event = json!({ "type": "said", "text": "x".repeat(10_000) });
    server.host.events.lock().expect("no panic").extend(std::iter::repeat_n(event, 2_000));
    let mut slow = TcpStream::connect(server.address).expect("a server");
    slow.set_read_timeout(Some(LIMIT)).expect("a socket");
    let request = format!(
        "GET /v1/runs/r1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        server.address
    );
    slow.write_all(request.as_bytes()).expect("a connection");
    let mut first = [0; 12];
    slow.read_exact(&mut first).expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 200");
    let calls = server.host.calls.lock().expect("no panic").clone();
    assert_eq!(calls, [HostCall::Run("r1".to_owned())]);
    server.stop();
}
