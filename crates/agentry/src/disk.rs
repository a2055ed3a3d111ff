//! The world as it is: files on disk.

use std::env::current_dir;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use agentry_compile::{Entry, EntryKind, ReadError, Walked, World};
use ignore::WalkState;

use crate::output::said;
use crate::real;
use crate::workspaces::Workspaces;

/// The files of this machine, seen from the current directory.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    workspaces: Workspaces,
    /// The current directory, once somebody asked for it.
    current: OnceLock<PathBuf>,
}

/// Directories that no search looks into, beside what `.gitignore` says.
const NEVER: &[&str] = &[".git", "node_modules"];

impl World for Disk {
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let metadata = confined(root, path)?;
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
                Ok(kind) if kind.is_symlink() && entry.path().is_dir() => {
                    linked(path, &entry.path())
                }
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

    fn walk(&self, path: &str, visit: &mut (dyn FnMut(Walked<'_>) + Send)) {
        let mut walk = ignore::WalkBuilder::new(here(path));
        walk.hidden(false).require_git(false).filter_entry(|entry| {
            !entry.file_name().to_str().is_some_and(|name| NEVER.contains(&name))
        });
        let visit = Mutex::new(visit);
        walk.build_parallel().run(|| {
            Box::new(|entry| {
                met(path, entry, &mut *visit.lock().unwrap_or_else(PoisonError::into_inner));
                WalkState::Continue
            })
        });
    }

    fn workspace(&self, path: &str) -> String {
        self.workspaces.of(path)
    }

    fn inside(&self, root: &str, path: &str) -> bool {
        match (fs::canonicalize(here(root)), fs::canonicalize(here(path))) {
            (Ok(root), Ok(path)) => path.starts_with(root),
            _ => false,
        }
    }

    fn has_env(&self, name: &str) -> bool {
        std::env::var_os(name).is_some_and(|value| !value.is_empty())
    }

    fn absolute(&self, path: &str) -> String {
        let current = self.current.get_or_init(|| current_dir().unwrap_or_default());
        let full = current.join(here(path));
        let absolute = std::path::absolute(&full).unwrap_or(full);
        absolute.to_string_lossy().into_owned()
    }

    fn real(&self, path: &str) -> Option<String> {
        real::path(Path::new(path))?.into_os_string().into_string().ok()
    }

    fn ignores_case(&self, path: &str) -> bool {
        real::ignores_case(here(path))
    }

    fn home(&self) -> Option<String> {
        let home = std::env::home_dir().filter(|home| home.is_absolute())?;
        home.into_os_string().into_string().ok()
    }

    fn user_config(&self) -> Option<String> {
        let given = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let base = given.filter(|path| path.is_absolute());
        let base = base.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
        base.join("agentry/config.toml").into_os_string().into_string().ok()
    }
}

/// The current directory has an empty name here.
fn here(path: &str) -> &Path {
    Path::new(if path.is_empty() { "." } else { path })
}

/// What `path` leads to, unless a link leads out of `root`. Without a link on the way nothing is
/// resolved, which keeps the common case at one look per part below the root.
fn confined(root: &str, path: &str) -> Result<Metadata, ReadError> {
    let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
    let mut at = PathBuf::from(root);
    let mut linked = false;
    let mut last = None;
    for part in below.components() {
        match part {
            Component::ParentDir => return Err(ReadError::Escapes),
            Component::CurDir => {}
            _ => at.push(part),
        }
        let metadata = fs::symlink_metadata(&at).map_err(|error| refusal(&error))?;
        linked |= metadata.is_symlink();
        last = Some(metadata);
    }
    if let Some(metadata) = last.filter(|_| !linked) {
        return Ok(metadata);
    }
    if linked {
        let root = fs::canonicalize(here(root)).map_err(|error| refusal(&error))?;
        let real = fs::canonicalize(path).map_err(|error| refusal(&error))?;
        if !real.starts_with(root) {
            return Err(ReadError::Escapes);
        }
    }
    fs::metadata(here(path)).map_err(|error| refusal(&error))
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
        // A device, a loop of links, a file behind a closed directory: let the reader say so.
        _ => EntryKind::Other,
    }
}

/// What a link to a directory is, to one who walks through `dir`.
fn linked(dir: &str, link: &Path) -> EntryKind {
    let (Ok(real), Ok(target)) = (fs::canonicalize(here(dir)), fs::canonicalize(link)) else {
        return EntryKind::Other;
    };
    // Two links may lead to each other: every directory on the way counts.
    let is_target = |above: &Path| fs::canonicalize(above).is_ok_and(|above| above == target);
    if real.starts_with(&target) || here(dir).ancestors().any(is_target) {
        EntryKind::Loop
    } else {
        EntryKind::Directory
    }
}

/// Passes on what a walk from `root` met; directories are of no interest.
fn met(
    root: &str,
    entry: Result<ignore::DirEntry, ignore::Error>,
    visit: &mut dyn FnMut(Walked<'_>),
) {
    match entry {
        Err(error) => failed(root, &error, visit),
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
