//! The runs below Agentry's home directory, as other processes see them: lists, states, following a run,
//! and pruning.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use super::lock::{self, JournalLock};
use super::mirror::{self, EngineStanding};
use super::{JournalError, RunDescription, about, connect, existing, id, read, rows, runs};
use crate::conversation::MessageRole;
use crate::event::{RunEnding, TimedEvent};
use crate::state::{RunPhase, StepState};
use crate::step::step;

/// The state of a run, for a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    /// A process runs it.
    Running,
    /// The model made no more calls.
    Done,
    /// It failed.
    Failed,
    /// A limit was reached.
    OverBudget,
    /// The user cancelled it.
    Cancelled,
    /// It waits for the user.
    Parked,
    /// Its process is gone; it can be resumed.
    Interrupted,
    /// Its journal cannot be read.
    Damaged,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// Its state.
    pub state: RunState,
    /// Details of the state, as text.
    pub detail: Option<String>,
    /// Its description; empty if it cannot be read.
    pub about: RunDescription,
}

/// The result of pruning one run.
#[derive(Debug)]
pub struct PrunedRun {
    /// The run.
    pub summary: RunSummary,
    /// Why it could not be removed.
    pub failed: Option<JournalError>,
}

impl RunState {
    /// The name in machine-readable output.
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

/// Returns all runs of a home directory, the oldest first.
pub fn list(home: &Path) -> Result<Vec<RunSummary>, JournalError> {
    let names = names(&runs(home))?;
    // A run that disappears meanwhile, or that never began, is left out.
    Ok(names.iter().filter_map(|id| summary(home, id).ok()).collect())
}

/// Returns the ids of a run and of all runs below it, the oldest first. A journal that cannot be read is left out.
pub fn tree(home: &Path, run: &str) -> Result<Vec<String>, JournalError> {
    let mut found = vec![run.to_owned()];
    // A delegate begins after its parent, and ids are in the order of time, so one pass finds all levels.
    for id in names(&runs(home))?.into_iter().filter(|id| id.as_str() > run) {
        let Ok((_, about)) = JournalFollower::open(home, &id) else { continue };
        if about.parent.is_some_and(|parent| found.contains(&parent.run)) {
            found.push(id);
        }
    }
    Ok(found)
}

/// Returns the runs of the delegates of a run, the oldest first: their ids and descriptions. A journal that
/// cannot be read is an error, because it could be one of them.
pub fn delegates(home: &Path, run: &str) -> Result<Vec<(String, RunDescription)>, JournalError> {
    let mut found = Vec::new();
    // A delegate begins after its parent, and ids are in the order of time.
    for id in names(&runs(home))?.into_iter().filter(|id| id.as_str() > run) {
        let described = JournalFollower::open(home, &id);
        let about = match described {
            Ok((_, about)) => about,
            Err(JournalError::NeverBegan(_) | JournalError::NoRun(_)) => continue,
            Err(error) => return Err(error),
        };
        if about.parent.as_ref().is_some_and(|parent| parent.run == run) {
            found.push((id, about));
        }
    }
    Ok(found)
}

/// Returns the run that the user means: by its id, by a start or end of it, or as `last`.
pub fn find(home: &Path, given: &str) -> Result<String, JournalError> {
    let names = names(&runs(home))?;
    if given == "last" {
        // The run of a delegate is continued by the run above it; a refused or pruned run has only receipts.
        let is_own = |id: &&String| {
            let opened = JournalFollower::open(home, id);
            opened.map_or(true, |(_, about)| about.parent.is_none())
                && !has_only_receipts(&runs(home).join(id))
        };
        let last = names.iter().rev().find(is_own);
        return last.cloned().ok_or_else(|| JournalError::NoRun(given.to_owned()));
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

/// Returns the ids of all directories of runs, sorted: also of runs that never began or have only receipts.
pub fn run_names(home: &Path) -> Result<Vec<String>, JournalError> {
    names(&runs(home))
}

/// Returns the summary of a run. A damaged journal is part of the summary.
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
    let standing = mirror::of_directory(&directory);
    let elsewhere = standing.as_ref().and_then(EngineStanding::now);
    let (state, detail) = match state {
        RunState::Damaged => (state, detail),
        // A held lock means that a process runs it, whatever the journal shows.
        _ if is_held => (RunState::Running, None),
        _ if elsewhere.is_some() => (RunState::Running, elsewhere),
        RunState::Interrupted => (state, standing.and_then(|it| it.interruption()).or(detail)),
        _ => (state, detail),
    };
    Ok(RunSummary { id: id.to_owned(), state, detail, about })
}

type RunStanding = (RunState, Option<String>);

fn look(directory: &Path, id: &str) -> Result<(RunDescription, RunStanding), JournalError> {
    let database = connect(directory, id, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    // A noted ending saves the replay of all events.
    if let Some(ending) = noted(&database, id)? {
        return Ok((about(&database, id)?, RunState::of(&ending)));
    }
    let (about, events) = read(&database, id)?;
    if events.is_empty() && mirror::of_directory(directory).is_some() {
        // Another worker begins it, unless someone cancelled it.
        return Ok((about, (RunState::Interrupted, None)));
    }
    let mut state = StepState::default();
    for event in events {
        step(&mut state, event);
    }
    let standing = match &state.phase {
        RunPhase::Ended(ending) => RunState::of(ending),
        // The last message has no answer, so the user cancelled the turn.
        RunPhase::Idle
            if state.messages.last().is_some_and(|last| last.role == MessageRole::User) =>
        {
            (RunState::Cancelled, None)
        }
        // The process ended before it sent the prompt.
        RunPhase::Idle if state.messages.is_empty() && about.prompt.is_some() => {
            (RunState::Interrupted, None)
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

/// Returns the noted ending of a run, if no event came after it.
fn noted(database: &Connection, id: &str) -> Result<Option<RunEnding>, JournalError> {
    let sql = "SELECT data FROM ending WHERE seq = (SELECT max(seq) FROM events)";
    let data = database.query_row(sql, [], |row| row.get::<_, String>(0)).optional();
    let data = data.map_err(JournalError::database(id, "read"))?;
    Ok(data.and_then(|data| serde_json::from_str(&data).ok()))
}

/// Returns the ids of all runs, sorted.
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

/// Removes the runs that began before `before` and have no process; `dry` only lists them. `elsewhere` removes a run from
/// the engine that has it, and returns false if it is not over there.
pub fn prune(
    home: &Path,
    before: u64,
    dry: bool,
    elsewhere: &dyn Fn(&str) -> Result<bool, JournalError>,
) -> Result<Vec<PrunedRun>, JournalError> {
    let runs = runs(home);
    let mut pruned: Vec<PrunedRun> = Vec::new();
    // The runs that stay: their delegates stay with them.
    let mut kept: HashSet<String> = HashSet::new();
    for id in names(&runs)? {
        let summary = match summary(home, &id) {
            Ok(summary) => summary,
            Err(JournalError::NeverBegan(_)) if has_only_receipts(&runs.join(&id)) => continue,
            Err(JournalError::NeverBegan(_)) if !lock::is_held(&runs.join(&id)) => never_begun(&id),
            Err(_) => continue,
        };
        // A damaged journal has no start time; the id has one too.
        let began = match summary.about.started {
            0 => id::time_of(&id).unwrap_or(u64::MAX),
            started => started,
        };
        // A delegate goes with its parent, however long it worked; without one it is judged by itself.
        let parent = summary.about.parent.as_ref().map(|parent| &parent.run);
        let has_parent = |gone: &PrunedRun| Some(&gone.summary.id) == parent;
        let is_with_parent = pruned.iter().any(|gone| has_parent(gone) && gone.failed.is_none());
        let stays = match parent {
            Some(parent) if kept.contains(parent) => true,
            _ => began >= before && !is_with_parent,
        };
        if summary.state == RunState::Running || stays {
            kept.insert(id);
            continue;
        }
        let failed = if dry { None } else { remove_everywhere(home, &id, elsewhere).err() };
        kept.extend(failed.is_some().then(|| id.clone()));
        pruned.push(PrunedRun { summary, failed });
    }
    if !dry {
        sweep(&runs);
    }
    Ok(pruned)
}

/// Removes a run here, and before that in the engine: otherwise its copy would come back.
fn remove_everywhere(
    home: &Path,
    id: &str,
    elsewhere: &dyn Fn(&str) -> Result<bool, JournalError>,
) -> Result<(), JournalError> {
    let directory = runs(home).join(id);
    if mirror::of_directory(&directory).is_some() && !elsewhere(id)? {
        return Err(JournalError::Busy { id: id.to_owned(), pid: None });
    }
    remove(&runs(home), id)
}

/// Removes the copy of a run that was removed from its engine. Its receipts stay.
pub fn remove_copy(home: &Path, id: &str) -> Result<(), JournalError> {
    let directory = runs(home).join(id);
    if mirror::of_directory(&directory).is_none() {
        return Ok(());
    }
    match remove(&runs(home), id) {
        // A process still has it, and only brings it up to date. The next look removes it.
        Err(JournalError::Busy { .. }) => Ok(()),
        removed => removed,
    }
}

/// Returns a summary of a run whose process ended before it wrote what the run is.
fn never_begun(id: &str) -> RunSummary {
    let (state, about) = (RunState::Damaged, RunDescription::default());
    RunSummary { id: id.to_owned(), state, detail: Some("it never began".to_owned()), about }
}

/// Removes what an interrupted removal has left.
fn sweep(runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(REMOVED)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

const REMOVED: &str = ".removed";

/// The directory of a run that is never pruned.
pub(super) const RECEIPTS: &str = "receipts";

/// Whether a run has receipts and nothing else: it was refused before it began, or it was pruned.
fn has_only_receipts(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.iter().any(|name| name == RECEIPTS)
        && names.iter().all(|name| name == RECEIPTS || name == lock::NAME)
}

/// Removes everything of a run but its receipts. The journal goes first: without it the run is not listed.
fn remove_around_receipts(directory: &Path) -> io::Result<()> {
    let journal = directory.join(super::DATABASE);
    match fs::remove_file(&journal) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == RECEIPTS || name == lock::NAME {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(directory.join(lock::NAME))
}

/// Removes a run without a process. It is renamed first, so that a half-removed one is not listed.
fn remove(runs: &Path, id: &str) -> Result<(), JournalError> {
    let directory = runs.join(id);
    // A run that was resumed meanwhile must not be removed.
    let lock = JournalLock::take(&directory, id)?;
    if directory.join(RECEIPTS).is_dir() {
        return remove_around_receipts(&directory).map_err(JournalError::io("removed", &directory));
    }
    let gone = runs.join(format!(".{id}{REMOVED}"));
    fs::rename(&directory, &gone).map_err(JournalError::io("removed", &directory))?;
    fs::remove_dir_all(&gone).map_err(JournalError::io("removed", &gone))?;
    drop(lock);
    Ok(())
}

/// Reads a journal while another process writes it.
pub struct JournalFollower {
    id: String,
    database: Connection,
    next: i64,
    directory: std::path::PathBuf,
    /// The file that is read.
    file: Option<u64>,
}

impl JournalFollower {
    /// Opens a journal, and starts at its first event.
    pub fn open(home: &Path, id: &str) -> Result<(Self, RunDescription), JournalError> {
        let directory = existing(home, id)?;
        let database = connect(&directory, id, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let about = about(&database, id)?;
        let file = file_number(&directory);
        Ok((Self { id: id.to_owned(), database, next: 1, directory, file }, about))
    }

    /// Returns whether the journal was made anew since: the copy of one that an engine keeps. It is to be read again.
    pub fn is_replaced(&self) -> bool {
        file_number(&self.directory).is_some_and(|file| Some(file) != self.file)
    }

    /// Returns the events since the last call.
    pub fn more(&mut self) -> Result<Vec<TimedEvent>, JournalError> {
        let rows = rows(&self.database, &self.id, self.next)?;
        self.next += i64::try_from(rows.len()).unwrap_or(0);
        rows.iter().map(|row| row.happened(&self.id)).collect()
    }

    /// Returns whether a process still runs it.
    pub fn goes_on(&self) -> bool {
        lock::is_held(&self.directory)
            || mirror::of_directory(&self.directory).is_some_and(|it| it.now().is_some())
    }
}

/// The number by which the system knows the database file of a run.
fn file_number(directory: &Path) -> Option<u64> {
    let found = fs::metadata(directory.join(super::DATABASE)).ok()?;
    Some(agentry_posix::unix::fs::MetadataExt::ino(&found))
}
