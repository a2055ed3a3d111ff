//! What the pipeline asks of a store of agents, and what it gets. The store itself is elsewhere.

use agentry_model::Format;

/// What an agent of the store is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreRef {
    /// `ag1:…`, the short digest of a manifest.
    Short(String),
    /// `sha256:…`, the full digest.
    Full(String),
    /// A name and a version.
    Named {
        /// The name of the agent.
        name: String,
        /// Its version.
        version: String,
    },
}

/// An agent of the store, whole and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its files: paths relative to the root of a workspace of its own, and their bytes.
    pub files: Vec<(String, Vec<u8>)>,
    /// The path of its main file, one of `files`.
    pub main: String,
    /// Its format.
    pub format: Format,
    /// `sha256:…`, the full digest.
    pub digest: String,
}

/// Why the store gave no agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    /// There is no store.
    NoStore,
    /// It has no such agent.
    Missing,
    /// It has one that cannot be used, and why.
    Damaged(String),
    /// A short digest that several agents have: their full ones.
    Ambiguous(Vec<String>),
}
