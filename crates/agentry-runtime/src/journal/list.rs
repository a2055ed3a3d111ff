//! The runs of a home, seen from outside: which there are, how they stand, what goes on in them, and
//! the old ones removed.

use std::fs;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use super::lock::{self, JournalLock};
use super::{JournalError, RunDescription, about, connect, existing, id, read, rows, runs};
use crate::conversation::MessageRole;
use crate::event::{RunEnding, TimedEvent};
use crate::state::{RunPhase, StepState};
use crate::step::step;

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    /// A process runs it.
    Running,
    /// The model had nothing more to do.
    Done,
    /// It failed.
    Failed,
    /// A limit was reached.
    OverBudget,
    /// The person stopped it.
    Cancelled,
    /// It waits for a person.
    Parked,
    /// Its process is gone; another one can go on with it.
    Interrupted,
    /// Its journal cannot be read.
    Damaged,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its name.
    pub id: String,
    /// How it stands.
    pub state: RunState,
    /// More about that, in words.
    pub detail: Option<String>,
    /// What it is; empty if it cannot be read.
    pub about: RunDescription,
}

/// What became of an old run.
#[derive(Debug)]
pub struct PrunedRun {
    /// The run.
    pub summary: RunSummary,
    /// Why it is still there.
    pub failed: Option<JournalError>,
}

impl RunState {
    /// What programs read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::OverBudget => "over-budget",
            Self::Cancelled => "cancelled",
            Self::Parked => "parked",
            Self::Interrupted => "interrupted",
            Self::Damaged => "damaged",
        }
    }

    fn of(ending: &RunEnding) -> (Self, Option<String>) {
        match ending {
            RunEnding::Done => (Self::Done, None),
            RunEnding::Failed { why } => (Self::Failed, Some(why.clone())),
            RunEnding::OverBudget { limit } => (Self::OverBudget, Some(limit.clone())),
            RunEnding::Cancelled => (Self::Cancelled, None),
            RunEnding::Parked { question } => (Self::Parked, Some(question.clone())),
        }
    }
}

/// All runs of a home, the oldest first.
pub fn list(home: &Path) -> Result<Vec<RunSummary>, JournalError> {
    let names = names(&runs(home))?;
    // One that disappears meanwhile, or that never began, is none.
    Ok(names.iter().filter_map(|id| summary(home, id).ok()).collect())
}

/// The run that a person means: by its name, by how that starts or ends, or as `last`.
pub fn find(home: &Path, given: &str) -> Result<String, JournalError> {
    let mut names = names(&runs(home))?;
    if given == "last" {
        return names.pop().ok_or_else(|| JournalError::NoRun(given.to_owned()));
    }
    if names.iter().any(|name| name == given) {
        return Ok(given.to_owned());
    }
    let is_meant =
        |name: &String| id::is_part(given) && (name.starts_with(given) || name.ends_with(given));
    let mut found: Vec<String> = names.into_iter().filter(is_meant).collect();
    match found.len() {
        0 => Err(JournalError::NoRun(given.to_owned())),
        1 => Ok(found.remove(0)),
        _ => Err(JournalError::Ambiguous { given: given.to_owned(), found }),
    }
}

/// How one run stands. What is wrong with its journal is part of the answer.
pub fn summary(home: &Path, id: &str) -> Result<RunSummary, JournalError> {
    let directory = existing(home, id)?;
    let is_held = lock::is_held(&directory);
    let looked_at = look(&directory, id);
    let (about, (state, detail)) = match looked_at {
        Ok(found) => found,
        Err(error @ JournalError::NeverBegan(_)) => return Err(error),
        Err(JournalError::Damaged { why, .. }) => {
            (RunDescription::default(), (RunState::Damaged, Some(why)))
        }
        Err(error) => (RunDescription::default(), (RunState::Damaged, Some(error.to_string()))),
    };
    let (state, detail) = match state {
        RunState::Damaged => (state, detail),
        _ if is_held => (RunState::Running, None),
        _ => (state, detail),
    };
    Ok(RunSummary { id: id.to_owned(), state, detail, about })
}

type RunStanding = (RunState, Option<String>);

