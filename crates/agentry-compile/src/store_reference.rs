//! What the pipeline asks of a store: an agent by its digest, or by name and version.

use std::fmt;

use agentry_model::Format;

/// How an agent of the store is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreRef {
    /// `ag1:…`
    Short(String),
    /// `sha256:…`
    Full(String),
    /// `name@version`
    Named {
        /// The name.
        name: String,
        /// The version.
        version: String,
    },
}

impl fmt::Display for StoreRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(digest) | Self::Full(digest) => f.write_str(digest),
            Self::Named { name, version } => write!(f, "{name}@{version}"),
        }
    }
}

/// An agent of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAgent {
    /// Its files, by their paths in the agent's directory.
    pub files: Vec<(String, Vec<u8>)>,
    /// Its main file.
    pub main: String,
    /// Its format.
    pub format: Format,
    /// `sha256:…`, the digest of `hash --full`.
    pub digest: String,
}

/// Why the store has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    /// There is no store.
    NoStore,
    /// It has no such agent.
    Missing,
    /// What it has is not what was put in, and why.
    Damaged(String),
    /// It has the agent, but no trusted key signed it; in its words.
    Untrusted(String),
    /// Several agents have this short digest: their full ones.
    Ambiguous(Vec<String>),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStore => f.write_str("there is no store"),
            Self::Missing => f.write_str("the store has no such agent"),
            Self::Damaged(why) => write!(f, "the store is damaged: {why}"),
            Self::Untrusted(why) => f.write_str(why),
            Self::Ambiguous(digests) => {
                write!(f, "the store has several: `{}`", digests.join("`, `"))
            }
        }
    }
}
