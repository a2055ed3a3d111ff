//! The files of one agent, as a reader sees them. A reader asks for what its format names; who
//! answers (a disk, an editor, a test) also guards limits, links and encodings.

use agentry_text::{Findings, SourceFile, SourceFiles};

/// An agent to be read: where its main file is, and a way to its other files.
pub struct AgentPackage<'w> {
    /// The main file, relative to the agent's directory: `agent.toml`, `researcher.agent`.
    pub main: String,
    /// The name of the agent's directory; empty when it is not known.
    pub dir_name: String,
    /// The agent's directory, relative to the workspace; empty for the workspace itself.
    pub dir: String,
    /// The files.
    pub files: &'w mut dyn PackageFiles,
}

impl AgentPackage<'_> {
    /// The text of `path`, relative to the agent's directory.
    pub fn read(&mut self, path: &str, findings: &mut Findings) -> Option<SourceFile> {
        self.files.read(path, findings)
    }

    /// The text of the main file.
    pub fn read_main(&mut self, findings: &mut Findings) -> Option<SourceFile> {
        let main = self.main.clone();
        self.files.read(&main, findings)
    }
}

/// What a relative path starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathBase {
    /// The agent's directory.
    Agent,
    /// The root of the workspace.
    Workspace,
}

/// What is found at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathPresence {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// Nothing.
    Missing,
    /// The path leaves the workspace; nobody looked.
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

/// A way to the files of one agent.
pub trait PackageFiles {
    /// The text of `path` (relative to the agent's directory), or `None` if there is none. What is
    /// wrong with the file itself (too large, not UTF-8, a link that leaves) is reported here.
    fn read(&mut self, path: &str, findings: &mut Findings) -> Option<SourceFile>;

    /// What the directory `path` holds, sorted by name; nothing if there is none.
    fn list(&mut self, path: &str, findings: &mut Findings) -> Vec<ListedName>;

    /// What is found at `path`.
    fn probe(&mut self, base: PathBase, path: &str) -> PathPresence;

    /// Whether a file that is missing here is missing at all. It may not be when only the result of
    /// a writer is at hand: what the agent refers to stays where it is.
    fn is_complete(&self) -> bool {
        true
    }
}

/// Files held in memory: the result of a writer, read again.
#[derive(Debug, Default)]
pub struct MemoryFiles {
    files: Vec<(String, String)>,
    /// Whether other files that the agent names may lie elsewhere.
    partial: bool,
    /// What was read so far, for showing findings.
    pub sources: SourceFiles,
}

impl MemoryFiles {
    /// Files by their paths relative to the agent's directory.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let files = files.into_iter().collect();
        Self { files, partial: false, sources: SourceFiles::default() }
    }

    /// The same files, of an agent that may have others.
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
