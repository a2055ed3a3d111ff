//! Benchmarks: ratios that are measured side by side in one run, so that they mean the same on any
//! machine. `cargo xtask bench` runs them; a missed target ends with exit code 1.

mod channels;
mod corpus;
mod engine;
mod growing;
mod guard;
mod importing;
mod javascript;
mod locking;
mod measure;
mod memory;
mod policy;
#[path = "../../crates/agentry-engine/tests/postgres_server/mod.rs"]
mod postgres_server;
mod program;
mod pulling;
mod receipts;
mod reference;
mod render;
mod report;
mod running;
mod sandbox;
mod screen;
mod servers;
mod serving;
mod targets;

use std::path::Path;
use std::process::ExitCode;

use corpus::{Corpus, Kind};
use report::Table;

const USAGE: &str = "\
usage: cargo xtask bench [COMMAND]

  (nothing)          measures everything; 1 if a target is missed
  channels           measures the start of what was installed by npm only
  engine             measures runs on a Postgres engine only
  javascript         measures JavaScript tools only
  lock               measures locking and the store only
  memory             measures the search in memories only
  policy             measures verdicts and comparisons only
  pull               measures a pull from a registry only
  receipts           measures receipts and schedules only
  render             measures rendering and the guard only
  run                measures running only, against the real clients
  sandbox            measures confined commands only
  screen             measures the screen of a run only
  servers            measures MCP servers only
  serve              measures `agentry serve` only
  corpus COUNT DIR   writes the agents that are measured, for a profiler
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        [] => run(),
        ["policy"] => Ok(shown(&policy_table())),
        ["channels"] => channels_table().map(|table| shown(&table)),
        ["javascript"] => javascript_table().map(|table| shown(&table)),
        ["engine"] => engine_table().map(|table| shown(&table)),
        ["lock"] => lock_table().map(|table| shown(&table)),
        ["memory"] => memory_table().map(|table| shown(&table)),
        ["servers"] => servers_table().map(|table| shown(&table)),
        ["serve"] => serve_table().map(|table| shown(&table)),
        ["sandbox"] => sandbox_table().map(|table| shown(&table)),
        ["screen"] => screen_table().map(|table| shown(&table)),
        ["pull"] => pull_table().map(|table| shown(&table)),
        ["receipts"] => receipts_table().map(|table| shown(&table)),
        ["render"] => render_table().map(|table| shown(&table)),
        ["run"] => run_table().map(|table| shown(&table)),
        ["corpus", count, dir] => write_corpus(count, Path::new(dir)),
        // This program is also a worker, and the helper of the sandbox.
        [agentry_javascript::WORKER] => return agentry_javascript::serve().into(),
        [agentry_sandbox::HELPER] => return agentry_sandbox::serve().into(),
        [servers::SERVER, start] => servers::serve(start),
        [measure::CHILD, program, arguments @ ..] => measure::child(program, arguments),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all benchmarks; returns whether every target was met.
fn run() -> Result<bool, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let corpus = |name: &str, count, kind| Corpus::write(&folder.path().join(name), count, kind);
    eprintln!("writing 1,000 and 10,000 agents");
    let small = corpus("small", 1_000, Kind::Mixed)?;
    let large = corpus("large", 10_000, Kind::Mixed)?;
    let manifests = corpus("manifests", 1_000, Kind::Manifests)?;
    let inherited = corpus("inherited", 1_000, Kind::Inherited)?;
    let mut table = Table::default();
    targets::checking(&program, &small, &large, &mut table)?;
    targets::reference(&program, (&small, &manifests), folder.path(), &mut table)?;
    targets::starting(&program, &small, &mut table)?;
    channels::starting(&program, folder.path(), &mut table)?;
    locking::locking(&program, &inherited, &mut table)?;
    locking::storing(&program, &inherited, folder.path(), &mut table)?;
    pulling::pulling(&program, folder.path(), &mut table)?;
    render::rendering(&program, folder.path(), &mut table)?;
    importing::importing(&program, folder.path(), &mut table)?;
    running::racing(&mut table)?;
    growing::growing(&program, folder.path(), &mut table)?;
    screen::screen(&program, folder.path(), &mut table)?;
    guard::guarding(&program, folder.path(), &mut table)?;
    policy::verdicts(&mut table);
    policy::comparisons(&mut table);
    sandbox::confining(&mut table)?;
    javascript::calling(&mut table)?;
    memory::recalling(folder.path(), &mut table)?;
    receipts::chaining(folder.path(), &mut table)?;
    receipts::scheduling(&program, folder.path(), &mut table)?;
    servers::serving(&program, folder.path(), &mut table)?;
    serving::measuring(&program, folder.path(), &mut table)?;
    Ok(shown(&table))
}

/// Verdicts and comparisons of policies only: no program is built or started.
fn policy_table() -> Table {
    let mut table = Table::default();
    policy::verdicts(&mut table);
    policy::comparisons(&mut table);
    table
}

/// Locking and the store only.
fn lock_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let inherited = Corpus::write(&folder.path().join("inherited"), 1_000, Kind::Inherited)?;
    let mut table = Table::default();
    locking::locking(&program, &inherited, &mut table)?;
    locking::storing(&program, &inherited, folder.path(), &mut table)?;
    Ok(table)
}

/// The search in memories only.
fn memory_table() -> Result<Table, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    memory::recalling(folder.path(), &mut table)?;
    Ok(table)
}

/// The start of what was installed only.
fn channels_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    channels::starting(&program, folder.path(), &mut table)?;
    Ok(table)
}

/// A pull from a registry only.
fn pull_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    pulling::pulling(&program, folder.path(), &mut table)?;
    Ok(table)
}

/// Receipts and schedules only.
fn receipts_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    receipts::chaining(folder.path(), &mut table)?;
    receipts::scheduling(&program, folder.path(), &mut table)?;
    Ok(table)
}

/// Confined commands only.
fn sandbox_table() -> Result<Table, String> {
    let mut table = Table::default();
    sandbox::confining(&mut table)?;
    Ok(table)
}

/// JavaScript tools only.
fn javascript_table() -> Result<Table, String> {
    let mut table = Table::default();
    javascript::calling(&mut table)?;
    Ok(table)
}

/// MCP servers only.
fn servers_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    servers::serving(&program, folder.path(), &mut table)?;
    Ok(table)
}

/// The server only.
fn serve_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    serving::measuring(&program, folder.path(), &mut table)?;
    Ok(table)
}

/// The engine only.
fn engine_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    engine::measuring(&program, folder.path(), &mut table)?;
    Ok(table)
}

/// Rendering only.
fn render_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    render::rendering(&program, folder.path(), &mut table)?;
    importing::importing(&program, folder.path(), &mut table)?;
    guard::guarding(&program, folder.path(), &mut table)?;
    Ok(table)
}

/// Running only.
fn run_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    running::racing(&mut table)?;
    growing::growing(&program, folder.path(), &mut table)?;
    Ok(table)
}

/// The screen only.
fn screen_table() -> Result<Table, String> {
    let program = program::build()?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut table = Table::default();
    screen::screen(&program, folder.path(), &mut table)?;
    Ok(table)
}

/// Prints the table; returns whether every target was met.
fn shown(table: &Table) -> bool {
    print!("{table}");
    table.is_met()
}

fn write_corpus(count: &str, dir: &Path) -> Result<bool, String> {
    let count = count.parse().map_err(|_| format!("`{count}` is not a number of agents"))?;
    let corpus = Corpus::write(dir, count, Kind::Together)?;
    println!("{} files, {} bytes", corpus.files.len(), corpus.bytes);
    Ok(true)
}
