//! One directory of memory files. Nothing is read through a link: a link in the repository of an agent could lead to what
//! a user taught in private.

use agentry_posix::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use agentry_compile::formats::agentfs::is_memory;
use agentry_compile::text::limits;
use agentry_posix::fs::OFlags;

use super::MemoryError;
use super::entry::{MemoryEntry, ParsedMemory, parse, written};

/// The most files of a folder; the others are left out.
const MOST_FILES: usize = 1_000_000;
/// The most levels of directories.
const MOST_LEVELS: usize = 8;
/// The directory whose memories are always in the prompt.
const PINNED: &str = "pinned/";

/// The owner of the memories in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FolderRole {
    /// The agent's own, for all its users.
    Agent = 0,
    /// What one user taught this agent.
    User = 1,
    /// What one user's agents with a shared memory remember.
    Shared = 2,
}

/// A directory of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemoryFolder {
    pub(super) role: FolderRole,
    /// A directory above that is trusted; below it nothing is a link.
    pub(super) base: PathBuf,
    pub(super) path: PathBuf,
    /// The user to whom it belongs.
    pub(super) user: Option<String>,
}

/// The metadata by which two states of a file are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoryFileStamp {
    pub(super) size: i64,
    /// In nanoseconds since 1970; negative if the file may change without another stamp.
    pub(super) modified: i64,
    pub(super) changed: i64,
    pub(super) inode: i64,
}

impl MemoryFileStamp {
    pub(super) fn of(data: &Metadata) -> Self {
        let nanos = |seconds: i64, nanos: i64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(nanos).max(0)
        };
        Self {
            size: i64::try_from(data.size()).unwrap_or(i64::MAX),
            modified: nanos(data.mtime(), data.mtime_nsec()),
            changed: nanos(data.ctime(), data.ctime_nsec()),
            inode: data.ino().cast_signed(),
        }
    }
}

/// What a walk through a folder found.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    /// The files relative to the folder, with their stamps if they were wanted.
    pub(super) files: Vec<(String, Option<MemoryFileStamp>)>,
    /// The directories, with the stamps that they had before they were read.
    pub(super) directories: Vec<(String, MemoryFileStamp)>,
}

