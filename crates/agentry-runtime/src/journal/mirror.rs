//! Journals that an engine keeps for several machines. What is here is a copy: a row is stored by the engine first, so
//! the copy is always a beginning of the journal, and everything that reads journals reads the copy.
//!
//! ```text
//! <home>/runs/<id>/
//!   journal.db     the copy
//!   engine         where the run stands in the queue of the engine
//! ```

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use super::lock::{self, JournalLock};
use super::{ABOUT, DATABASE, JournalError, RunDescription, connect, lay_out, runs};
use crate::private_files;

/// The file that says where a run stands.
const STANDING: &str = "engine";

/// Where the files beside a journal are stored as well, if an engine keeps it: long outputs, and what changed files were
/// before. A tool stores them from any thread.
pub trait FileUplink: Send + Sync + fmt::Debug {
    /// Stores bytes as a file of the run.
    fn attach(&self, name: &str, bytes: &[u8]) -> Result<(), String>;

    /// Binds the run to a label: only workers with it continue the run.
    fn bind(&self, label: &str) -> Result<(), String>;
}

/// Where the rows of a journal are stored before they are written here.
pub trait JournalUplink: Send + fmt::Debug {
    /// Stores a row once. A durable row is on disk before this returns, and then an effect may start.
    fn store(&mut self, at: u64, kind: &str, data: &str, durable: bool) -> Result<(), String>;

    /// Returns the way to the files of the run.
    fn files(&self) -> Arc<dyn FileUplink>;

    /// Gives the run back to the engine, with how it ended.
    fn release(&mut self, ending: Option<&str>) -> Result<(), String>;
}

/// Where a run stands in the queue of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineStanding {
    /// Whether it waits for a worker.
    pub waits: bool,
    /// When its lease ends, in milliseconds since the Unix epoch by the clock of this machine.
    pub until: u64,
    /// The worker that had it last.
    pub worker: Option<String>,
    /// What this home has seen of it: the number of the change, and the rows.
    pub seen: (u64, u64),
    /// Whether that worker belongs to this home, which then has the receipt.
    pub here: bool,
    /// The only place with the files that it works on, as `machine:directory`, if other workers cannot have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl EngineStanding {
    /// What the run does now, as text; `None` if no worker has it.
    pub(super) fn now(&self) -> Option<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_held = u128::from(self.until) > now.as_millis();
        match (&self.worker, self.waits) {
            (_, true) => Some(match &self.place {
                None => "it waits for a worker".to_owned(),
                Some(place) => format!("it waits for the worker that has its files: {place}"),
            }),
            (Some(worker), false) if is_held => Some(format!("on {worker}")),
            _ => None,
        }
    }

    /// Why nobody but one worker can continue an interrupted run; `None` if others can.
    pub(super) fn interruption(&self) -> Option<String> {
        let place = self.place.as_ref()?;
        Some(format!("only the worker that has its files can continue it: {place}"))
    }
}

/// Returns where a run stands; `None` if no engine has it.
pub fn engine_standing(home: &Path, id: &str) -> Option<EngineStanding> {
    of_directory(&runs(home).join(id))
}

pub(super) fn of_directory(directory: &Path) -> Option<EngineStanding> {
    serde_json::from_str(&fs::read_to_string(directory.join(STANDING)).ok()?).ok()
}

/// Notes where a run stands.
pub fn set_engine_standing(
    home: &Path,
    id: &str,
    standing: &EngineStanding,
) -> Result<(), JournalError> {
    let directory = runs(home).join(id);
    private_files::directories(&directory).map_err(JournalError::io("made", &directory))?;
    let path = directory.join(STANDING);
    let part = directory.join(format!(".{STANDING}.{}", std::process::id()));
    let text = serde_json::to_string(standing).unwrap_or_default();
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, &path));
    written.map_err(JournalError::io("written", &path))
}

/// The copy of a journal, while this process brings it up to date.
#[derive(Debug)]
pub struct JournalMirror {
    id: String,
    directory: PathBuf,
    database: Option<Connection>,
    /// Whether the next rows replace those that are there.
    starts_over: bool,
    _lock: JournalLock,
}

