//! References to agents of the store and of registries, and what these return.

use std::fmt;

use agentry_model::Format;

/// A reference to a stored agent.
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
    /// `oci://…`, or a pinned URL, as written.
    Remote(String),
}

impl fmt::Display for StoreRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(text) | Self::Full(text) | Self::Remote(text) => f.write_str(text),
            Self::Named { name, version } => write!(f, "{name}@{version}"),
        }
    }
}

/// A stored agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAgent {
    /// Its files, with paths relative to the agent's directory.
    pub files: Vec<(String, Vec<u8>)>,
    /// Its main file.
    pub main: String,
    /// Its format.
    pub format: Format,
    /// `sha256:…`, the digest of `hash --full`.
    pub digest: String,
}

/// Why the store could not return an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    /// There is no store.
    NoStore,
    /// It has no such agent.
    Missing,
    /// Its content differs from what was pushed, with the reason.
    Damaged(String),
    /// No trusted key signed it; the text is the store's message.
    Untrusted(String),
    /// Several agents have this short digest; the full digests.
    Ambiguous(Vec<String>),
    /// A registry or a server of the web did not give it.
    Remote {
        /// What it did.
        why: String,
        /// What the user can do about it.
        hint: Option<String>,
    },
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStore => f.write_str("there is no store"),
            Self::Missing => f.write_str("the store has no such agent"),
            Self::Damaged(why) => write!(f, "the store is damaged: {why}"),
            Self::Untrusted(why) | Self::Remote { why, .. } => f.write_str(why),
            Self::Ambiguous(digests) => {
                write!(f, "the store has several: `{}`", digests.join("`, `"))
            }
        }
    }
}
