//! The report of `agentry lock`, as text and as JSON.

use std::fmt::Write as _;

use agentry_compile::lock::LockChange;
use agentry_compile::text::report::{counted, visible};
use serde_json::{Value, json};

use super::lock::{LockOutcome, LockedRow};
use crate::args::{LockArguments, ResultFormat};
use crate::output::{print, print_json};

pub(super) fn report(args: &LockArguments, results: &[LockOutcome]) {
    match args.format {
        ResultFormat::Human => print(&human(args, results)),
        ResultFormat::Json => print_json(&to_json(results)),
    }
}

/// The state of an agent in one word.
fn state(agent: &LockedRow) -> &'static str {
    match (agent.now.is_some(), agent.known, agent.is_changed()) {
        (false, ..) => "gone",
        (true, false, _) => "new",
        (true, true, true) => "changed",
        (true, true, false) => "same",
    }
}

fn human(args: &LockArguments, results: &[LockOutcome]) -> String {
    let mut out = String::new();
    for result in results {
        for agent in result.agents.iter().filter(|agent| agent.is_changed()) {
            let _ = writeln!(out, "{}: {}", visible(&agent.path), state_text(args, agent));
            if state(agent) == "changed" {
                for LockChange { message, .. } in &agent.changes {
                    let _ = writeln!(out, "  {message}");
                }
            }
        }
        let path = visible(&result.path);
        let changed = result.agents.iter().filter(|agent| agent.is_changed()).count();
        let count = count(args, result, changed);
        let _ = match (args.check, result.written, changed) {
            (true, _, 0) => writeln!(out, "{path}: {count}, all as locked"),
            (true, ..) => writeln!(out, "{path}: {count}, {changed} not as locked"),
            (false, true, _) => writeln!(out, "wrote {path}: {count}"),
            (false, false, _) => writeln!(out, "{path}: {count}, nothing changed"),
        };
    }
    out
}

/// The number of agents that were checked or written, with the total where that differs.
fn count(args: &LockArguments, result: &LockOutcome, changed: usize) -> String {
    let here = result.agents.iter().filter(|agent| agent.now.is_some()).count();
    let here = if result.written && here < result.total { changed } else { here };
    if args.agents.is_empty() || here >= result.total {
        return counted(here, "agent");
    }
    format!("{here} of {}", counted(result.total, "agent"))
}

fn state_text(args: &LockArguments, agent: &LockedRow) -> &'static str {
    match (state(agent), args.check) {
        ("new", true) => "not locked",
        ("new", false) => "locked",
        ("gone", true) => "locked, but gone",
        ("gone", false) => "gone, no longer locked",
        (_, true) => "changed",
        (_, false) => "changed, locked again",
    }
}

fn to_json(results: &[LockOutcome]) -> Value {
    let change = |change: &LockChange| {
        json!({
            "kind": change.kind.as_str(),
            "subject": change.subject,
            "message": change.message,
        })
    };
    let agent = |agent: &LockedRow| {
        json!({
            "path": agent.path,
            "name": agent.now.as_ref().map(|(name, _)| name),
            "digest": agent.now.as_ref().map(|(_, digest)| digest),
            "state": state(agent),
            "changes": agent.changes.iter().map(change).collect::<Vec<_>>(),
        })
    };
    let lock = |result: &LockOutcome| {
        json!({
            "path": result.path,
            "written": result.written,
            "agents": result.agents.iter().map(agent).collect::<Vec<_>>(),
        })
    };
    json!({ "locks": results.iter().map(lock).collect::<Vec<_>>() })
}
