//! Files that are in the repository although `.gitignore` hides them: a search passes them by, and a harness reads them.

use std::collections::HashSet;
use std::path::Path;

use agentry_compile::{AgentDiscovery, EntryKind, FileTree as _, WalkedPath, discover_all};
use agentry_home::revision::committed_paths;

use crate::disk::{DiskWorld, NEVER};

/// The agents and the files of harnesses among the hidden files below the paths. Nothing without Git or a repository.
pub(super) fn hidden(disk: &DiskWorld, paths: &[String]) -> AgentDiscovery {
    let directories = paths.iter().filter(|path| disk.kind(path) == EntryKind::Directory);
    let files: Vec<String> = directories.flat_map(|path| hidden_below(disk, path)).collect();
    // Most of them are no agents, which is no error here.
    discover_all(disk, &files, None, &|_| false)
}

/// The committed files below a directory that a search does not meet.
fn hidden_below(disk: &DiskWorld, directory: &str) -> Vec<String> {
    let Ok((root, committed)) = committed_paths(Path::new(directory)) else { return Vec::new() };
    let mut met = HashSet::new();
    disk.walk(directory, &mut |walked| {
        if let WalkedPath::File(path) = walked {
            met.insert(disk.absolute(path));
        }
    });
    let Ok(top) = std::fs::canonicalize(disk.absolute(directory)) else { return Vec::new() };
    let top = top.to_string_lossy().into_owned();
    let root = root.to_string_lossy().into_owned();
    let below = |path: &str| {
        let full = format!("{}/{path}", root.trim_end_matches('/'));
        let rest = full.strip_prefix(&top)?.strip_prefix('/')?.to_owned();
        Some(agentry_compile::text::path::join(directory, &rest))
    };
    let is_entered = |path: &&str| !path.split('/').any(|part| NEVER.contains(&part));
    let committed = committed.iter().map(String::as_str).filter(is_entered).filter_map(below);
    committed.filter(|path| !met.contains(&disk.absolute(path))).collect()
}
