//! What a run has done, on disk: one database a run, one row an event, each written before it is
//! acted on.
//!
//! ```text
//! <home>/runs/<id>/
//!   journal.db     row 0 says what the run is, every other row is an event
//!   lock           held by the process that runs it; the system takes it from one that dies
//!   before/…       what changed files were before (see `undo`)
//! ```
//!
//! The database keeps a write-ahead log. Every row is handed to the system when it is appended, so a
//! process that is killed loses none; it is forced to the disk only before something is done that
//! cannot be done twice, which keeps all rows before it as well.

mod error;
mod id;
mod list;
mod lock;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use error::JournalError;
pub use id::DisplayTime;
pub use list::{JournalFollower, PrunedRun, RunState, RunSummary, find, list, prune, summary};

use crate::event::{RunEnding, TimedEvent};
use crate::private_files;
use crate::redact::Redactor;
use crate::rule_lines::RuleLine;
use lock::JournalLock;
pub use lock::{RunHold, hold};

/// The format that is written here.
const FORMAT: i64 = 1;
/// By this number the file is known as a journal.
const MARK: i64 = 0x4147_5259;
/// Pages of the log after which they are moved into the database, which takes some waiting.
const LONGEST_LOG: i64 = 8_192;
/// The kind of the first row.
const ABOUT: &str = "about";

/// What a run is: all that another process needs to go on with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunDescription {
    /// The file or directory of the agent.
    pub agent: String,
    /// Its name.
    pub name: String,
    /// The digest of what it means.
    pub digest: String,
    /// The digest of what it may do.
    pub policy: String,
    /// The root of the workspace.
    pub workspace: PathBuf,
    /// What the person asked for, unless it is a conversation.
    pub prompt: Option<String>,
    /// The tools that it is given.
    pub tools: Vec<String>,
    /// The models that are tried, in order.
    pub models: Vec<String>,
    /// What confines its commands.
    pub sandbox: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub started: u64,
    /// The process that began it.
    pub pid: u32,
    /// How it was started, for whoever goes on with it.
    pub settings: RunSettings,
}

/// How a run was started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// The model that the user named.
    pub model: Option<String>,
    /// Whether commands run without the sandbox.
    pub unconfined: bool,
    /// Whether it is put aside when somebody has to be asked and nobody is there.
    pub parks: bool,
    /// The format that the agent is read as, if the user named one.
    #[serde(rename = "as")]
    pub format: Option<String>,
    /// Where it was started.
    pub directory: Option<PathBuf>,
    /// All that it was allowed to do.
    pub policy: Vec<RuleLine>,
}

/// The journal of a run that this process has for itself.
#[derive(Debug)]
pub struct Journal {
    id: String,
    directory: PathBuf,
    // Closed before the lock is given back.
    database: Connection,
    redactor: Arc<Redactor>,
    next: i64,
    /// Whether the database is told to wait for the disk.
    waits: bool,
    /// Whether the database itself and its name are on the disk.
    settled: bool,
    _lock: JournalLock,
}

/// Where before-images of a run are kept, given its directory.
pub fn images(directory: &Path) -> PathBuf {
    directory.join("before")
}

/// The directory of all runs.
pub fn runs(home: &Path) -> PathBuf {
    home.join("runs")
}

