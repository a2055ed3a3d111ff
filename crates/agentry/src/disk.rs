//! The [`World`] of files on disk. A placeholder that a running agent holds open counts as missing.

mod walk;

use agentry_compile::SessionMemo;
use std::collections::HashMap;
use std::env::current_dir;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agentry_compile::text::path::is_plain;
use agentry_compile::{
    BaseMemo, DirectoryEntry, EntryKind, FetchError, FileTree, MachineFacts, ModelsEndpoint,
    ReadError, StoreRef, StoredAgent, WalkedPath, World, WorldServices,
};
use agentry_home::HomeLayout;
use agentry_home::layout::is_identifier;
use agentry_registry::oci::OciError;
use agentry_registry::{SignatureTrust, StoreError};
use agentry_runtime::tool::real;
use agentry_sandbox::{PLACEHOLDER, is_placeholder};

use crate::home::agentry_home;
use crate::model_query;
use crate::output::error_text;
use crate::registries::{open_store, remote_agents, repository_trust, signing_settings};
use crate::workspace_cache::WorkspaceCache;

/// The files of this machine, relative to the current directory.
#[derive(Debug, Default)]
pub(crate) struct DiskWorld {
    workspaces: WorkspaceCache,
    /// The current directory, memoised.
    current: OnceLock<PathBuf>,
    peeked: Mutex<PeekedFiles>,
    /// The facts of the environment, memoised.
    machine: OnceLock<MachineFacts>,
    bases: BaseMemo,
    memo: Arc<SessionMemo>,
}

impl DiskWorld {
    /// The same files, to be read again; only the memo is kept.
    pub(crate) fn again(&self) -> Self {
        Self { memo: Arc::clone(&self.memo), ..Self::default() }
    }
}

/// Files that the search opened, kept until their parsers ask for them.
#[derive(Debug, Default)]
struct PeekedFiles {
    files: HashMap<String, Vec<u8>>,
    bytes: usize,
}

/// The most bytes that are kept for parsers.
const MOST_PEEKED: usize = 16 * 1024 * 1024;

impl PeekedFiles {
    fn keep(&mut self, path: &str, bytes: &[u8]) {
        if self.bytes + bytes.len() <= MOST_PEEKED {
            self.bytes += bytes.len();
            self.files.insert(path.to_owned(), bytes.to_owned());
        }
    }

    /// The bytes of `path`, once: a second read must see later changes.
    fn take(&mut self, path: &str) -> Option<Vec<u8>> {
        let bytes = self.files.remove(path)?;
        self.bytes = self.bytes.saturating_sub(bytes.len());
        Some(bytes)
    }
}

/// The root of the agent of the home that a path belongs to: an object of the store, a copy of a registry's and an installed
/// agent are workspaces of their own, whatever lies above them.
pub(crate) fn kept_root(path: &str) -> Option<String> {
    let home = agentry_home()?;
    let below = |directory: PathBuf, depth: usize, fits: fn(&[&str]) -> bool| {
        let rest = Path::new(path).strip_prefix(&directory).ok()?;
        let parts: Vec<&str> = rest.iter().take(depth).filter_map(|part| part.to_str()).collect();
        let root = directory.join(parts.join("/"));
        (parts.len() == depth && fits(&parts)).then(|| root.to_string_lossy().into_owned())
    };
    let layout = HomeLayout::new(&home);
    // `ab/abcd…/files`
    let is_object: fn(&[&str]) -> bool = |parts| parts.last() == Some(&"files");
    below(home.join("store").join("objects"), 3, is_object)
        .or_else(|| below(home.join("remote").join("artifacts"), 3, is_object))
        .or_else(|| below(home.join("remote").join("urls"), 1, |_| true))
        .or_else(|| {
            below(layout.staging(), 2, |parts| parts.last().is_some_and(|id| is_identifier(id)))
        })
        .or_else(|| {
            below(layout.agents(), 1, |parts| parts.last().is_some_and(|id| is_identifier(id)))
        })
}

/// Directories that no search enters, in addition to `.gitignore`.
pub(crate) const NEVER: &[&str] = &[".git", "node_modules"];

