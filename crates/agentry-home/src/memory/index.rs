//! The full-text index of the memories of one agent in runs of one user. It only says which files to read, so it can be
//! deleted at any time: one that is missing, damaged or of another version is built again, and one that cannot be written
//! is replaced by an index in memory.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};

use super::folder::{FolderRole, MemoryFileStamp, MemoryFolder};
use super::ranking::MemoryWeight;
use super::store::IndexNotice;
use super::{MemoryError, query, refresh};
use crate::database;

/// Changes with each layout of the tables.
const VERSION: i64 = 1;
/// The most memories that a search ranks.
const MOST_RANKED: i64 = 200;
/// A word that more memories have says little about one of them. Also how many matches are ranked for one query.
const MOST_COMMON: usize = if cfg!(test) { 200 } else { 2_000 };
/// The most words that are looked for together.
const MOST_TOGETHER: usize = 8;

/// The text itself is not kept: the files have it.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS files (
        row INTEGER PRIMARY KEY, role INTEGER NOT NULL, path TEXT NOT NULL,
        size INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL, inode INTEGER NOT NULL,
        pinned INTEGER NOT NULL, importance INTEGER NOT NULL, created INTEGER NOT NULL,
        UNIQUE (role, path)
    );
    CREATE INDEX IF NOT EXISTS files_in_order ON files (pinned, importance, created);
    CREATE TABLE IF NOT EXISTS directories (
        role INTEGER NOT NULL, path TEXT NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL,
        inode INTEGER NOT NULL, PRIMARY KEY (role, path)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS places (role INTEGER PRIMARY KEY, path TEXT NOT NULL);
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
        text, content='', contentless_delete=1, tokenize=\"porter unicode61 remove_diacritics 2\"
    );
";

/// How much of the files is compared with the index before a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshEffort {
    /// Every file.
    Full,
    /// Every file of a small store; of a large one the directories, the files that are found, and some others, so that
    /// a search does not take longer with each memory.
    Bounded,
}

/// A memory that a search or a list of the index has.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IndexedMemory {
    pub(super) role: FolderRole,
    pub(super) path: String,
    pub(super) stamp: MemoryFileStamp,
    pub(super) weight: MemoryWeight,
    /// Between 0 and 1.
    pub(super) relevance: f64,
}

/// An open index.
pub(super) struct MemoryIndex {
    pub(super) database: Connection,
    /// Keeps other processes from removing the file.
    _lock: Option<File>,
}

/// Runs `work` with an index of `folders`. A damaged index is removed and built again, once.
pub(super) fn with_index<T>(
    path: &Path,
    folders: &[MemoryFolder],
    work: impl Fn(&mut MemoryIndex) -> Result<T, MemoryError>,
) -> Result<T, MemoryError> {
    let attempt = || work(&mut MemoryIndex::open(path, folders)?);
    match attempt() {
        Err(MemoryError::Index(error)) if is_damage(&error) && remove_damaged(path) => {
            match attempt() {
                Err(MemoryError::Index(_)) => {}
                result => return result,
            }
        }
        Err(MemoryError::Index(_)) => {}
        result => return result,
    }
    // A file that cannot be used must not stop a search.
    work(&mut MemoryIndex::in_memory(folders)?)
}

impl MemoryIndex {
    fn open(path: &Path, folders: &[MemoryFolder]) -> Result<Self, MemoryError> {
        let directory = path.parent().unwrap_or(path);
        let lock = make_private(directory).and_then(|()| File::create(lock_of(path)));
        let Ok(lock) = lock else { return Self::in_memory(folders) };
        if lock.lock_shared().is_err() {
            return Self::in_memory(folders);
        }
        let database = database::open(path, "")?;
        // Losing the last changes of an index in a crash costs nothing.
        database.pragma_update(None, "synchronous", "NORMAL")?;
        Self { database, _lock: Some(lock) }.prepared(folders)
    }

    fn in_memory(folders: &[MemoryFolder]) -> Result<Self, MemoryError> {
        Self { database: Connection::open_in_memory()?, _lock: None }.prepared(folders)
    }

