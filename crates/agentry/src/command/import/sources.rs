//! The files around an agent of a harness, read as the harness does: every link is followed. A file that
//! exists and cannot be read is reported, with a hint.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use agentry_compile::targets::harness_files::{FilesOnce, KnownTexts};
use agentry_compile::targets::memo::RenderMemo;
use agentry_compile::targets::{FileRoot, HarnessFiles, HarnessPath, Unreadable};
use agentry_compile::text::path::join;
use agentry_compile::{ReadError, World};
use agentry_sandbox::PLACEHOLDER;

use crate::disk::contents;

use super::search::FoundHarnessAgent;

/// The size limit of one file.
const MOST: u64 = 16 * 1024 * 1024;

/// What the agents of a project share while they are imported.
pub(super) struct ImportProject<'a> {
    /// The files around the agents.
    pub(super) files: FilesOnce<ImportFiles<'a>>,
    /// Other files around an agent may give another result, so each project has its own memo.
    pub(super) memo: Arc<RenderMemo>,
}

impl<'a> ImportProject<'a> {
    /// The project of each agent, in the same order.
    pub(super) fn of_each(disk: &'a dyn World, found: &'a [FoundHarnessAgent]) -> Vec<Arc<Self>> {
        let mut projects = BTreeMap::new();
        let project = |FoundHarnessAgent { root, .. }: &'a FoundHarnessAgent| {
            let project = projects.entry(root.as_str()).or_insert_with(|| {
                let files = FilesOnce::new(ImportFiles { disk, root }, KnownTexts::default());
                Arc::new(Self { files, memo: Arc::default() })
            });
            Arc::clone(project)
        };
        found.iter().map(project).collect()
    }
}

/// The files around an agent that was found below `root`.
pub(super) struct ImportFiles<'a> {
    pub(super) disk: &'a dyn World,
    pub(super) root: &'a str,
}

impl ImportFiles<'_> {
    fn full(&self, path: HarnessPath<'_>) -> Option<String> {
        let Self { disk, root } = self;
        match path.root {
            FileRoot::Home => {
                // An agent found in the home itself has no second home to search.
                let is_other = |home: &&String| disk.absolute(root) != disk.absolute(home);
                Some(join(disk.machine().home.as_ref().filter(is_other)?, path.path))
            }
            FileRoot::Machine => Some(path.path.to_owned()),
            FileRoot::Project | FileRoot::Above => Some(join(root, path.path)),
        }
    }
}

impl HarnessFiles for ImportFiles<'_> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        let Some(full) = self.full(path) else { return Ok(None) };
        let found = match path.root {
            FileRoot::Machine => of_machine(self.disk, &full),
            _ => text(&full, MOST),
        };
        found.map_err(Unreadable)
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        let Some(full) = self.full(dir) else { return Ok(None) };
        let full = full.trim_end_matches('/');
        match self.disk.list(full, full) {
            Ok(entries) => Ok(Some(entries.into_iter().map(|entry| entry.name).collect())),
            Err(ReadError::Missing) => Ok(None),
            Err(why) => Err(Unreadable(format!("{why}; make it readable"))),
        }
    }
}

/// The text of a file that applies to all users of the machine.
fn of_machine(disk: &dyn World, path: &str) -> Result<Option<String>, String> {
    match disk.read("/", path, MOST) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(ReadError::Missing) => Ok(None),
        Err(ReadError::TooLarge(size)) => Err(too_large(size, MOST)),
        Err(why) => Err(format!("{why}; make it a file that you can read")),
    }
}

/// The text of a file with at most `most` bytes; invalid UTF-8 is replaced.
pub(super) fn text(path: &str, most: u64) -> Result<Option<String>, String> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return refused(&error),
    };
    if !metadata.is_file() {
        return Err("it is not a regular file; replace or remove it".to_owned());
    }
    if metadata.len() > most {
        return Err(too_large(metadata.len(), most));
    }
    let read = fs::File::open(path).and_then(|file| contents(file, metadata.len(), most));
    match read {
        Err(error) => refused(&error),
        Ok(bytes) if bytes.len() as u64 > most => Err(too_large(bytes.len() as u64, most)),
        // The sandbox of a running agent holds this name; no file is there.
        Ok(bytes) if bytes == PLACEHOLDER.as_bytes() => Ok(None),
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
    }
}

/// `None` if the error means that no file is there.
fn refused(error: &io::Error) -> Result<Option<String>, String> {
    match error.kind() {
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::InvalidFilename
        | ErrorKind::InvalidInput => Ok(None),
        _ => Err(format!("{error}; make it a file that you can read")),
    }
}

fn too_large(size: u64, most: u64) -> String {
    let most = most / (1024 * 1024);
    format!("it has {size} bytes, and at most {most} MiB are read; make it smaller")
}

#[cfg(test)]
mod tests {
    use agentry_compile::MemoryWorld;

    use super::*;

    #[test]
    fn system_files_are_read_through_the_world() {
        let files = [("etc/claude-code/a.json", "1"), ("etc/claude-code/d/b.json", "2")];
        let world = MemoryWorld::new(files.map(|(path, text)| (path.to_owned(), text.to_owned())));
        let files = ImportFiles { disk: &world, root: "/project" };
        let files: &dyn HarnessFiles = &files;
        assert_eq!(files.text("/etc/claude-code/a.json").as_deref(), Some("1"));
        assert_eq!(files.names("/etc/claude-code/d/"), Some(vec!["b.json".to_owned()]));
        assert_eq!(files.read(HarnessPath::parse("/etc/claude-code/c.json")), Ok(None));
    }
}
