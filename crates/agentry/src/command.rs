//! The commands, one file each. This module dispatches to them and holds what they share.

pub(crate) mod acp;
pub(crate) mod agents;
pub(crate) mod audit;
mod changed_scope;
pub(crate) mod check;
mod check_report;
pub(crate) mod config;
pub(crate) mod consent;
pub(crate) mod convert;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod gc;
pub(crate) mod guard;
pub(crate) mod hash;
pub(crate) mod history;
mod home_agents;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod keygen;
pub(crate) mod list;
pub(crate) mod lock;
mod lock_report;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod models;
pub(crate) mod new;
pub(crate) mod policy;
pub(crate) mod proposals;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod receipts;
mod registry;
pub(crate) mod render;
pub(crate) mod resolve;
mod resolve_report;
pub(crate) mod resume;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod sandbox;
pub(crate) mod schedule;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod serve;
mod served_agent;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod sign;
mod stdio_service;
mod steered_run;
mod store;
mod suggestion;
pub(crate) mod teach;
pub(crate) mod test;
pub(crate) mod tools;
pub(crate) mod uninstall;
pub(crate) mod verify;

use std::io::{self, Write as _};

use agentry_compile::model::Format;
use agentry_compile::text::report::{human, json};
use agentry_compile::text::{Diagnostic, Severity, SourceFiles};
use agentry_compile::{
    AgentDiscovery, CompiledAgent, FileTree as _, FoundAgent, World, discover, read as read_agent,
};

use crate::args::ResultFormat;
use crate::disk::{DiskWorld, kept_root};
use crate::home::agentry_home;
use crate::output::{CliFailure, print_json, style};

/// Lists what a search takes for an agent; shown when it found none.
const LOOKED_FOR: &str = "looked for `*.agent`, `*.agent.md`, and directories with `agent.toml`, \
    `agent.yaml`, `agent.json` or `instructions.md`";

/// What can be named where nothing of a similar name was found.
const NAMES: &str = "name a file or a directory; `agentry agents` lists installed agents";

/// Finds the agents at `paths`, and reports the paths that lead to none.
fn find(
    disk: &DiskWorld,
    paths: &[String],
    format: Option<Format>,
) -> (Vec<FoundAgent>, Vec<CliFailure>) {
    let (mut agents, mut wrong, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        match store::kept(disk, path) {
            Some(Ok(stored)) => agents.push(stored.found),
            Some(Err(failure)) => wrong.push(failure),
            None => others.push(path.clone()),
        }
    }
    if others.is_empty() && !paths.is_empty() {
        return (agents, wrong);
    }
    let found = discover(disk, &others, format, &|_| false);
    wrong.extend(problems(disk, &found));
    wrong.extend(found.empty.iter().map(|path| none_in(disk, path)));
    agents.extend(found.agents);
    (agents, wrong)
}

/// Finds the agents of the current directory, which may have none.
fn find_here(disk: &DiskWorld) -> (Vec<FoundAgent>, Vec<CliFailure>) {
    let found = discover(disk, &[".".to_owned()], None, &|_| false);
    let wrong = problems(disk, &found);
    (found.agents, wrong)
}

/// What a search could not read.
fn problems(disk: &DiskWorld, found: &AgentDiscovery) -> Vec<CliFailure> {
    let unread = found.diagnostics.iter().map(|diagnostic| {
        let path = found.sources.path(diagnostic.span);
        let failure = CliFailure::new(format!("`{path}`: {}", diagnostic.message));
        failure.hint_opt(diagnostic.hint.clone()).finding()
    });
    failures(disk, found).into_iter().chain(unread).collect()
}

/// Finds the one agent at `path`.
fn find_one(
    disk: &DiskWorld,
    path: &str,
    format: Option<Format>,
) -> Result<FoundAgent, CliFailure> {
    let (mut agents, wrong) = find(disk, &[path.to_owned()], format);
    if let Some(failure) = wrong.into_iter().next() {
        return Err(failure);
    }
    match agents.len() {
        1 => Ok(agents.remove(0)),
        count => {
            let names: Vec<_> =
                agents.iter().take(5).map(|found| format!("`{}`", found.path)).collect();
            Err(CliFailure::new(format!("`{path}` holds {count} agents"))
                .hint(format!("name one: {}", names.join(", "))))
        }
    }
}

