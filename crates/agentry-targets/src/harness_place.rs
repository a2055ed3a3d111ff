//! The paths of a harness' files; each harness declares them in its own folder.

/// A file or a directory of a harness, below a project or a home directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HarnessPlace {
    /// Its path. A directory ends with `/`.
    pub path: &'static str,
    /// How the harness and Agentry use it.
    pub role: PlaceRole,
}

/// How a path of a harness is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceRole {
    /// Agents are rendered to it.
    Rendered,
    /// The harness reads agents or settings from it, and nothing is rendered to it.
    Settings,
    /// Text for models, which users and agents edit every day. It is not protected.
    Context,
}

impl HarnessPlace {
    /// A path that agents are rendered to.
    pub const fn rendered(path: &'static str) -> Self {
        Self { path, role: PlaceRole::Rendered }
    }

    /// A path that the harness only reads.
    pub const fn settings(path: &'static str) -> Self {
        Self { path, role: PlaceRole::Settings }
    }

    /// A context file that an agent may be rendered to.
    pub const fn context(path: &'static str) -> Self {
        Self { path, role: PlaceRole::Context }
    }

    /// Whether a path is this one, or below it.
    pub fn covers(&self, path: &str) -> bool {
        path == self.path || (self.path.ends_with('/') && path.starts_with(self.path))
    }
}
