//! A command to run, and what became of it: the same on every system.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A command to run.
#[derive(Debug)]
pub struct ConfinedCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it starts.
    pub directory: PathBuf,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Where its input comes from.
    pub input: OwnedFd,
    /// Where its output goes.
    pub output: OwnedFd,
    /// Where its complaints go.
    pub errors: OwnedFd,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandExit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Directories that the commands of a run have for themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateDirectories {
    /// For `HOME`.
    pub home: PathBuf,
    /// For `TMPDIR`.
    pub temporary: PathBuf,
    /// What git is told to pass over by its setting `core.excludesFile`: placeholders and what is
    /// hidden.
    pub unseen_by_git: Option<PathBuf>,
}
