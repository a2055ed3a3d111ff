//! `cargo xtask conformance`: tests how the real clients treat rendered agents.

use std::process::Command;

use crate::install;
use crate::process::{self, cargo};
use crate::step::Outcome;

/// The exit code of a suite that could not test any client.
const NOTHING_TESTED: i32 = 3;

/// Builds the suite and the program under test, and runs the suite.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    build()?;
    install::ensure_searches()?;
    process::run(tool("run").args(arguments))
}

/// The step of `ci`: only installed clients, or all of them where `CI` is set, since they need more than
/// a gigabyte.
pub(crate) fn step() -> Result<Outcome, String> {
    build()?;
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    if !is_ci && !process::succeeds(&mut tool("installed")) {
        let why = "no client is installed here; `cargo xtask conformance` installs them \
                   (more than 1 GB from npm) and runs it";
        return Ok(Outcome::Skipped(why.to_owned()));
    }
    install::ensure_searches()?;
    let mut command = tool("run");
    let status = command.args((!is_ci).then_some("--installed")).status();
    match status.map_err(|error| format!("the clients cannot be asked: {error}"))?.code() {
        Some(0) => Ok(Outcome::Done),
        Some(NOTHING_TESTED) => {
            Ok(Outcome::Skipped("no client could be had, see above".to_owned()))
        }
        _ => Err("a client does not do as the source says".to_owned()),
    }
}

/// Tests the MCP client with the conformance suite of the protocol and with real servers.
pub(crate) fn mcp() -> Result<Outcome, String> {
    process::run(&mut cargo(
        "build --workspace --bin agentry --bin agentry-conformance --example conformance-client",
    ))?;
    let status = tool("mcp").status();
    match status.map_err(|error| format!("the suite cannot be run: {error}"))?.code() {
        Some(0) => Ok(Outcome::Done),
        Some(NOTHING_TESTED) => {
            Ok(Outcome::Skipped("a registry cannot be reached, see above".to_owned()))
        }
        _ => Err("the MCP client is not as expected".to_owned()),
    }
}

/// Drives agents with the official clients of ACP and MCP.
pub(crate) fn serving() -> Result<Outcome, String> {
    build()?;
    let status = tool("serving").status();
    match status.map_err(|error| format!("the clients cannot be run: {error}"))?.code() {
        Some(0) => Ok(Outcome::Done),
        Some(NOTHING_TESTED) => {
            Ok(Outcome::Skipped("a registry cannot be reached, see above".to_owned()))
        }
        _ => Err("agents for editors and programs are not as expected".to_owned()),
    }
}

/// Builds the whole workspace, so that the results of the tests are reused.
fn build() -> Result<(), String> {
    process::run(&mut cargo("build --workspace --bin agentry --bin agentry-conformance"))
}

/// The program of the suite, which lies beside this one.
fn tool(command: &str) -> Command {
    let own = std::env::current_exe().unwrap_or_default();
    let name = format!("agentry-conformance{}", std::env::consts::EXE_SUFFIX);
    let mut tool = Command::new(own.with_file_name(name));
    tool.arg(command);
    tool
}
