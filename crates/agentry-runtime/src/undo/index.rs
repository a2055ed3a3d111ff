//! The index of changes, in memory and as lines of a file.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::append;
use crate::journal::shared_files::INDEX as NAME;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PathImage {
    /// Nothing.
    Nothing,
    /// A file.
    File {
        /// SHA-256 of its bytes.
        digest: String,
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Its target.
        target: PathBuf,
    },
    /// A directory.
    Directory,
}

/// One change of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathChange {
    pub(super) path: PathBuf,
    /// What was there before.
    pub(super) before: PathImage,
    /// What was there after; `None` while the change is under way.
    #[serde(default)]
    pub(super) left: Option<PathImage>,
    /// The missing directories above it that were created, the lowest first.
    #[serde(default)]
    pub(super) made: Vec<PathBuf>,
    /// When, in microseconds since the Unix epoch; orders the changes of a run and of its delegates. Older
    /// indexes have none.
    #[serde(default)]
    pub(super) at: u64,
}

/// A line with the state after the last change of a path.
#[derive(Debug, Serialize, Deserialize)]
struct PathLeft {
    path: PathBuf,
    left: PathImage,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum UndoEntry {
    Change(PathChange),
    Left(PathLeft),
}

/// All changes of a run, in order.
#[derive(Debug, Default)]
pub(super) struct UndoIndex {
    pub(super) lines: Vec<PathChange>,
    /// The paths whose change is under way in this process.
    pub(super) open: BTreeSet<PathBuf>,
}

impl UndoIndex {
    /// Reads the index. A truncated last line was never acted on, so it is dropped.
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        let path = directory.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            // The next line must start on a line of its own.
            let file = fs::OpenOptions::new().write(true).open(&path)?;
            file.set_len(u64::try_from(whole).unwrap_or(u64::MAX))?;
        }
        Self::parse(&path, text.get(..whole).unwrap_or_default())
    }

    /// Reads the index of a run that another process may write; changes nothing.
    pub(super) fn look(directory: &Path) -> io::Result<Self> {
        let path = directory.join(NAME);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        Self::parse(&path, text.get(..whole).unwrap_or_default())
    }

    fn parse(path: &Path, lines: &str) -> io::Result<Self> {
        let mut index = Self::default();
        for (at, line) in lines.lines().enumerate() {
            let entry = serde_json::from_str(line).map_err(|error| {
                io::Error::other(format!("`{}`, line {}: {error}", path.display(), at + 1))
            })?;
            match entry {
                UndoEntry::Change(line) => index.lines.push(line),
                UndoEntry::Left(PathLeft { path, left }) => index.set_left(&path, left),
            }
        }
        Ok(index)
    }

    /// Returns the time of the next change, which is never before that of an earlier one.
    pub(super) fn next_time(&self, now: u64) -> u64 {
        now.max(self.lines.last().map_or(0, |line| line.at))
    }

    pub(super) fn add(&mut self, directory: &Path, line: PathChange) -> io::Result<()> {
        append(&directory.join(NAME), &serde_json::to_string(&line)?)?;
        self.open.insert(line.path.clone());
        self.lines.push(line);
        Ok(())
    }

    pub(super) fn leave(
        &mut self,
        directory: &Path,
        path: &Path,
        left: PathImage,
    ) -> io::Result<()> {
        let line = PathLeft { path: path.to_path_buf(), left };
        append(&directory.join(NAME), &serde_json::to_string(&line)?)?;
        self.open.remove(path);
        self.set_left(path, line.left);
        Ok(())
    }

    fn set_left(&mut self, path: &Path, left: PathImage) {
        if let Some(line) = self.lines.iter_mut().rev().find(|line| line.path == path) {
            line.left = Some(left);
        }
    }
}
