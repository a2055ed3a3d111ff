//! A JSON-RPC client on the standard streams of the program, for the tests of `acp` and `mcp`.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A client, and the program that it started.
pub(crate) struct RpcClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
    /// Messages that were read while another one was waited for.
    pub(crate) seen: VecDeque<Value>,
}

impl RpcClient {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, input, output, next: 0, seen: VecDeque::new() }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("still open");
        writeln!(input, "{message}").expect("it is read");
    }

    /// Sends a request; returns its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request of the program.
    pub(crate) fn reply(&mut self, asked: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
    }

    /// Reads until a message fits; the others are kept in `seen`.
    #[track_caller]
    pub(crate) fn waits(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("text");
            assert!(read > 0, "never: {what}; only {:#?}", self.seen);
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if fits(&message) {
                return message;
            }
            self.seen.push_back(message);
        }
    }

    /// The answer to a request, whole.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let is_answer = |it: &Value| it["id"] == id && it.get("method").is_none();
        self.waits(&format!("the answer to {id}"), is_answer)
    }

    /// Asks, and returns the result.
    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Asks, and returns the message of the error.
    #[track_caller]
    pub(crate) fn error(&mut self, method: &str, params: &Value) -> String {
        let id = self.request(method, params);
        let answer = self.answer(id);
        let message = answer["error"]["message"].as_str();
        message.unwrap_or_else(|| panic!("{method}: {answer}")).to_owned()
    }

    /// The next request or notice of the program with this method.
    #[track_caller]
    pub(crate) fn called(&mut self, method: &str) -> Value {
        self.waits(method, |it| it["method"] == method)
    }

    /// Closes the input, and waits for the end.
    #[track_caller]
    pub(crate) fn ends(mut self, code: i32) -> VecDeque<Value> {
        self.input.take();
        for line in self.output.lines() {
            self.seen.push_back(serde_json::from_str(&line.expect("text")).expect("JSON"));
        }
        assert_eq!(self.child.wait().expect("it ends").code(), Some(code), "{:#?}", self.seen);
        self.seen
    }

    /// The process, to send it a signal.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}
