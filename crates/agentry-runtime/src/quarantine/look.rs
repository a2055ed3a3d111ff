//! What there is of protected names in a workspace.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use agentry_sandbox::is_placeholder;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::git;
use crate::protected::{Name, names};
use crate::undo::hex;

/// The most entries of a workspace that are looked at, those near its root first.
const MOST: usize = 20_000;
/// The most files in one protected directory.
const MOST_IN_ONE: usize = 500;
/// The names that are protected in every directory; the others only at the root of a workspace or
/// repository, and above the agent.
const EVERYWHERE: &[&str] = &["agentry.toml", "agentry.lock"];
/// The longest file that is read.
const LONGEST: u64 = 64 << 20;

/// What was found, by its path.
pub(super) type Seen = BTreeMap<PathBuf, Thing>;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Thing {
    File { digest: String },
    Link(PathBuf),
    Directory,
    Other,
}

/// Where to look.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Looking {
    pub(super) workspace: PathBuf,
    /// The agent: a file or a directory.
    pub(super) agent: PathBuf,
    /// What commands cannot change anyway.
    pub(super) closed: Vec<PathBuf>,
}

impl Looking {
    /// Everything protected that there is, also where `known` says that something was.
    pub(super) fn look(&self, known: &BTreeSet<PathBuf>) -> Seen {
        let mut found = Found { looking: self, seen: Seen::new() };
        let above = self.agent.ancestors().skip(1);
        let above: BTreeSet<&Path> =
            above.take_while(|path| path.starts_with(&self.workspace)).collect();
        found.named(&self.workspace);
        above.iter().for_each(|path| found.named(path));
        found.cassettes();
        let mut waiting = VecDeque::from([self.workspace.clone()]);
        let mut left = MOST;
        while let Some(directory) = waiting.pop_front() {
            let entries = fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok);
            let mut bare = 0;
            for entry in entries {
                left = left.saturating_sub(1);
                let (name, path) = (entry.file_name(), entry.path());
                if name == ".git" {
                    found.named(&directory);
                } else if name.to_str().is_some_and(|name| EVERYWHERE.contains(&name)) {
                    found.add(&path);
                } else if name == "HEAD" || name == "refs" || name == "objects" {
                    // All three make a repository without a `.git`; nothing else of it decides.
                    bare += 1;
                } else if left > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    waiting.push_back(path);
                }
            }
            if bare == 3 {
                found.repository(&directory);
            }
            if left == 0 {
                break;
            }
        }
        known.iter().for_each(|path| found.add(path));
        found.seen
    }
}

struct Found<'a> {
    looking: &'a Looking,
    seen: Seen,
}

impl Found<'_> {
    /// Adds what there is of all protected names in a directory.
    fn named(&mut self, directory: &Path) {
        let is_ours = |name: &&Name| name.from_commands && !name.path.starts_with(".git/");
        names().iter().filter(is_ours).for_each(|name| self.tree(&directory.join(name.path)));
        self.repository(&directory.join(".git"));
    }

    /// Adds what decides in a repository.
    fn repository(&mut self, git: &Path) {
        git::deciding(git).iter().for_each(|path| self.add(path));
    }

    /// Adds recordings beside the agent, which are played instead of a model.
    fn cassettes(&mut self) {
        let beside = self.looking.agent.parent().into_iter().chain([self.looking.agent.as_path()]);
        for directory in beside.filter(|path| path.starts_with(&self.looking.workspace)) {
            let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
            let paths =
                entries.filter(|it| it.file_name().to_string_lossy().contains(".cassette."));
            paths.for_each(|entry| self.add(&entry.path()));
        }
    }

    /// Adds a file, or a directory with what is in it.
    fn tree(&mut self, path: &Path) {
        let mut waiting = vec![path.to_owned()];
        let mut left = MOST_IN_ONE;
        while let Some(path) = waiting.pop() {
            self.add(&path);
            if left > 0 && fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
                let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
                let before = waiting.len();
                waiting.extend(entries.map(|entry| entry.path()).take(left));
                left -= waiting.len() - before;
            }
        }
    }

    fn add(&mut self, path: &Path) {
        let closed = &self.looking.closed;
        if self.seen.contains_key(path) || closed.iter().any(|closed| path.starts_with(closed)) {
            return;
        }
        // A directory in which something is closed may only stand for it.
        let stands = |thing: &Thing| {
            *thing == Thing::Directory && closed.iter().any(|closed| closed.starts_with(path))
        };
        if let Some(thing) = thing(path).filter(|it| !stands(it)) {
            self.seen.insert(path.to_owned(), thing);
        }
    }
}

/// What is at a path, if anything is.
fn thing(path: &Path) -> Option<Thing> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(if found.is_symlink() {
        Thing::Link(fs::read_link(path).ok()?)
    } else if found.is_dir() {
        Thing::Directory
    } else if found.is_file() {
        if is_placeholder(path) {
            return None;
        }
        let bytes = bytes(path, LONGEST).ok()?;
        Thing::File { digest: hex(&Sha256::digest(&bytes)) }
    } else {
        Thing::Other
    })
}

/// What a file holds, up to a limit, without waiting for whoever writes to it.
pub(super) fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether something new may stay: what git makes for itself.
pub(super) fn is_harmless(path: &Path, thing: &Thing) -> bool {
    match thing {
        Thing::File { .. } => {
            bytes(path, LONGEST).is_ok_and(|bytes| git::is_harmless(path, &bytes))
        }
        _ => false,
    }
}
