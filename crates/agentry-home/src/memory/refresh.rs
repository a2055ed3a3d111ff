//! Compares the files of memories with their index, and takes over what differs.
//!
//! A file is compared by size, times and inode. A stamp that was taken while the file was new is not trusted, because the
//! file may have changed again within the same tick of the clock.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, TransactionBehavior, params};

use super::folder::{FileStamp, FolderListing, FolderRole, MemoryFolder};
use super::index::RefreshEffort;
use super::ranking::MemoryWeight;
use super::{MemoryError, query};

/// A store with at most this many files is always compared as a whole.
const SMALL: i64 = if cfg!(test) { 200 } else { 2_000 };
/// How many files of a large store are compared beside the directories.
const SAMPLE: i64 = if cfg!(test) { 5 } else { 64 };
/// How long a file system may give two changes the same time, in nanoseconds.
const TICK: i64 = 2_000_000_000;

/// The files of the index, by role and path.
type KnownFiles = HashMap<(i64, String), FileStamp>;

/// What differs between the files and the index.
#[derive(Debug, Default)]
struct FolderChanges {
    /// New or changed.
    read: Vec<(FolderRole, String)>,
    gone: Vec<(i64, String)>,
    /// The directories that were listed, if they were.
    directories: Option<Vec<(FolderRole, String, FileStamp)>>,
}

impl FolderChanges {
    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty() && self.directories.is_none()
    }
}

/// Takes over what changed in the folders, and says whether every file was compared.
pub(super) fn refresh(
    database: &mut Connection,
    folders: &[MemoryFolder],
    effort: RefreshEffort,
) -> Result<bool, MemoryError> {
    let is_whole = effort == RefreshEffort::Full || count(database)? <= SMALL;
    if changes(database, folders, is_whole)?.is_empty() {
        return Ok(is_whole);
    }
    let change = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Again under the lock: another process may have taken over the same changes.
    let began = now();
    let changes = changes(&change, folders, is_whole)?;
    for (role, path) in &changes.gone {
        remove(&change, *role, path)?;
    }
    for (role, path) in &changes.read {
        if let Some(folder) = folders.iter().find(|folder| folder.role == *role) {
            take_over(&change, folder, path, began)?;
        }
    }
    if let Some(directories) = &changes.directories {
        keep_directories(&change, directories, began)?;
    }
    change.commit()?;
    Ok(is_whole)
}

fn count(database: &Connection) -> rusqlite::Result<i64> {
    database.query_row("SELECT count(*) FROM files", [], |row| row.get(0))
}

fn changes(
    database: &Connection,
    folders: &[MemoryFolder],
    is_whole: bool,
) -> Result<FolderChanges, MemoryError> {
    if is_whole {
        return listed_changes(database, folders, true);
    }
    if has_other_directories(database, folders)? {
        return listed_changes(database, folders, false);
    }
    sampled_changes(database, folders)
}

/// The changes that a walk through all folders finds; with stamps also those of files that keep their names.
fn listed_changes(
    database: &Connection,
    folders: &[MemoryFolder],
    with_stamps: bool,
) -> Result<FolderChanges, MemoryError> {
    let mut known = known(database)?;
    let mut changes = FolderChanges::default();
    let mut directories = Vec::new();
    for folder in folders {
        let FolderListing { files, directories: listed } = folder.walk(with_stamps)?;
        for (path, stamp) in files {
            match known.remove(&(folder.role as i64, path.clone())) {
                Some(before) if stamp.is_none_or(|stamp| stamp == before) => {}
                _ => changes.read.push((folder.role, path)),
            }
        }
        directories.extend(listed.into_iter().map(|(path, stamp)| (folder.role, path, stamp)));
    }
    changes.gone = known.into_keys().collect();
    if are_other(database, &directories)? {
        changes.directories = Some(directories);
    }
    Ok(changes)
}

/// The changes of a few files, others each time.
fn sampled_changes(
    database: &Connection,
    folders: &[MemoryFolder],
) -> Result<FolderChanges, MemoryError> {
    let last: i64 =
        database.query_row("SELECT coalesce(max(row), 0) FROM files", [], |row| row.get(0))?;
    let start = now().rem_euclid(last.max(1));
    let sql =
        "SELECT role, path, size, modified, changed, inode FROM files WHERE row >= ?1 LIMIT ?2";
    let mut query = database.prepare_cached(sql)?;
    let sample = query.query_map([start, SAMPLE], known_row)?;
    let mut changes = FolderChanges::default();
    for row in sample {
        let ((role, path), before) = row?;
        let Some(folder) = folders.iter().find(|folder| folder.role as i64 == role) else {
            continue;
        };
        match folder.stamp(&path) {
            Some(stamp) if stamp == before => {}
            Some(_) => changes.read.push((folder.role, path)),
            None => changes.gone.push((role, path)),
        }
    }
    Ok(changes)
}

