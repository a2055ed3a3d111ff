//! Measures the screen of a run at a pseudo terminal: how long a long answer takes compared with `cat` of the
//! same text, and the time until something is shown.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::growing;
use crate::measure::{medians, quiet};
use crate::report::Table;
use crate::running::limit;
use crate::targets::ratio;

/// The bytes of one answer. An answer has a limit of 8 MiB, so that 10 MB are two of them.
const ANSWER: usize = 5_000_000;
/// The bytes of a piece of the stream.
const PIECE: usize = 1_000;
const ROUNDS: usize = 5;
/// The limit of the ratio to `cat`.
const MOST: f64 = 5.0;
/// The time until the first line of a conversation.
const FIRST: Duration = Duration::from_millis(50);

const AGENT: &str = "name = \"talker\"\ndescription = \"Talks\"\n\n[permissions.read]\nintent = \"allow\"\n";

/// Adds the rows of the screen.
pub(crate) fn screen(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    eprintln!("streaming {} bytes to a terminal", 2 * ANSWER);
    let failed = |error: std::io::Error| format!("no run at a terminal: {error}");
    fs::create_dir_all(folder.join("talker")).map_err(failed)?;
    fs::write(folder.join("talker/agent.toml"), AGENT).map_err(failed)?;
    fs::write(folder.join("talker/system-prompt.md"), "You talk.\n").map_err(failed)?;
    let text = "A **bold** word, `code`, and a sentence that fills most of a line on the screen.\n"
        .repeat(ANSWER / 80);
    fs::write(folder.join("text"), text.repeat(2)).map_err(failed)?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let bodies = Arc::new([body(&text, true), body(&text, false)]);
    std::thread::spawn(move || {
        let mut asked = 0;
        for stream in listener.incoming().flatten() {
            // Every other answer is a call, so that two answers are one turn. A client that disconnects is finished.
            let _ = growing::answer(&stream, &mut asked, |asked| bodies[asked % 2].clone());
        }
    });
    let run = "run talker --model openai/gpt-5.2 --yes --unconfined";
    let at_terminal = |line: String| {
        let mut command = quiet("script", ["-qec", &line, "/dev/null"]);
        command.current_dir(folder).env("AGENTRY_HOME", folder.join("home")).env("HOME", folder);
        command.env("OPENAI_BASE_URL", format!("http://{address}/v1"));
        command.env("OPENAI_API_KEY", "none").env("TERM", "xterm").env("SHELL", "/bin/sh");
        command
    };
    let ours = at_terminal(format!("{} {run} go", program.display()));
    let [ours, cat] = medians(ROUNDS, [ours, at_terminal("cat text".to_owned())])?;
    let what = "10 MB of streamed Markdown on a terminal / `cat` of its text".to_owned();
    table.add(ratio(what, ours, cat, "`cat`", MOST));
    let times = (0..ROUNDS).map(|_| first(at_terminal(format!("{} {run}", program.display()))));
    let mut times = times.collect::<Result<Vec<_>, _>>()?;
    times.sort();
    let median = times.get(ROUNDS / 2).copied().unwrap_or_default();
    table.add(limit("the first line of a conversation on a terminal", median, FIRST));
    Ok(())
}

/// The time until a conversation shows its first line. It is ended by the end of its input.
fn first(mut command: Command) -> Result<Duration, String> {
    let failed = |error: std::io::Error| format!("no conversation: {error}");
    let start = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut out = child.stdout.take().ok_or("no output")?;
    let (mut bytes, mut seen) = ([0; 4096], String::new());
    while !seen.contains("/help") {
        match out.read(&mut bytes).map_err(failed)? {
            0 => return Err(format!("the conversation shows no banner: {seen}")),
            count => seen.push_str(&String::from_utf8_lossy(bytes.get(..count).unwrap_or_default())),
        }
    }
    let time = start.elapsed();
    drop(child.stdin.take());
    std::io::copy(&mut out, &mut std::io::sink()).map_err(failed)?;
    child.wait().map_err(failed)?;
    Ok(time)
}

/// The stream of an answer, in pieces; with a call at its end or not.
fn body(text: &str, calls: bool) -> String {
    let mut out = String::new();
    let mut add = |delta: serde_json::Value, stop: Option<&str>| {
        let choice = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": stop }] });
        let _ = write!(out, "data: {choice}\n\n");
    };
    // The text is ASCII, so that every piece is whole.
    for piece in text.as_bytes().chunks(PIECE) {
        add(json!({ "content": String::from_utf8_lossy(piece) }), None);
    }
    if calls {
        let function = json!({ "name": "read", "arguments": "{\"path\": \"talker/agent.toml\"}" });
        add(json!({ "tool_calls": [{ "index": 0, "id": "call_1", "function": function }] }), None);
    }
    add(json!({}), Some(if calls { "tool_calls" } else { "stop" }));
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5 });
    let usage = json!({ "choices": [], "usage": usage });
    let _ = write!(out, "data: {usage}\n\ndata: [DONE]\n\n");
    out
}
