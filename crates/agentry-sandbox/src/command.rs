//! A command to run and its result; the same on every operating system.

use std::path::PathBuf;

use agentry_posix::fd::OwnedFd;

/// A command to run.
#[derive(Debug)]
pub struct ConfinedCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The working directory.
    pub directory: PathBuf,
    /// The complete environment.
    pub env: Vec<(String, String)>,
    /// Standard input.
    pub input: OwnedFd,
    /// Standard output.
    pub output: OwnedFd,
    /// Standard error.
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

/// Private directories of a run's commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateDirectories {
    /// For `HOME`.
    pub home: PathBuf,
    /// For `TMPDIR`.
    pub temporary: PathBuf,
    /// A file for git's setting `core.excludesFile`, which lists placeholders and hidden paths.
    pub unseen_by_git: Option<PathBuf>,
}
