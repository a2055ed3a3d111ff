//! Why a journal cannot be used.

use std::io;
use std::path::Path;

/// Why a journal cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No run has this name.
    #[error("there is no run `{0}`")]
    NoRun(String),
    /// Its process was gone before it could say what it is.
    #[error("the run `{0}` never began")]
    NeverBegan(String),
    /// Several runs have names that start or end so.
    #[error("`{given}` may be {}", .found.join(", "))]
    Ambiguous {
        /// What was given.
        given: String,
        /// The names of the runs.
        found: Vec<String>,
    },
    /// Another process has it.
    #[error("the run `{id}` is under way{}", .pid.map_or(String::new(), |pid| format!(" in process {pid}")))]
    Busy {
        /// The run.
        id: String,
        /// The process, if it said so.
        pid: Option<u32>,
    },
    /// It cannot be read.
    #[error("the journal of the run `{id}` is damaged: {why}")]
    Damaged {
        /// The run.
        id: String,
        /// What is wrong.
        why: String,
    },
    /// It was written by a program that knows more.
    #[error(
        "the journal of the run `{id}` has format {found}; this program knows format {known} and older ones"
    )]
    Newer {
        /// The run.
        id: String,
        /// Its format.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// The system refused.
    #[error("`{path}` cannot be {verb}: {source}")]
    Io {
        /// What was to be done, as it reads after «cannot be».
        verb: &'static str,
        /// The file or directory.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The database refused.
    #[error("the journal of the run `{id}` cannot be {verb}: {source}")]
    Database {
        /// The run.
        id: String,
        /// What was to be done.
        verb: &'static str,
        /// What the database says.
        source: rusqlite::Error,
    },
}

impl JournalError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoRun(_) | Self::Ambiguous { .. } => "`agentry runs` lists them",
            Self::Busy { .. } => "wait for it, or end that process first",
            Self::Newer { .. } => "use the program that wrote it, or a newer one",
            Self::NeverBegan(_) | Self::Damaged { .. } => {
                "`agentry runs prune` removes it with the other old ones"
            }
            Self::Io { .. } | Self::Database { .. } => return None,
        })
    }

    pub(super) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { verb, path, source }
    }

    pub(super) fn damaged(id: &str, why: impl Into<String>) -> Self {
        Self::Damaged { id: id.to_owned(), why: why.into() }
    }

    /// What the database said: a file that is no database is damage, not a mishap.
    pub(super) fn database(
        id: &str,
        verb: &'static str,
    ) -> impl FnOnce(rusqlite::Error) -> Self + use<> {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let id = id.to_owned();
        move |source| match source.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::damaged(&id, source.to_string()),
            _ => Self::Database { id, verb, source },
        }
    }
}
