//! Before-images: the files as they were before a run changed them, so that `undo` can restore them.
//!
//! ```text
//! before/
//!   index.jsonl    one line a change: what was there before it, and what it left
//!   <digest>       the bytes that were there
//! ```
//!
//! A change is undone only if the file is still as the run left it; later changes of others are kept.
//! Changes by commands are not recorded, because they are not known before the command runs.
//!
//! As in the tools, no link on the way to a file is followed: a directory that was replaced by a link leads
//! to files that the run never changed.

mod changes;
mod index;
mod restore;
mod turn;

use agentry_compile::text::digest::hex;
use agentry_posix::unix::ffi::OsStringExt as _;
use agentry_posix::unix::fs::PermissionsExt as _;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use agentry_posix::fs::{AtFlags, FileType};
use agentry_posix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::journal::{FileUplink, shared_files};
use crate::private_files;

pub use changes::{RunFileChange, changed_files, joined_diff};
pub use index::PathImage;
use index::{PathChange, UndoIndex};
pub use restore::{UndoOutcome, undo};
pub use turn::{TurnChanges, TurnLedger, TurnMark, turn_files, undo_turn};

use crate::protected_paths;
use crate::tool::files::{self, MissingDirectory};

/// Stores the before-images of one run. Calls may run in parallel.
#[derive(Debug)]
pub struct BeforeImages {
    directory: PathBuf,
    index: Mutex<UndoIndex>,
    /// Where they are stored as well, with how many lines of the index are there.
    files: Option<(Arc<dyn FileUplink>, AtomicUsize)>,
}

impl BeforeImages {
    /// Stores them in this directory, which is created with the first image.
    pub fn new(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        let index = Mutex::new(UndoIndex::read(&directory)?);
        Ok(Self { directory, index, files: None })
    }

    /// The same, which an engine stores as well, so that any machine can undo the run.
    #[must_use]
    pub fn shared_by(self, files: Option<Arc<dyn FileUplink>>) -> Self {
        Self { files: files.map(|files| (files, AtomicUsize::new(0))), ..self }
    }

    /// Shares the lines of the index that are new, while the index is locked.
    fn share_lines(&self) -> io::Result<()> {
        let Some((files, known)) = &self.files else { return Ok(()) };
        let first = known.load(Ordering::Relaxed);
        let count = shared_files::share_lines(&**files, &self.directory, first)?;
        known.store(count, Ordering::Relaxed);
        Ok(())
    }

    /// Stores what is at this path now. It is on disk, and in the engine if there is one, before this returns.
    pub fn keep(&self, path: &Path) -> io::Result<()> {
        let path = plain(path)?;
        untouchable(&path).map_or(Ok(()), |why| Err(io::Error::other(why)))?;
        let mut index = self.index();
        // A second change in the same call has the same original.
        if index.open.contains(&path) {
            return Ok(());
        }
        private_files::directories(&self.directory)?;
        let before = there(&path)?;
        // The run's own content has an image too: the user may undo its last turn alone.
        if let PathImage::File { digest, .. } = &before {
            self.copy(&path, digest)?;
            if let Some((files, _)) = &self.files {
                shared_files::share_image(&**files, &self.directory.join(digest), digest)?;
            }
        }
        // Noted before they are created, so that undo can remove them again.
        let above = path.ancestors().skip(1).take_while(|directory| !directory.exists());
        let made = above.map(Path::to_path_buf).collect();
        let at = index.next_time(now());
        index.add(&self.directory, PathChange { path, before, left: None, made, at })?;
        self.share_lines()
    }

    /// Records the state after the open changes. Must be called when the call that made them is over.
    pub fn settle(&self) -> io::Result<()> {
        let mut index = self.index();
        for path in index.open.clone() {
            let left = there(&path)?;
            index.leave(&self.directory, &path, left)?;
        }
        self.share_lines()
    }

    fn index(&self) -> std::sync::MutexGuard<'_, UndoIndex> {
        // A panic cannot leave the index half-changed: each entry is on disk before it is in memory.
        self.index.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Copies a file to a name by its digest, unless that exists.
    fn copy(&self, path: &Path, digest: &str) -> io::Result<()> {
        let image = self.directory.join(digest);
        if image.exists() {
            return Ok(());
        }
        let part = self.directory.join(format!("{digest}.part"));
        let mut from = files::open(path)?;
        let mut to = private_files::file(
            &part,
            fs::OpenOptions::new().write(true).create(true).truncate(true),
        )?;
        io::copy(&mut from, &mut to)?;
        to.sync_all()?;
        // The file may have been changed between its digest and its copy.
        if self::digest(File::open(&part)?)? != digest {
            return Err(io::Error::other(format!("`{}` changes all the time", path.display())));
        }
        fs::rename(&part, &image)?;
        private_files::sync(&self.directory)
    }
}

/// Returns what a run left at each path that its tools changed, the last change of each. Changes nothing.
pub fn left_behind(directory: &Path) -> io::Result<BTreeMap<PathBuf, PathImage>> {
    let lines = UndoIndex::look(directory)?.lines.into_iter();
    Ok(lines.filter_map(|line| Some((line.path, line.left?))).collect())
}

/// The time in microseconds since the Unix epoch.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Returns what is at a path now. A path through a link counts as nothing.
pub fn there(path: &Path) -> io::Result<PathImage> {
    let (parent, name) = match files::parent(path, MissingDirectory::Fails) {
        Ok(found) => found,
        Err(error) if is_absent(&error) => return Ok(PathImage::Nothing),
        Err(error) => return Err(error),
    };
    let found = match agentry_posix::fs::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => FileType::from_raw_mode(found.st_mode),
        Err(Errno::NOENT) => return Ok(PathImage::Nothing),
        Err(error) => return Err(error.into()),
    };
    match found {
        FileType::Symlink => {
            let target = agentry_posix::fs::readlinkat(&parent, &name, Vec::new())?;
            Ok(PathImage::Link { target: OsString::from_vec(target.into_bytes()).into() })
        }
        FileType::Directory => Ok(PathImage::Directory),
        FileType::RegularFile => {
            let file = files::open(path)?;
            let mode = file.metadata()?.permissions().mode() & 0o7777;
            Ok(PathImage::File { digest: digest(file)?, mode })
        }
        _ => Err(io::Error::other(format!("`{}` is not a regular file", path.display()))),
    }
}

/// Returns why a path is neither stored nor restored: a directory on the way is a link, or the path is
/// protected.
fn untouchable(path: &Path) -> Option<String> {
    let is_link = |it: &&Path| fs::symlink_metadata(it).is_ok_and(|found| found.is_symlink());
    if let Some(link) = path.ancestors().skip(1).find(is_link) {
        return Some(format!("`{}` has become a link", link.display()));
    }
    protected_paths::why_protected_anywhere(path).map(|why| format!("it is protected: {why}"))
}

/// Returns whether neither the file nor its directory exists.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn digest(mut file: File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hasher.update(buffer.get(..count).unwrap_or_default()),
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// Normalises a path to one spelling: absolute, without `.`; an error if it has `..`.
fn plain(path: &Path) -> io::Result<PathBuf> {
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => {
                return Err(io::Error::other(format!("`{}` has `..`", path.display())));
            }
            part => plain.push(part),
        }
    }
    Ok(plain)
}

/// Appends a line, and flushes it to disk.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = private_files::file(path, fs::OpenOptions::new().append(true).create(true))?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

#[cfg(test)]
mod tests;
