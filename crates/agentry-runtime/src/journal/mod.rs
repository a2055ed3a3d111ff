//! The journal: the events of a run on disk. Each run has a database with one row per event, written before
//! the effects of the event.
//!
//! ```text
//! <home>/runs/<id>/
//!   journal.db     row 0 says what the run is, every other row is an event
//!   lock           held by the process that runs it; the system takes it from one that dies
//!   before/…       what changed files were before (see `undo`)
//! ```
//!
//! The database has a write-ahead log. Every row is handed to the operating system when it is appended, so
//! a killed process loses none. It is flushed to disk only before an effect that must not happen twice,
//! together with all rows before it.

mod error;
mod id;
mod list;
mod lock;
mod mirror;
pub(crate) mod shared_files;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use error::JournalError;
pub use id::{DisplayTime, is_run_id};
pub use list::{
    JournalFollower, PrunedRun, RunState, RunSummary, delegates, find, list, prune, remove_copy,
    run_names, summary, tree,
};

use crate::event::{RunEnding, RunEvent, TimedEvent};
use crate::private_files;
use crate::redact::Redactor;
use crate::rule_lines::RuleLine;
use lock::JournalLock;
pub use lock::{RunHold, hold};
pub use mirror::{
    EngineStanding, FileUplink, JournalMirror, JournalUplink, engine_standing, set_engine_standing,
};

pub use shared_files::take_in_files;

/// The format that this version writes.
const FORMAT: i64 = 1;
/// Marks the database file as a journal.
const MARK: i64 = 0x4147_5259;
/// The pages of the log after which it is merged into the database. Merging blocks, so it is rare.
const LONGEST_LOG: i64 = 8_192;
/// The file of the database.
const DATABASE: &str = "journal.db";
/// The kind of the first row.
const ABOUT: &str = "about";

/// The description of a run: what another process needs to resume it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunDescription {
    /// The file or directory of the agent.
    pub agent: String,
    /// The name of the agent.
    pub name: String,
    /// The digest of the agent.
    pub digest: String,
    /// The digest of its policy.
    pub policy: String,
    /// The root of the workspace.
    pub workspace: PathBuf,
    /// The prompt of the user, unless the run is a conversation.
    pub prompt: Option<String>,
    /// The tools that the agent has.
    pub tools: Vec<String>,
    /// The models, in the order of the plan.
    pub models: Vec<String>,
    /// What confines its commands.
    pub sandbox: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub started: u64,
    /// The process that began it.
    pub pid: u32,
    /// The user for whom it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The options of the run, for `resume`.
    pub settings: RunSettings,
    /// The run that it works for, if it is the run of a delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRun>,
}

/// The run that a delegate works for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentRun {
    /// Its id.
    pub run: String,
    /// The call in its journal that started the delegate.
    pub call: String,
}

/// The planned time of a schedule that started a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFiring {
    /// The agent, as the ledger of schedules has it.
    pub agent: String,
    /// The name of the schedule.
    pub schedule: String,
    /// The planned time, in seconds since the Unix epoch.
    pub planned: i64,
}

/// The options with which a run was started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// The model that the user named.
    pub model: Option<String>,
    /// Whether commands run without the sandbox.
    pub unconfined: bool,
    /// Whether the run is parked when a question needs a user and none is present.
    pub parks: bool,
    /// The definition format that the user named.
    #[serde(rename = "as")]
    pub format: Option<String>,
    /// The function that it carries out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The directory in which it was started.
    pub directory: Option<PathBuf>,
    /// What it does without, by name.
    pub without: Vec<String>,
    /// The user whose memories it or another run of its tree reads, if one of their agents has a memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether there were private memories of that user when it began.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_private: bool,
    /// The memories in its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// How long a person would take for the task, in milliseconds, if the user gave an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<u64>,
    /// The planned time that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firing: Option<RunFiring>,
    /// All rules of its policy.
    pub policy: Vec<RuleLine>,
}

