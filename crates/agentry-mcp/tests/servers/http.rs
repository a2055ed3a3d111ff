//! Servers over HTTP on loopback: both eras, the older transport, and hostile answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use agentry_mcp::{ClientFuture, HttpAddress, HttpGate, McpFailure, ServerEndpoint, limits};
use serde_json::{Value, json};
use url::Url;

use crate::support::{call, connect, names};

pub(crate) struct OpenGate;

impl HttpGate for OpenGate {
    fn client<'a>(&'a self, _: &'a Url) -> ClientFuture<'a, Result<reqwest::Client, String>> {
        Box::pin(async {
            let _ = rustls::crypto::ring::default_provider().install_default();
            let builder = reqwest::Client::builder().no_proxy();
            let builder = builder.redirect(reqwest::redirect::Policy::none());
            builder.build().map_err(|error| error.to_string())
        })
    }
}

/// A request that a server got.
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: String,
    pub(crate) body: Value,
    /// The body as text.
    pub(crate) text: String,
}

impl Request {
    fn read(stream: &mut BufReader<TcpStream>) -> Option<Self> {
        let (mut line, mut headers, mut length) = (String::new(), String::new(), 0);
        stream.read_line(&mut line).ok().filter(|count| *count > 0)?;
        loop {
            let mut header = String::new();
            stream.read_line(&mut header).ok().filter(|count| *count > 0)?;
            let header = header.trim_end().to_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length: ") {
                length = value.parse().ok()?;
            }
            headers.push_str(&format!("{header}\n"));
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        let text = String::from_utf8_lossy(&body).into_owned();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Some(Self { line: line.trim_end().to_owned(), headers, body, text })
    }
}

/// Answers requests with whole responses; returns its address.
pub(crate) fn serve(answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let mut writer = stream.try_clone().unwrap();
                let mut reader = BufReader::new(stream);
                while let Some(request) = Request::read(&mut reader) {
                    let _ = writer.write_all(answer(&request).as_bytes());
                }
            });
        }
    });
    url.parse().unwrap()
}

fn http(url: &Url) -> ServerEndpoint {
    let headers = vec![("Authorization".to_owned(), "Bearer t".to_owned())];
    ServerEndpoint::Http(HttpAddress { url: url.clone(), headers, login: None }, Arc::new(OpenGate))
}

pub(crate) fn respond(status: &str, kind: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{more}\r\n{body}"
    )
}

/// The result of a method, as a well-behaved server has it.
fn result(request: &Request, is_stateless: bool) -> Option<Value> {
    let params = &request.body["params"];
    match request.body["method"].as_str()? {
        "server/discover" if is_stateless => Some(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}})),
        "initialize" if !is_stateless => {
            Some(json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}))
        }
        "tools/list" => Some(json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]})),
        "tools/call" => {
            let text = params["arguments"].to_string();
            Some(json!({"content": [{"type": "text", "text": text}]}))
        }
        _ => None,
    }
}

pub(crate) fn message(request: &Request, is_stateless: bool) -> Value {
    let id = &request.body["id"];
    match result(request, is_stateless) {
        Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        None => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}),
    }
}

#[tokio::test]
async fn http_servers_answer_with_bodies_or_events() {
    for (is_stateless, has_events) in [(true, false), (true, true), (false, false), (false, true)] {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let notes = Arc::clone(&seen);
        let url = serve(move |request| {
            notes.lock().unwrap().push(format!("{}\n{}", request.line, request.headers));
            if request.line.starts_with("GET") {
                return respond("405 Method Not Allowed", "text/plain", "", "");
            }
            if request.body["id"].is_null() {
                return respond("202 Accepted", "text/plain", "", "");
            }
            let message = message(request, is_stateless);
            let session = match request.body["method"].as_str() {
                Some("initialize") => "mcp-session-id: s1\r\n",
                _ => "",
            };
            let notice = json!({"jsonrpc": "2.0", "method": "notifications/message"});
            let events = format!("data: {notice}\n\nid: 1\ndata: {message}\n\n");
            if has_events {
                respond("200 OK", "text/event-stream", session, &events)
            } else {
                respond("200 OK", "application/json", session, &message.to_string())
            }
        });
        let client = connect(http(&url), None, false).await.unwrap();
        assert_eq!(names(&client).await, "a");
        assert_eq!(call(&client, json!({"n": 1})).await.unwrap(), "{\"n\":1}");
        let seen = seen.lock().unwrap();
        let last = seen.last().unwrap();
        assert!(seen.iter().all(|request| request.contains("authorization: bearer t")));
        let expected = if is_stateless {
            vec!["mcp-method: tools/call", "mcp-name: a", "mcp-protocol-version: 2026-07-28"]
        } else {
            vec!["mcp-session-id: s1", "mcp-protocol-version: 2025-11-25"]
        };
        for header in expected {
            assert!(last.contains(header), "{header}: {last}");
        }
    }
}

