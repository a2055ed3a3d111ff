//! Server-sent events: numbers, pieces, reconnecting, the end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use agentry_server::{LiveSignal, TokenScope};
use serde_json::{Value, json};

use crate::scripted_host::{LIMIT, TestServer};

/// An open stream, read line by line.
struct OpenStream {
    lines: BufReader<TcpStream>,
}

impl OpenStream {
    fn new(server: &TestServer, path: &str, headers: &str) -> Self {
        Self::with_token(server, &server.token(TokenScope::Read), path, headers)
    }

    fn with_token(server: &TestServer, token: &str, path: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(server.address).expect("a server");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n{headers}\r\n",
            server.address
        );
        stream.write_all(request.as_bytes()).expect("a connection");
        Self { lines: BufReader::new(stream) }
    }

    /// The next event: its id, and its data. `None` at the end.
    fn next(&mut self) -> Option<(Option<u64>, Value)> {
        let mut id = None;
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).expect("an answer in time") == 0 || line == "0\r\n" {
                return None;
            }
            let line = line.trim_end();
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.parse().ok();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some((id, serde_json::from_str(data).expect("JSON")));
            }
        }
    }
}

#[test]
fn event_streams_resume_after_the_last_event_id() {
    let server = TestServer::new();
    let said_event = |text: &str| json!({ "type": "said", "text": text });
    server.host.events.lock().expect("no panic").extend([said_event("one"), said_event("two")]);
    let mut stream = OpenStream::new(&server, "/v1/runs/r1/events", "");
    assert_eq!(stream.next(), Some((Some(1), said_event("one"))));
    assert_eq!(stream.next(), Some((Some(2), said_event("two"))));
    let piece = json!({ "type": "text", "text": "th" });
    server.host.signals.send(LiveSignal::Piece(piece.clone())).expect("a reader");
    assert_eq!(stream.next(), Some((None, piece)), "a piece has no number");
    server.host.events.lock().expect("no panic").push(said_event("three\nlines\r\nid: 9"));
    server.host.signals.send(LiveSignal::Changed).expect("a reader");
    assert_eq!(stream.next(), Some((Some(3), said_event("three\nlines\r\nid: 9"))));
    let ended = json!({ "type": "ended", "state": "done" });
    *server.host.ended.lock().expect("no panic") = Some(ended.clone());
    server.host.signals.send(LiveSignal::Changed).expect("a reader");
    assert_eq!(stream.next(), Some((Some(3), ended.clone())));
    assert_eq!(stream.next(), None, "the end closes the stream");
    let mut again = OpenStream::new(&server, "/v1/runs/r1/events", "Last-Event-ID: 2\r\n");
    assert_eq!(again.next().and_then(|event| event.0), Some(3));
    assert_eq!(again.next(), Some((Some(3), ended)));
}

/// The journal can have a turn before its pieces come; they are not sent a second time.
#[test]
fn pieces_that_come_late_are_left_out() {
    let server = TestServer::new();
    let turn = json!({ "type": "turn", "text": "half a sentence" });
    server.host.events.lock().expect("no panic").push(turn.clone());
    let mut stream = OpenStream::new(&server, "/v1/runs/r1/events", "");
    assert_eq!(stream.next(), Some((Some(1), turn)));
    let piece = |text: &str| json!({ "type": "text", "text": text });
    for text in ["half a ", "sentence", "next"] {
        server.host.signals.send(LiveSignal::Piece(piece(text))).expect("a reader");
    }
    assert_eq!(stream.next(), Some((None, piece("next"))));
}

/// A device that was revoked reads no further event.
#[test]
fn a_revoked_token_ends_its_streams() {
    let server = TestServer::new();
    let said = |text: &str| json!({ "type": "said", "text": text });
    server.host.events.lock().expect("no panic").push(said("one"));
    for path in ["/v1/runs/r1/events", "/page/runs/r1/events"] {
        let (paired, token) = server.tokens.issue("phone", TokenScope::Read).expect("a token");
        let mut revoked = OpenStream::with_token(&server, &token, path, "");
        let mut other = OpenStream::new(&server, "/v1/runs/r1/events", "");
        assert!(revoked.next().is_some() && other.next().is_some(), "{path}");
        assert!(server.tokens.revoke(&paired.id).expect("a token"));
        let piece = json!({ "type": "text", "text": "secret" });
        server.host.signals.send(LiveSignal::Piece(piece.clone())).expect("a reader");
        assert_eq!(revoked.next(), None, "{path}");
        assert_eq!(other.next(), Some((None, piece)), "{path}");
    }
}

/// What a signal does not announce is found nevertheless.
#[test]
fn unsignalled_events_are_still_streamed() {
    let server = TestServer::new();
    let mut stream = OpenStream::new(&server, "/v1/runs/r1/events", "");
    server.host.events.lock().expect("no panic").push(json!({ "type": "said", "text": "late" }));
    assert_eq!(stream.next().and_then(|event| event.0), Some(1));
}

#[test]
fn the_stream_of_a_run_that_does_not_exist_is_refused() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Read);
    assert_eq!(server.send("GET /v1/runs/r2/events", &token, None).0, 404);
    let wrong = "Last-Event-ID: x\r\n";
    assert_eq!(server.send_with("GET /v1/runs/r1/events", &token, wrong, None).0, 400);
}

/// Beyond the limit a stream is refused, and the others go on.
#[test]
fn too_many_streams_are_refused() {
    let server = TestServer::new();
    let token = server.token(TokenScope::Read);
    let request = format!(
        "GET /v1/runs/r1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        server.address
    );
    let mut streams = Vec::new();
    let mut refused = None;
    for _ in 0..1_200 {
        let mut stream = TcpStream::connect(server.address).expect("a server");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        stream.write_all(request.as_bytes()).expect("a connection");
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).expect("an answer");
        if !status.contains("200") {
            refused = Some(status);
            break;
        }
        streams.push(lines);
    }
    assert!(refused.is_some_and(|status| status.contains("503")));
    assert_eq!(streams.len(), 1_000);
    assert_eq!(server.send("GET /v1/runs", &token, None).0, 200);
    server.stop();
}

/// Streams leave places for other requests, and what comes beyond all places is told so.
#[test]
fn clients_beyond_the_limit_are_refused_in_words() {
    let server = TestServer::limited(8, 4);
    let token = server.token(TokenScope::Read);
    let open = |path: &str| {
        let mut stream = TcpStream::connect(server.address).expect("a server");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        let host = server.address;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a connection");
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).expect("an answer");
        (lines, status)
    };
    let streams: Vec<_> = (0..4).map(|_| open("/v1/runs/r1/events")).collect();
    assert!(streams.iter().all(|(_, status)| status.contains("200")), "{streams:?}");
    let (status, reply) = server.send("GET /v1/runs/r1/events", &token, None);
    assert_eq!(status, 503);
    assert!(reply.contains("4 streams of events are open already"), "{reply}");
    assert_eq!(server.send("GET /v1/runs", &token, None).0, 200);
    // Connections that stay open take the places that are left.
    let mut others = Vec::new();
    let mut refused = loop {
        let (lines, status) = open("/healthz");
        if status.contains("503") {
            break lines;
        }
        others.push(lines);
        assert!(others.len() <= 4, "{status}");
    };
    let mut reply = String::new();
    refused.read_to_string(&mut reply).expect("an answer");
    assert!(reply.contains("too many connections are open already"), "{reply}");
    drop((streams, others));
    server.stop();
}
