//! The directories to which relative patterns and `~` refer.

/// The workspace and the home directory, with the case rule of their file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathAnchors {
    /// The absolute path of the workspace root, without a trailing `/`.
    pub workspace: String,
    /// The absolute path of the home directory, without a trailing `/`, if it is known.
    pub home: Option<String>,
    /// Whether the file system treats `A` and `a` as the same name.
    pub ignores_case: bool,
}

impl Default for PathAnchors {
    /// Placeholders for questions without a real directory, such as the comparison of two policies.
    fn default() -> Self {
        Self {
            workspace: "/workspace".to_owned(),
            home: Some("/home/user".to_owned()),
            ignores_case: false,
        }
    }
}
