//! The spans that a collector receives for a run. A test of its own: only this one is compiled with the feature `otel`.
#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

#[allow(dead_code, reason = "the server of the other tests; not all of it is needed here")]
#[path = "../../agentry-runtime/tests/server/mod.rs"]
mod server;
#[allow(dead_code, reason = "the builder of the other tests; not all of it is needed here")]
#[path = "cli/test.rs"]
mod test;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use serde_json::json;

use server::{Protocol, Server, Turn};
use test::Test;

/// Accepts one request and answers with success; returns its first line and its body.
fn collector() -> (String, thread::JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let collected = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody comes");
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
            let head = String::from_utf8_lossy(&bytes[..end.unwrap_or(0)]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length = length.and_then(|text| text.trim().parse::<usize>().ok());
            if let (Some(end), Some(length)) = (end, length)
                && bytes.len() >= end + length
            {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("sent");
                return (head.lines().next().unwrap_or("").to_owned(), bytes[end..].to_vec());
            }
            let count = stream.read(&mut piece).expect("the request");
            assert!(count > 0, "the request ended early");
            bytes.extend_from_slice(&piece[..count]);
        }
    });
    (address, collected)
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn spans_of_a_run_carry_no_message_text() {
    let (address, collected) = collector();
    let call = Turn::call("read", json!({ "path": "notes.txt" }));
    let server = Server::playing([call.into(), Turn::text("The word is zebra.").into()]);
    let test = Test::new()
        .file("notes.txt", "an okapi\n")
        .file("reader/agent.toml", "name = \"reader\"\ndescription = \"Reads files\"\n")
        .file("reader/system-prompt.md", "You read files.\n");
    let mut command = test.command(&["run", "reader", "what is the word?", "--yes"]);
    command.env("ANTHROPIC_API_KEY", "key-of-the-test").env("OTEL_EXPORTER_OTLP_ENDPOINT", address);
    command.env("ANTHROPIC_BASE_URL", server.base(Protocol::Anthropic));
    test.ended("run", &command.output().expect("the program runs")).exits(0);
    let (line, body) = collected.join().expect("the collector was asked");
    assert_eq!(line, "post /v1/traces http/1.1");
    for name in ["invoke_agent reader", "execute_tool read", "chat ", "gen_ai.usage.input_tokens"] {
        assert!(has(&body, name), "{name}");
    }
    for private_text in ["zebra", "okapi", "notes.txt", "what is the word", "key-of-the-test"] {
        assert!(!has(&body, private_text), "{private_text}");
    }
}
