//! Receipts: one signed record for each run and each firing, kept when the run itself is pruned.
//!
//! ```text
//! journal ─▶ RunAccount ─▶ ReceiptDraft ─▶ ReceiptBook ─▶ runs/<run>/receipts/rcpt_….yaml   (never changed)
//!                                              ├────────▶ agents.db: the head of each chain
//!                                              └────────▶ HeadCopy: the same, outside the home
//! ```
//!
//! The receipts of an agent are a chain: each holds the SHA-256 of the one before it. [`verify()`] compares
//! the files with each other, with the head and with the public key; it needs neither network nor secret key.

mod account;
mod body_text;
mod book;
mod chain;
mod collect;
mod draft;
mod edits;
mod file;
mod head_copy;
mod sealing;
mod shared_chains;
mod stats;
mod verify;

use std::io;
use std::path::Path;

use crate::database;

pub use account::RunAccount;
pub use book::{DiskSync, ReceiptBook, RunRow, WrittenReceipt};
pub use chain::AgentChain;
pub use collect::{
    ReceiptContext, RunEndingNote, collect_missing, draft_of_run, first_line, is_private_tree,
};
pub use draft::{
    AmendedReceipt, DecidedCall, ReceiptAgent, ReceiptDraft, ReceiptFiring, ReceiptStatus,
};
pub use edits::{LastRunReview, review_last_run};
pub use file::{ReceiptFile, receipt_files};
pub use head_copy::{HeadCopy, KeptHead};
pub use shared_chains::SharedChains;
pub use stats::{DayCount, ReceiptStats};
pub use verify::{
    HeadReferences, NotedHeads, ReceiptCheck, ReceiptProblem, verify, verify_against,
};

/// The name of the key that signs receipts, in the key ring of the home.
pub const KEY_NAME: &str = "receipts";

/// Why receipts cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    /// The database reported an error.
    #[error("`{path}` cannot be used: {source}")]
    Database {
        /// The database.
        path: String,
        /// The error.
        source: rusqlite::Error,
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
    /// The key cannot be used.
    #[error("receipts cannot be signed: {0}")]
    Key(String),
    /// Another file is where a receipt belongs.
    #[error("`{0}` is not the receipt that was written there")]
    Occupied(String),
    /// The chain that several homes share cannot be used.
    #[error("the shared chain `{chain}` cannot be used: {why}")]
    Shared {
        /// The chain.
        chain: String,
        /// Why.
        why: String,
    },
    /// A run cannot be read.
    #[error(transparent)]
    Journal(#[from] agentry_runtime::journal::JournalError),
}

impl ReceiptError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match self {
            Self::Database { source, .. } => {
                let is_damaged =
                    matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase));
                database::hint(source).or(is_damaged.then_some(
                    "restore it from a backup; without it the heads of the receipt chains are unknown, \
                     and `agentry receipts verify` reports that",
                ))
            }
            Self::Key(_) => Some("restore `keys/receipts.key` of the home from a backup"),
            Self::Io { .. } | Self::Occupied(_) | Self::Shared { .. } | Self::Journal(_) => None,
        }
    }

    fn database(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self + use<> {
        let path = path.display().to_string();
        move |source| Self::Database { path, source }
    }

    fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.display().to_string();
        move |source| Self::Io { verb, path, source }
    }
}

#[cfg(test)]
mod shared_tests;
#[cfg(test)]
mod tests;
