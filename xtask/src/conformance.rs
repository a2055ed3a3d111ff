//! `cargo xtask conformance`: the real clients are asked what becomes of rendered agents.

use std::process::Command;

use crate::install;
use crate::process::{self, cargo};
use crate::step::Outcome;

/// The exit code that says that no client could be asked.
const NOBODY: i32 = 3;

/// Builds what is asked with and what is asked about, and runs it.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    build()?;
    install::ensure_searches()?;
    process::run(tool("run").args(arguments))
}

/// As a step of `ci`: with the clients that are there, or with all of them where `CI` is set, since
/// they are more than a gigabyte.
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
        Some(NOBODY) => Ok(Outcome::Skipped("no client could be had, see above".to_owned())),
        _ => Err("a client does not do as the source says".to_owned()),
    }
}

/// As part of the whole workspace: what the tests compiled is used again.
fn build() -> Result<(), String> {
    process::run(&mut cargo("build --workspace --bin agentry --bin agentry-conformance"))
}

/// The program that asks; it lies beside this one.
fn tool(command: &str) -> Command {
    let own = std::env::current_exe().unwrap_or_default();
    let name = format!("agentry-conformance{}", std::env::consts::EXE_SUFFIX);
    let mut tool = Command::new(own.with_file_name(name));
    tool.arg(command);
    tool
}
