//! `agentry runs undo`: restores the files that a run changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_compile::text::report::visible;
use agentry_runtime::journal::{self, JournalError, JournalFollower};
use agentry_runtime::undo::{UndoOutcome, undo};
use agentry_runtime::{MessageBlock, RunEvent, TimedEvent};
use serde_json::{Value, json};

use super::{failed, find};
use crate::args::{ResultFormat, RunsUndoArguments};
use crate::command::run::session::now;
use crate::engine;
use crate::home::home;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json, remark};

pub(super) fn run(args: &RunsUndoArguments) -> CliOutcome {
    let home = home()?;
    let id = find(&home, &args.id)?;
    let undone = taken_back(&home, &id, args)?;
    match args.format {
        ResultFormat::Json => {
            let row = |(path, undone): &(std::path::PathBuf, UndoOutcome)| {
                let (state, why) = words(undone);
                json!({ "path": path, "state": state, "reason": why })
            };
            print_json(&Value::Array(undone.iter().map(row).collect()));
        }
        ResultFormat::Human if undone.is_empty() => remark("no tool of the run changed a file"),
        ResultFormat::Human => {
            for (path, undone) in &undone {
                let path = path.to_string_lossy();
                let path = visible(&path);
                let would = if args.dry_run { "would be " } else { "" };
                match undone {
                    UndoOutcome::Back => print(&format!("{would}restored: {path}\n")),
                    UndoOutcome::Same => print(&format!("as it was: {path}\n")),
                    UndoOutcome::Partly => print(&format!(
                        "{would}restored in part: {path}: it was changed meanwhile\n"
                    )),
                    UndoOutcome::Kept(why) => remark(&format!("kept: {path}: {why}")),
                    UndoOutcome::Refused(why) => {
                        remark(&format!("refused: {path}: {}", visible(why)));
                    }
                }
            }
        }
    }
    let kept = undone.iter().any(|(_, undone)| matches!(undone, UndoOutcome::Kept(_)));
    if kept && !args.force && args.format == ResultFormat::Human {
        remark("`--force` restores those as well; later changes to them are lost");
    }
    let runs = journal::tree(&home, &id).map_err(failed)?;
    if args.format == ResultFormat::Human && runs.iter().any(|id| ran_commands(&home, id)) {
        remark("the run ran commands: their changes to files are not recorded, and stay");
    }
    let refused = undone.iter().any(|(_, undone)| matches!(undone, UndoOutcome::Refused(_)));
    Ok(if kept || refused { ExitKind::Findings } else { ExitKind::Done })
}

/// Restores the files that a run and its delegates changed while all of them are locked, and records the undo in
/// the journal of the run.
fn taken_back(
    home: &Path,
    id: &str,
    args: &RunsUndoArguments,
) -> Result<Vec<(PathBuf, UndoOutcome)>, CliFailure> {
    let below = journal::tree(home, id).map_err(failed)?;
    let undone = |directory: &Path| {
        let held = below.iter().filter(|it| *it != id).map(|it| journal::hold(home, it));
        let held: Vec<_> = held.collect::<Result<_, _>>().map_err(failed)?;
        let directories = held.iter().map(|held| held.directory.as_path());
        let images = [directory].into_iter().chain(directories).map(journal::images);
        undo(&images.collect::<Vec<_>>(), args.force, args.dry_run).map_err(|error| {
            let what = format!("the changes of the run `{id}` cannot be undone: {error}");
            CliFailure::new(what).finding()
        })
    };
    let mut journal = match engine::open_journal(home, id, Arc::default()) {
        Ok((journal, ..)) => journal,
        // Files can be restored without the journal.
        Err(JournalError::Damaged { .. }) => {
            // Still locked, so that no other process continues the run meanwhile.
            let held = journal::hold(home, id).map_err(failed)?;
            return undone(&held.directory);
        }
        Err(error) => return Err(failed(error)),
    };
    let undone = undone(journal.directory())?;
    let back =
        undone.iter().filter(|(_, it)| matches!(it, UndoOutcome::Back | UndoOutcome::Partly));
    let paths: Vec<String> = back.map(|(path, _)| path.display().to_string()).collect();
    if !args.dry_run && !paths.is_empty() {
        let happened = TimedEvent { at: now(), event: RunEvent::Undone { paths } };
        journal.append(&happened, true).map_err(failed)?;
        journal.release().map_err(failed)?;
    }
    Ok(undone)
}

/// The result as words for JSON: a state, and a reason.
fn words(undone: &UndoOutcome) -> (&'static str, Option<&str>) {
    match undone {
        UndoOutcome::Back => ("back", None),
        UndoOutcome::Same => ("same", None),
        UndoOutcome::Partly => ("partly", None),
        UndoOutcome::Kept(why) => ("kept", Some(why)),
        UndoOutcome::Refused(why) => ("refused", Some(why)),
    }
}

/// Whether a run started commands; assumed if the journal cannot be read.
fn ran_commands(home: &std::path::Path, id: &str) -> bool {
    let events = JournalFollower::open(home, id).and_then(|(mut follow, _)| follow.more());
    let Ok(events) = events else { return true };
    let mut commands = BTreeSet::new();
    events.iter().any(|happened| match &happened.event {
        RunEvent::Turned(turn) => {
            let calls = turn.message.blocks.iter().filter_map(|block| match block {
                MessageBlock::Call(call) if call.tool == "bash" => Some(call.id.clone()),
                _ => None,
            });
            commands.extend(calls);
            false
        }
        RunEvent::Called { call, .. } if call.tool == "bash" => {
            commands.insert(call.id.clone());
            false
        }
        RunEvent::Started { id } => commands.contains(id),
        _ => false,
    })
}
