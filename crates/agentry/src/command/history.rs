//! `agentry history`, `diff` and `rollback`: the changes of an installed agent.

use agentry_compile::text::report::visible;
use agentry_home::repository::{AgentTree, HistoryEntry, text_diff};
use agentry_home::{AgentHome, AgentUnderLock};
use agentry_runtime::journal::DisplayTime;
use serde_json::{Value, json};

use crate::args::{DiffArguments, HistoryArguments, ResultFormat, RollbackArguments};
use crate::command::home_agents;
use crate::command::policy::diff as policy_diff;
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, note, print, print_json, remark};

pub(crate) fn run(args: &HistoryArguments) -> CliOutcome {
    let home = home_agents::open()?;
    let locked = opened(&home, &args.id)?;
    let history = locked.history().map_err(home_agents::failed)?;
    match args.format {
        ResultFormat::Json => print_json(&Value::Array(history.iter().map(to_json).collect())),
        ResultFormat::Human => {
            let row = |entry: &HistoryEntry| {
                let subject = entry.message.lines().next().unwrap_or_default();
                let run = entry.run.as_ref().map(|run| format!(" (run {run})")).unwrap_or_default();
                vec![
                    short(&entry.commit).to_owned(),
                    time(entry.time),
                    entry.kind.to_string(),
                    visible(&entry.author).into_owned(),
                    visible(&format!("{subject}{run}")).into_owned(),
                ]
            };
            print(&columns(&history.iter().map(row).collect::<Vec<_>>()));
        }
    }
    Ok(ExitKind::Done)
}

pub(crate) fn run_diff(args: &DiffArguments) -> CliOutcome {
    let home = home_agents::open()?;
    let locked = opened(&home, &args.id)?;
    let (old, new) = range(&locked, args.range.as_deref())?;
    let text = text_diff(&old, &new);
    let permissions =
        home_agents::permission_diff(&home, (&locked.agent, &old), (&locked.agent, &new))?;
    match args.format {
        ResultFormat::Json => {
            let changes = permissions.map(|diffs| policy_diff::to_json(&diffs, &[]));
            print_json(
                &json!({"files": old.changed_paths(&new), "diff": text, "changes": changes}),
            );
        }
        ResultFormat::Human => {
            print(&visible_lines(&text));
            match permissions {
                Some(diffs) => policy_diff::to_text(&diffs, &[]).lines().for_each(remark),
                None => remark(
                    "note: what it may do more is not known, because one of the versions has errors",
                ),
            }
        }
    }
    Ok(ExitKind::Done)
}

pub(crate) fn run_rollback(args: &RollbackArguments) -> CliOutcome {
    let home = home_agents::open()?;
    let locked = opened(&home, &args.id)?;
    let commit = locked.roll_back(&args.commit, home.person()).map_err(home_agents::failed)?;
    let agent = home_agents::record(&home, &locked)?;
    match args.format {
        ResultFormat::Json => {
            print_json(&json!({"id": agent.id, "commit": commit, "digest": agent.digest}));
        }
        ResultFormat::Human => match commit {
            Some(commit) => note(&format!(
                "{} is as it was at {}, by {}",
                agent.id,
                args.commit,
                short(&commit)
            )),
            None => note(&format!("{} is as it was at {} already", agent.id, args.commit)),
        },
    }
    Ok(ExitKind::Done)
}

/// Locks an agent. What was changed by hand is committed, and the record has its digest.
fn opened(home: &AgentHome, id: &str) -> Result<AgentUnderLock, CliFailure> {
    let locked = home.lock(id).map_err(home_agents::failed)?;
    home_agents::record(home, &locked)?;
    Ok(locked)
}

/// The files of both ends of a range.
fn range(
    locked: &AgentUnderLock,
    range: Option<&str>,
) -> Result<(AgentTree, AgentTree), CliFailure> {
    let history = locked.history().map_err(home_agents::failed)?;
    let tree = |commit: &str| {
        locked.repository.tree(commit).map_err(|error| home_agents::failed(error.into()))
    };
    let find = |text: &str| {
        locked.repository.find_commit(text).map_err(|error| home_agents::failed(error.into()))
    };
    let last = history.first().map(|entry| entry.commit.clone());
    let end = |text: &str| if text.is_empty() { Ok(last.clone()) } else { find(text).map(Some) };
    let (old, new) = match range.map(|range| range.split_once("..").unwrap_or((range, ""))) {
        None => (history.get(1).map(|entry| entry.commit.clone()), last.clone()),
        Some((old, new)) => (Some(find(old)?), end(new)?),
    };
    let tree = |commit: Option<String>| {
        commit.map(|it| tree(&it)).transpose().map(Option::unwrap_or_default)
    };
    Ok((tree(old)?, tree(new)?))
}

/// A text with every control character made visible, line by line.
pub(super) fn visible_lines(text: &str) -> String {
    text.lines().flat_map(|line| [visible(line), "\n".into()]).collect()
}

fn to_json(entry: &HistoryEntry) -> Value {
    let HistoryEntry { commit, time: at, author, kind, run, message } = entry;
    json!({
        "commit": commit,
        "time": time(*at),
        "author": author,
        "kind": kind.as_str(),
        "run": run,
        "message": message,
    })
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn time(seconds: i64) -> String {
    DisplayTime(u64::try_from(seconds).unwrap_or(0).saturating_mul(1000)).to_string()
}
