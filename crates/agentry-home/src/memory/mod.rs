//! What agents remember between runs: Markdown files with front matter, which people can read and change.
//!
//! ```text
//! MemoryStore ─┬─▶ MemoryFolder: agents/<id>/memory/                the agent's own, for all users
//!              ├─▶ MemoryFolder: users/<user>/agents/<id>/memory/   what one user taught it
//!              ├─▶ MemoryFolder: users/<user>/memory/               only with a shared memory
//!              └─▶ MemoryIndex:  cache/memory/users/<user>/<id>.db  full-text search, rebuilt from the files
//! ```
//!
//! The files are the truth. The index only says which files to read, and each (agent, user) has its own.

mod entry;
mod folder;
mod index;
mod query;
mod quotation;
mod ranking;
mod refresh;
mod store;
#[cfg(test)]
mod tests;

pub use entry::{MemoryDraft, MemoryEntry};
pub use folder::FolderRole;
pub use index::RefreshEffort;
pub use quotation::{PromptMemories, in_prompt, quoted};
pub use store::{FoundMemory, MemoryPlaces, MemoryStore, is_written_at_run_time};

use std::io;
use std::path::{Path, PathBuf};

/// The most bytes of a memory.
pub const MOST_BYTES: usize = 16 * 1024;

/// Why a memory cannot be kept, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The file system refuses.
    #[error("`{}` cannot be {act}: {}", path.display(), io_text(error))]
    Io {
        /// What was tried: «read», «written», «removed».
        act: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system reports.
        error: io::Error,
    },
    /// A directory of memories is a link, or leads through one.
    #[error("`{}` is not a directory of its own: memories are not read through links", .0.display())]
    Link(PathBuf),
    /// There is nothing to remember.
    #[error("a memory needs a text")]
    Empty,
    /// The text is too long.
    #[error("a memory has at most {MOST_BYTES} bytes; this one has {0}")]
    TooLong(usize),
    /// No memory has this id.
    #[error("there is no memory `{0}`")]
    Unknown(String),
    /// More than one memory has this id.
    #[error("`{id}` is the id of more than one memory: {}", listed(paths))]
    Ambiguous {
        /// The id.
        id: String,
        /// Their files.
        paths: Vec<PathBuf>,
    },
    /// The file is not what it was when the user began to edit it.
    #[error("`{}` was changed by another program in the meantime", .0.display())]
    Changed(PathBuf),
    /// The metadata of a file cannot be read, so that its text cannot be replaced.
    #[error("the metadata of `{}` is broken: {problem}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The index does not work, not even in memory.
    #[error("the memories cannot be searched: {0}")]
    Index(#[from] rusqlite::Error),
}

impl MemoryError {
    fn io(act: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { act, path: path.to_owned(), error }
    }
}

/// The message of a system error, without its number.
fn io_text(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    paths.join(", ")
}
