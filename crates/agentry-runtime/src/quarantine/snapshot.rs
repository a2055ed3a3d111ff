//! Finds what exists under protected names where commands may write.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use agentry_sandbox::is_placeholder;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::git;
use crate::commands::WriteReach;
use crate::protected_paths::walk::{
    ChangeStamp, FileClocks, NextDirectory, VisitedDirectory, WalkEntry, WorkspaceWalk,
};
use crate::protected_paths::{fold, is_bare, is_entry};
use crate::undo::hex;

/// The longest file that is read, and of which an image is kept.
pub(super) const LONGEST: u64 = 64 << 20;

/// What was found, by its path.
pub(super) type SeenThings = BTreeMap<PathBuf, SeenThing>;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SeenThing {
    File {
        digest: String,
        /// Who may do what; a hook is run or not by that.
        mode: u32,
    },
    /// A file that is too long to be read: what shows that it was changed.
    Long(String),
    /// Something that cannot be read: what shows that it was changed.
    Unread(String),
    Link(String),
    Directory,
    Other,
}

/// Looks, with a cache of what need not be read again.
#[derive(Default)]
pub(super) struct NameLooker {
    walk: WorkspaceWalk,
    contents: FileContents,
    shut: BTreeSet<PathBuf>,
}

impl NameLooker {
    /// Everything protected that there is in `workspace`, as far as commands reach.
    pub(super) fn look(&mut self, workspace: &Path, reach: &WriteReach) -> SeenThings {
        let shut = reach.closed.iter().map(PathBuf::as_path).collect();
        let (seen, unread) = (SeenThings::new(), BTreeSet::new());
        let mut found = NameSearch { reach, shut, seen, unread, contents: &mut self.contents };
        let is_near = |open: &PathBuf| open.starts_with(workspace) || workspace.starts_with(open);
        let root = reach.open.iter().any(is_near);
        let root = root.then(|| NextDirectory { path: workspace.to_owned(), whole: false });
        self.walk.over(root, |visited| ControlFlow::Continue(found.visit(visited)));
        self.shut = found.unread;
        self.shut.extend(self.walk.shut.iter().cloned());
        found.seen
    }

    /// The directories that could not be read the last time.
    pub(super) fn shut(&self) -> &BTreeSet<PathBuf> {
        &self.shut
    }
}

struct NameSearch<'a> {
    reach: &'a WriteReach,
    /// What is closed, as a walk comes to it.
    shut: HashSet<&'a Path>,
    seen: SeenThings,
    /// The directories of git that cannot be read.
    unread: BTreeSet<PathBuf>,
    contents: &'a mut FileContents,
}

impl NameSearch<'_> {
    /// Adds what a directory holds of protected names, and says where to go on.
    fn visit(&mut self, visited: &VisitedDirectory<'_>) -> Vec<NextDirectory> {
        let VisitedDirectory { path: directory, entries, whole } = *visited;
        let own = directory.file_name().map(fold).unwrap_or_default();
        let mut next = Vec::new();
        for WalkEntry { name, is_directory, is_marked } in entries {
            let path = directory.join(name);
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
        if !whole && is_bare(has) {
            self.repository(directory);
        }
        next
    }

    /// Adds what decides in a repository.
    fn repository(&mut self, git: &Path) {
        let git::RepositoryFiles { deciding, shut } = git::RepositoryFiles::new(git);
        deciding.iter().for_each(|path| self.add(path));
        self.unread.extend(shut);
    }

    /// Adds what is at a path, if commands can have made it.
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

/// What files hold, as far as that need not be read again.
#[derive(Default)]
struct FileContents {
    known: HashMap<PathBuf, (ChangeStamp, String)>,
    clocks: FileClocks,
}

impl FileContents {
    /// What is at a path, if anything is.
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
        let told = self.clocks.tell(&stamp, path);
        let Ok(bytes) = bytes(path) else {
            return Some(SeenThing::Unread(format!("{stamp:?} {mode:o}")));
        };
        let digest = hex(&Sha256::digest(bytes));
        if told.contents {
            self.known.insert(path.to_owned(), (stamp, digest.clone()));
        }
        Some(SeenThing::File { digest, mode })
    }
}

/// The bytes of a file, without waiting for a writer.
pub(super) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    opened(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file, opened without following a link.
pub(super) fn opened(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// Whether something new may stay: what git makes for itself.
pub(super) fn is_harmless(path: &Path, thing: &SeenThing) -> bool {
    matches!(thing, SeenThing::File { .. })
        && bytes(path).is_ok_and(|bytes| git::is_harmless(path, &bytes))
}
