//! The files of one agent, as a reader sees them. A reader asks for the files that its format names.
//! The implementation (a disk, an editor, a test) enforces limits, links and encodings.

use agentry_text::{Findings, SourceFile, SourceFiles};

/// An agent to be read: its main file, and access to its other files.
pub struct AgentPackage<'w> {
    /// The main file, relative to the agent's directory: `agent.toml`, `researcher.agent`.
    pub main: String,
    /// The name of the agent's directory; empty when it is unknown.
    pub dir_name: String,
    /// The agent's directory, relative to the workspace; empty for the workspace itself.
    pub dir: String,
    /// Access to the files.
    pub files: &'w mut dyn PackageFiles,
}

impl AgentPackage<'_> {
    /// Reads the text of `path`, relative to the agent's directory.
    pub fn read(&mut self, path: &str, findings: &mut Findings) -> Option<SourceFile> {
        self.files.read(path, findings)
    }

    /// Reads the text of the main file.
    pub fn read_main(&mut self, findings: &mut Findings) -> Option<SourceFile> {
        let main = self.main.clone();
        self.files.read(&main, findings)
    }
}

/// The directory that a relative path starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathBase {
    /// The agent's directory.
    Agent,
    /// The root of the workspace.
    Workspace,
}

/// The kind of entry at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathPresence {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// Nothing.
    Missing,
    /// The path leaves the workspace, so the file system was not asked.
    Outside,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedName {
    /// The bare name.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
}

/// Access to the files of one agent.
pub trait PackageFiles {
    /// Reads the text of `path` (relative to the agent's directory); `None` if there is no file. Problems of
    /// the file itself (too large, not UTF-8, a link that leaves the workspace) are reported here.
    fn read(&mut self, path: &str, findings: &mut Findings) -> Option<SourceFile>;

    /// Lists the directory `path`, sorted by name; empty if there is none.
    fn list(&mut self, path: &str, findings: &mut Findings) -> Vec<ListedName>;

    /// Returns the kind of entry at `path`.
    fn probe(&mut self, base: PathBase, path: &str) -> PathPresence;

    /// Whether a file that is missing here does not exist at all. `false` for the result of a writer: other
    /// files of the agent stay where they were.
    fn is_complete(&self) -> bool {
        true
    }
}

/// Files held in memory, to read the result of a writer again.
#[derive(Debug, Default)]
pub struct MemoryFiles {
    files: Vec<(String, String)>,
    /// Whether the agent may have files that are not in this list.
    partial: bool,
    /// The files read so far, for showing findings.
    pub sources: SourceFiles,
}

impl MemoryFiles {
    /// Makes a set of files from paths relative to the agent's directory, with their texts.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let files = files.into_iter().collect();
        Self { files, partial: false, sources: SourceFiles::default() }
    }

    /// Marks the set as incomplete: the agent may have other files.
    #[must_use]
    pub fn partial(self) -> Self {
        Self { partial: true, ..self }
    }
}

impl PackageFiles for MemoryFiles {
    fn is_complete(&self) -> bool {
        !self.partial
    }

    fn read(&mut self, path: &str, _: &mut Findings) -> Option<SourceFile> {
        let (_, text) = self.files.iter().find(|(name, _)| name == path)?;
        Some(self.sources.add(path, text))
    }

    fn list(&mut self, path: &str, _: &mut Findings) -> Vec<ListedName> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let listed = |(name, _): &(String, String)| {
            let rest = name.strip_prefix(&prefix)?;
            Some(match rest.split_once('/') {
                Some((dir, _)) => ListedName { name: dir.to_owned(), is_dir: true },
                None => ListedName { name: rest.to_owned(), is_dir: false },
            })
        };
        let mut out: Vec<_> = self.files.iter().filter_map(listed).collect();
        // Two files of one subdirectory give that directory twice; after sorting, the copies are neighbours.
        out.sort();
        out.dedup();
        out
    }

    fn probe(&mut self, _: PathBase, path: &str) -> PathPresence {
        let path = path.trim_start_matches("./");
        let below = format!("{path}/");
        match self.files.iter().find(|(name, _)| name == path || name.starts_with(&below)) {
            Some((name, _)) if name == path => PathPresence::File,
            Some(_) => PathPresence::Directory,
            None => PathPresence::Missing,
        }
    }
}
