//! The files of an agent as values: read from a work tree, written to one, compared. Links are kept as links and never followed.

use agentry_posix::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentry_compile::policy::commands::secrets::is_secret;
use agentry_compile::text::limits;

use super::RepositoryError;

/// The most bytes of all files together.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// The directory of a repository's own files.
pub(super) const GIT: &str = ".git";
/// How the name of an unfinished file ends.
const PART: &str = ".agentry-part";

/// What a path of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeMode {
    /// A plain file.
    Plain,
    /// A file that can be run.
    Executable,
    /// A link; its bytes are its target.
    Link,
}

impl TreeMode {
    pub(super) const fn as_git(self) -> &'static str {
        match self {
            Self::Plain => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }

    pub(crate) fn from_git(mode: &str) -> Option<Self> {
        match mode {
            "100644" | "100664" => Some(Self::Plain),
            "100755" => Some(Self::Executable),
            "120000" => Some(Self::Link),
            _ => None,
        }
    }
}

/// One file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// What it is.
    pub mode: TreeMode,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The files of an agent, by their path relative to its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentTree {
    /// The files, in the order of their paths.
    pub files: BTreeMap<String, TreeFile>,
}

impl AgentTree {
    /// A tree of plain files.
    pub fn of_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let plain = |(path, bytes)| (path, TreeFile { mode: TreeMode::Plain, bytes });
        Self { files: files.into_iter().map(plain).collect() }
    }

    /// The bytes of a file that is not a link.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        let file = self.files.get(path).filter(|file| file.mode != TreeMode::Link)?;
        Some(&file.bytes)
    }

    /// The paths whose file differs between two trees, or that only one of them has.
    #[must_use]
    pub fn changed_paths<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let own = self.files.iter().filter(|(path, file)| other.files.get(*path) != Some(file));
        let new = other.files.keys().filter(|path| !self.files.contains_key(*path));
        let mut paths: Vec<&str> =
            own.map(|(path, _)| path).chain(new).map(String::as_str).collect();
        paths.sort_unstable();
        paths
    }

    /// Reads the work tree at `root`. Untracked files that hold secrets are left out; `is_tracked` says which are not.
    pub(super) fn read(
        root: &Path,
        is_tracked: impl Fn(&str) -> bool,
    ) -> Result<Self, RepositoryError> {
        let mut tree = Self::default();
        let (mut open, mut total) = (vec![(String::new(), 0_usize)], 0_u64);
        while let Some((directory, depth)) = open.pop() {
            if depth > limits::DEPTH {
                return Err(RepositoryError::TooLarge("its directories are nested too deeply"));
            }
            for (path, kind) in entries(root, &directory)? {
                let full = root.join(&path);
                if kind.is_dir() {
                    refuse_repository(root, &path)?;
                    open.push((path, depth + 1));
                    continue;
                }
                let is_private =
                    is_secret(&format!("/{path}"), None).is_some() && !is_tracked(&path);
                let Some(file) = read_file(&full, kind).map_err(|error| failed(&full, error))?
                else {
                    continue;
                };
                if !is_private {
                    total += file.bytes.len() as u64;
                    tree.files.insert(path, file);
                }
                if tree.files.len() > limits::FILES || total > MOST_BYTES {
                    return Err(RepositoryError::TooLarge(
                        "it has more than 10,000 files or 64 MiB",
                    ));
                }
            }
        }
        Ok(tree)
    }

    /// Changes the work tree at `root` from `self` to `new`. A file that is neither as in `self` nor as in `new` was edited in
    /// the meantime: it stays, and is returned.
    pub(super) fn write_changes(
        &self,
        new: &Self,
        root: &Path,
    ) -> Result<Vec<String>, RepositoryError> {
        let mut edited = Vec::new();
        for path in self.changed_paths(new) {
            let full = root.join(path);
            refuse_links(root, path)?;
            let (before, after) = (self.files.get(path), new.files.get(path));
            let now = now(&full).map_err(|error| failed(&full, error))?;
            if now.as_ref() == after {
                continue;
            }
            if now.as_ref() != before {
                edited.push(path.to_owned());
                continue;
            }
            match after {
                Some(file) => write_file(&full, file),
                None => remove_file(root, &full),
            }
            .map_err(|error| failed(&full, error))?;
        }
        Ok(edited)
    }

    /// Writes all files below `root`, which holds nothing else.
    pub fn write_all(&self, root: &Path) -> Result<(), RepositoryError> {
        for (path, file) in &self.files {
            let full = root.join(path);
            write_file(&full, file).map_err(|error| failed(&full, error))?;
        }
        Ok(())
    }
}

