//! `agentry runs prune`: removes old runs.

use agentry_runtime::journal::{self, PrunedRun};
use serde_json::{Value, json};

use super::{entry, failed, name};
use crate::args::{ResultFormat, RunsPruneArguments};
use crate::command::run::session::now;
use crate::engine;
use crate::home::home;
use crate::output::{CliOutcome, ExitKind, print, print_json, remark};

pub(super) fn run(args: &RunsPruneArguments) -> CliOutcome {
    let age = u64::try_from(args.older_than.as_millis()).unwrap_or(u64::MAX);
    let before = now().saturating_sub(age);
    let pruned = journal::prune(&home()?, before, args.dry_run, &engine::remove).map_err(failed)?;
    match args.format {
        ResultFormat::Json => {
            let (gone, kept): (Vec<_>, Vec<_>) =
                pruned.iter().partition(|pruned| pruned.failed.is_none());
            let entries = |all: Vec<&PrunedRun>| -> Vec<Value> {
                all.into_iter().map(|pruned| entry(&pruned.summary)).collect()
            };
            print_json(&json!({ "removed": entries(gone), "kept": entries(kept) }));
        }
        ResultFormat::Human if pruned.is_empty() => remark("there is nothing to remove"),
        ResultFormat::Human => {
            let verb = if args.dry_run { "would remove" } else { "removed" };
            for PrunedRun { summary, .. } in pruned.iter().filter(|pruned| pruned.failed.is_none())
            {
                let (name, state) = (name(summary), summary.state.as_str());
                print(&format!("{verb} {} ({name}, {state})\n", summary.id));
            }
        }
    }
    let mut exit = ExitKind::Done;
    for error in pruned.iter().filter_map(|pruned| pruned.failed.as_ref()) {
        remark(&format!("error: {error}"));
        exit = ExitKind::Findings;
    }
    Ok(exit)
}
