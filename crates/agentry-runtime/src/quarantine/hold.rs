//! A place in the workspace that is reached without following links: commands that still run may put
//! one where a directory was.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// The most files of a directory that are copied where it cannot be renamed.
const MOST: usize = 1_000;

/// A name in a directory that is held open.
pub(super) struct Held {
    directory: OwnedFd,
    name: OsString,
}

impl Held {
    /// The place of `path`, which lies in `root`.
    pub(super) fn new(root: &Path, path: &Path) -> io::Result<Self> {
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
        copy(&path, to, &mut MOST.clone())?;
        if fs::symlink_metadata(&path)?.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        }
    }

    /// Makes what is there a file with these bytes.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let path = self.path();
        let new = path.with_file_name(format!(".put-back-{}", std::process::id()));
        fs::write(&new, bytes)?;
        fs::rename(new, path)
    }

    /// Makes what is there a link.
    pub(super) fn link(&self, target: &Path) -> io::Result<()> {
        symlink(target, self.path())
    }
}

/// Copies files, links and directories; what is none of these goes without a copy.
fn copy(from: &Path, to: &Path, left: &mut usize) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if *left == 0 {
        return Ok(());
    }
    *left -= 1;
    if found.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if found.is_file() {
        return super::look::bytes(from, u64::MAX).and_then(|bytes| fs::write(to, bytes));
    }
    if found.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()), left)?;
        }
    }
    Ok(())
}