/// The journal of a run, locked by this process.
#[derive(Debug)]
pub struct Journal {
    id: String,
    directory: PathBuf,
    // Fields drop in order: the database must be closed before the lock is released.
    database: Connection,
    redactor: Arc<Redactor>,
    next: i64,
    /// Whether the database waits for the disk.
    waits: bool,
    /// Whether the database file and its name are on disk.
    settled: bool,
    /// Where rows are stored first, if an engine keeps the journal.
    uplink: Option<Box<dyn JournalUplink>>,
    /// The long outputs that the engine has.
    shared: BTreeSet<String>,
    /// Whether this process has written a row.
    has_written: bool,
    _lock: JournalLock,
}

/// Returns the directory of the before-images, in that of a run.
pub fn images(directory: &Path) -> PathBuf {
    directory.join("before")
}

/// Returns the directory of all runs.
pub fn runs(home: &Path) -> PathBuf {
    home.join("runs")
}

impl Journal {
    /// Creates the journal of a new run.
    pub fn create(
        home: &Path,
        about: &RunDescription,
        redactor: Arc<Redactor>,
    ) -> Result<Self, JournalError> {
        let (id, directory) = new_directory(&runs(home), about.started)?;
        let lock = JournalLock::take(&directory, &id)?;
        Self::create_in((id, directory, lock), about, redactor, None)
    }

    /// Creates the journal of a run that an engine has, in place of what is known of it here.
    pub fn create_shared(
        home: &Path,
        id: &str,
        about: &RunDescription,
        redactor: Arc<Redactor>,
        uplink: Box<dyn JournalUplink>,
    ) -> Result<Self, JournalError> {
        let directory = runs(home).join(id);
        private_files::directories(&directory).map_err(JournalError::io("made", &directory))?;
        let lock = JournalLock::take_patiently(&directory, id)?;
        mirror::remove_database(&directory)?;
        Self::create_in((id.to_owned(), directory, lock), about, redactor, Some(uplink))
    }

    fn create_in(
        (id, directory, lock): (String, PathBuf, JournalLock),
        about: &RunDescription,
        redactor: Arc<Redactor>,
        uplink: Option<Box<dyn JournalUplink>>,
    ) -> Result<Self, JournalError> {
        let path = directory.join(DATABASE);
        // Created with private permissions first; SQLite keeps them, also for its log files.
        private_files::file(&path, fs::OpenOptions::new().write(true).create_new(true))
            .map_err(JournalError::io("made", &path))?;
        let failed = || JournalError::database(&id, "made");
        let database = Connection::open(&path).map_err(failed())?;
        lay_out(&database).map_err(failed())?;
        let mut journal = Self {
            id,
            directory,
            database,
            redactor,
            next: 0,
            waits: false,
            settled: false,
            uplink,
            shared: BTreeSet::new(),
            has_written: false,
            _lock: lock,
        };
        let about = serde_json::to_value(about).unwrap_or_default();
        journal.insert(about_time(&about), ABOUT, about, true)?;
        Ok(journal)
    }

    /// Opens a journal to resume its run; returns the description and all events.
    pub fn open(
        home: &Path,
        id: &str,
        redactor: Arc<Redactor>,
    ) -> Result<(Self, RunDescription, Vec<TimedEvent>), JournalError> {
        let directory = existing(home, id)?;
        let lock = JournalLock::take(&directory, id)?;
        Self::open_in((directory, lock), id, redactor)
    }

    /// Opens the copy of a journal that an engine keeps. It must be up to date, and this process must hold the run.
    pub fn open_shared(
        home: &Path,
        id: &str,
        redactor: Arc<Redactor>,
        uplink: Box<dyn JournalUplink>,
    ) -> Result<(Self, RunDescription, Vec<TimedEvent>), JournalError> {
        let directory = existing(home, id)?;
        let lock = JournalLock::take_patiently(&directory, id)?;
        let (mut journal, about, events) = Self::open_in((directory, lock), id, redactor)?;
        journal.uplink = Some(uplink);
        Ok((journal, about, events))
    }