impl JournalMirror {
    /// Opens a copy, perhaps a new one; `None` if a process of this machine writes the journal itself.
    pub fn open(home: &Path, id: &str) -> Result<Option<Self>, JournalError> {
        if lock::is_held(&runs(home).join(id)) {
            return Ok(None);
        }
        match Self::open_patiently(home, id) {
            Err(JournalError::Busy { .. }) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The same, for a run that this process holds: whoever has the copy now only brings it up to date.
    pub fn open_patiently(home: &Path, id: &str) -> Result<Self, JournalError> {
        let directory = runs(home).join(id);
        private_files::directories(&directory).map_err(JournalError::io("made", &directory))?;
        let lock = JournalLock::take_patiently(&directory, id)?;
        // A copy that cannot be read is made anew.
        let database = connect(&directory, id, OpenFlags::SQLITE_OPEN_READ_WRITE).ok();
        Ok(Self { id: id.to_owned(), directory, database, starts_over: false, _lock: lock })
    }

    fn failed(&self) -> impl FnOnce(rusqlite::Error) -> JournalError + use<> {
        JournalError::database(&self.id, "written")
    }

    /// Returns how many rows the copy has, and the kind and the data of the last one.
    pub fn end(&self) -> (u64, Option<(String, String)>) {
        let Some(database) = &self.database else { return (0, None) };
        let sql = "SELECT seq, kind, data FROM events ORDER BY seq DESC LIMIT 1";
        let row = database
            .query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, (row.get(1)?, row.get(2)?))));
        match row.optional() {
            Ok(Some((seq, last))) => (u64::try_from(seq).unwrap_or(0) + 1, Some(last)),
            _ => (0, None),
        }
    }

    /// Lets the next rows replace all that are there. Until then readers see the old ones.
    pub fn start_over(&mut self) {
        self.starts_over = true;
    }

    /// Whether the next rows replace those that are there.
    pub fn starts_over(&self) -> bool {
        self.starts_over
    }

    /// Adds rows behind those that are there, or in their place: time, kind and data.
    pub fn add<'a>(
        &mut self,
        rows: impl IntoIterator<Item = (u64, &'a str, &'a str)>,
    ) -> Result<(), JournalError> {
        let first = if self.starts_over { 0 } else { self.end().0 };
        let failed = || JournalError::database(&self.id, "written");
        match &mut self.database {
            Some(database) => {
                write_rows(database, self.starts_over, first, rows).map_err(failed())?;
            }
            None => self.make_with(rows)?,
        }
        self.starts_over = false;
        Ok(())
    }

    /// Makes the copy with its first rows. It gets its name when it is whole: a reader never finds an empty one.
    fn make_with<'a>(
        &mut self,
        rows: impl IntoIterator<Item = (u64, &'a str, &'a str)>,
    ) -> Result<(), JournalError> {
        let failed = || JournalError::database(&self.id, "written");
        let part = self.directory.join(format!("{DATABASE}.part"));
        remove_database_at(&part)?;
        private_files::file(&part, fs::OpenOptions::new().write(true).create_new(true))
            .map_err(JournalError::io("made", &part))?;
        let mut database = Connection::open(&part).map_err(failed())?;
        lay_out(&database).map_err(failed())?;
        write_rows(&mut database, false, 0, rows).map_err(failed())?;
        database.close().map_err(|(_, error)| failed()(error))?;
        remove_database(&self.directory)?;
        let path = self.directory.join(DATABASE);
        fs::rename(&part, &path).map_err(JournalError::io("written", &path))?;
        self.database =
            Some(connect(&self.directory, &self.id, OpenFlags::SQLITE_OPEN_READ_WRITE)?);
        Ok(())
    }

    /// Writes what is known of a run that no worker has begun.
    pub fn describe(&mut self, about: &RunDescription) -> Result<(), JournalError> {
        let text = serde_json::to_string(about).unwrap_or_default();
        self.start_over();
        self.add([(about.started, ABOUT, text.as_str())])
    }

    /// Notes how the run ended after its last row.
    pub fn set_ending(&mut self, ending: &str) -> Result<(), JournalError> {
        let (rows, _) = self.end();
        let Some(database) = &self.database else { return Ok(()) };
        let last = i64::try_from(rows).unwrap_or(i64::MAX) - 1;
        let sql = "INSERT OR REPLACE INTO ending (only, seq, data) VALUES (0, ?1, ?2)";
        database.execute(sql, params![last, ending]).map(drop).map_err(self.failed())
    }
}

/// Writes rows from the number `first` on, all or none.
fn write_rows<'a>(
    database: &mut Connection,
    starts_over: bool,
    first: u64,
    rows: impl IntoIterator<Item = (u64, &'a str, &'a str)>,
) -> rusqlite::Result<()> {
    let written = database.transaction()?;
    if starts_over {
        written.execute_batch("DELETE FROM events; DELETE FROM ending;")?;
    }
    for ((at, kind, data), seq) in rows.into_iter().zip(first..) {
        let number = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
        let sql = "INSERT INTO events (seq, at, kind, data) VALUES (?1, ?2, ?3, ?4)";
        written.execute(sql, params![number(seq), number(at), kind, data])?;
    }
    written.commit()
}

/// Removes the database of a run with its log.
pub(super) fn remove_database(directory: &Path) -> Result<(), JournalError> {
    remove_database_at(&directory.join(DATABASE))
}

fn remove_database_at(database: &Path) -> Result<(), JournalError> {
    for end in ["", "-wal", "-shm"] {
        let mut path = database.as_os_str().to_owned();
        path.push(end);
        let path = PathBuf::from(path);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(JournalError::io("removed", &path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}