impl FileTree for DiskWorld {
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let peeked = self.peeked.lock().unwrap_or_else(PoisonError::into_inner).take(path);
        if let Some(bytes) = peeked.filter(|bytes| bytes.len() as u64 <= limit) {
            return Ok(bytes);
        }
        let metadata = confined(root, path)?;
        if !metadata.is_file() {
            return Err(ReadError::NotAFile);
        }
        if metadata.len() > limit {
            return Err(ReadError::TooLarge(metadata.len()));
        }
        let bytes = fs::File::open(path).and_then(|file| contents(file, metadata.len(), limit));
        let bytes = bytes.map_err(|error| refusal(&error))?;
        match bytes.len() as u64 {
            // The file grew after its size was checked.
            size if size > limit => Err(ReadError::TooLarge(size)),
            // The sandbox holds this name with a placeholder; to the reader no file is there.
            _ if bytes == PLACEHOLDER.as_bytes() => Err(ReadError::Missing),
            _ => Ok(bytes),
        }
    }

    fn peek(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let bytes = self.read(root, path, limit)?;
        self.peeked.lock().unwrap_or_else(PoisonError::into_inner).keep(path, &bytes);
        Ok(bytes)
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError> {
        confined(root, path)?;
        let entries = fs::read_dir(here(path)).map_err(|error| refusal(&error))?;
        let mut out = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| refusal(&error))?;
            // A name that is not UTF-8 cannot be part of an agent.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_dir() => EntryKind::Directory,
                Ok(kind) if kind.is_file() && is_placeholder(&entry.path()) => continue,
                Ok(kind) if kind.is_file() => EntryKind::File,
                Ok(kind) if kind.is_symlink() && entry.path().is_dir() => {
                    linked(path, &entry.path())
                }
                _ => kind_of(&entry.path()),
            };
            out.push(DirectoryEntry { name, kind });
        }
        out.sort();
        Ok(out)
    }

    fn kind(&self, path: &str) -> EntryKind {
        kind_of(here(path))
    }

    fn walk(&self, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send)) {
        walk::walk(path, visit);
    }

    fn workspace(&self, path: &str) -> String {
        kept_root(&self.absolute(path)).unwrap_or_else(|| self.workspaces.of(path))
    }

    fn inside(&self, root: &str, path: &str) -> bool {
        match (fs::canonicalize(here(root)), fs::canonicalize(here(path))) {
            (Ok(root), Ok(path)) => path.starts_with(root),
            _ => false,
        }
    }

    fn absolute(&self, path: &str) -> String {
        let current = self.current.get_or_init(|| current_dir().unwrap_or_default());
        let full = current.join(here(path));
        let absolute = std::path::absolute(&full).unwrap_or(full);
        absolute.to_string_lossy().into_owned()
    }

    fn real(&self, path: &str) -> Option<String> {
        real(Path::new(path))?.into_os_string().into_string().ok()
    }

    fn real_of_all(&self, paths: &[String]) -> Vec<Option<String>> {
        let mut known = HashMap::new();
        let found = paths.iter().map(|path| real_beside(Path::new(path), &mut known));
        found.map(|path| path?.into_os_string().into_string().ok()).collect()
    }

    fn ignores_case(&self, path: &str) -> bool {
        ignores_case(here(path))
    }
}

impl World for DiskWorld {
    fn machine(&self) -> &MachineFacts {
        self.machine.get_or_init(machine_facts)
    }

    fn services(&self) -> &dyn WorldServices {
        self
    }

    fn memo(&self) -> &SessionMemo {
        &self.memo
    }

    fn bases(&self) -> Option<&BaseMemo> {
        Some(&self.bases)
    }
}

impl WorldServices for DiskWorld {
    fn has_env(&self, name: &str) -> bool {
        std::env::var_os(name).is_some_and(|value| !value.is_empty())
    }

    fn fetch(&self, reference: &StoreRef) -> Result<StoredAgent, FetchError> {
        let damaged = |error: StoreError| FetchError::Damaged(error.to_string());
        if let StoreRef::Remote(text) = reference {
            let unfetched =
                |error: OciError| FetchError::Remote { hint: error.hint(), why: error.to_string() };
            let trust = |place: &str| repository_trust(self, place);
            return remote_agents().map_err(unfetched)?.fetch(text, &trust);
        }
        let home = agentry_home().ok_or(FetchError::NoStore)?;
        let (user, workspace) = signing_settings(self).map_err(damaged)?;
        let trust = SignatureTrust::new(&user, &workspace).map_err(damaged)?;
        match open_store(&home) {
            Ok(store) => store.fetch(reference, &trust),
            Err(StoreError::NoStore(_)) => Err(FetchError::NoStore),
            Err(error) => Err(damaged(error)),
        }
    }

    fn local_models(&self, url: &str) -> Option<Vec<String>> {
        model_query::local(url)
    }

    fn hosted_models(&self, endpoint: &ModelsEndpoint) -> Result<Vec<String>, String> {
        model_query::hosted(endpoint)
    }
}

/// The facts of the environment. A path that is not UTF-8 counts as missing.
fn machine_facts() -> MachineFacts {
    let text = |path: PathBuf| path.into_os_string().into_string().ok();
    let home = std::env::home_dir();
    let given = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    // The XDG specification says that a relative path must be ignored.
    let base = given.filter(|path| path.is_absolute());
    let config = base.or_else(|| Some(home.as_ref()?.join(".config")));
    let ollama_host = std::env::var("OLLAMA_HOST").ok();
    MachineFacts {
        home: home.filter(|home| home.is_absolute()).and_then(text),
        agentry_home: agentry_home().and_then(text),
        user_config: config.and_then(|base| text(base.join("agentry/config.toml"))),
        ollama_host: ollama_host.filter(|host| !host.trim().is_empty()),
    }
}

