//! Measures JavaScript tools: a trivial call through a confined worker, against starting `node` for it.

use std::fs;
use std::time::{Duration, Instant};

use agentry_javascript::{
    BrokerFuture, FetchHead, FetchRequest, JobBroker, JobLimits, LogLevel, ScriptBlock, ToolJob,
    WORKER, WorkerPool,
};
use serde_json::json;

use crate::measure::{median, quiet};
use crate::report::{Row, Table, bytes, seconds};

/// The number of calls.
const CALLS: usize = 1_000;
/// The longest median of a call.
const ALONE: Duration = Duration::from_millis(1);
/// How many times faster than a start of `node` a call must be.
const TIMES_NODE: f64 = 50.0;
/// The second half of the calls may take this many times as long as the first.
const GROWTH: f64 = 1.3;
/// The most memory of an idle worker.
const MEMORY: u64 = 15_000_000;

/// A broker that is never asked.
struct NoBroker;

impl JobBroker for NoBroker {
    fn fetch(&self, _: FetchRequest, _: Vec<u8>) -> BrokerFuture<'_, Result<FetchHead, String>> {
        Box::pin(std::future::ready(Err("refused".to_owned())))
    }

    fn read(&self, _: u64) -> BrokerFuture<'_, Result<Option<Vec<u8>>, String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn close(&self, _: u64) {}

    fn log(&self, _: LogLevel, _: &str) {}
}

/// Calls a tool that returns a number. This program is also the worker.
pub(crate) fn calling(table: &mut Table) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("who am I: {error}"))?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let pool = WorkerPool::new(program);
    let text = "return { one: { fn: (args) => args.n + 1, scheme: {} } };".to_owned();
    let blocks = [ScriptBlock { line: 1, text }];
    let arguments = json!({ "n": 1 });
    let job = ToolJob { tool: "one", arguments: &arguments, env: &[] };
    let call = || runtime.block_on(pool.call(&blocks, &job, JobLimits::default(), &NoBroker));
    eprintln!("calling a JavaScript tool {CALLS} times");
    // The first call starts a worker.
    call().map_err(|failure| failure.to_string())?;
    let mut times = Vec::new();
    for _ in 0..CALLS {
        let before = Instant::now();
        call().map_err(|failure| failure.to_string())?;
        times.push(before.elapsed());
    }
    let (first, second) = times.split_at(CALLS / 2);
    let growth = second.iter().sum::<Duration>().as_secs_f64()
        / first.iter().sum::<Duration>().as_secs_f64();
    let one = median(times);
    table.add(Row {
        what: "a trivial JavaScript call through a confined worker".to_owned(),
        measured: seconds(one),
        ratio: String::new(),
        target: format!("< {}", seconds(ALONE)),
        is_met: one < ALONE,
    });
    table.add(Row {
        what: format!("the second half of {CALLS} calls, against the first"),
        measured: String::new(),
        ratio: format!("{growth:.2}"),
        target: format!("≤ {GROWTH}"),
        is_met: growth <= GROWTH,
    });
    against_node(one, table);
    idle(table);
    Ok(())
}

fn against_node(one: Duration, table: &mut Table) {
    let what = "a start of `node` for it, against the call".to_owned();
    let mut times = Vec::new();
    for _ in 0..11 {
        let before = Instant::now();
        match quiet("node", ["-e", "0"]).status() {
            Ok(status) if status.success() => times.push(before.elapsed()),
            _ => return table.skip(what, "`node` cannot be started".to_owned()),
        }
    }
    let node = median(times);
    let ratio = node.as_secs_f64() / one.as_secs_f64();
    table.add(Row {
        what,
        measured: format!("{} / {}", seconds(node), seconds(one)),
        ratio: format!("{ratio:.0}"),
        target: format!("≥ {TIMES_NODE}"),
        is_met: ratio >= TIMES_NODE,
    });
}

/// The memory of the largest worker that waits for a job.
fn idle(table: &mut Table) {
    let memory = |process: &fs::DirEntry| {
        let command = fs::read(process.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).into_owned();
        let is_worker = command.split('\0').nth(1) == Some(WORKER);
        let status = fs::read_to_string(process.path().join("status")).ok().filter(|_| is_worker)?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let largest = processes.filter_map(|process| memory(&process)).max();
    let what = "the memory of an idle worker".to_owned();
    let Some(largest) = largest else {
        return table.skip(what, "no worker was found".to_owned());
    };
    table.add(Row {
        what,
        measured: bytes(largest),
        ratio: String::new(),
        target: format!("< {}", bytes(MEMORY)),
        is_met: largest < MEMORY,
    });
}
