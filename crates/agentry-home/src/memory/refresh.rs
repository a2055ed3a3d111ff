//! Compares the files of memories with their index, and takes over what differs.
//!
//! A file is compared by size, times and inode. A stamp that was taken while the file was new is not trusted, because the
//! file may have changed again within the same tick of the clock.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use rayon::prelude::*;
use rusqlite::{Connection, TransactionBehavior, params};

use super::folder::{FolderListing, FolderRole, MemoryFileStamp, MemoryFolder};
use super::index::RefreshEffort;
use super::ranking::MemoryWeight;
use super::store::IndexNotice;
use super::{MemoryError, query};

/// A store with at most this many files is always compared as a whole.
const SMALL: i64 = if cfg!(test) { 200 } else { 2_000 };
/// So many files take seconds to index.
const MANY: usize = if cfg!(test) { 250 } else { 10_000 };
/// How many files of a large store are compared beside the directories.
const SAMPLE: i64 = if cfg!(test) { 5 } else { 64 };
/// How long a file system may give two changes the same time, in nanoseconds.
const TICK: i64 = 2_000_000_000;

/// How many files are read at a time, in parallel.
const CHUNK: usize = if cfg!(test) { 32 } else { 512 };
/// How many such portions may wait for the index.
const CHUNKS_AHEAD: usize = 4;

/// The files of the index, by role and path.
type KnownFiles = HashMap<(i64, String), MemoryFileStamp>;

/// What differs between the files and the index.
#[derive(Debug, Default)]
struct FolderChanges {
    /// New or changed.
    read: Vec<(FolderRole, String)>,
    gone: Vec<(i64, String)>,
    /// The directories that were listed, if they were.
    directories: Option<Vec<(FolderRole, String, MemoryFileStamp)>>,
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
    IndexNotice(notice): IndexNotice,
) -> Result<bool, MemoryError> {
    let known = count(database)?;
    let is_whole = effort == RefreshEffort::Full || known <= SMALL;
    // A new index takes over everything, so there is nothing to compare first.
    if known > 0 && changes(database, folders, is_whole)?.is_empty() {
        return Ok(is_whole);
    }
    let change = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Again under the lock: another process may have taken over the same changes.
    let began = now();
    let changes = changes(&change, folders, is_whole)?;
    for (role, path) in &changes.gone {
        remove(&change, *role, path)?;
    }
    if changes.read.len() >= MANY {
        notice(changes.read.len());
    }
    take_over_all(&change, folders, &changes.read, began)?;
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
        let stamp = MemoryFileStamp {
            size: 0,
            modified: row.get(2)?,
            changed: row.get(3)?,
            inode: row.get(4)?,
        };
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
            folder.stamp(path).is_none_or(|stamp| MemoryFileStamp { size: 0, ..stamp } != *before)
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
    listed: &[(FolderRole, String, MemoryFileStamp)],
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
        let MemoryFileStamp { modified, changed, inode, .. } = stamp;
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

fn known_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<((i64, String), MemoryFileStamp)> {
    let stamp = MemoryFileStamp {
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

/// A file as the index gets it.
struct ReadMemory {
    role: FolderRole,
    path: String,
    /// `None` if the file cannot be read: then it has no words.
    content: Option<ReadContent>,
}

struct ReadContent {
    stamp: MemoryFileStamp,
    is_pinned: bool,
    importance: i64,
    created_at: i64,
    words: String,
}

/// Puts files into the index as they are now. Other threads read the next ones while this one writes: a first index of many
/// files takes about as long as the slower of the two.
fn take_over_all(
    database: &Connection,
    folders: &[MemoryFolder],
    files: &[(FolderRole, String)],
    began: i64,
) -> Result<(), MemoryError> {
    if files.len() <= CHUNK {
        let mut read = files.iter().filter_map(|(role, path)| read_file(folders, *role, path));
        return read.try_for_each(|file| take_over(database, &file, began));
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::sync_channel(CHUNKS_AHEAD);
        scope.spawn(move || {
            for chunk in files.chunks(CHUNK) {
                let read =
                    chunk.par_iter().filter_map(|(role, path)| read_file(folders, *role, path));
                // The writer has failed and listens no more.
                if sender.send(read.collect::<Vec<_>>()).is_err() {
                    return;
                }
            }
        });
        let mut read = receiver.into_iter().flatten();
        read.try_for_each(|file| take_over(database, &file, began))
    })
}

fn read_file(folders: &[MemoryFolder], role: FolderRole, path: &str) -> Option<ReadMemory> {
    let folder = folders.iter().find(|folder| folder.role == role)?;
    let content = folder.read(path).ok().flatten().map(|content| {
        let entry = folder.to_entry(path, &content);
        ReadContent {
            stamp: content.stamp,
            is_pinned: entry.is_pinned,
            importance: MemoryWeight::rank(entry.importance),
            created_at: entry.created_at,
            words: query::indexed(&entry.text),
        }
    });
    Some(ReadMemory { role, path: path.to_owned(), content })
}

/// Puts one file into the index.
fn take_over(database: &Connection, file: &ReadMemory, began: i64) -> Result<(), MemoryError> {
    let ReadMemory { role, path, content } = file;
    remove(database, *role as i64, path)?;
    let Some(content) = content else { return Ok(()) };
    let MemoryFileStamp { size, modified, changed, inode } = trusted(content.stamp, began);
    let sql = "INSERT INTO files
        (role, path, size, modified, changed, inode, pinned, importance, created)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    database.prepare_cached(sql)?.execute(params![
        *role as i64,
        path,
        size,
        modified,
        changed,
        inode,
        content.is_pinned,
        content.importance,
        content.created_at
    ])?;
    let row = database.last_insert_rowid();
    let sql = "INSERT INTO words (rowid, text) VALUES (?1, ?2)";
    database.prepare_cached(sql)?.execute(params![row, content.words])?;
    Ok(())
}

fn keep_directories(
    database: &Connection,
    listed: &[(FolderRole, String, MemoryFileStamp)],
    began: i64,
) -> rusqlite::Result<()> {
    database.execute("DELETE FROM directories", [])?;
    let sql = "INSERT INTO directories (role, path, modified, changed, inode)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = database.prepare_cached(sql)?;
    for (role, path, stamp) in listed {
        let MemoryFileStamp { modified, changed, inode, .. } = trusted(*stamp, began);
        insert.execute(params![*role as i64, path, modified, changed, inode])?;
    }
    Ok(())
}

/// The stamp to keep: that of a young file never equals a later one.
fn trusted(stamp: MemoryFileStamp, began: i64) -> MemoryFileStamp {
    let is_young = stamp.modified.max(stamp.changed) >= began.saturating_sub(TICK);
    if is_young { MemoryFileStamp { modified: -1, ..stamp } } else { stamp }
}

/// In nanoseconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