fn failed(path: &Path, error: io::Error) -> RepositoryError {
    RepositoryError::Io { path: path.to_owned(), error }
}

/// The entries of a directory of the work tree, without `.git` at its root.
fn entries(root: &Path, directory: &str) -> Result<Vec<(String, fs::FileType)>, RepositoryError> {
    let full = root.join(directory);
    let mut found = Vec::new();
    for entry in fs::read_dir(&full).map_err(|error| failed(&full, error))? {
        let entry = entry.map_err(|error| failed(&full, error))?;
        let name = entry
            .file_name()
            .into_string()
            .map_err(|name| RepositoryError::Name(full.join(name)))?;
        if (directory.is_empty() && name == GIT) || name.ends_with(PART) {
            continue;
        }
        let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
        found.push((path, entry.file_type().map_err(|error| failed(&full, error))?));
    }
    Ok(found)
}

/// A repository in a repository cannot be committed as files.
fn refuse_repository(root: &Path, path: &str) -> Result<(), RepositoryError> {
    let inner = root.join(path).join(GIT);
    let is_one = inner.symlink_metadata().is_ok();
    if is_one { Err(RepositoryError::Submodule(path.to_owned())) } else { Ok(()) }
}

/// A link in place of a directory would lead writes out of the agent.
pub(super) fn refuse_links(root: &Path, path: &str) -> Result<(), RepositoryError> {
    let directories = Path::new(path).ancestors().skip(1).filter(|it| !it.as_os_str().is_empty());
    for directory in directories {
        let full = root.join(directory);
        match full.symlink_metadata() {
            Ok(found) if !found.is_dir() => return Err(RepositoryError::NotADirectory(full)),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

fn read_file(full: &Path, kind: fs::FileType) -> io::Result<Option<TreeFile>> {
    if kind.is_symlink() {
        let target = fs::read_link(full)?;
        let bytes = agentry_posix::unix::ffi::OsStringExt::into_vec(target.into_os_string());
        return Ok(Some(TreeFile { mode: TreeMode::Link, bytes }));
    }
    if !kind.is_file() {
        // A pipe or a socket has no content.
        return Ok(None);
    }
    let found = fs::symlink_metadata(full)?;
    if found.len() > MOST_BYTES {
        return Err(io::Error::other("the file is larger than 64 MiB"));
    }
    let mode = if found.permissions().mode() & 0o100 == 0 {
        TreeMode::Plain
    } else {
        TreeMode::Executable
    };
    Ok(Some(TreeFile { mode, bytes: fs::read(full)? }))
}

/// What is at a path now, if anything is.
fn now(full: &Path) -> io::Result<Option<TreeFile>> {
    match fs::symlink_metadata(full) {
        Ok(found) => read_file(full, found.file_type()),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Writes a file completely or not at all: under another name, then renamed.
fn write_file(full: &Path, file: &TreeFile) -> io::Result<()> {
    let directory = full.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory)?;
    let part = part_of(full);
    let _ = fs::remove_file(&part);
    if file.mode == TreeMode::Link {
        let target: PathBuf =
            std::ffi::OsString::from(String::from_utf8_lossy(&file.bytes).into_owned()).into();
        agentry_posix::unix::fs::symlink(target, &part)?;
    } else {
        let mode = if file.mode == TreeMode::Executable { 0o755 } else { 0o644 };
        let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&part)?;
        io::Write::write_all(&mut out, &file.bytes)?;
        out.sync_all()?;
    }
    fs::rename(&part, full).inspect_err(|_| drop(fs::remove_file(&part)))
}

/// The name under which a file is written first. A kill may leave it behind: it is no part of the tree, and the next write of
/// the same file removes it.
fn part_of(full: &Path) -> PathBuf {
    let name = full.file_name().unwrap_or_default().to_string_lossy();
    full.with_file_name(format!(".{name}{PART}"))
}

fn remove_file(root: &Path, full: &Path) -> io::Result<()> {
    fs::remove_file(full)?;
    // Git has no empty directories.
    let above = full.ancestors().skip(1).take_while(|directory| *directory != root);
    for directory in above {
        if fs::remove_dir(directory).is_err() {
            break;
        }
    }
    Ok(())
}
