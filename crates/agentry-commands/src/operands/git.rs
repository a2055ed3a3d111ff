//! The revisions and paths of `git`: `HEAD:file`, `-- file`, `':(top)dir/*'`.
//!
//! A path that starts with `:/` is relative to the root of the repository, as git itself writes it.

use super::{FileUse, OperandKind, UsedFile};
use crate::argv::{ShellWord, WordPiece};

/// Lists how the operands of a subcommand are used; `before` is how many of them come before a bare `--`.
pub(super) fn uses(
    kind: OperandKind,
    operands: &[ShellWord],
    before: Option<usize>,
) -> Vec<UsedFile> {
    let (doubtful, certain): (&[FileUse], &[FileUse]) = match kind {
        OperandKind::History | OperandKind::Archive => (&[FileUse::MayRead], &[FileUse::Read]),
        OperandKind::Diff => (&[FileUse::Read], &[FileUse::Read]),
        OperandKind::Checkout => (&[FileUse::MayWrite], &[FileUse::Write]),
        OperandKind::Stash => {
            (&[FileUse::MayRead, FileUse::MayWrite], &[FileUse::Read, FileUse::Write])
        }
        OperandKind::Restored => (&[FileUse::Write], &[FileUse::Write]),
        OperandKind::Tracked => (&[FileUse::List], &[FileUse::List]),
        _ => return Vec::new(),
    };
    let (revisions, paths) =
        operands.split_at_checked(before.unwrap_or(operands.len())).unwrap_or((operands, &[]));
    let mut found = Vec::new();
    for word in revisions {
        if let Some(path) = file_of_revision(word) {
            // What a revision holds is read; nothing is written there.
            let is_read = !certain.iter().copied().all(FileUse::is_write);
            found.extend(is_read.then_some((FileUse::Read, path)));
        } else if let Some(path) = path_set(word).filter(|_| before.is_none() && !is_label(word)) {
            // With a `--` all words before it are revisions.
            found.extend(doubtful.iter().map(|used| (*used, path.clone())));
        }
    }
    for path in paths.iter().filter_map(path_set) {
        found.extend(certain.iter().map(|used| (*used, path.clone())));
    }
    // Where all pathspecs exclude, everything else is meant.
    if operands.iter().any(excludes) && !found.iter().any(|(used, _)| certain.contains(used)) {
        let everything = ShellWord::text(":/");
        found.extend(certain.iter().map(|used| (*used, everything.clone())));
    }
    // The first word is the revision, and one such as `HEAD:src` is a path itself.
    let is_whole = paths.is_empty() && revisions.len() < 2 && !found.iter().any(is_certain);
    if kind == OperandKind::Archive && is_whole {
        found.push((FileUse::Read, ShellWord::text(".")));
    }
    found
}

/// Whether a word is a pathspec that excludes paths.
fn excludes(word: &ShellWord) -> bool {
    [":!", ":^", ":(exclude)"].iter().any(|magic| word.start().starts_with(magic))
}

fn is_certain((used, _): &UsedFile) -> bool {
    *used == FileUse::Read
}

/// Whether a word is the output of a command that prints the name of a revision.
fn is_label(word: &ShellWord) -> bool {
    word.pieces.contains(&WordPiece::Label) && !word.pieces.contains(&WordPiece::Any)
}

/// Returns the file in `revision:file`, `:file` and `:0:file`.
fn file_of_revision(word: &ShellWord) -> Option<ShellWord> {
    let text = word.start();
    // `:/text` and `:(top)` are searches and paths.
    if text.starts_with(":/") || text.starts_with(":(") || excludes(word) {
        return None;
    }
    let stage = text.strip_prefix(':').and_then(|rest| rest.split_once(':'));
    let is_stage = stage.is_some_and(|(stage, _)| stage.bytes().all(|byte| byte.is_ascii_digit()));
    let file = after_colon(word)?;
    let file = if is_stage { after_colon(&file)? } else { file };
    // The path is relative to the root of the repository, unless it says otherwise.
    let is_relative = file.start().starts_with("./") || file.start().starts_with("../");
    if is_relative || file.start().starts_with('/') {
        return Some(file);
    }
    Some(prefixed(":/", file))
}

/// Returns the text after the first colon that is not inside braces.
fn after_colon(word: &ShellWord) -> Option<ShellWord> {
    let mut depth = 0_usize;
    for (at, piece) in word.pieces.iter().enumerate() {
        let WordPiece::Text(text) = piece else { continue };
        for (place, c) in text.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ':' if depth == 0 => {
                    let rest = text.get(place + 1..).unwrap_or_default();
                    let first = (!rest.is_empty()).then(|| WordPiece::Text(rest.to_owned()));
                    let others = word.pieces.get(at + 1..).unwrap_or_default().iter().cloned();
                    return Some(ShellWord { pieces: first.into_iter().chain(others).collect() });
                }
                _ => {}
            }
        }
    }
    None
}

/// Returns the file in the value of `-L`: `1,5:file`, `:function:file`.
pub(super) fn file_of_range(value: &ShellWord) -> Option<ShellWord> {
    match value.literal() {
        Some(text) => text.rsplit_once(':').map(|(_, file)| ShellWord::text(file)),
        None => Some(ShellWord::any()),
    }
}

/// Returns the paths that a pathspec names; `None` if it only excludes some. Its wildcards match slashes.
fn path_set(word: &ShellWord) -> Option<ShellWord> {
    let text = word.start();
    if excludes(word) {
        return None;
    }
    let (top, length) = match text.strip_prefix(":(").and_then(|rest| rest.split_once(')')) {
        Some(("top", _)) => (true, ":(top)".len()),
        Some((magic @ ("glob" | "literal"), _)) => (false, magic.len() + 3),
        // Other magic changes how names are compared.
        Some(_) => return Some(ShellWord::any()),
        None if text.starts_with(":/") => (true, 2),
        None if text.starts_with(':') => (false, 1),
        None => (false, 0),
    };
    let mut pieces = Vec::new();
    for (at, piece) in word.pieces.iter().enumerate() {
        match piece {
            WordPiece::Text(text) => {
                let skipped = if at == 0 { length } else { 0 };
                wildcards(text.get(skipped..).unwrap_or_default(), &mut pieces);
            }
            piece => pieces.push(piece.clone()),
        }
    }
    let paths = ShellWord { pieces };
    Some(if top { prefixed(":/", paths) } else { paths })
}

/// Adds a text of a pathspec, in which a wildcard matches any path.
fn wildcards(text: &str, pieces: &mut Vec<WordPiece>) {
    let mut rest = text;
    while let Some(at) = rest.find(['*', '?', '[']) {
        let (before, after) = rest.split_at(at);
        if !before.is_empty() {
            pieces.push(WordPiece::Text(before.to_owned()));
        }
        pieces.push(WordPiece::Below);
        let class = after.strip_prefix('[').and_then(|class| class.rsplit_once(']'));
        rest = match class {
            Some((_, rest)) => rest,
            None => after.trim_start_matches(['*', '?', '[']),
        };
    }
    if !rest.is_empty() {
        pieces.push(WordPiece::Text(rest.to_owned()));
    }
}

fn prefixed(text: &str, word: ShellWord) -> ShellWord {
    let mut pieces = word.pieces;
    match pieces.first_mut() {
        Some(WordPiece::Text(first)) => first.insert_str(0, text),
        _ => pieces.insert(0, WordPiece::Text(text.to_owned())),
    }
    ShellWord { pieces }
}
