//! `agentry runs prune`: old runs go.

use std::time::{Duration, SystemTime};

use agentry_runtime::journal::{self, Pruned};
use serde_json::{Value, json};

use super::{entry, failed, home, name};
use crate::args::{ResultFormat, RunsPrune};
use crate::output::{Exit, Outcome, print, print_json, remark};

pub(super) fn run(args: &RunsPrune) -> Outcome {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let before = now.checked_sub(args.older_than).unwrap_or(Duration::ZERO);
    let before = u64::try_from(before.as_millis()).unwrap_or(u64::MAX);
    let pruned = journal::prune(&home()?, before, args.dry_run).map_err(failed)?;
    match args.format {
        ResultFormat::Json => {
            let (gone, kept): (Vec<_>, Vec<_>) =
                pruned.iter().partition(|pruned| pruned.failed.is_none());
            let entries = |all: Vec<&Pruned>| -> Vec<Value> {
                all.into_iter().map(|pruned| entry(&pruned.summary)).collect()
            };
            print_json(&json!({ "removed": entries(gone), "kept": entries(kept) }));
        }
        ResultFormat::Human if pruned.is_empty() => remark("there is nothing to remove"),
        ResultFormat::Human => {
            let verb = if args.dry_run { "would remove" } else { "removed" };
            for Pruned { summary, .. } in pruned.iter().filter(|pruned| pruned.failed.is_none()) {
                let (name, state) = (name(summary), summary.state.as_str());
                print(&format!("{verb} {} ({name}, {state})\n", summary.id));
            }
        }
    }
    let mut exit = Exit::Done;
    for error in pruned.iter().filter_map(|pruned| pruned.failed.as_ref()) {
        remark(&format!("error: {error}"));
        exit = Exit::Findings;
    }
    Ok(exit)
}
