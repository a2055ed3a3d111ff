//! A path in the workspace that is reached without following links. Commands that still run could replace
//! a directory by a link.

use agentry_compile::text::digest::hex;
use agentry_posix::fd::OwnedFd;
use agentry_posix::held_path;
use agentry_posix::unix::fs::{PermissionsExt as _, symlink};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use agentry_posix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use agentry_posix::io::Errno;

/// A name in a directory that is held open. Unreadable directories on the way stay readable as long as this
/// lives.
pub(super) struct HeldPlace {
    directory: OwnedFd,
    name: OsString,
    /// Directories that were unreadable, with their original mode.
    opened: Vec<(OwnedFd, u32)>,
}

/// A descriptor that only holds a name. Elsewhere than on Linux, an entry that cannot be opened is refused instead.
#[cfg(target_os = "linux")]
const HOLDING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HOLDING: OFlags = OFlags::RDONLY;

/// The permissions that an owner needs to pass through a directory, and to change its entries.
const SEARCH: u32 = 0o100;
const CHANGE: u32 = 0o300;
/// The permissions that an owner needs for everything in a directory.
const WHOLE: u32 = 0o700;
/// The permission that an owner needs to copy a file.
const READ: u32 = 0o400;
/// Opens a directory as a handle, which needs no read permission.
const DIRECTORY: OFlags =
    HOLDING.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl HeldPlace {
    /// Opens the directory of `path`, which is below `root`.
    pub(super) fn new(root: &Path, path: &Path) -> io::Result<Self> {
        Self::at(root, path, SEARCH, |_, _| Ok(()))
    }

    /// Like [`HeldPlace::new`], but creates missing directories on the way.
    pub(super) fn made(root: &Path, path: &Path) -> io::Result<Self> {
        Self::at(root, path, CHANGE, |directory, part| {
            match mkdirat(directory, part, Mode::from_raw_mode(0o777)) {
                Err(Errno::EXIST) => Ok(()),
                other => Ok(other?),
            }
        })
    }

    fn at(
        root: &Path,
        path: &Path,
        needs: u32,
        make: impl Fn(&OwnedFd, &OsStr) -> io::Result<()>,
    ) -> io::Result<Self> {
        let below = path.strip_prefix(root).map_err(io::Error::other)?;
        let mut parts: Vec<Component<'_>> = below.components().collect();
        let Some(Component::Normal(name)) = parts.pop() else {
            return Err(io::Error::other("it has no name"));
        };
        let directory = openat(CWD, root, DIRECTORY, Mode::empty())?;
        let mut held = Self { directory, name: name.to_owned(), opened: Vec::new() };
        for part in parts {
            let Component::Normal(part) = part else {
                return Err(io::Error::other("it leads elsewhere"));
            };
            held.grant(needs)?;
            make(&held.directory, part)?;
            held.directory = openat(&held.directory, part, DIRECTORY, Mode::empty())?;
        }
        held.grant(CHANGE)?;
        Ok(held)
    }

    /// Gives the owner access to the held directory, as long as this lives.
    fn grant(&mut self, needs: u32) -> io::Result<()> {
        if let Some(mode) = granted(&self.directory, needs) {
            self.opened.push((self.directory.try_clone()?, mode));
        }
        Ok(())
    }

    /// Returns a path to the same place, even if its directory was replaced.
    fn path(&self) -> PathBuf {
        held_path(&self.directory).join(&self.name)
    }

    /// Moves the file or directory away.
    pub(super) fn move_to(&self, to: &Path) -> io::Result<()> {
        let path = self.path();
        // A directory that its owner may not write to cannot be moved.
        let _ = openat(&self.directory, &self.name, DIRECTORY, Mode::empty())
            .map(|directory| granted(&directory, WHOLE));
        match fs::rename(&path, to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
            other => return other,
        }
        // The quarantine is on another file system, where a rename is impossible.
        copy(&path, to)?;
        if fs::symlink_metadata(&path)?.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        }
    }

    /// Replaces it by a file with these bytes.
    pub(super) fn write(&self, bytes: &[u8], mode: u32) -> io::Result<()> {
        let path = self.path();
        // A random name, so that a running command cannot prepare a link there.
        let mut chance = [0; 16];
        getrandom::fill(&mut chance).map_err(io::Error::other)?;
        let new = path.with_file_name(format!(".put-back-{}", hex(&chance)));
        let mut file = File::create_new(&new)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.set_permissions(Permissions::from_mode(mode)))
            .and_then(|()| fs::rename(&new, path));
        written.inspect_err(|_| drop(fs::remove_file(new)))
    }

    /// Creates a directory there.
    pub(super) fn directory(&self) -> io::Result<()> {
        fs::create_dir(self.path())
    }

    /// Creates a link there.
    pub(super) fn link(&self, target: &Path) -> io::Result<()> {
        symlink(target, self.path())
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        for (directory, mode) in self.opened.drain(..).rev() {
            let _ = fs::set_permissions(held_path(&directory), Permissions::from_mode(mode));
        }
    }
}

/// Gives the owner access to a directory in `root`, permanently.
pub(super) fn open_up(root: &Path, path: &Path) -> io::Result<()> {
    let directory = if path == root {
        openat(CWD, root, DIRECTORY, Mode::empty())?
    } else {
        let held = HeldPlace::new(root, path)?;
        openat(&held.directory, &held.name, DIRECTORY, Mode::empty())?
    };
    granted(&directory, WHOLE);
    Ok(())
}

/// Gives the owner all permissions if `needs` are missing; returns the mode before. If that fails, the next
/// operation reports it.
fn granted(held: &OwnedFd, needs: u32) -> Option<u32> {
    let path = held_path(held);
    let mode = fs::metadata(&path).ok()?.permissions().mode() & 0o7777;
    if mode & needs == needs {
        return None;
    }
    fs::set_permissions(path, Permissions::from_mode(mode | WHOLE)).ok().map(|()| mode)
}

/// Copies files, links and directories. Sockets and devices are not copied.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    let flags = HOLDING | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let needs = if found.is_dir() { WHOLE } else { READ };
    granted(&openat(CWD, from, flags, Mode::empty())?, needs);
    if found.is_file() {
        let mut copy = File::create_new(to)?;
        io::copy(&mut super::snapshot::opened(from)?, &mut copy)?;
        return copy.set_permissions(found.permissions());
    }
    if found.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