/// The bytes of a file of `size` bytes, usually in one read. If the file grows meanwhile, at most one byte
/// more than `limit` is read.
pub(crate) fn contents(mut file: fs::File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1);
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while let Some(free) = bytes.get_mut(filled..).filter(|free| !free.is_empty()) {
        match file.read(free) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        // The read filled exactly the expected size and left the spare byte free: end of file.
        if filled + 1 == size {
            break;
        }
    }
    bytes.truncate(filled);
    if filled == size {
        file.take(limit.saturating_add(1).saturating_sub(filled as u64)).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The current directory is the empty path here.
fn here(path: &str) -> &Path {
    Path::new(if path.is_empty() { "." } else { path })
}

/// The metadata of `path`, unless a link leads out of `root`. Without a link on the way nothing is
/// resolved, so that the common case needs one system call for each part below the root.
fn confined(root: &str, path: &str) -> Result<Metadata, ReadError> {
    if let Some(metadata) = plain(root, path)? {
        return Ok(metadata);
    }
    let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
    let mut at = PathBuf::from(root);
    let mut linked = false;
    let mut last = None;
    for part in below.components() {
        match part {
            // With links on the way, `..` may lead anywhere.
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
        // A link is allowed as long as its target stays below the root.
        let real = fs::canonicalize(path).map_err(|error| refusal(&error))?;
        if !real.starts_with(root) {
            return Err(ReadError::Escapes);
        }
    }
    fs::metadata(here(path)).map_err(|error| refusal(&error))
}

/// The metadata of `path`, if its text starts with `root` and no later part is a link.
fn plain(root: &str, path: &str) -> Result<Option<Metadata>, ReadError> {
    let Some(below) = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) else {
        return Ok(None);
    };
    if root.is_empty() || !is_plain(below) {
        return Ok(None);
    }
    let first = path.len() - below.len();
    let ends = below.match_indices('/').map(|(at, _)| first + at).chain([path.len()]);
    let mut last = None;
    for end in ends {
        let part = path.get(..end).unwrap_or(path);
        let metadata = fs::symlink_metadata(part).map_err(|error| refusal(&error))?;
        if metadata.is_symlink() {
            return Ok(None);
        }
        last = Some(metadata);
    }
    Ok(last)
}

fn refusal(error: &io::Error) -> ReadError {
    match error.kind() {
        // A file in the middle of the path means that nothing is below it.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::Missing,
        io::ErrorKind::IsADirectory => ReadError::NotAFile,
        _ => ReadError::Refused(error_text(error)),
    }
}

fn kind_of(path: &Path) -> EntryKind {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => EntryKind::Directory,
        Ok(metadata) if metadata.is_file() && is_placeholder(path) => EntryKind::Missing,
        Ok(metadata) if metadata.is_file() => EntryKind::File,
        Err(error) if error.kind() == io::ErrorKind::NotFound => EntryKind::Missing,
        // A device, a loop of links, or a file behind a closed directory: the parser reports it.
        _ => EntryKind::Other,
    }
}

/// The kind of a link to a directory, for a walk through `dir`.
fn linked(dir: &str, link: &Path) -> EntryKind {
    let (Ok(real), Ok(target)) = (fs::canonicalize(here(dir)), fs::canonicalize(link)) else {
        return EntryKind::Other;
    };
    // Two links may lead to each other, so every directory on the way is compared.
    let is_target = |above: &Path| fs::canonicalize(above).is_ok_and(|above| above == target);
    if real.starts_with(&target) || here(dir).ancestors().any(is_target) {
        EntryKind::Loop
    } else {
        EntryKind::Directory
    }
}

/// The real path of an absolute one; `known` memoises the directories of others.
fn real_beside<'p>(
    path: &'p Path,
    known: &mut HashMap<&'p Path, Option<PathBuf>>,
) -> Option<PathBuf> {
    // `..` behind a link cannot be resolved by text.
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let (Some(dir), Some(name), false) = (path.parent(), path.file_name(), climbs) else {
        return real(path);
    };
    let at = known.entry(dir).or_insert_with(|| real(dir)).as_ref()?.join(name);
    match fs::symlink_metadata(&at) {
        Ok(found) if found.is_symlink() => real(path),
        Ok(_) => Some(at),
        // A file that does not exist yet has a real path through its directory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(at),
        Err(_) => None,
    }
}

/// Whether the directory `path` is found under its name in the other case.
fn ignores_case(path: &Path) -> bool {
    let Ok(real) = fs::canonicalize(path) else { return false };
    let flipped: Option<PathBuf> = real.to_str().map(|text| {
        let flip = |c: char| {
            if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
        };
        PathBuf::from(text.chars().map(flip).collect::<String>())
    });
    flipped
        // A path without letters says nothing about case.
        .filter(|other| *other != real)
        .is_some_and(|other| fs::canonicalize(other).is_ok_and(|other| other == real))
}

#[cfg(test)]
mod tests;