/// Whether a known directory has another stamp, or none. A new one changes the directory above it.
fn has_other_directories(
    database: &Connection,
    folders: &[MemoryFolder],
) -> Result<bool, MemoryError> {
    let mut query =
        database.prepare_cached("SELECT role, path, modified, changed, inode FROM directories")?;
    let known = query.query_map([], |row| {
        let stamp =
            FileStamp { size: 0, modified: row.get(2)?, changed: row.get(3)?, inode: row.get(4)? };
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, stamp))
    })?;
    let known: Vec<_> = known.collect::<rusqlite::Result<_>>()?;
    for folder in folders {
        let role = folder.role as i64;
        let has_root = known.iter().any(|(of, path, _)| *of == role && path.is_empty());
        if folder.exists()? != has_root {
            return Ok(true);
        }
        let mut own = known.iter().filter(|(of, ..)| *of == role);
        let is_other = own.any(|(_, path, before)| {
            folder.stamp(path).is_none_or(|stamp| FileStamp { size: 0, ..stamp } != *before)
        });
        if is_other {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the listed directories are not those of the index.
fn are_other(
    database: &Connection,
    listed: &[(FolderRole, String, FileStamp)],
) -> rusqlite::Result<bool> {
    let count: i64 =
        database.query_row("SELECT count(*) FROM directories", [], |row| row.get(0))?;
    if usize::try_from(count).unwrap_or(0) != listed.len() {
        return Ok(true);
    }
    let sql = "SELECT count(*) FROM directories
        WHERE role = ?1 AND path = ?2 AND modified = ?3 AND changed = ?4 AND inode = ?5";
    let mut query = database.prepare_cached(sql)?;
    for (role, path, stamp) in listed {
        let FileStamp { modified, changed, inode, .. } = stamp;
        let values = params![*role as i64, path, modified, changed, inode];
        if query.query_row(values, |row| row.get::<_, i64>(0))? == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn known(database: &Connection) -> rusqlite::Result<KnownFiles> {
    let sql = "SELECT role, path, size, modified, changed, inode FROM files";
    database.prepare_cached(sql)?.query_map([], known_row)?.collect()
}

fn known_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<((i64, String), FileStamp)> {
    let stamp = FileStamp {
        size: row.get(2)?,
        modified: row.get(3)?,
        changed: row.get(4)?,
        inode: row.get(5)?,
    };
    Ok(((row.get(0)?, row.get(1)?), stamp))
}

fn remove(database: &Connection, role: i64, path: &str) -> rusqlite::Result<()> {
    let words = "DELETE FROM words
        WHERE rowid IN (SELECT row FROM files WHERE role = ?1 AND path = ?2)";
    database.prepare_cached(words)?.execute(params![role, path])?;
    let file = "DELETE FROM files WHERE role = ?1 AND path = ?2";
    database.prepare_cached(file)?.execute(params![role, path])?;
    Ok(())
}

/// Puts one file into the index as it is now. A file that cannot be read has no words.
fn take_over(
    database: &Connection,
    folder: &MemoryFolder,
    path: &str,
    began: i64,
) -> Result<(), MemoryError> {
    remove(database, folder.role as i64, path)?;
    let Ok(Some(content)) = folder.read(path) else { return Ok(()) };
    let entry = folder.to_entry(path, &content);
    let FileStamp { size, modified, changed, inode } = trusted(content.stamp, began);
    let sql = "INSERT INTO files
        (role, path, size, modified, changed, inode, pinned, importance, created)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    database.prepare_cached(sql)?.execute(params![
        folder.role as i64,
        path,
        size,
        modified,
        changed,
        inode,
        entry.is_pinned,
        MemoryWeight::rank(entry.importance),
        entry.created_at
    ])?;
    let row = database.last_insert_rowid();
    let words = query::indexed(&entry.text);
    let sql = "INSERT INTO words (rowid, text) VALUES (?1, ?2)";
    database.prepare_cached(sql)?.execute(params![row, words])?;
    Ok(())
}

fn keep_directories(
    database: &Connection,
    listed: &[(FolderRole, String, FileStamp)],
    began: i64,
) -> rusqlite::Result<()> {
    database.execute("DELETE FROM directories", [])?;
    let sql = "INSERT INTO directories (role, path, modified, changed, inode)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = database.prepare_cached(sql)?;
    for (role, path, stamp) in listed {
        let FileStamp { modified, changed, inode, .. } = trusted(*stamp, began);
        insert.execute(params![*role as i64, path, modified, changed, inode])?;
    }
    Ok(())
}

/// The stamp to keep: that of a young file never equals a later one.
fn trusted(stamp: FileStamp, began: i64) -> FileStamp {
    let is_young = stamp.modified.max(stamp.changed) >= began.saturating_sub(TICK);
    if is_young { FileStamp { modified: -1, ..stamp } } else { stamp }
}

/// In nanoseconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
