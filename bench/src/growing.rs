//! Measures how the time of a run grows with its calls. Requests grow faster, because each one contains the
//! whole conversation; the rest of a run must not.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::measure::{processor_time, quiet};
use crate::report::Table;
use crate::targets::ratio;

/// The number of calls of the two runs.
const FEW: usize = 500;
const MANY: usize = 2_000;
/// The limit of the ratio: four times as many calls, and a margin for the larger requests.
const MOST: f64 = 6.0;

const AGENT: &str = "\
name = \"grower\"
description = \"Reads a file\"
max_turns = 10000

[permissions.read]
intent = \"allow\"
";

/// Measures a run of few calls and one of many, with one call in each turn.
pub(crate) fn growing(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    eprintln!("running {FEW} and {MANY} calls");
    let few = run(program, &folder.join("few"), FEW)?;
    let many = run(program, &folder.join("many"), MANY)?;
    let what = format!("a run of {MANY} calls / one of {FEW}, processor time");
    table.add(ratio(what, many, few, "the short one", MOST));
    Ok(())
}

fn run(program: &Path, folder: &Path, calls: usize) -> Result<Duration, String> {
    let failed = |error: std::io::Error| format!("no run of {calls} calls: {error}");
    fs::create_dir_all(folder.join("grower")).map_err(failed)?;
    fs::write(folder.join("grower/agent.toml"), AGENT).map_err(failed)?;
    fs::write(folder.join("grower/system-prompt.md"), "Do what you are told.\n").map_err(failed)?;
    fs::write(folder.join("a.txt"), "one line\nand another one\n").map_err(failed)?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    std::thread::spawn(move || {
        let mut asked = 0;
        for stream in listener.incoming().flatten() {
            // A client that disconnects is finished.
            let _ = answer(&stream, &mut asked, |asked| turn(asked, calls));
        }
    });
    let words = ["run", "grower", "go", "--model", "openai/gpt-5.2", "--yes", "--format", "json"];
    let mut command: Command = quiet(program, words);
    command.current_dir(folder).env("AGENTRY_HOME", folder.join("home")).env("HOME", folder);
    command.env("OPENAI_BASE_URL", format!("http://{address}/v1")).env("OPENAI_API_KEY", "none");
    processor_time(&mut command)
}

/// Answers as a model, without parsing the requests: each with the body for its number.
pub(crate) fn answer(
    stream: &TcpStream,
    asked: &mut usize,
    body: impl Fn(usize) -> String,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(1 << 20, stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            match line.to_lowercase().split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
                _ if line.trim().is_empty() => break,
                _ => {}
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        let body = body(*asked);
        *asked += 1;
        let head = format!("content-type: text/event-stream\r\ncontent-length: {}", body.len());
        let mut stream = stream;
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").as_bytes())?;
    }
}

/// The answer of a model that makes this many calls.
pub(crate) fn turn(asked: usize, calls: usize) -> String {
    let (delta, stop) = if asked < calls {
        let function = json!({ "name": "read", "arguments": "{\"path\": \"a.txt\"}" });
        let call = json!({ "index": 0, "id": format!("call_{asked}"), "function": function });
        (json!({ "tool_calls": [call] }), "tool_calls")
    } else {
        (json!({ "content": "all done" }), "stop")
    };
    let choice = |delta: &Value, stop: Option<&str>| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": stop }] });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5 });
    let events = [
        choice(&delta, None),
        choice(&json!({}), Some(stop)),
        json!({ "choices": [], "usage": usage }),
    ];
    events.map(|event| format!("data: {event}\n\n")).concat() + "data: [DONE]\n\n"
}
