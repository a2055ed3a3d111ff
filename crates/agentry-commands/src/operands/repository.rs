//! Repositories in the arguments of version control: `git clone ADDRESS DIRECTORY`, `git push ../other`.

use super::{FileUse, OperandKind, UsedFile, is_remote};
use crate::argv::ShellWord;

/// Lists how the operands of a command are used that copies from a repository or sends to one.
pub(super) fn uses(kind: OperandKind, operands: &[ShellWord]) -> Vec<UsedFile> {
    let first = operands.first();
    match kind {
        OperandKind::Clone => first.map_or_else(Vec::new, |source| copied(source, operands.get(1))),
        OperandKind::Source => transferred(first, FileUse::MayRead),
        OperandKind::Sink => transferred(first, FileUse::MayWrite),
        _ => Vec::new(),
    }
}

/// Reads a copy: its directory is written, and a source that is a path is read.
fn copied(source: &ShellWord, directory: Option<&ShellWord>) -> Vec<UsedFile> {
    let target = directory.cloned().unwrap_or_else(|| default_directory(source));
    let mut found = vec![(FileUse::Write, target)];
    // A word such as `owner/name` may be a path as well; an unknown one may be either.
    let is_local = source.literal().is_some_and(|text| !is_address(source, text));
    found.extend(is_local.then(|| (FileUse::MayRead, source.clone())));
    found
}

/// Returns the directory that a copy makes if none is named: the last part of the address.
fn default_directory(source: &ShellWord) -> ShellWord {
    let Some(text) = source.literal() else { return ShellWord::any() };
    let text = text.trim_end_matches('/');
    let text = text.strip_suffix("/.git").unwrap_or(text).trim_end_matches('/');
    let text = text.strip_suffix(".git").or_else(|| text.strip_suffix(".bundle")).unwrap_or(text);
    ShellWord::text(text.rsplit(['/', ':']).next().unwrap_or(text))
}

/// Reads a repository that is a path. The name of a remote has no slash at its start, and an address has a
/// scheme or a host.
fn transferred(repository: Option<&ShellWord>, used: FileUse) -> Vec<UsedFile> {
    let Some(word) = repository else { return Vec::new() };
    let is_path = match word.literal() {
        Some(text) => !is_address(word, text) && (text.contains('/') || text.starts_with('.')),
        None => true,
    };
    let text = word.start();
    let path = text.strip_prefix("file://").filter(|_| word.literal().is_some());
    match path {
        Some(path) => vec![(used, ShellWord::text(path))],
        None if is_path => vec![(used, word.clone())],
        None => Vec::new(),
    }
}

/// Whether a word is the address of a repository on another machine.
fn is_address(word: &ShellWord, text: &str) -> bool {
    text.contains("://") || is_remote(word)
}