impl Journal {
    /// Begins the journal of a new run.
    pub fn create(
        home: &Path,
        about: &RunDescription,
        redactor: Arc<Redactor>,
    ) -> Result<Self, JournalError> {
        let (id, directory) = new_directory(&runs(home), about.started)?;
        let lock = JournalLock::take(&directory, &id)?;
        let path = directory.join("journal.db");
        // The database opens with the permissions of the file that it finds.
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
            _lock: lock,
        };
        let about = serde_json::to_value(about).unwrap_or_default();
        journal.insert(about_time(&about), ABOUT, about)?;
        Ok(journal)
    }

    /// Opens the journal of a run to go on with it: what it is, and all that has happened.
    pub fn open(
        home: &Path,
        id: &str,
        redactor: Arc<Redactor>,
    ) -> Result<(Self, RunDescription, Vec<TimedEvent>), JournalError> {
        let directory = existing(home, id)?;
        let lock = JournalLock::take(&directory, id)?;
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
            _lock: lock,
        };
        Ok((journal, about, events))
    }

    /// Takes these secrets out of whatever is written from now on.
    pub fn redact_with(&mut self, redactor: Arc<Redactor>) {
        self.redactor = redactor;
    }

    /// The name of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where all that belongs to the run is kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where before-images are kept.
    pub fn images(&self) -> PathBuf {
        images(&self.directory)
    }

    /// Writes down what happened. When `durable`, it is on the disk before this returns, together with
    /// everything before it; otherwise it outlives the process, but not the machine.
    pub fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), JournalError> {
        let event = serde_json::to_value(&happened.event).unwrap_or_default();
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.wait_for_disk(durable)?;
        self.insert(happened.at, &kind, event)
    }

    /// Notes how the run stands after its last event, so that a list need not work it out.
    pub fn finished(&mut self, ending: &RunEnding) -> Result<(), JournalError> {
        let ending = serde_json::to_value(ending).unwrap_or_default();
        let ending = self.redactor.value(ending).to_string();
        let sql = "INSERT OR REPLACE INTO ending (only, seq, data) VALUES (0, ?1, ?2)";
        let done = self.database.execute(sql, params![self.next - 1, ending]);
        done.map(drop).map_err(JournalError::database(&self.id, "written"))
    }

    fn insert(&mut self, at: u64, kind: &str, data: Value) -> Result<(), JournalError> {
        let data = self.redactor.value(data).to_string();
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        let failed = JournalError::database(&self.id, "written");
        let sql = "INSERT INTO events (seq, at, kind, data) VALUES (?1, ?2, ?3, ?4)";
        let mut statement = match self.database.prepare_cached(sql) {
            Ok(statement) => statement,
            Err(error) => return Err(failed(error)),
        };
        statement.execute(params![self.next, at, kind, data]).map_err(failed)?;
        self.next += 1;
        Ok(())
    }

    /// Tells the database whether to wait for the disk.
    fn wait_for_disk(&mut self, durable: bool) -> Result<(), JournalError> {
        let failed = || JournalError::database(&self.id, "written");
        if durable != self.waits {
            let level = if durable { "FULL" } else { "NORMAL" };
            self.database.pragma_update(None, "synchronous", level).map_err(failed())?;
            self.waits = durable;
        }
        if durable && !self.settled {
            // It was made without waiting: what an empty database has beside it is thrown away.
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

fn about_time(about: &Value) -> u64 {
    about.get("started").and_then(Value::as_u64).unwrap_or(0)
}

/// Makes the directory of a new run. The name is taken by making it.
fn new_directory(runs: &Path, now: u64) -> Result<(String, PathBuf), JournalError> {
    private_files::directories(runs).map_err(JournalError::io("made", runs))?;
    let newest = list::names(runs)?.pop();
    let mut newest = newest.as_deref();
    loop {
        let mut chance = [0; 4];
        getrandom::fill(&mut chance).map_err(|error| JournalError::Io {
            verb: "made",
            path: runs.display().to_string(),
            source: io::Error::other(error.to_string()),
        })?;
        let id = id::new(now, newest.take(), u32::from_le_bytes(chance));
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

/// The directory of a run that exists.
fn existing(home: &Path, id: &str) -> Result<PathBuf, JournalError> {
    let directory = runs(home).join(id);
    if id::is_part(id) && directory.is_dir() {
        return Ok(directory);
    }
    Err(JournalError::NoRun(id.to_owned()))
}

/// Opens the database of a run, if it is one that is understood.
fn connect(directory: &Path, id: &str, flags: OpenFlags) -> Result<Connection, JournalError> {
    let path = directory.join("journal.db");
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

/// What a run is, and all that has happened in it.
fn read(
    database: &Connection,
    id: &str,
) -> Result<(RunDescription, Vec<TimedEvent>), JournalError> {
    let about = about(database, id)?;
    let rows = rows(database, id, 1)?;
    let events = rows.iter().map(|row| row.happened(id)).collect::<Result<_, _>>()?;
    Ok((about, events))
}

/// What a run is.
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

/// The rows from `first` on; none may be missing between them.
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
