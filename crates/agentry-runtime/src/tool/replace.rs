//! Writes files atomically: the new file is complete before it replaces the old one, so that no program sees
//! half a file, even if the run is killed.

use agentry_posix::fd::OwnedFd;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use agentry_posix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use agentry_posix::io::Errno;

use super::files::{FileStamp, MissingDirectory, parent};

/// Replaces the file `before` by `bytes` in one step. The new file gets the permissions of `like`. Missing
/// directories are created.
pub(super) fn replace(
    path: &Path,
    bytes: &[u8],
    before: Option<&FileStamp>,
    like: Option<&FileStamp>,
) -> io::Result<()> {
    let (parent, name) = parent(path, MissingDirectory::IsMade)?;
    let target = ReplaceTarget { parent, name: &name, before, like };
    target.unchanged()?;
    #[cfg(target_os = "linux")]
    if target.replace_unnamed(bytes)? {
        return Ok(());
    }
    target.replace_named(bytes)
}

/// Removes a file that is still as in `before`.
pub(super) fn remove(path: &Path, before: &FileStamp) -> io::Result<()> {
    let (parent, name) = parent(path, MissingDirectory::Fails)?;
    let target = ReplaceTarget { parent, name: &name, before: Some(before), like: None };
    target.unchanged()?;
    Ok(agentry_posix::fs::unlinkat(&target.parent, target.name, AtFlags::empty())?)
}

/// The file to replace.
struct ReplaceTarget<'a> {
    parent: OwnedFd,
    name: &'a OsStr,
    before: Option<&'a FileStamp>,
    like: Option<&'a FileStamp>,
}

impl ReplaceTarget<'_> {
    /// Writes an unnamed file and links it, so that a killed run leaves nothing behind. Returns whether
    /// the file system supports that.
    #[cfg(target_os = "linux")]
    fn replace_unnamed(&self, bytes: &[u8]) -> io::Result<bool> {
        use agentry_posix::fd::AsRawFd as _;

        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let Ok(file) = agentry_posix::fs::openat(&self.parent, ".", flags, self.mode()) else {
            return Ok(false);
        };
        let file = File::from(file);
        self.fill(&file, bytes)?;
        let from = format!("/proc/self/fd/{}", file.as_raw_fd());
        let link = |to: &OsStr| {
            let follow = AtFlags::SYMLINK_FOLLOW;
            agentry_posix::fs::linkat(agentry_posix::fs::CWD, &from, &self.parent, to, follow)
        };
        if self.before.is_none() {
            return match link(self.name) {
                Ok(()) => Ok(true),
                Err(Errno::EXIST) => Err(changed()),
                Err(_) => Ok(false),
            };
        }
        // A link cannot replace an existing file, so it gets a temporary name and is renamed.
        let name = loop {
            let name = next_name();
            match link(name.as_ref()) {
                Ok(()) => break name,
                Err(Errno::EXIST) => {}
                Err(_) => return Ok(false),
            }
        };
        self.take_name(&name).map(|()| true)
    }

    /// Writes a file under an unused name, and renames it.
    fn replace_named(&self, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let (name, file) = loop {
            let name = next_name();
            match agentry_posix::fs::openat(&self.parent, &name, flags, self.mode()) {
                Ok(file) => break (name, File::from(file)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        };
        match self.fill(&file, bytes) {
            Ok(()) => self.take_name(&name),
            Err(error) => {
                self.unlink(&name);
                Err(error)
            }
        }
    }

    fn fill(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)?;
        if let Some(like) = self.like {
            resemble(file, like)?;
        }
        file.sync_data()?;
        // Checked again at the last moment, because writing may take a while.
        self.unchanged()
    }

    fn take_name(&self, from: &str) -> io::Result<()> {
        let renamed = rename(&self.parent, from, self.name, self.before.is_some());
        if renamed.is_err() {
            self.unlink(from);
        }
        renamed
    }

    fn unlink(&self, name: &str) {
        let _ = agentry_posix::fs::unlinkat(&self.parent, name, AtFlags::empty());
    }

    fn mode(&self) -> Mode {
        Mode::from_raw_mode(if self.like.is_some() { 0o600 } else { 0o666 })
    }

    /// Fails if the file was changed by others, or if it is read-only: a file without any write
    /// permission must not be changed.
    fn unchanged(&self) -> io::Result<()> {
        let now =
            match agentry_posix::fs::statat(&self.parent, self.name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Some(stat),
                Err(Errno::NOENT) => None,
                Err(error) => return Err(error.into()),
            };
        if let Some(stat) = &now {
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(io::Error::other("it is not a regular file"));
            }
            if stat.st_mode & 0o222 == 0 {
                return Err(io::Error::other("it is read-only"));
            }
        }
        let same = now.as_ref().map(FileStamp::of).as_ref() == self.before;
        if same { Ok(()) } else { Err(changed()) }
    }
}

fn changed() -> io::Error {
    io::Error::other("it was changed in the meantime")
}

/// Returns a name for a temporary file.
fn next_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(".agentry-{}-{number}", std::process::id())
}

/// Gives a new file the owner and the permissions of another one.
fn resemble(file: &File, like: &FileStamp) -> io::Result<()> {
    let (user, group) = like.owner;
    let now = FileStamp::of(&agentry_posix::fs::fstat(file)?);
    if now.owner != like.owner {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        // Only root can change the owner; for other users the file becomes their own.
        let _ = agentry_posix::fs::fchown(file, Some(user), Some(group));
    }
    Ok(agentry_posix::fs::fchmod(file, Mode::from_raw_mode(like.mode & 0o777))?)
}

fn rename(parent: &OwnedFd, from: &str, to: &OsStr, replaces: bool) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if !replaces {
        use agentry_posix::fs::RenameFlags;
        match agentry_posix::fs::renameat_with(parent, from, parent, to, RenameFlags::NOREPLACE) {
            // The file system does not support this flag.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            Err(Errno::EXIST) => return Err(changed()),
            other => return Ok(other?),
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = replaces;
    Ok(agentry_posix::fs::renameat(parent, from, parent, to)?)
}

#[cfg(test)]
mod tests {
    use super::super::files::contents;
    use super::super::testing::TestWorkspace;
    use super::*;

    #[test]
    fn replacing_works_without_anonymous_files() {
        let world = TestWorkspace::new();
        let path = world.file("dir/file", "old");
        let (_, stamp) = contents(&path).unwrap().unwrap();
        let target = |name, before| {
            let (parent, _) = parent(&path, MissingDirectory::Fails).unwrap();
            ReplaceTarget { parent, name, before, like: before }
        };
        target("file".as_ref(), Some(&stamp)).replace_named(b"new").unwrap();
        target("other".as_ref(), None).replace_named(b"other").unwrap();
        assert!(target("other".as_ref(), None).replace_named(b"third").is_err());
        assert!(target("file".as_ref(), Some(&stamp)).replace_named(b"third").is_err());
        assert_eq!(
            (world.text("dir/file"), world.text("dir/other")),
            ("new".into(), "other".into())
        );
        assert_eq!(std::fs::read_dir(world.path("dir")).unwrap().count(), 2);
    }
}
