//! The two directories that patterns are anchored at.

/// Where relative patterns and `~` lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathAnchors {
    /// The absolute path of the workspace root, without a trailing `/`.
    pub workspace: String,
    /// The absolute path of the home directory, without a trailing `/`, if it is known.
    pub home: Option<String>,
    /// Whether the file system takes `A` and `a` for the same name.
    pub ignores_case: bool,
}

impl Default for PathAnchors {
    /// Stand-ins for questions that concern no real directory, like the comparison of two policies.
    fn default() -> Self {
        Self {
            workspace: "/workspace".to_owned(),
            home: Some("/home/user".to_owned()),
            ignores_case: false,
        }
    }
}
