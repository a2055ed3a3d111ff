//! The two directories that patterns are anchored at.

/// Where relative patterns and `~` lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The absolute path of the workspace root, without a trailing `/`.
    pub workspace: String,
    /// The absolute path of the home directory, without a trailing `/`, if it is known.
    pub home: Option<String>,
}

impl Default for Places {
    /// Stand-ins for questions that concern no real directory, like the comparison of two policies.
    fn default() -> Self {
        Self { workspace: "/workspace".to_owned(), home: Some("/home/user".to_owned()) }
    }
}