    /// Creates the tables, and removes the entries of files outside `folders`.
    fn prepared(mut self, folders: &[MemoryFolder]) -> Result<Self, MemoryError> {
        let version = |database: &Connection| -> rusqlite::Result<i64> {
            database.query_row("PRAGMA user_version", [], |row| row.get(0))
        };
        let mut wanted: Vec<(i64, String)> = folders
            .iter()
            .map(|folder| (folder.role as i64, folder.path.to_string_lossy().into_owned()))
            .collect();
        wanted.sort();
        match version(&self.database)? {
            VERSION if places(&self.database)? == wanted => return Ok(self),
            0 | VERSION => {}
            _ => return Err(rusqlite::Error::InvalidQuery.into()),
        }
        let change = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute_batch(TABLES)?;
        // Under the lock: another process may have done the same.
        if places(&change)? != wanted {
            change.execute_batch(
                "DELETE FROM files; DELETE FROM directories; DELETE FROM places;
                 INSERT INTO words (words) VALUES ('delete-all');",
            )?;
            for (role, path) in wanted {
                let insert = "INSERT INTO places (role, path) VALUES (?1, ?2)";
                change.execute(insert, params![role, path])?;
            }
        }
        change.pragma_update(None, "user_version", VERSION)?;
        change.commit()?;
        Ok(self)
    }

    /// Takes over what changed in the folders, and says whether every file was compared.
    pub(super) fn refresh(
        &mut self,
        folders: &[MemoryFolder],
        effort: RefreshEffort,
        notice: IndexNotice,
    ) -> Result<bool, MemoryError> {
        refresh::refresh(&mut self.database, folders, effort, notice)
    }

    /// The memories with words of a query. The time does not grow with the number of memories that have a word: of the
    /// words that tell memories apart, the rarest are ranked, and memories with all of them come in any case.
    pub(super) fn search(&self, query: &str) -> rusqlite::Result<Vec<IndexedMemory>> {
        let terms = query::terms(query);
        let mut rare: Vec<(usize, &str)> = Vec::new();
        for term in &terms {
            let count = self.count(term)?;
            if (1..=MOST_COMMON).contains(&count) {
                rare.push((count, term));
            }
        }
        if rare.is_empty() {
            return self.newest(&terms);
        }
        rare.sort_unstable();
        let mut left = MOST_COMMON;
        let affordable = rare.iter().take_while(|(count, _)| {
            let is_affordable = *count <= left;
            left = left.saturating_sub(*count);
            is_affordable
        });
        let some: Vec<&str> = affordable.map(|(_, term)| *term).collect();
        let all: Vec<&str> = rare.iter().map(|(_, term)| *term).collect();
        let mut found = HashMap::new();
        if all.len() > some.len() && all.len() <= MOST_TOGETHER {
            self.rank(&all.join(" AND "), &mut found)?;
        }
        self.rank(&some.join(" OR "), &mut found)?;
        let best = found.values().map(|(_, match_)| *match_).fold(f64::MIN_POSITIVE, f64::max);
        let relevant = |(memory, match_): (IndexedMemory, f64)| IndexedMemory {
            relevance: (match_ / best).clamp(0.0, 1.0),
            ..memory
        };
        Ok(found.into_values().map(relevant).collect())
    }

    /// Adds the best matches of an expression, each with a number that is higher the better it fits.
    fn rank(
        &self,
        expression: &str,
        found: &mut HashMap<i64, (IndexedMemory, f64)>,
    ) -> rusqlite::Result<()> {
        let sql = format!(
            "SELECT {COLUMNS}, words.rowid, words.rank FROM words JOIN files ON files.row = words.rowid
             WHERE words MATCH ?1 ORDER BY words.rank LIMIT ?2"
        );
        let mut query = self.database.prepare_cached(&sql)?;
        let rows = query.query_map(params![expression, MOST_RANKED], |row| {
            // FTS5 gives the better match the lower number, always below zero.
            let match_ = -row.get::<_, f64>(COLUMN_COUNT + 1)?;
            Ok((row.get::<_, i64>(COLUMN_COUNT)?, indexed(row)?, match_))
        })?;
        for row in rows {
            let (number, memory, match_) = row?;
            let entry = found.entry(number).or_insert((memory, match_));
            entry.1 = entry.1.max(match_);
        }
        Ok(())
    }