impl MemoryFolder {
    /// Whether the directory exists; an error if it or a parent of it is a link.
    pub(super) fn exists(&self) -> Result<bool, MemoryError> {
        let inner = self.path.strip_prefix(&self.base).unwrap_or(&self.path);
        let mut path = self.base.clone();
        for part in inner.components() {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(data) if data.is_dir() => {}
                Ok(_) => return Err(MemoryError::Link(path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(MemoryError::io("read", &path, error)),
            }
        }
        Ok(true)
    }

    /// Lists its files and directories.
    pub(super) fn walk(&self, with_stamps: bool) -> Result<FolderListing, MemoryError> {
        let mut listing = FolderListing::default();
        if self.exists()? {
            self.walk_below("", 0, with_stamps, &mut listing)?;
        }
        Ok(listing)
    }

    fn walk_below(
        &self,
        inner: &str,
        level: usize,
        with_stamps: bool,
        listing: &mut FolderListing,
    ) -> Result<(), MemoryError> {
        let path = self.path.join(inner);
        let failed = |error| MemoryError::io("read", &path, error);
        let Some(data) = gone(fs::symlink_metadata(&path)).map_err(failed)? else { return Ok(()) };
        listing.directories.push((inner.to_owned(), MemoryFileStamp::of(&data)));
        let Some(found) = gone(fs::read_dir(&path)).map_err(failed)? else { return Ok(()) };
        for item in found {
            let item = item.map_err(failed)?;
            // A name that is not Unicode has no id.
            let Some(name) = item.file_name().to_str().map(str::to_owned) else { continue };
            let Some(kind) = gone(item.file_type()).map_err(failed)? else { continue };
            if name.starts_with('.') || listing.files.len() >= MOST_FILES {
                continue;
            }
            if kind.is_dir() && level < MOST_LEVELS {
                self.walk_below(&format!("{inner}{name}/"), level + 1, with_stamps, listing)?;
            } else if kind.is_file() && is_memory(&name) {
                let stamp = if with_stamps {
                    match gone(item.metadata()).map_err(failed)? {
                        Some(data) => Some(MemoryFileStamp::of(&data)),
                        None => continue,
                    }
                } else {
                    None
                };
                listing.files.push((format!("{inner}{name}"), stamp));
            }
        }
        Ok(())
    }

    /// The stamp of a file or directory, if it is there.
    pub(super) fn stamp(&self, inner: &str) -> Option<MemoryFileStamp> {
        let data = fs::symlink_metadata(self.path.join(inner)).ok()?;
        (data.is_file() || data.is_dir()).then(|| MemoryFileStamp::of(&data))
    }

    /// The content of a file, with its stamp; `None` if it is gone. Text that is not Unicode or too long is repaired, and
    /// the problem comes back as well.
    pub(super) fn read(&self, inner: &str) -> Result<Option<FileContent>, MemoryError> {
        let path = self.path.join(inner);
        let failed = |error| MemoryError::io("read", &path, error);
        // Without `NONBLOCK`, a named pipe that takes the place of a file would stop the program.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        let Some(file) = gone(opened).map_err(failed)? else { return Ok(None) };
        let data = file.metadata().map_err(failed)?;
        if !data.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(limits::FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        let mut problems = Vec::new();
        let most = usize::try_from(limits::FILE_BYTES).unwrap_or(usize::MAX);
        if bytes.len() > most {
            bytes.truncate(most);
            problems.push(format!("only its first {most} bytes are used"));
        }
        let text = String::from_utf8(bytes).unwrap_or_else(|error| {
            problems.push("it is not UTF-8".to_owned());
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        });
        Ok(Some(FileContent { text, stamp: MemoryFileStamp::of(&data), problems }))
    }

    /// A memory by its file; `None` if it is gone.
    pub(super) fn entry(&self, inner: &str) -> Result<Option<MemoryEntry>, MemoryError> {
        Ok(self.read(inner)?.map(|content| self.to_entry(inner, &content)))
    }

    pub(super) fn to_entry(&self, inner: &str, content: &FileContent) -> MemoryEntry {
        let ParsedMemory {
            kind,
            importance,
            created,
            source,
            is_pinned,
            text,
            mut problems,
            is_broken,
        } = parse(&content.text);
        problems.extend(content.problems.iter().cloned());
        // A file without a time is as old as its last change.
        let modified = content.stamp.modified / 1_000_000_000;
        let (created, created_at) = created.unwrap_or_else(|| (written(modified), modified));
        MemoryEntry {
            id: inner.strip_suffix(".md").unwrap_or(inner).to_owned(),
            kind: kind.unwrap_or_else(|| "fact".to_owned()),
            importance,
            created,
            created_at,
            source,
            is_pinned: is_pinned || inner.starts_with(PINNED),
            text,
            path: self.path.join(inner),
            user: self.user.clone(),
            problems,
            is_broken,
        }
    }

    /// Creates a file that is not there yet; `false` if the name is taken.
    pub(super) fn create(&self, name: &str, content: &str) -> Result<bool, MemoryError> {
        self.make()?;
        let path = self.path.join(name);
        let failed = |error| MemoryError::io("written", &path, error);
        let file = self.staged(content).map_err(failed)?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed(error.error)),
        }
    }

    /// Replaces a file as a whole.
    pub(super) fn replace(&self, inner: &str, content: &str) -> Result<(), MemoryError> {
        let path = self.path.join(inner);
        let failed = |error| MemoryError::io("written", &path, error);
        let file = self.staged(content).map_err(failed)?;
        file.persist(&path).map(drop).map_err(|error| failed(error.error))
    }

    /// Removes a file.
    pub(super) fn remove(&self, inner: &str) -> Result<(), MemoryError> {
        let path = self.path.join(inner);
        fs::remove_file(&path).map_err(|error| MemoryError::io("removed", &path, error))
    }

    /// A file with this content that only the user can read, on the disk but without its name.
    fn staged(&self, content: &str) -> io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.path)?;
        file.write_all(content.as_bytes())?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    /// Creates the directory, for the user alone.
    fn make(&self) -> Result<(), MemoryError> {
        if self.exists()? {
            return Ok(());
        }
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        created.map_err(|error| MemoryError::io("written", &self.path, error))?;
        // A link that was created in between must not be used.
        if self.exists()? { Ok(()) } else { Err(MemoryError::Link(self.path.clone())) }
    }
}

/// The content of a memory file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileContent {
    pub(super) text: String,
    pub(super) stamp: MemoryFileStamp,
    pub(super) problems: Vec<String>,
}

/// The result, or `None` if the file is not there any more, or is a link now.
fn gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error)
            if error.raw_os_error() == Some(agentry_posix::io::Errno::LOOP.raw_os_error()) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Syncs a directory, so that the names in it survive a crash. Not every file system can.
pub(super) fn sync_directory(path: &Path) {
    let _ = File::open(path).and_then(|directory| directory.sync_all());
}
