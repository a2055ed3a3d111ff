//! The walk through a workspace: every directory, no links, no limit. Listings are cached, and a directory is
//! read again only if it may have changed.
//!
//! Creating, removing or renaming an entry changes the `ctime` of its directory, which no program can
//! set. The `ctime` is not reliable before the file system's clock has advanced, nor on a network file
//! system, which has the clock of another machine. There, a directory is read each time.

use agentry_posix::unix::ffi::OsStrExt as _;
use agentry_posix::unix::fs::MetadataExt as _;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentry_posix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::{fold, may_be_entry};

/// A walk, with the cached listings of the last one.
#[derive(Default)]
pub(crate) struct WorkspaceWalk {
    known: HashMap<(u64, u64), DirectoryListing>,
    clocks: FileClocks,
    /// The directories that the last walk could not read.
    pub(crate) shut: BTreeSet<PathBuf>,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WalkEntry {
    pub(crate) name: OsString,
    pub(crate) is_directory: bool,
    /// Whether its name may be protected.
    pub(crate) is_marked: bool,
}

/// A directory that a walk has reached.
pub(crate) struct VisitedDirectory<'a> {
    pub(crate) path: &'a Path,
    /// Its directories and marked entries; all entries if `whole`.
    pub(crate) entries: &'a [WalkEntry],
    pub(crate) whole: bool,
}

/// A directory to visit next.
pub(crate) struct NextDirectory {
    pub(crate) path: PathBuf,
    /// Whether all of its entries are listed.
    pub(crate) whole: bool,
}

/// A cached listing.
struct DirectoryListing {
    stamp: ChangeStamp,
    /// Whether a later change is certain to change the stamp.
    sure: bool,
    whole: bool,
    entries: Vec<WalkEntry>,
}

impl WorkspaceWalk {
    /// Walks what is below `roots`, breadth first, as far as `visit` returns directories.
    pub(crate) fn over(
        &mut self,
        roots: impl IntoIterator<Item = NextDirectory>,
        mut visit: impl FnMut(&VisitedDirectory<'_>) -> ControlFlow<(), Vec<NextDirectory>>,
    ) {
        let mut waiting: VecDeque<NextDirectory> = roots.into_iter().collect();
        let mut seen = HashMap::with_capacity(self.known.len());
        self.shut.clear();
        while let Some(NextDirectory { path, whole }) = waiting.pop_front() {
            let (id, listing) = match self.listing(&path, whole, &mut seen) {
                Ok(found) => found,
                Err(error) => {
                    let is_gone = matches!(error.kind(), NotFound | NotADirectory);
                    self.shut.extend(Some(path).filter(|_| !is_gone));
                    continue;
                }
            };
            let next = visit(&VisitedDirectory { path: &path, entries: &listing.entries, whole });
            seen.insert(id, listing);
            match next {
                ControlFlow::Continue(next) => waiting.extend(next),
                ControlFlow::Break(()) => break,
            }
        }
        // Only directories of this walk stay cached, so that removed ones do not accumulate.
        self.known = seen;
    }

    /// Returns the listing of a directory, from the cache if it is still valid.
    fn listing(
        &mut self,
        path: &Path,
        whole: bool,
        seen: &mut HashMap<(u64, u64), DirectoryListing>,
    ) -> io::Result<((u64, u64), DirectoryListing)> {
        let found = fs::symlink_metadata(path)?;
        if !found.is_dir() {
            return Err(NotADirectory.into());
        }
        let stamp = ChangeStamp::of(&found);
        // By inode, so that a renamed directory keeps its listing.
        let known = seen.remove(&stamp.id()).or_else(|| self.known.remove(&stamp.id()));
        match known {
            Some(known) if known.sure && known.stamp == stamp && (known.whole || !whole) => {
                Ok((stamp.id(), known))
            }
            _ => {
                let listing = self.read(path, whole)?;
                Ok((listing.stamp.id(), listing))
            }
        }
    }

    fn read(&mut self, path: &Path, whole: bool) -> io::Result<DirectoryListing> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let directory = agentry_posix::fs::open(path, flags, Mode::empty())?;
        // Taken before the entries are read: a change in between makes the stamp outdated, not the listing.
        let stamp = ChangeStamp::of(&fs::File::from(directory.try_clone()?).metadata()?);
        // Without the search permission, names can be listed but the entries cannot be inspected.
        agentry_posix::fs::statat(&directory, ".", AtFlags::SYMLINK_NOFOLLOW)?;
        let sure = self.clocks.trust_in_stamp(&stamp, path).names;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let is_directory = match entry.file_type() {
                // Some file systems do not report the type in a listing.
                FileType::Unknown => {
                    fs::symlink_metadata(path.join(name)).is_ok_and(|it| it.is_dir())
                }
                kind => kind == FileType::Directory,
            };
            let is_marked = may_be_entry(&fold(name));
            if whole || is_directory || is_marked {
                entries.push(WalkEntry { name: name.to_owned(), is_directory, is_marked });
            }
        }
        Ok(DirectoryListing { stamp, sure, whole, entries })
    }
}

/// Shows whether a file or directory was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChangeStamp {
    device: u64,
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

