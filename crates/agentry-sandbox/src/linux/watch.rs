//! Watches the mounts that protect paths. A program outside that replaces a file, as editors and git do on
//! saving, removes the mount on it.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::event::Timespec;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// The interval of checks where inotify is not available.
const OFTEN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The mounts that protect paths, as they were when the sandbox was started.
pub(crate) struct ProtectiveMounts {
    all: Vec<(PathBuf, u64)>,
    /// An inotify descriptor: readable when a protected path may have been replaced.
    readiness: Option<OwnedFd>,
}

impl ProtectiveMounts {
    /// Must be called before the confinement is applied to this process.
    pub(crate) fn new(paths: Vec<PathBuf>) -> io::Result<Self> {
        let readiness = if paths.is_empty() { None } else { watched(&paths).ok() };
        let each = |path: PathBuf| mount_of(&path).map(|mount| (path, mount));
        let all = paths.into_iter().map(each).collect::<io::Result<_>>()?;
        Ok(Self { all, readiness })
    }

    /// The descriptor that is readable when there is something to check.
    pub(crate) fn readiness(&self) -> Option<&OwnedFd> {
        self.readiness.as_ref()
    }

    /// The interval of checks, if there is no descriptor.
    pub(crate) fn patience(&self) -> Option<&'static Timespec> {
        (self.readiness.is_none() && !self.all.is_empty()).then_some(&OFTEN)
    }

    /// The first path that is no longer protected.
    pub(crate) fn replaced(&self) -> Option<&Path> {
        if let Some(readiness) = &self.readiness {
            // The events are only drained: the mount ids below show what has changed.
            let mut buffer = [const { MaybeUninit::<u8>::uninit() }; 4096];
            while rustix::io::read(readiness, &mut buffer).is_ok_and(|(read, _)| !read.is_empty()) {
            }
        }
        let changed = |(path, mount): &&(PathBuf, u64)| mount_of(path).ok() != Some(*mount);
        self.all.iter().find(changed).map(|(path, _)| path.as_path())
    }
}

/// Watches the parent directories of `paths` for new and removed entries.
fn watched(paths: &[PathBuf]) -> io::Result<OwnedFd> {
    let readiness = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let kinds = WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF;
    let mut parents: Vec<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    parents.sort();
    parents.dedup();
    for parent in parents {
        inotify::add_watch(&readiness, parent, kinds)?;
    }
    Ok(readiness)
}

fn mount_of(path: &Path) -> io::Result<u64> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    Ok(statx(CWD, path, flags, StatxFlags::MNT_ID)?.stx_mnt_id)
}