    /// The memories that were indexed last and have words that very many have: those with all of them, else with any.
    fn newest(&self, terms: &[String]) -> rusqlite::Result<Vec<IndexedMemory>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM words JOIN files ON files.row = words.rowid
             WHERE words MATCH ?1 ORDER BY words.rowid DESC LIMIT ?2"
        );
        for joint in [" AND ", " OR "].iter().filter(|_| !terms.is_empty()) {
            let mut query = self.database.prepare_cached(&sql)?;
            let found = query.query_map(params![terms.join(joint), MOST_RANKED], indexed)?;
            let found: Vec<IndexedMemory> = found.collect::<rusqlite::Result<_>>()?;
            if !found.is_empty() {
                let equal = |memory| IndexedMemory { relevance: 1.0, ..memory };
                return Ok(found.into_iter().map(equal).collect());
            }
        }
        Ok(Vec::new())
    }

    /// How many memories have a term; every number above [`MOST_COMMON`] is the same.
    fn count(&self, term: &str) -> rusqlite::Result<usize> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)";
        let mut query = self.database.prepare_cached(sql)?;
        let most = i64::try_from(MOST_COMMON).unwrap_or(i64::MAX).saturating_add(1);
        let count: i64 = query.query_row(params![term, most], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// How many memories there are.
    pub(super) fn len(&self) -> rusqlite::Result<usize> {
        let count: i64 =
            self.database.query_row("SELECT count(*) FROM files", [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The memories that come first without a query: pinned ones, then by importance, then the newest.
    pub(super) fn first(&self, most: usize) -> rusqlite::Result<Vec<IndexedMemory>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM files ORDER BY pinned DESC, importance DESC, created DESC LIMIT ?1"
        );
        let mut query = self.database.prepare_cached(&sql)?;
        query.query_map([i64::try_from(most).unwrap_or(i64::MAX)], indexed)?.collect()
    }
}

fn places(database: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut query = database.prepare("SELECT role, path FROM places ORDER BY role")?;
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

const COLUMNS: &str = "files.role, files.path, files.size, files.modified, files.changed, files.inode, \
    files.pinned, files.importance, files.created";
const COLUMN_COUNT: usize = 9;

fn indexed(row: &rusqlite::Row<'_>) -> rusqlite::Result<IndexedMemory> {
    let role: i64 = row.get(0)?;
    Ok(IndexedMemory {
        role: match role {
            0 => FolderRole::Agent,
            1 => FolderRole::User,
            _ => FolderRole::Shared,
        },
        path: row.get(1)?,
        stamp: MemoryFileStamp {
            size: row.get(2)?,
            modified: row.get(3)?,
            changed: row.get(4)?,
            inode: row.get(5)?,
        },
        weight: MemoryWeight {
            is_pinned: row.get(6)?,
            importance: MemoryWeight::of_rank(row.get(7)?),
            created_at: row.get(8)?,
        },
        relevance: 0.0,
    })
}

/// Whether an index with this error can be built again.
fn is_damage(error: &rusqlite::Error) -> bool {
    let damaged = [ErrorCode::NotADatabase, ErrorCode::DatabaseCorrupt, ErrorCode::Unknown];
    match error {
        rusqlite::Error::SqliteFailure(error, _) => damaged.contains(&error.code),
        // Missing tables, values of other types, or another version.
        rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::InvalidQuery
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..) => true,
        _ => false,
    }
}

/// Removes an index, unless another process uses it now.
fn remove_damaged(path: &Path) -> bool {
    let Ok(lock) = File::create(lock_of(path)) else { return false };
    if lock.try_lock().is_err() {
        return false;
    }
    let is_file = fs::symlink_metadata(path).is_ok_and(|data| !data.is_dir());
    let removed = !is_file || fs::remove_file(path).is_ok();
    for part in ["-wal", "-shm"] {
        let _ = fs::remove_file(beside(path, part));
    }
    removed
}

fn lock_of(path: &Path) -> PathBuf {
    beside(path, ".lock")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn make_private(directory: &Path) -> std::io::Result<()> {
    use agentry_posix::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}