    fn open_in(
        (directory, lock): (PathBuf, JournalLock),
        id: &str,
        redactor: Arc<Redactor>,
    ) -> Result<(Self, RunDescription, Vec<TimedEvent>), JournalError> {
        let database = connect(&directory, id, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let (about, events) = read(&database, id)?;
        let next = i64::try_from(events.len()).unwrap_or(i64::MAX).saturating_add(1);
        let journal = Self {
            id: id.to_owned(),
            directory,
            database,
            redactor,
            next,
            waits: false,
            settled: true,
            uplink: None,
            shared: BTreeSet::new(),
            has_written: false,
            _lock: lock,
        };
        Ok((journal, about, events))
    }

    /// Returns where the files of the run are stored as well, if an engine keeps the journal.
    pub fn files(&self) -> Option<Arc<dyn FileUplink>> {
        self.uplink.as_ref().map(|uplink| uplink.files())
    }

    /// Gives the run back to its engine without an ending.
    pub fn release(&mut self) -> Result<(), JournalError> {
        self.release_with(None)
    }

    fn release_with(&mut self, ending: Option<&str>) -> Result<(), JournalError> {
        let Some(mut uplink) = self.uplink.take() else { return Ok(()) };
        let released = uplink.release(ending);
        released.map_err(|why| JournalError::Engine { id: self.id.clone(), why })
    }

    /// Replaces the redactor for everything that is written from now on.
    pub fn redact_with(&mut self, redactor: Arc<Redactor>) {
        self.redactor = redactor;
    }

    /// Returns the id of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the directory of the run.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Removes the journal of a run that never began.
    pub fn discard(mut self) -> io::Result<()> {
        // Without an answer the engine waits until the lease ends.
        let why = "it was refused before it began".to_owned();
        let ending = serde_json::to_string(&RunEnding::Failed { why }).unwrap_or_default();
        let _ = self.release_with(Some(&ending));
        let directory = self.directory.clone();
        drop(self);
        fs::remove_dir_all(directory)
    }

    /// Returns the directory of the before-images.
    pub fn images(&self) -> PathBuf {
        images(&self.directory)
    }

    /// Writes an event. If `durable`, it is on disk before this returns, together with everything before it.
    /// Otherwise it survives a killed process, but not a crash of the machine.
    pub fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), JournalError> {
        let event = serde_json::to_value(&happened.event).unwrap_or_default();
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        // A copy need not survive a crash of the machine.
        self.wait_for_disk(durable && self.uplink.is_none())?;
        // The first row of a further process shuts out the one before it.
        let durable = durable || matches!(happened.event, RunEvent::Resumed);
        self.insert(happened.at, &kind, event, durable)
    }

    /// Notes the ending after the last event, so that a list need not replay the events.
    pub fn finished(&mut self, ending: &RunEnding) -> Result<(), JournalError> {
        let ending = serde_json::to_value(ending).unwrap_or_default();
        let ending = self.redactor.value(ending).to_string();
        self.release_with(Some(&ending))?;
        let sql = "INSERT OR REPLACE INTO ending (only, seq, data) VALUES (0, ?1, ?2)";
        let done = self.database.execute(sql, params![self.next - 1, ending]);
        done.map(drop).map_err(JournalError::database(&self.id, "written"))
    }