#[tokio::test]
async fn the_older_sse_transport_stays_on_its_server() {
    for (endpoint, is_direct) in
        [("/post?s=1", true), ("/post?s=1", false), ("http://evil.example/x", true)]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url: Url = format!("http://{}/sse", listener.local_addr().unwrap()).parse().unwrap();
        let stream: Arc<Mutex<Option<TcpStream>>> = Arc::default();
        std::thread::spawn(move || {
            for incoming in listener.incoming().filter_map(Result::ok) {
                let stream = Arc::clone(&stream);
                std::thread::spawn(move || {
                    let mut writer = incoming.try_clone().unwrap();
                    let mut reader = BufReader::new(incoming);
                    while let Some(request) = Request::read(&mut reader) {
                        if request.line.starts_with("GET /sse") {
                            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                            let event = format!("event: endpoint\ndata: {endpoint}\n\n");
                            writer.write_all(format!("{head}{event}").as_bytes()).unwrap();
                            *stream.lock().unwrap() = writer.try_clone().ok();
                        } else if request.line.starts_with("POST /post") {
                            if !request.body["id"].is_null() {
                                let event = format!("data: {}\n\n", message(&request, false));
                                let mut stream = stream.lock().unwrap();
                                stream.as_mut().unwrap().write_all(event.as_bytes()).unwrap();
                            }
                            let accepted = respond("202 Accepted", "text/plain", "", "");
                            writer.write_all(accepted.as_bytes()).unwrap();
                        } else {
                            let no = respond("405 Method Not Allowed", "text/plain", "", "");
                            writer.write_all(no.as_bytes()).unwrap();
                        }
                    }
                });
            }
        });
        let address = HttpAddress { url: url.clone(), headers: Vec::new(), login: None };
        let older = ServerEndpoint::Events(address, Arc::new(OpenGate));
        // Without a declared transport, the newer one is tried first.
        let found = connect(if is_direct { older } else { http(&url) }, None, false).await;
        if endpoint.starts_with("http") {
            let message = "it names an address of another server for messages".to_owned();
            assert_eq!(found.err(), Some(McpFailure::Protocol(message)));
        } else {
            let client = found.unwrap();
            assert_eq!(call(&client, json!({"n": 1})).await.unwrap(), "{\"n\":1}");
        }
    }
}

#[tokio::test]
async fn hostile_answers_fail_within_limits() {
    let long = "x".repeat(limits::MESSAGE_BYTES + 1);
    let status = |status, detail: &str| McpFailure::Status {
        status,
        detail: detail.to_owned(),
        challenge: None,
    };
    let login = McpFailure::Status {
        status: 401,
        detail: String::new(),
        challenge: Some("Bearer realm=\"x\"".to_owned()),
    };
    let page = "it answers with the content type `text/html`".to_owned();
    let cases: Vec<(String, McpFailure)> = vec![
        (
            respond("200 OK", "application/json", "", &format!("\"{long}\"")),
            McpFailure::TooLong(limits::MESSAGE_BYTES),
        ),
        (
            respond("200 OK", "text/event-stream", "", &format!("data: {long}")),
            McpFailure::TooLong(limits::MESSAGE_BYTES),
        ),
        (respond("200 OK", "text/html", "", "<p>hi</p>"), McpFailure::Protocol(page)),
        (
            respond(
                "401 Unauthorized",
                "text/plain",
                "www-authenticate: Bearer realm=\"x\"\r\n",
                "",
            ),
            login,
        ),
        (
            respond(
                "307 Temporary Redirect",
                "text/plain",
                "location: http://evil.example/\r\n",
                "",
            ),
            status(307, ": it leads to `http://evil.example/`; write that address"),
        ),
        (respond("500 Oops", "text/plain", "", "no \u{1b}[31mway"), status(500, ": no way")),
    ];
    for (answer, expected) in cases {
        let url = serve(move |_| answer.clone());
        let found = connect(http(&url), None, false).await.err();
        assert_eq!(found, Some(expected));
    }
}
