//! A place in the workspace that is reached without following links: commands that still run may put
//! one where a directory was.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use crate::undo::hex;

/// A name in a directory that is held open. Unreadable directories on the way stay open as long as this
/// lives.
pub(super) struct HeldPlace {
    directory: OwnedFd,
    name: OsString,
    /// Directories that were unreadable, with the mode that they had.
    opened: Vec<(OwnedFd, u32)>,
}

/// What an owner needs to go through a directory, and to make and remove names in it.
const SEARCH: u32 = 0o100;
const CHANGE: u32 = 0o300;
/// What an owner needs to do anything with a directory.
const WHOLE: u32 = 0o700;
/// What an owner needs to copy a file.
const READ: u32 = 0o400;
/// How directories are held: this needs no permission to read them.
const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl HeldPlace {
    /// The place of `path`, which lies in `root`.
    pub(super) fn new(root: &Path, path: &Path) -> io::Result<Self> {
        Self::at(root, path, SEARCH, |_, _| Ok(()))
    }

    /// The same, with the directories on the way made anew.
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

    /// Lets its owner use the directory that is held, for as long as this lives.
    fn grant(&mut self, needs: u32) -> io::Result<()> {
        if let Some(mode) = granted(&self.directory, needs) {
            self.opened.push((self.directory.try_clone()?, mode));
        }
        Ok(())
    }

    /// The same place, whatever is put where its directory was.
    fn path(&self) -> PathBuf {
        place(&self.directory).join(&self.name)
    }

    /// Moves what is there away.
    pub(super) fn move_to(&self, to: &Path) -> io::Result<()> {
        let path = self.path();
        // A directory that its owner may not change does not move.
        let _ = openat(&self.directory, &self.name, DIRECTORY, Mode::empty())
            .map(|directory| granted(&directory, WHOLE));
        match fs::rename(&path, to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
            other => return other,
        }
        copy(&path, to)?;
        if fs::symlink_metadata(&path)?.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        }
    }

    /// Makes what is there a file with these bytes.
    pub(super) fn write(&self, bytes: &[u8], mode: u32) -> io::Result<()> {
        let path = self.path();
        // A name that no command can guess.
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

    /// Makes what is there a directory.
    pub(super) fn directory(&self) -> io::Result<()> {
        fs::create_dir(self.path())
    }

    /// Makes what is there a link.
    pub(super) fn link(&self, target: &Path) -> io::Result<()> {
        symlink(target, self.path())
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        for (directory, mode) in self.opened.drain(..).rev() {
            let _ = fs::set_permissions(place(&directory), Permissions::from_mode(mode));
        }
    }
}

/// Lets its owner look into a directory in `root` from now on.
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

/// What is held, whatever is put where it was.
fn place(held: &OwnedFd) -> PathBuf {
    Path::new("/proc/self/fd").join(held.as_raw_fd().to_string())
}

/// Permits the owner of what is held everything, if `needs` was not permitted; returns the mode that it had.
/// If that fails, the next operation reports it.
fn granted(held: &OwnedFd, needs: u32) -> Option<u32> {
    let path = place(held);
    let mode = fs::metadata(&path).ok()?.permissions().mode() & 0o7777;
    if mode & needs == needs {
        return None;
    }
    fs::set_permissions(path, Permissions::from_mode(mode | WHOLE)).ok().map(|()| mode)
}

/// Copies files, links and directories; what is none of these goes without a copy.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
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