    fn insert(
        &mut self,
        at: u64,
        kind: &str,
        data: Value,
        durable: bool,
    ) -> Result<(), JournalError> {
        let data = self.redactor.value(data).to_string();
        if let Some(uplink) = &mut self.uplink {
            let failed = |why| JournalError::Engine { id: self.id.clone(), why };
            // Before the event that names them.
            let files = uplink.files();
            let shared = shared_files::share_outputs(&*files, &self.directory, &mut self.shared);
            shared.map_err(failed)?;
            uplink.store(at, kind, &data, durable).map_err(failed)?;
        }
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        let failed = JournalError::database(&self.id, "written");
        let sql = "INSERT INTO events (seq, at, kind, data) VALUES (?1, ?2, ?3, ?4)";
        let mut statement = match self.database.prepare_cached(sql) {
            Ok(statement) => statement,
            Err(error) => return Err(failed(error)),
        };
        statement.execute(params![self.next, at, kind, data]).map_err(failed)?;
        self.next += 1;
        self.has_written = true;
        Ok(())
    }

    /// Sets whether the database waits for the disk.
    fn wait_for_disk(&mut self, durable: bool) -> Result<(), JournalError> {
        let failed = || JournalError::database(&self.id, "written");
        if durable != self.waits {
            let level = if durable { "FULL" } else { "NORMAL" };
            self.database.pragma_update(None, "synchronous", level).map_err(failed())?;
            self.waits = durable;
        }
        if durable && !self.settled {
            // The database was created without waiting; merge its log once, so that the tables are on disk.
            let checkpoint = self.database.query_row("PRAGMA wal_checkpoint", [], |_| Ok(()));
            checkpoint.map_err(failed())?;
            for directory in [Some(self.directory.as_path()), self.directory.parent()] {
                let Some(directory) = directory else { continue };
                private_files::sync(directory).map_err(JournalError::io("synced", directory))?;
            }
            self.settled = true;
        }
        Ok(())
    }
}

impl Drop for Journal {
    /// A run that was opened and not continued is given back at once. Otherwise its engine waits until the lease
    /// ends, and then another worker continues it.
    fn drop(&mut self) {
        if !self.has_written {
            let _ = self.release();
        }
    }
}

fn about_time(about: &Value) -> u64 {
    about.get("started").and_then(Value::as_u64).unwrap_or(0)
}

/// Reserves the id of a run that is refused before it begins, for its receipt.
pub fn reserve(home: &Path, now: u64) -> Result<String, JournalError> {
    new_directory(&runs(home), now).map(|(id, _)| id)
}

/// Creates the directory of a new run. Creating it also reserves its id.
fn new_directory(runs: &Path, now: u64) -> Result<(String, PathBuf), JournalError> {
    private_files::directories(runs).map_err(JournalError::io("made", runs))?;
    let newest = list::names(runs)?.pop();
    loop {
        let mut chance = [0; 4];
        getrandom::fill(&mut chance).map_err(|error| JournalError::Io {
            verb: "made",
            path: runs.display().to_string(),
            source: io::Error::other(error.to_string()),
        })?;
        let id = id::new(now, newest.as_deref(), u32::from_le_bytes(chance));
        let directory = runs.join(&id);
        match private_files::directory(&directory) {
            Ok(()) => return Ok((id, directory)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(JournalError::io("made", &directory)(error)),
        }
    }
}

fn lay_out(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(&format!(
        "PRAGMA synchronous = OFF;
         PRAGMA journal_mode = WAL;
         BEGIN;
         PRAGMA application_id = {MARK};
         PRAGMA user_version = {FORMAT};
         CREATE TABLE events (
             seq  INTEGER PRIMARY KEY,
             at   INTEGER NOT NULL,
             kind TEXT NOT NULL,
             data TEXT NOT NULL
         ) STRICT;
         CREATE TABLE ending (
             only INTEGER PRIMARY KEY,
             seq  INTEGER NOT NULL,
             data TEXT NOT NULL
         ) STRICT;
         COMMIT;
         PRAGMA synchronous = NORMAL;
         PRAGMA wal_autocheckpoint = {LONGEST_LOG};"
    ))
}

/// Returns the directory of an existing run.
fn existing(home: &Path, id: &str) -> Result<PathBuf, JournalError> {
    let directory = runs(home).join(id);
    if id::is_part(id) && directory.is_dir() {
        return Ok(directory);
    }
    Err(JournalError::NoRun(id.to_owned()))
}

/// Opens the database of a run, and checks its format.
fn connect(directory: &Path, id: &str, flags: OpenFlags) -> Result<Connection, JournalError> {
    let path = directory.join(DATABASE);
    if !path.is_file() {
        return Err(JournalError::NeverBegan(id.to_owned()));
    }
    let failed = || JournalError::database(id, "read");
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).map_err(failed())?;
    let number = |name: &str| {
        database.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed())
    };
    let mark = number("application_id")?;
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables = || database.query_row(tables, [], |row| row.get::<_, i64>(0)).map_err(failed());
    // The process was killed between creating the file and writing its tables.
    if mark == 0 && tables()? == 0 {
        return Err(JournalError::NeverBegan(id.to_owned()));
    }
    if mark != MARK {
        return Err(JournalError::damaged(id, "`journal.db` is not a journal"));
    }
    match number("user_version")? {
        FORMAT => {}
        found if found > FORMAT => {
            return Err(JournalError::Newer { id: id.to_owned(), found, known: FORMAT });
        }
        found => return Err(JournalError::damaged(id, format!("there is no format {found}"))),
    }
    let rest = "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ";
    database.execute_batch(&format!("{rest}{LONGEST_LOG};")).map_err(failed())?;
    Ok(database)
}

