//! Takes a snapshot: finds what exists under protected names where commands may write.

use agentry_compile::text::digest::sha256;
use agentry_posix::unix::fs::MetadataExt as _;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use agentry_posix::fs::{Mode, OFlags};
use agentry_sandbox::is_placeholder;
use serde::{Deserialize, Serialize};

use super::git;
use crate::commands::WriteReach;
use crate::protected_paths::walk::{
    ChangeStamp, FileClocks, NextDirectory, VisitedDirectory, WalkEntry, WorkspaceWalk,
};
use crate::protected_paths::{fold, is_bare, is_entry};

/// The most bytes of a file that is read and stored as an image.
pub(super) const LONGEST: u64 = 64 << 20;

/// What was found, by path.
pub(super) type SeenThings = BTreeMap<PathBuf, SeenThing>;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SeenThing {
    File {
        digest: String,
        /// The permissions, which decide whether git runs a hook.
        mode: u32,
    },
    /// A file that is too long to read, by a stamp that shows changes.
    Long(String),
    /// A path that cannot be read, by a stamp that shows changes.
    Unread(String),
    Link(String),
    Directory,
    Other,
}

/// Finds protected names, with a cache of file contents.
#[derive(Default)]
pub(super) struct NameLooker {
    walk: WorkspaceWalk,
    contents: FileContents,
    shut: BTreeSet<PathBuf>,
}

impl NameLooker {
    /// Finds everything protected in `workspace` that commands can reach.
    pub(super) fn look(&mut self, workspace: &Path, reach: &WriteReach) -> SeenThings {
        let shut = reach.closed.iter().map(PathBuf::as_path).collect();
        let (seen, unread) = (SeenThings::new(), BTreeSet::new());
        let mut found = NameSearch { reach, shut, seen, unread, contents: &mut self.contents };
        // Nothing is inspected if commands cannot write in or around the workspace.
        let is_near = |open: &PathBuf| open.starts_with(workspace) || workspace.starts_with(open);
        let root = reach.open.iter().any(is_near);
        let root = root.then(|| NextDirectory { path: workspace.to_owned(), whole: false });
        self.walk.over(root, |visited| ControlFlow::Continue(found.visit(visited)));
        self.shut = found.unread;
        self.shut.extend(self.walk.shut.iter().cloned());
        found.seen
    }

    /// Returns the directories that the last look could not read.
    pub(super) fn shut(&self) -> &BTreeSet<PathBuf> {
        &self.shut
    }
}

struct NameSearch<'a> {
    reach: &'a WriteReach,
    /// Closed paths, which the walk does not enter.
    shut: HashSet<&'a Path>,
    seen: SeenThings,
    /// The git directories that cannot be read.
    unread: BTreeSet<PathBuf>,
    contents: &'a mut FileContents,
}

impl NameSearch<'_> {
    /// Adds the protected names of a directory, and returns where the walk continues.
    fn visit(&mut self, visited: &VisitedDirectory<'_>) -> Vec<NextDirectory> {
        let VisitedDirectory { path: directory, entries, whole } = *visited;
        let own = directory.file_name().map(fold).unwrap_or_default();
        let mut next = Vec::new();
        for WalkEntry { name, is_directory, is_marked } in entries {
            let path = directory.join(name);
            // A `.git` is not walked like other directories: only some of its files decide.
            if *is_marked && !whole && fold(name) == ".git" {
                self.repository(&path);
                continue;
            }
            let is_one = whole || (*is_marked && is_entry(&own, &fold(name)));
            if is_one {
                self.add(&path);
            }
            if *is_directory && !self.shut.contains(path.as_path()) {
                next.push(NextDirectory { path, whole: is_one });
            }
        }
        let has = |name: &str| entries.iter().any(|it| it.is_marked && it.name == name);
        // A bare repository has no `.git`; it is recognised by its entries.
        if !whole && is_bare(has) {
            self.repository(directory);
        }
        next
    }

    /// Adds the deciding files of a repository.
    fn repository(&mut self, git: &Path) {
        let git::RepositoryFiles { deciding, shut } = git::RepositoryFiles::new(git);
        deciding.iter().for_each(|path| self.add(path));
        self.unread.extend(shut);
    }

    /// Adds what is at a path, if commands could have created it.
    fn add(&mut self, path: &Path) {
        let WriteReach { open, closed } = self.reach;
        let is_below = |all: &[PathBuf]| all.iter().any(|it| path.starts_with(it));
        if self.seen.contains_key(path) || !is_below(open) || is_below(closed) {
            return;
        }
        if let Some(thing) = self.contents.thing(path) {
            self.seen.insert(path.to_owned(), thing);
        }
    }
}

/// Digests of files, cached by their stamp.
#[derive(Default)]
struct FileContents {
    known: HashMap<PathBuf, (ChangeStamp, String)>,
    clocks: FileClocks,
}

impl FileContents {
    /// Returns what is at a path, if anything is.
    fn thing(&mut self, path: &Path) -> Option<SeenThing> {
        let found = match fs::symlink_metadata(path) {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return None,
            Err(error) => return Some(SeenThing::Unread(error.to_string())),
            Ok(found) => found,
        };
        if found.is_symlink() {
            return Some(SeenThing::Link(fs::read_link(path).ok()?.to_string_lossy().into_owned()));
        }
        if found.is_dir() {
            return Some(SeenThing::Directory);
        }
        if !found.is_file() {
            return Some(SeenThing::Other);
        }
        // The sandbox creates placeholders as mount points; they are not from a command.
        if is_placeholder(path) {
            return None;
        }
        let (stamp, mode) = (ChangeStamp::of(&found), found.mode() & 0o7777);
        if found.len() > LONGEST {
            return Some(SeenThing::Long(format!("{stamp:?} {mode:o}")));
        }
        if let Some((_, digest)) = self.known.get(path).filter(|(known, _)| *known == stamp) {
            return Some(SeenThing::File { digest: digest.clone(), mode });
        }
        let clock_trust = self.clocks.trust_in_stamp(&stamp, path);
        let Ok(bytes) = bytes(path) else {
            return Some(SeenThing::Unread(format!("{stamp:?} {mode:o}")));
        };
        let digest = sha256(bytes);
        // Only cached if the clock of the file system is fine enough to show the next change.
        if clock_trust.contents {
            self.known.insert(path.to_owned(), (stamp, digest.clone()));
        }
        Some(SeenThing::File { digest, mode })
    }
}

/// Reads a file without blocking, even if it is a pipe.
pub(super) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    opened(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file without following a link.
pub(super) fn opened(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(agentry_posix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// Returns whether something new may stay: a file that git creates itself.
pub(super) fn is_harmless(path: &Path, thing: &SeenThing) -> bool {
    matches!(thing, SeenThing::File { .. })
        && bytes(path).is_ok_and(|bytes| git::is_harmless(path, &bytes))
}