impl ChangeStamp {
    pub(crate) fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    fn id(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Which changes a stamp shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockTrust {
    /// Whether later changes of entries are certain to show.
    pub(crate) names: bool,
    /// Whether later writes to the file are certain to show.
    pub(crate) contents: bool,
}

/// How far the clocks of file systems can be trusted, by device.
#[derive(Default)]
pub(crate) struct FileClocks(HashMap<u64, ClockTrust>);

/// Local file systems, which use the clock of this machine; and whether they also update the `ctime` for
/// writes through a memory map.
const LOCAL: &[(u64, bool)] = &[
    (0xef53, true),       // ext4
    (0x5846_5342, true),  // xfs
    (0x9123_683e, true),  // btrfs
    (0xf2f5_2010, true),  // f2fs
    (0x0102_1994, false), // tmpfs
    (0x794c_7630, false), // overlayfs, whose files may lie on any
    (0x2fc1_2fc1, false), // zfs
];
/// Longer than one step of a file system's clock; and longer than one of a clock with whole seconds.
const TICK: Duration = Duration::from_millis(50);
const SECOND: Duration = Duration::from_millis(2_100);

impl FileClocks {
    /// Returns whether a change after now would give `path` another stamp.
    pub(crate) fn trust_in_stamp(&mut self, stamp: &ChangeStamp, path: &Path) -> ClockTrust {
        let system = *self.0.entry(stamp.device).or_insert_with(|| system(path));
        let (seconds, nanoseconds) = stamp.changed;
        let changed = Duration::new(
            u64::try_from(seconds).unwrap_or_default(),
            u32::try_from(nanoseconds).unwrap_or_default(),
        );
        // No nanoseconds at all suggests a file system with whole seconds.
        let patience = if nanoseconds == 0 { SECOND } else { TICK };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_past = changed.checked_add(patience).is_some_and(|past| past < now);
        ClockTrust { names: is_past && system.names, contents: is_past && system.contents }
    }
}

fn system(path: &Path) -> ClockTrust {
    let kind = agentry_posix::fs::statfs(path).ok().and_then(|it| u64::try_from(it.f_type).ok());
    let found = LOCAL.iter().find(|(local, _)| Some(*local) == kind);
    ClockTrust { names: found.is_some(), contents: found.is_some_and(|(_, contents)| *contents) }
}

/// Waits until everything in a directory is old enough to be cached.
#[cfg(test)]
pub(crate) fn settled(root: &Path) {
    let newest = root.join("settled");
    fs::write(&newest, "").unwrap();
    let stamp = ChangeStamp::of(&fs::symlink_metadata(&newest).unwrap());
    while system(root).names && !FileClocks::default().trust_in_stamp(&stamp, root).names {
        std::thread::yield_now();
    }
    fs::remove_file(newest).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(walk: &mut WorkspaceWalk, root: &Path) -> Vec<String> {
        let mut out = Vec::new();
        walk.over([NextDirectory { path: root.to_owned(), whole: false }], |visited| {
            let below = |entry: &&WalkEntry| entry.is_directory;
            let marked = visited.entries.iter().filter(|entry| entry.is_marked);
            out.extend(marked.map(|entry| {
                let path = visited.path.join(&entry.name);
                path.strip_prefix(root).unwrap().display().to_string()
            }));
            let next = visited
                .entries
                .iter()
                .filter(below)
                .map(|entry| NextDirectory { path: visited.path.join(&entry.name), whole: false });
            ControlFlow::Continue(next.collect())
        });
        out.sort();
        out
    }

    #[test]
    fn changed_directories_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::write(root.join("a/b/agentry.toml"), "").unwrap();
        fs::write(root.join("a/b/other"), "").unwrap();
        settled(root);
        let mut walk = WorkspaceWalk::default();
        assert_eq!(names(&mut walk, root), ["a/b/agentry.toml"]);
        let before = walk.known.values().filter(|it| it.sure).count();
        // The temporary file of `settled` has changed the root.
        assert!(before == 3 || !system(root).names, "{before}");
        assert_eq!(names(&mut walk, root), ["a/b/agentry.toml"]);
        // A name that appears, with the old times restored.
        let times = fs::FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
        fs::write(root.join("a/b/c/agentry.lock"), "").unwrap();
        fs::File::open(root.join("a/b/c")).unwrap().set_times(times).unwrap();
        assert_eq!(names(&mut walk, root), ["a/b/agentry.toml", "a/b/c/agentry.lock"]);
        fs::rename(root.join("a"), root.join("z")).unwrap();
        assert_eq!(names(&mut walk, root), ["z/b/agentry.toml", "z/b/c/agentry.lock"]);
        fs::remove_dir_all(root.join("z/b/c")).unwrap();
        assert_eq!(names(&mut walk, root), ["z/b/agentry.toml"]);
        agentry_posix::unix::fs::symlink("z", root.join("link")).unwrap();
        assert_eq!(names(&mut walk, root), ["z/b/agentry.toml"], "no link is followed");
        assert_eq!(walk.known.len(), 3, "what is gone is forgotten");
    }
}
