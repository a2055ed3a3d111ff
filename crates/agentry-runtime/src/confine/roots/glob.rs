//! The paths on disk that a pattern names.

use std::fs;
use std::path::{Path, PathBuf};

use agentry_compile::policy::PathAnchors;

/// The most paths of one pattern that are opened one by one.
const MOST: usize = 64;

/// Returns the directories and files that a pattern names, as far as they exist; `None` if there are too many.
/// A `**` before the end names no directory.
pub(super) fn paths(pattern: &str, places: &PathAnchors) -> Option<Vec<PathBuf>> {
    let whole = pattern.strip_suffix("/**").unwrap_or(pattern);
    if whole.split('/').any(|part| part.contains("**")) {
        return Some(Vec::new());
    }
    if let Some(path) = tree(pattern, places) {
        return Some(vec![path]);
    }
    let Some(start) = prefix(whole, places) else { return Some(Vec::new()) };
    let parts = whole.split('/').filter(|part| !part.is_empty() && *part != ".");
    let parts = parts.skip_while(|part| !part.contains('*'));
    let mut found = vec![start];
    for part in parts {
        found = found.iter().flat_map(|path| below(path, part)).collect();
        if found.len() > MOST {
            return None;
        }
    }
    Some(found)
}

/// Returns the entries of a directory whose names match one part of a pattern.
fn below(directory: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains('*') {
        let path = directory.join(part);
        return if path.exists() { vec![path] } else { Vec::new() };
    }
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let fits = |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(|it| fits(part, it));
    entries.filter(fits).map(|entry| entry.path()).collect()
}

/// Returns whether a name matches a pattern in which each `*` is any text.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let Some((middle, end)) = rest.rsplit_once('*') else { return left.ends_with(rest) };
    for part in middle.split('*') {
        let Some(at) = left.find(part) else { return false };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    left.ends_with(end)
}

/// Returns the directory or file that a pattern grants as a whole.
pub(super) fn tree(pattern: &str, places: &PathAnchors) -> Option<PathBuf> {
    let whole = pattern.strip_suffix("/**").unwrap_or(pattern);
    (!whole.contains('*')).then(|| prefix(whole, places)).flatten()
}

/// Returns the longest path without a wildcard that is equal to or above everything a pattern matches.
pub(super) fn prefix(pattern: &str, places: &PathAnchors) -> Option<PathBuf> {
    let pattern = pattern.trim_matches(' ');
    let (mut path, rest) = match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            (PathBuf::from(places.home.as_ref()?), rest)
        }
        _ if pattern.starts_with('/') => (PathBuf::from("/"), pattern),
        // A pattern for everything also matches outside the workspace.
        _ if pattern == "*" || pattern == "**" => return Some(PathBuf::from("/")),
        _ => (PathBuf::from(&places.workspace), pattern),
    };
    for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(path.pop()),
            part if part.contains('*') => break,
            part => path.push(part),
        }
    }
    Some(path)
}
