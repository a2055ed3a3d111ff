//! The world as it is: files on disk.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use agentry_compile::{Entry, EntryKind, ReadError, Walked, World};

use crate::output::said;

/// The files of this machine, seen from the current directory.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    workspaces: Mutex<HashMap<String, String>>,
}

/// Directories that no search looks into, beside what `.gitignore` says.
const NEVER: &[&str] = &[".git", "node_modules"];

impl World for Disk {
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        confined(root, path)?;
        let metadata = fs::metadata(path).map_err(|error| refusal(&error))?;
        if !metadata.is_file() {
            return Err(ReadError::NotAFile);
        }
        if metadata.len() > limit {
            return Err(ReadError::TooLarge(metadata.len()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        let file = fs::File::open(path).map_err(|error| refusal(&error))?;
        // The file may grow while it is read.
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| refusal(&error))?;
        let size = bytes.len() as u64;
        if size > limit { Err(ReadError::TooLarge(size)) } else { Ok(bytes) }
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<Entry>, ReadError> {
        confined(root, path)?;
        let entries = fs::read_dir(here(path)).map_err(|error| refusal(&error))?;
        let mut out = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| refusal(&error))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_dir() => EntryKind::Directory,
                Ok(kind) if kind.is_file() => EntryKind::File,
                _ => kind_of(&entry.path()),
            };
            out.push(Entry { name, kind });
        }
        out.sort();
        Ok(out)
    }

    fn kind(&self, path: &str) -> EntryKind {
        kind_of(here(path))
    }

    fn walk(&self, path: &str, visit: &mut dyn FnMut(Walked<'_>)) {
        let mut walk = ignore::WalkBuilder::new(here(path));
        walk.hidden(false).require_git(false).filter_entry(|entry| {
            !entry.file_name().to_str().is_some_and(|name| NEVER.contains(&name))
        });
        for entry in walk.build() {
            match entry {
                Err(error) => failed(path, &error, visit),
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_dir()) => {}
                Ok(entry) => match entry.path().to_str() {
                    Some(text) => visit(Walked::File(text.strip_prefix("./").unwrap_or(text))),
                    None => {
                        let shown = entry.path().to_string_lossy();
                        visit(Walked::Unnamed(shown.strip_prefix("./").unwrap_or(&shown)));
                    }
                },
            }
        }
    }

    fn workspace(&self, path: &str) -> String {
        let known =
            self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        known.unwrap_or_else(|| {
            let root = find_workspace(path);
            let mut known = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(path.to_owned(), root.clone());
            root
        })
    }

    fn inside(&self, root: &str, path: &str) -> bool {
        match (fs::canonicalize(here(root)), fs::canonicalize(here(path))) {
            (Ok(root), Ok(path)) => path.starts_with(root),
            _ => false,
        }
    }

    fn absolute(&self, path: &str) -> String {
        let absolute = std::path::absolute(here(path)).unwrap_or_else(|_| PathBuf::from(path));
        absolute.to_string_lossy().into_owned()
    }
}

/// The current directory has an empty name here.
fn here(path: &str) -> &Path {
    Path::new(if path.is_empty() { "." } else { path })
}

/// Refuses a path below `root` that a link leads out of it. Without a link on the way nothing is
/// resolved, which keeps the common case at one look per part.
fn confined(root: &str, path: &str) -> Result<(), ReadError> {
    let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
    let mut at = PathBuf::from(root);
    let mut linked = false;
    for part in below.components() {
        match part {
            Component::ParentDir => return Err(ReadError::Escapes),
            Component::CurDir => {}
            _ => at.push(part),
        }
        let metadata = fs::symlink_metadata(&at).map_err(|error| refusal(&error))?;
        linked |= metadata.is_symlink();
    }
    if !linked {
        return Ok(());
    }
    let root = fs::canonicalize(here(root)).map_err(|error| refusal(&error))?;
    let real = fs::canonicalize(path).map_err(|error| refusal(&error))?;
    if real.starts_with(root) { Ok(()) } else { Err(ReadError::Escapes) }
}

fn refusal(error: &io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::Missing,
        io::ErrorKind::IsADirectory => ReadError::NotAFile,
        _ => ReadError::Refused(said(error)),
    }
}

fn kind_of(path: &Path) -> EntryKind {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => EntryKind::Directory,
        Ok(metadata) if metadata.is_file() => EntryKind::File,
        Err(error) if error.kind() == io::ErrorKind::NotFound => EntryKind::Missing,
        // A device; a loop of links, or a file behind a closed directory: let the reader say so.
        Ok(_) | Err(_) => EntryKind::Other,
    }
}

fn failed(root: &str, error: &ignore::Error, visit: &mut dyn FnMut(Walked<'_>)) {
    let (path, why) = match error {
        ignore::Error::WithPath { path, err } => {
            let why = err.io_error().map_or_else(|| err.to_string(), said);
            (path.to_string_lossy().into_owned(), why)
        }
        ignore::Error::WithDepth { err, .. } => return failed(root, err, visit),
        ignore::Error::Loop { child, .. } => {
            (child.to_string_lossy().into_owned(), "a loop of links".to_owned())
        }
        other => (root.to_owned(), other.to_string()),
    };
    visit(Walked::Failed(path.strip_prefix("./").unwrap_or(&path), why.to_lowercase()));
}

/// The nearest directory at or above `path` with `agentry.toml`, else with `.git`, else the current
/// directory. Above the current directory its name is absolute.
fn find_workspace(path: &str) -> String {
    if Path::new(path).components().any(|part| part == Component::ParentDir)
        && let Some(real) =
            fs::canonicalize(path).ok().and_then(|real| real.into_os_string().into_string().ok())
    {
        return find_workspace(&real);
    }
    let mut above: Vec<PathBuf> = Path::new(path).ancestors().map(Path::to_path_buf).collect();
    if !Path::new(path).is_absolute() {
        let current = std::env::current_dir().unwrap_or_default();
        above.extend(current.ancestors().skip(1).map(Path::to_path_buf));
    }
    let has = |dir: &PathBuf, name: &str| dir.join(name).exists();
    let root = above.iter().find(|dir| has(dir, "agentry.toml"));
    let root = root.or_else(|| above.iter().find(|dir| has(dir, ".git")));
    root.map_or(String::new(), |root| root.to_string_lossy().into_owned())
}
