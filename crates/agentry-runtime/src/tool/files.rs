//! The files that a call touches: resolved before the policy is asked, and opened without following links.
//!
//! A path is opened part by part from the root, and no part may be a link. So the opened file is the judged
//! one, or the call fails.

use agentry_posix::fd::OwnedFd;
use agentry_posix::unix::ffi::OsStrExt as _;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use agentry_compile::policy::Section;
use agentry_compile::render::PROTECTED_NAME;
use agentry_posix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, Stat};
use agentry_posix::io::Errno;

use super::{CallLocation, ToolHost, ToolTouch, permit, real};
use crate::protected_paths;

/// The most bytes of a file that can be changed.
pub(super) const MOST_BYTES: u64 = 64 << 20;
/// The most entries of a directory.
const MOST_ENTRIES: usize = 100_000;
/// The most bytes of a path.
const MOST_OF_PATH: usize = 4_096;

/// Returns the real path of a path in a call, or why it has none.
pub(super) fn resolve(path: &str, place: &CallLocation) -> Result<PathBuf, String> {
    if path.is_empty() || path.contains('\0') || path.len() > MOST_OF_PATH {
        return Err("the path is empty, too long or holds a NUL".to_owned());
    }
    let unknown = || format!("it is not known where `{path}` leads");
    let real = real(&absolute(path, place)).ok_or_else(unknown)?;
    // The policy reads text; a lossy conversion could name another file than the real one.
    if real.to_str().is_none() { Err(unknown()) } else { Ok(real) }
}

/// Returns the path of a call as an absolute path.
fn absolute(path: &str, place: &CallLocation) -> PathBuf {
    match path.strip_prefix("~/").zip(place.home.as_ref()) {
        Some((rest, home)) => home.join(rest),
        None => place.directory.join(path),
    }
}

/// Returns the touch of a resolved path.
pub(super) fn touch(section: Section, path: &Path) -> ToolTouch {
    ToolTouch { section, subject: agentry_posix::slashed(path).into_owned() }
}

/// Resolves the path of a running call, and checks again that the call may touch it.
pub(super) fn permitted(
    section: Section,
    path: &str,
    host: &dyn ToolHost,
) -> Result<PathBuf, String> {
    let place = host.place();
    let real = resolve(path, &place)?;
    visible(&real, &place)?;
    if section == Section::Edit {
        unprotected(&real, &place)?;
    }
    permit(host, &touch(section, &real))?;
    Ok(real)
}

/// Returns whether a path of a call is itself a link: a change would affect its target instead.
pub(super) fn is_link(path: &str, place: &CallLocation) -> bool {
    std::fs::symlink_metadata(absolute(path, place)).is_ok_and(|found| found.is_symlink())
}

/// Refuses paths that no tool may change.
pub(super) fn unprotected(path: &Path, place: &CallLocation) -> Result<(), String> {
    let protects = |it: &&PathBuf| path.starts_with(it) || it.starts_with(path);
    if let Some(it) = place.protected.iter().find(protects) {
        return Err(format!("`{}`{PROTECTED_NAME} from every tool", it.display()));
    }
    match protected_paths::why_refused(path, &place.workspace) {
        None => Ok(()),
        Some(why) => Err(format!("`{}`{PROTECTED_NAME} from every tool: {why}", path.display())),
    }
}

/// Refuses paths that no tool may read.
pub(super) fn visible(path: &Path, place: &CallLocation) -> Result<(), String> {
    if is_hidden(path, place) {
        return Err(format!("`{}` belongs to Agentry itself", path.display()));
    }
    Ok(())
}

/// Returns whether no tool may see a path.
pub(super) fn is_hidden(path: &Path, place: &CallLocation) -> bool {
    place.hidden.iter().any(|it| path.starts_with(it))
}

/// The state of a file at one moment, to detect changes by others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileStamp {
    identity: (u64, u64),
    size: i64,
    changed: (i64, i64),
    /// Its permissions.
    pub(super) mode: RawMode,
    /// Its user and group.
    pub(super) owner: (u32, u32),
}

impl FileStamp {
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "the types differ between systems"
    )]
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            identity: (stat.st_dev as u64, stat.st_ino as u64),
            size: stat.st_size as i64,
            changed: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            mode: stat.st_mode,
            owner: (stat.st_uid, stat.st_gid),
        }
    }
}

/// Opens a regular file for reading. The path must be resolved.
pub fn open(path: &Path) -> io::Result<File> {
    let (parent, name) = parent(path, MissingDirectory::Fails)?;
    // Opening some devices has an effect, so the type is checked first.
    let found = agentry_posix::fs::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW)?;
    let kind = FileType::from_raw_mode(found.st_mode);
    if !matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Symlink) {
        return Err(io::Error::other("it is a device, a pipe or a socket"));
    }
    // A pipe may replace the file in between, and without a writer it would block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let flags = flags | OFlags::NOCTTY;
    let file = File::from(agentry_posix::fs::openat(&parent, &name, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is a device, a pipe or a socket"));
    }
    Ok(file)
}

/// Returns the entries of a directory, sorted by name. The path must be resolved.
pub(super) fn entries(path: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let directory = directory(path, MissingDirectory::Fails)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = agentry_posix::fs::openat(&directory, ".", flags, Mode::empty())?;
    let mut entries = Vec::new();
    for entry in Dir::new(directory)?.take(MOST_ENTRIES) {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            entries.push((name, entry.file_type()));
        }
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(entries)
}

/// Returns the whole content of a file that is to be changed; `None` if it does not exist.
pub(super) fn contents(path: &Path) -> io::Result<Option<(Vec<u8>, FileStamp)>> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stamp = FileStamp::of(&agentry_posix::fs::fstat(&file)?);
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it has more than {} MiB", MOST_BYTES >> 20)));
    }
    Ok(Some((bytes, stamp)))
}

/// What to do about a missing directory on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingDirectory {
    /// Fail.
    Fails,
    /// Create it.
    IsMade,
}

/// Opens the directory of a path without following a link, and returns it with the file name.
pub(crate) fn parent(path: &Path, missing: MissingDirectory) -> io::Result<(OwnedFd, OsString)> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
    let parent = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
    Ok((directory(parent, missing)?, name))
}

// A handle without read permission: directories on the way need only the search permission.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY;

fn directory(path: &Path, missing: MissingDirectory) -> io::Result<OwnedFd> {
    let flags = STEP | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The root: `/`, or a drive.
    let root = path.ancestors().last().unwrap_or(path);
    let mut at = agentry_posix::fs::open(root, flags, Mode::empty())?;
    for part in path.components() {
        let Component::Normal(name) = part else { continue };
        let opened = agentry_posix::fs::openat(&at, name, flags, Mode::empty());
        at = match opened {
            Err(Errno::NOENT) if missing == MissingDirectory::IsMade => {
                match agentry_posix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                agentry_posix::fs::openat(&at, name, flags, Mode::empty())?
            }
            other => other?,
        };
    }
    Ok(at)
}

/// Explains an error to the model.
pub(super) fn why(path: &str, error: &io::Error) -> String {
    let why = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => "it does not exist".to_owned(),
        Some(Errno::LOOP) => "a link is on the way that was not there before".to_owned(),
        Some(Errno::NOTDIR) => "something on the way is not a directory".to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => "the system does not permit it".to_owned(),
        _ if error.kind() == io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => error.to_string(),
    };
    format!("`{path}`: {why}")
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
