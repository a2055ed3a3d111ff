//! The files of one agent in a [`World`]. Limits, encodings and links are checked here, once for every
//! format.

use agentry_formats::{ListedName, PackageFiles, PathBase, PathPresence};
use agentry_text::path::{is_rooted, join, normal};
use agentry_text::{Findings, Severity, SourceFile, SourceFiles, Span, hygiene, limits};

use crate::rules::{LEAVES_ROOT, NOT_UTF8, TOO_LARGE, TOO_MANY_FILES, UNREADABLE};
use crate::world::{DirectoryEntry, EntryKind, ReadError, World};

/// The files of one agent.
pub(crate) struct WorldFiles<'w> {
    world: &'w dyn World,
    /// The agent's directory, as the user writes it.
    dir: String,
    /// The root of the workspace.
    workspace: String,
    /// The number of files that were requested.
    count: usize,
    /// The files that were read.
    pub(crate) sources: SourceFiles,
}

impl<'w> WorldFiles<'w> {
    pub(crate) fn new(world: &'w dyn World, dir: &str, workspace: String) -> Self {
        let sources = SourceFiles::default();
        Self { world, dir: dir.to_owned(), workspace, count: 0, sources }
    }

    /// Counts one more file or directory. Returns whether the limit still allows it.
    fn counts(&mut self, path: &str, findings: &mut Findings) -> bool {
        self.count += 1;
        // Reported once, at the first file above the limit.
        if self.count == limits::FILES + 1 {
            let source = self.sources.add(path, "");
            let message = format!("more than {} files take part in this agent", limits::FILES);
            findings
                .add(&TOO_MANY_FILES, Span::start_of(source.id), message)
                .hint("move what does not belong to it elsewhere");
        }
        self.count <= limits::FILES
    }

    /// Reports a file that could not be read, at an empty source with its path.
    pub(crate) fn refuse(&mut self, path: &str, error: &ReadError, findings: &mut Findings) {
        let source = self.sources.add(path, "");
        let at = Span::start_of(source.id);
        match error {
            // The reader of the format reports a missing file, if it is required.
            ReadError::Missing => {}
            ReadError::NotAFile => {
                findings
                    .add(&UNREADABLE, at, "this is not a file")
                    .hint("put a text file in its place");
            }
            ReadError::TooLarge(size) => {
                let message =
                    format!("the file has {size} bytes; at most {} are read", limits::FILE_BYTES);
                findings.add(&TOO_LARGE, at, message).hint("move data out of the definition");
            }
            ReadError::Escapes => {
                findings
                    .add(&LEAVES_ROOT, at, "this link leads out of the agent's directory")
                    .hint("copy the file to where the link is");
            }
            ReadError::Refused(why) => {
                findings.add(&UNREADABLE, at, format!("the file cannot be read: {why}"));
            }
        }
    }

    /// Reports a link to a directory above it.
    fn looping(&mut self, path: &str, findings: &mut Findings) {
        let source = self.sources.add(path, "");
        let message = "this link leads back to a directory it lies in, and is not followed";
        let found = findings.add(&UNREADABLE, Span::start_of(source.id), message);
        // Only a warning: everything it leads to is read anyway.
        found.severity = Severity::Warning;
        found.hint("remove the link");
    }

    /// Decodes the bytes of `path` without its byte order mark.
    pub(crate) fn decode(
        &mut self,
        path: &str,
        bytes: &[u8],
        findings: &mut Findings,
    ) -> SourceFile {
        let unmarked = bytes.strip_prefix(b"\xef\xbb\xbf");
        let bytes = unmarked.unwrap_or(bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let source = self.sources.add_whole(path, text, unmarked.is_some());
                hygiene::check(&source, findings);
                source
            }
            Err(error) => {
                let source = self.sources.add(path, &String::from_utf8_lossy(bytes));
                let at = error.valid_up_to();
                let byte = bytes.get(at).copied().unwrap_or_default();
                let span = Span::new(source.id, at, at + '\u{fffd}'.len_utf8());
                findings
                    .add(&NOT_UTF8, span, format!("the byte 0x{byte:02X} is not UTF-8"))
                    .hint("save the file as UTF-8");
                source
            }
        }
    }
}

impl PackageFiles for WorldFiles<'_> {
    fn read(&mut self, path: &str, findings: &mut Findings) -> Option<SourceFile> {
        let full = join(&self.dir, path);
        if !self.counts(&full, findings) {
            return None;
        }
        match self.world.read(&self.dir, &full, limits::FILE_BYTES) {
            Ok(bytes) => Some(self.decode(&full, &bytes, findings)),
            Err(ReadError::Missing) => None,
            Err(error) => {
                self.refuse(&full, &error, findings);
                None
            }
        }
    }

    fn list(&mut self, path: &str, findings: &mut Findings) -> Vec<ListedName> {
        let full = join(&self.dir, path);
        // Directories count like files, so that links in a circle reach the limit.
        if !self.counts(&full, findings) {
            return Vec::new();
        }
        match self.world.list(&self.dir, &full) {
            Ok(entries) => {
                for entry in entries.iter().filter(|entry| entry.kind == EntryKind::Loop) {
                    self.looping(&join(&full, &entry.name), findings);
                }
                let listed = |entry: DirectoryEntry| ListedName {
                    is_dir: entry.kind == EntryKind::Directory,
                    name: entry.name,
                };
                let other = entries.into_iter().filter(|entry| entry.kind != EntryKind::Loop);
                other.map(listed).collect()
            }
            Err(ReadError::Missing | ReadError::NotAFile) => Vec::new(),
            Err(error) => {
                self.refuse(&full, &error, findings);
                Vec::new()
            }
        }
    }

    fn probe(&mut self, base: PathBase, path: &str) -> PathPresence {
        if is_rooted(path) {
            return PathPresence::Outside;
        }
        let full = match base {
            PathBase::Agent => join(&self.dir, path),
            PathBase::Workspace => join(&self.workspace, path),
        };
        match self.world.kind(&full) {
            // A missing path cannot be resolved, so it is judged as text.
            EntryKind::Missing if leaves(&self.workspace, &full) => PathPresence::Outside,
            EntryKind::Missing => PathPresence::Missing,
            _ if !self.world.inside(&self.workspace, &full) => PathPresence::Outside,
            EntryKind::Directory => PathPresence::Directory,
            EntryKind::File | EntryKind::Loop | EntryKind::Other => PathPresence::File,
        }
    }
}

/// Whether `path`, as text only, leads above `root`.
fn leaves(root: &str, path: &str) -> bool {
    normal(path.strip_prefix(root).unwrap_or(path)).is_none()
}
