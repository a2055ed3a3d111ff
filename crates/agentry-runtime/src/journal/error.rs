//! The errors of a journal, each with a hint for the user.

use std::io;
use std::path::Path;

/// Why a journal cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No run has this id.
    #[error("there is no run `{0}`")]
    NoRun(String),
    /// Its process ended before it wrote what the run is.
    #[error("the run `{0}` never began")]
    NeverBegan(String),
    /// Several run ids start or end like this.
    #[error("`{given}` may be {}", .found.join(", "))]
    Ambiguous {
        /// The text of the user.
        given: String,
        /// The ids of the runs.
        found: Vec<String>,
    },
    /// Another process holds it.
    #[error("the run `{id}` is under way{}", .pid.map_or(String::new(), |pid| format!(" in process {pid}")))]
    Busy {
        /// The run.
        id: String,
        /// The process, if its id is known.
        pid: Option<u32>,
    },
    /// Its content is wrong.
    #[error("the journal of the run `{id}` is damaged: {why}")]
    Damaged {
        /// The run.
        id: String,
        /// What is wrong.
        why: String,
    },
    /// A newer version of the program wrote it.
    #[error(
        "the journal of the run `{id}` has format {found}; this program knows format {known} and older ones"
    )]
    Newer {
        /// The run.
        id: String,
        /// Its format.
        found: i64,
        /// The newest format of this program.
        known: i64,
    },
    /// The engine that keeps it does not store it.
    #[error("the journal of the run `{id}` cannot be written: {why}")]
    Engine {
        /// The run.
        id: String,
        /// Why.
        why: String,
    },
    /// The operating system reported an error.
    #[error("`{path}` cannot be {verb}: {source}")]
    Io {
        /// What was attempted, as it reads after «cannot be».
        verb: &'static str,
        /// The file or directory.
        path: String,
        /// The error.
        source: io::Error,
    },
    /// The database reported an error.
    #[error("the journal of the run `{id}` cannot be {verb}: {source}")]
    Database {
        /// The run.
        id: String,
        /// What was attempted.
        verb: &'static str,
        /// The error.
        source: rusqlite::Error,
    },
}

impl JournalError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoRun(_) | Self::Ambiguous { .. } => "`agentry runs` lists them",
            Self::Busy { .. } => "wait for it, or end that process first",
            Self::Newer { .. } => "use the program that wrote it, or a newer one",
            Self::NeverBegan(_) | Self::Damaged { .. } => {
                "`agentry runs prune` removes it with the other old ones"
            }
            Self::Io { .. } | Self::Database { .. } | Self::Engine { .. } => return None,
        })
    }

    pub(super) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { verb, path, source }
    }

    pub(super) fn damaged(id: &str, why: impl Into<String>) -> Self {
        Self::Damaged { id: id.to_owned(), why: why.into() }
    }

    /// Converts a database error. A file that is not a database counts as damaged.
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
