//! Where the files of a harness are, declared by each harness in its own folder.

/// A file or a directory of a harness, below a project or a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HarnessPlace {
    /// Its path. A directory ends with `/`.
    pub path: &'static str,
    /// What it is for.
    pub role: PlaceRole,
}

/// What a place of a harness is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceRole {
    /// Agents are rendered there.
    Rendered,
    /// The harness reads agents or settings there, and nothing is rendered.
    Settings,
    /// Text for models, which people and agents edit every day. It is not protected.
    Context,
}

impl HarnessPlace {
    /// A place that agents are rendered to.
    pub const fn rendered(path: &'static str) -> Self {
        Self { path, role: PlaceRole::Rendered }
    }

    /// A place that the harness only reads.
    pub const fn settings(path: &'static str) -> Self {
        Self { path, role: PlaceRole::Settings }
    }

    /// A context file that an agent may be rendered to.
    pub const fn context(path: &'static str) -> Self {
        Self { path, role: PlaceRole::Context }
    }

    /// Whether a path is this place, or below it.
    pub fn covers(&self, path: &str) -> bool {
        path == self.path || (self.path.ends_with('/') && path.starts_with(self.path))
    }
}
