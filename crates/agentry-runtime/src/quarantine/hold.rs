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

/// A name in a directory that is held open.
pub(super) struct Held {
    directory: OwnedFd,
    name: OsString,
}

impl Held {
    /// The place of `path`, which lies in `root`.
    pub(super) fn new(root: &Path, path: &Path) -> io::Result<Self> {
        Self::at(root, path, |_, _| Ok(()))
    }

    /// The same, with the directories on the way made anew.
    pub(super) fn made(root: &Path, path: &Path) -> io::Result<Self> {
        Self::at(root, path, |directory, part| {
            match mkdirat(directory, part, Mode::from_raw_mode(0o777)) {
                Err(Errno::EXIST) => Ok(()),
                other => Ok(other?),
            }
        })
    }

    fn at(
        root: &Path,
        path: &Path,
        make: impl Fn(&OwnedFd, &OsStr) -> io::Result<()>,
    ) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let below = path.strip_prefix(root).map_err(io::Error::other)?;
        let mut directory = openat(CWD, root, flags, Mode::empty())?;
        let mut parts: Vec<Component<'_>> = below.components().collect();
        let Some(Component::Normal(name)) = parts.pop() else {
            return Err(io::Error::other("it has no name"));
        };
        for part in parts {
            let Component::Normal(part) = part else {
                return Err(io::Error::other("it leads elsewhere"));
            };
            make(&directory, part)?;
            directory = openat(&directory, part, flags, Mode::empty())?;
        }
        Ok(Self { directory, name: name.to_owned() })
    }

    /// The same place, whatever is put where its directory was.
    fn path(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.directory.as_raw_fd().to_string()).join(&self.name)
    }

    /// Moves what is there away.
    pub(super) fn move_to(&self, to: &Path) -> io::Result<()> {
        let path = self.path();
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
        let new = path.with_file_name(format!(".put-back-{}", std::process::id()));
        let _ = fs::remove_file(&new);
        let mut file = File::create_new(&new)?;
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        fs::rename(new, path)
    }

    /// Makes what is there a directory.
    pub(super) fn directory(&self) -> io::Result<()> {
        fs::create_dir(self.path())
    }

    /// Lets its owner look into the directory that is there.
    pub(super) fn open_up(&self) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(&self.directory, &self.name, flags, Mode::empty())?;
        let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string());
        let mode = fs::metadata(&path)?.permissions().mode();
        fs::set_permissions(path, Permissions::from_mode(mode | 0o700))
    }

    /// Makes what is there a link.
    pub(super) fn link(&self, target: &Path) -> io::Result<()> {
        symlink(target, self.path())
    }
}

/// Copies files, links and directories; what is none of these goes without a copy.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if found.is_file() {
        let mut copy = File::create_new(to)?;
        io::copy(&mut super::look::opened(from)?, &mut copy)?;
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