fn look(directory: &Path, id: &str) -> Result<(RunDescription, RunStanding), JournalError> {
    let database = connect(directory, id, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if let Some(ending) = noted(&database, id)? {
        return Ok((about(&database, id)?, RunState::of(&ending)));
    }
    let (about, events) = read(&database, id)?;
    let mut state = StepState::default();
    for event in events {
        step(&mut state, event);
    }
    let standing = match &state.phase {
        RunPhase::Ended(ending) => RunState::of(ending),
        // The model has not answered: the person stopped it.
        RunPhase::Idle
            if state.messages.last().is_some_and(|last| last.role == MessageRole::User) =>
        {
            (RunState::Cancelled, None)
        }
        RunPhase::Idle => (RunState::Done, None),
        RunPhase::Asking
        | RunPhase::Waiting
        | RunPhase::Compacting
        | RunPhase::Calling
        | RunPhase::Blocked(_) => (RunState::Interrupted, None),
    };
    Ok((about, standing))
}

/// How the run stands by its own note, if nothing has happened since.
fn noted(database: &Connection, id: &str) -> Result<Option<RunEnding>, JournalError> {
    let sql = "SELECT data FROM ending WHERE seq = (SELECT max(seq) FROM events)";
    let data = database.query_row(sql, [], |row| row.get::<_, String>(0)).optional();
    let data = data.map_err(JournalError::database(id, "read"))?;
    Ok(data.and_then(|data| serde_json::from_str(&data).ok()))
}

/// The names of all runs, sorted.
pub(super) fn names(runs: &Path) -> Result<Vec<String>, JournalError> {
    let entries = match fs::read_dir(runs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(JournalError::io("read", runs)(error)),
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| id::is_part(name)).collect();
    names.sort_unstable();
    Ok(names)
}

/// Removes the runs that began before `before` and that no process runs; `dry` only names them.
pub fn prune(home: &Path, before: u64, dry: bool) -> Result<Vec<PrunedRun>, JournalError> {
    let runs = runs(home);
    let mut pruned = Vec::new();
    for id in names(&runs)? {
        let summary = match summary(home, &id) {
            Ok(summary) => summary,
            Err(JournalError::NeverBegan(_)) if !lock::is_held(&runs.join(&id)) => never_begun(&id),
            Err(_) => continue,
        };
        let began = match summary.about.started {
            0 => id::time_of(&id).unwrap_or(u64::MAX),
            started => started,
        };
        if summary.state == RunState::Running || began >= before {
            continue;
        }
        let failed = if dry { None } else { remove(&runs, &id).err() };
        pruned.push(PrunedRun { summary, failed });
    }
    if !dry {
        sweep(&runs);
    }
    Ok(pruned)
}

/// A run whose process was gone before it could say what it is.
fn never_begun(id: &str) -> RunSummary {
    let (state, about) = (RunState::Damaged, RunDescription::default());
    RunSummary { id: id.to_owned(), state, detail: Some("it never began".to_owned()), about }
}

/// Takes away what an earlier removal has left because it was killed.
fn sweep(runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(REMOVED)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

const REMOVED: &str = ".removed";

/// Removes a run that nobody has. It loses its name first, so that a half-removed one is no run.
fn remove(runs: &Path, id: &str) -> Result<(), JournalError> {
    let directory = runs.join(id);
    let lock = JournalLock::take(&directory, id)?;
    let gone = runs.join(format!(".{id}{REMOVED}"));
    fs::rename(&directory, &gone).map_err(JournalError::io("removed", &directory))?;
    fs::remove_dir_all(&gone).map_err(JournalError::io("removed", &gone))?;
    drop(lock);
    Ok(())
}

/// Reads a journal along while it is written.
pub struct JournalFollower {
    id: String,
    database: Connection,
    next: i64,
    directory: std::path::PathBuf,
}

impl JournalFollower {
    /// Starts at the first event.
    pub fn open(home: &Path, id: &str) -> Result<(Self, RunDescription), JournalError> {
        let directory = existing(home, id)?;
        let database = connect(&directory, id, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let about = about(&database, id)?;
        Ok((Self { id: id.to_owned(), database, next: 1, directory }, about))
    }

    /// What happened since the last time.
    pub fn more(&mut self) -> Result<Vec<TimedEvent>, JournalError> {
        let rows = rows(&self.database, &self.id, self.next)?;
        self.next += i64::try_from(rows.len()).unwrap_or(0);
        rows.iter().map(|row| row.happened(&self.id)).collect()
    }

    /// Whether a process still runs it.
    pub fn goes_on(&self) -> bool {
        lock::is_held(&self.directory)
    }
}