/// Returns the description and all events of a run.
fn read(
    database: &Connection,
    id: &str,
) -> Result<(RunDescription, Vec<TimedEvent>), JournalError> {
    let about = about(database, id)?;
    let rows = rows(database, id, 1)?;
    let events = rows.iter().map(|row| row.happened(id)).collect::<Result<_, _>>()?;
    Ok((about, events))
}

/// Returns the description of a run.
fn about(database: &Connection, id: &str) -> Result<RunDescription, JournalError> {
    let sql = "SELECT kind, data FROM events WHERE seq = 0";
    let row =
        database.query_row(sql, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    let row = row.optional().map_err(JournalError::database(id, "read"))?;
    let Some((kind, data)) = row else { return Err(JournalError::NeverBegan(id.to_owned())) };
    if kind != ABOUT {
        return Err(JournalError::damaged(id, "row 0 does not say what the run is"));
    }
    serde_json::from_str(&data)
        .map_err(|error| JournalError::damaged(id, format!("row 0: {error}")))
}

/// One row of the journal.
struct JournalRow {
    seq: i64,
    at: u64,
    kind: String,
    data: String,
}

impl JournalRow {
    fn happened(&self, id: &str) -> Result<TimedEvent, JournalError> {
        let event = serde_json::from_str(&self.data).map_err(|error| {
            JournalError::damaged(id, format!("row {} (`{}`): {error}", self.seq, self.kind))
        })?;
        Ok(TimedEvent { at: self.at, event })
    }
}

/// Returns the rows from `first` on; fails if one is missing between them.
fn rows(database: &Connection, id: &str, first: i64) -> Result<Vec<JournalRow>, JournalError> {
    let sql = "SELECT seq, at, kind, data FROM events WHERE seq >= ?1 ORDER BY seq";
    let read = || {
        let mut statement = database.prepare_cached(sql)?;
        let rows = statement.query_map([first], |row| {
            let at = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
            Ok(JournalRow { seq: row.get(0)?, at, kind: row.get(2)?, data: row.get(3)? })
        })?;
        rows.collect::<rusqlite::Result<Vec<JournalRow>>>()
    };
    let rows = read().map_err(JournalError::database(id, "read"))?;
    match (first..).zip(&rows).find(|(expected, row)| row.seq != *expected) {
        Some((expected, _)) => Err(JournalError::damaged(id, format!("row {expected} is missing"))),
        None => Ok(rows),
    }
}

#[cfg(test)]
mod tests;
