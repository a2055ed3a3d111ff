//! What files were before a run changed them, so that the changes can be taken back.
//!
//! ```text
//! before/
//!   index.jsonl    one line a change: what was there before it, and what it left
//!   <digest>       the bytes that were there
//! ```
//!
//! A change is taken back only where the file is still what the run left: whatever somebody else did
//! since is theirs. What commands change is not kept; nobody knows it before they run.

mod index;
mod restore;

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest as _, Sha256};

use crate::private;

pub use index::There;
use index::{Index, Line};
pub use restore::{Undone, undo};

/// Keeps before-images of one run. Calls may run side by side.
#[derive(Debug)]
pub struct Images {
    directory: PathBuf,
    index: Mutex<Index>,
}

impl Images {
    /// Keeps them in this directory, which is made when there is something to keep.
    pub fn new(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        let index = Mutex::new(Index::read(&directory)?);
        Ok(Self { directory, index })
    }

    /// Keeps what is at this path now: it is on the disk before this returns.
    pub fn keep(&self, path: &Path) -> io::Result<()> {
        let path = plain(path)?;
        let mut index = self.index();
        if index.open.contains(&path) {
            return Ok(());
        }
        private::directories(&self.directory)?;
        let before = there(&path)?;
        // What the run itself left need not be kept: it is reached by way of what it left.
        let is_own = index.last(&path).is_some_and(|last| last.left.as_ref() == Some(&before));
        if let (There::File { digest, .. }, false) = (&before, is_own) {
            self.copy(&path, digest)?;
        }
        let above = path.ancestors().skip(1).take_while(|directory| !directory.exists());
        let made = above.map(Path::to_path_buf).collect();
        index.add(&self.directory, Line { path, before, left: None, made })
    }

    /// Notes what the changes that were kept have left. To be called when the call that made them is
    /// over.
    pub fn settle(&self) -> io::Result<()> {
        let mut index = self.index();
        for path in index.open.clone() {
            let left = there(&path)?;
            index.leave(&self.directory, &path, left)?;
        }
        Ok(())
    }

    fn index(&self) -> std::sync::MutexGuard<'_, Index> {
        // What is in memory is written line by line: a panic elsewhere cannot have broken it.
        self.index.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Copies a file under its digest, unless it is there already.
    fn copy(&self, path: &Path, digest: &str) -> io::Result<()> {
        let image = self.directory.join(digest);
        if image.exists() {
            return Ok(());
        }
        let part = self.directory.join(format!("{digest}.part"));
        let mut from = File::open(path)?;
        let mut to =
            private::file(&part, fs::OpenOptions::new().write(true).create(true).truncate(true))?;
        io::copy(&mut from, &mut to)?;
        to.sync_all()?;
        if digest_of(&part)? != digest {
            return Err(io::Error::other(format!("`{}` changes all the time", path.display())));
        }
        fs::rename(&part, &image)?;
        private::sync(&self.directory)
    }
}

/// What is at a path now.
fn there(path: &Path) -> io::Result<There> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if is_absent(&error) => return Ok(There::Nothing),
        Err(error) => return Err(error),
    };
    if found.is_symlink() {
        return Ok(There::Link { target: fs::read_link(path)? });
    }
    if found.is_dir() {
        return Ok(There::Directory);
    }
    if !found.is_file() {
        return Err(io::Error::other(format!("`{}` is no ordinary file", path.display())));
    }
    Ok(There::File { digest: digest_of(path)?, mode: mode(&found) })
}

/// Whether nothing is there: neither the file nor the directory that it would be in.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn digest_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
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

/// Bytes as pairs of digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(unix)]
fn mode(found: &fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o7777
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0o644
}

/// One spelling of a path: absolute, without `.` and `..`.
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

/// Writes a line and forces it to the disk.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = private::file(path, fs::OpenOptions::new().append(true).create(true))?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

#[cfg(test)]
mod tests;