/// Reports that a directory has no agent, and lists what was searched for.
fn none_in(disk: &DiskWorld, path: &str) -> CliFailure {
    let hint = import::hint(disk, path).unwrap_or_else(|| LOOKED_FOR.to_owned());
    CliFailure::new(format!("no agent found in `{path}`")).hint(hint)
}

/// Converts the problems of the paths themselves to failures.
fn failures(disk: &dyn World, found: &AgentDiscovery) -> Vec<CliFailure> {
    let missing = found.missing.iter().map(|path| {
        let failure = CliFailure::new(format!("`{path}` does not exist")).about(path);
        failure.hint(suggestion::agent(disk, path).unwrap_or_else(|| NAMES.to_owned()))
    });
    let others = found.no_agents.iter().map(|path| {
        let format = format!("pass the format with `--as {}`", Format::WORDS.join("|"));
        let hint = match import::hint(disk, path) {
            Some(import) => format!("{import}; else {format}"),
            None => format,
        };
        let message = format!("`{path}` is not an agent definition");
        CliFailure::new(message).hint(hint).about(path)
    });
    missing.chain(others).collect()
}

/// Reads the definition of an agent. What an installed agent remembers is not a part of it.
fn read_definition(disk: &dyn World, found: &FoundAgent) -> CompiledAgent {
    let mut compiled = read_agent(disk, found);
    if let Some(home) = agentry_home() {
        run::memory::leave_out_remembered(disk, &mut compiled, &home);
    }
    compiled
}

/// Checks one agent; its errors are shown and end the command.
fn usable(disk: &DiskWorld, found: &FoundAgent) -> Result<CompiledAgent, CliFailure> {
    without_errors(read_definition(disk, found))
}

/// Shows the errors of an agent that was read.
fn without_errors(compiled: CompiledAgent) -> Result<CompiledAgent, CliFailure> {
    // A parse error stays an error here, even where a suppression covers it.
    if !compiled.has_errors() {
        return Ok(compiled);
    }
    show_errors(&compiled);
    Err(CliFailure::new(format!("`{}` has errors", compiled.found.path))
        .hint("`agentry check` shows all findings")
        .finding())
}

/// The note about a text of the prompt in which a secret is masked.
fn mask_note(origin: &str) -> String {
    format!("a secret in `{origin}` is sent to the model as `***`")
}

/// Moves an agent of the home to the current workspace, where it works. Its own files are read before.
fn work_here(disk: &DiskWorld, compiled: &mut CompiledAgent) {
    if kept_root(&disk.absolute(&compiled.workspace)).is_some() {
        compiled.workspace = disk.workspace("");
    }
}

/// An agent with errors, by its path.
type BrokenAgent<'a> = (&'a str, &'a [Diagnostic], &'a SourceFiles);

/// Reports agents with errors in commands where exit code 1 means that a comparison found something.
/// With JSON output it prints `{"errors": […]}`.
fn incomparable(broken: &[BrokenAgent<'_>], so: &str, format: ResultFormat) -> CliFailure {
    let mut errors = Vec::new();
    for (_, findings, sources) in broken {
        show(findings, sources);
        let own = findings.iter().filter(|found| found.severity == Severity::Error);
        errors.extend(own.map(|found| json::diagnostic(found, sources)));
    }
    if format == ResultFormat::Json {
        print_json(&serde_json::json!({ "errors": errors }));
    }
    let names: Vec<_> = broken.iter().take(5).map(|(path, ..)| format!("`{path}`")).collect();
    let verb = if broken.len() == 1 { "has" } else { "have" };
    CliFailure::new(format!("{} {verb} errors{so}", names.join(", ")))
        .hint("`agentry check` shows all findings")
}

/// Prints the errors of an agent to standard error.
fn show_errors(compiled: &CompiledAgent) {
    show(&compiled.diagnostics, &compiled.sources);
}

/// Prints the errors among `findings` and returns the failure of the command.
fn reported(findings: &[Diagnostic], sources: &SourceFiles, failure: &str) -> CliFailure {
    show(findings, sources);
    CliFailure::new(failure)
}

fn show(findings: &[Diagnostic], sources: &SourceFiles) {
    let mut stderr = io::stderr();
    for diagnostic in findings.iter().filter(|found| found.severity == Severity::Error) {
        let text = human::render(diagnostic, sources, style(&stderr));
        let _ = writeln!(stderr, "{text}");
    }
}
