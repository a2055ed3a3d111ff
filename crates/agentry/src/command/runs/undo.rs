//! `agentry runs undo`: what a run changed in files is taken back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_compile::text::report::visible;
use agentry_runtime::journal::{self, Follow, Journal, JournalError};
use agentry_runtime::undo::{Undone, undo};
use agentry_runtime::{Block, Event, Happened};
use serde_json::{Value, json};

use super::{failed, find, home};
use crate::args::{ResultFormat, RunsUndo};
use crate::command::run::session::now;
use crate::output::{Exit, Failure, Outcome, print, print_json, remark};

pub(super) fn run(args: &RunsUndo) -> Outcome {
    let home = home()?;
    let id = find(&home, &args.id)?;
    let undone = taken_back(&home, &id, args)?;
    match args.format {
        ResultFormat::Json => {
            let row = |(path, undone): &(std::path::PathBuf, Undone)| {
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
                    Undone::Back => print(&format!("{would}taken back: {path}\n")),
                    Undone::Same => print(&format!("as it was: {path}\n")),
                    Undone::Partly => print(&format!(
                        "{would}taken back in part: {path}: somebody else had changed it meanwhile\n"
                    )),
                    Undone::Kept(why) => remark(&format!("kept: {path}: {why}")),
                    Undone::Refused(why) => remark(&format!("refused: {path}: {}", visible(why))),
                }
            }
        }
    }
    let kept = undone.iter().any(|(_, undone)| matches!(undone, Undone::Kept(_)));
    if kept && !args.force && args.format == ResultFormat::Human {
        remark("`--force` takes back those as well; what was done since is lost then");
    }
    if args.format == ResultFormat::Human && ran_commands(&home, &id) {
        remark("the run ran commands: what those changed in files is not kept, and stays");
    }
    let refused = undone.iter().any(|(_, undone)| matches!(undone, Undone::Refused(_)));
    Ok(if kept || refused { Exit::Findings } else { Exit::Done })
}

/// Takes the changes back while nobody goes on with the run, and writes down that it was done.
fn taken_back(home: &Path, id: &str, args: &RunsUndo) -> Result<Vec<(PathBuf, Undone)>, Failure> {
    let undone = |directory: &Path| {
        undo(&journal::images(directory), args.force, args.dry_run).map_err(|error| {
            let what = format!("the changes of the run `{id}` cannot be taken back: {error}");
            Failure::new(what).finding()
        })
    };
    let mut journal = match Journal::open(home, id, Arc::default()) {
        Ok((journal, ..)) => journal,
        // Files can be brought back without it.
        Err(JournalError::Damaged { .. }) => {
            let held = journal::hold(home, id).map_err(failed)?;
            return undone(&held.directory);
        }
        Err(error) => return Err(failed(error)),
    };
    let undone = undone(journal.directory())?;
    let back = undone.iter().filter(|(_, it)| matches!(it, Undone::Back | Undone::Partly));
    let paths: Vec<String> = back.map(|(path, _)| path.display().to_string()).collect();
    if !args.dry_run && !paths.is_empty() {
        let happened = Happened { at: now(), event: Event::Undone { paths } };
        journal.append(&happened, true).map_err(failed)?;
    }
    Ok(undone)
}

/// For programs.
fn words(undone: &Undone) -> (&'static str, Option<&str>) {
    match undone {
        Undone::Back => ("back", None),
        Undone::Same => ("same", None),
        Undone::Partly => ("partly", None),
        Undone::Kept(why) => ("kept", Some(why)),
        Undone::Refused(why) => ("refused", Some(why)),
    }
}

/// Whether a run started commands. Of a journal that cannot be read nobody knows.
fn ran_commands(home: &std::path::Path, id: &str) -> bool {
    let events = Follow::open(home, id).and_then(|(mut follow, _)| follow.more());
    let Ok(events) = events else { return true };
    let mut commands = BTreeSet::new();
    events.iter().any(|happened| match &happened.event {
        Event::Turned(turn) => {
            let calls = turn.message.blocks.iter().filter_map(|block| match block {
                Block::Call(call) if call.tool == "bash" => Some(call.id.clone()),
                _ => None,
            });
            commands.extend(calls);
            false
        }
        Event::Started { id } => commands.contains(id),
        _ => false,
    })
}
