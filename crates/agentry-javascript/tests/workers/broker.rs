//! A broker that knows a few addresses, and the pool that the tests share.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use agentry_javascript::{
    BrokerFuture, FetchHead, FetchRequest, InnerOutput, JobBroker, JobFailure, JobLimits, LogLevel,
    ScriptBlock, ToolJob, WorkerPool,
};
use serde_json::Value;
use tokio::runtime::Runtime;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_confined-worker");
/// The only variable that is granted.
pub(crate) const GRANTED: (&str, &str) = ("GRANTED", "granted value");

/// One runtime for all tests, as in a run.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));
/// One pool for all tests, as the tools of one agent share one.
pub(crate) static POOL: LazyLock<Arc<WorkerPool>> =
    LazyLock::new(|| WorkerPool::new(Path::new(PROGRAM).to_owned()));

/// Answers from a list, and writes down what it was asked.
#[derive(Default)]
pub(crate) struct TestBroker {
    pub(crate) log: Mutex<Vec<(LogLevel, String)>>,
    pub(crate) asked: Mutex<Vec<(FetchRequest, Vec<u8>)>>,
    pub(crate) called: Mutex<Vec<(String, Value)>>,
    bodies: Mutex<HashMap<u64, Vec<Vec<u8>>>>,
}

impl JobBroker for TestBroker {
    fn fetch(
        &self,
        request: FetchRequest,
        body: Vec<u8>,
    ) -> BrokerFuture<'_, Result<FetchHead, String>> {
        self.asked.lock().expect("a lock").push((request.clone(), body.clone()));
        Box::pin(async move {
            let pieces: Vec<Vec<u8>> = match request.url.as_str() {
                "https://open.example/text" => vec![b"hello".to_vec()],
                "https://open.example/json" => vec![br#"{"a":"#.to_vec(), b"1}".to_vec()],
                "https://open.example/cut" => vec![vec![0xc3], vec![0xa4]],
                "https://open.example/echo" => vec![body],
                "https://open.example/large" => vec![vec![b'x'; 1 << 20]; 20],
                "https://open.example/slow" => {
                    std::future::pending::<()>().await;
                    Vec::new()
                }
                "https://open.example/missing" => vec![b"not here".to_vec()],
                _ => return Err("refused: no rule allows it".to_owned()),
            };
            let missing = request.url.ends_with("/missing");
            let mut bodies = self.bodies.lock().expect("a lock");
            let number = bodies.len() as u64 + 1;
            bodies.insert(number, pieces);
            Ok(FetchHead {
                status: if missing { 404 } else { 200 },
                status_text: if missing { "Not Found" } else { "OK" }.to_owned(),
                headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
                url: request.url,
                redirected: false,
                body: number,
            })
        })
    }

    fn read(&self, body: u64) -> BrokerFuture<'_, Result<Option<Vec<u8>>, String>> {
        let mut bodies = self.bodies.lock().expect("a lock");
        let piece = match bodies.get_mut(&body) {
            None => Err("there is no such body".to_owned()),
            Some(pieces) if pieces.is_empty() => Ok(None),
            Some(pieces) => Ok(Some(pieces.remove(0))),
        };
        Box::pin(async move { piece })
    }

    fn close(&self, body: u64) {
        self.bodies.lock().expect("a lock").insert(body, Vec::new());
    }

    fn call(
        &self,
        tool: String,
        arguments: Value,
    ) -> BrokerFuture<'_, Result<InnerOutput, String>> {
        self.called.lock().expect("a lock").push((tool.clone(), arguments.clone()));
        Box::pin(async move {
            match tool.as_str() {
                "echo" | "bash" | "grep" | "glob" | "list" => {
                    let (name, output) = (tool, arguments.to_string());
                    Ok(InnerOutput { name, output, failed: false, is_cut: false })
                }
                "read" => {
                    let output = "    1\tone\n    2\t\ttwo\n    3\t4\tthree\n".to_owned();
                    Ok(InnerOutput { name: tool, output, failed: false, is_cut: false })
                }
                "broken" => {
                    let output = "it broke".to_owned();
                    Ok(InnerOutput { name: tool, output, failed: true, is_cut: false })
                }
                "slow" => std::future::pending().await,
                _ => Err(format!("refused: `{tool}` is not among the allowed tools")),
            }
        })
    }

    fn log(&self, level: LogLevel, text: &str) {
        self.log.lock().expect("a lock").push((level, text.to_owned()));
    }
}

/// A block with one tool, `probe`, that has this body.
pub(crate) fn probe(body: &str) -> Vec<ScriptBlock> {
    let text =
        format!("return {{ probe: {{ fn: async (args, ctx) => {{ {body}\n}}, scheme: {{}} }} }};");
    vec![ScriptBlock { line: 10, text }]
}

/// Calls the tool `probe`.
pub(crate) fn call(
    blocks: &[ScriptBlock],
    arguments: &Value,
    time: Duration,
    broker: &TestBroker,
) -> Result<Value, JobFailure> {
    let env = [(GRANTED.0.to_owned(), GRANTED.1.to_owned())];
    let job = ToolJob { tool: "probe", arguments, env: &env };
    let limits = JobLimits { time, ..JobLimits::default() };
    RUNTIME.block_on(POOL.call(blocks, &job, limits, broker))
}

/// Runs a future on the runtime of the tests.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.block_on(future)
}

/// Runs the body of a tool without arguments, with time enough.
pub(crate) fn run(body: &str) -> Result<Value, JobFailure> {
    call(&probe(body), &Value::Object(serde_json::Map::new()), LONG, &TestBroker::default())
}

/// Longer than any job of the tests takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_mins(1);
