//! Turns redirections into file accesses.

use super::PartEffect;
use super::expand::WordExpander;
use super::raw_command::{RedirectKind, ShellRedirect};
use crate::argv::{ShellWord, WordPiece};

/// Returns the effects of a redirection with expanded words.
pub(super) fn effects(redirect: &ShellRedirect, words: &mut WordExpander<'_>) -> Vec<PartEffect> {
    if redirect.kind == RedirectKind::Endless {
        return vec![PartEffect::Unclear { why: "a here-document with a hidden end".to_owned() }];
    }
    let raw = match (&redirect.target, redirect.kind) {
        (None, _) | (Some(_), RedirectKind::Here { expands: false }) => return Vec::new(),
        (Some(body), RedirectKind::Here { expands: true }) => {
            words.text(body);
            return Vec::new();
        }
        (Some(raw), RedirectKind::Text) => {
            words.value(raw);
            return Vec::new();
        }
        (Some(raw), _) => raw,
    };
    let word = words.target(raw);
    if redirect.kind == RedirectKind::Duplicate && is_descriptor(&word) || is_free(&word) {
        return Vec::new();
    }
    if is_network(&word) {
        return vec![PartEffect::Unclear { why: "a redirection to the network".to_owned() }];
    }
    match redirect.kind {
        RedirectKind::Read => vec![PartEffect::Read(word)],
        RedirectKind::Both => vec![PartEffect::Read(word.clone()), PartEffect::Write(word)],
        RedirectKind::Duplicate if redirect.is_input => vec![PartEffect::Read(word)],
        RedirectKind::Write
        | RedirectKind::Duplicate
        | RedirectKind::Text
        | RedirectKind::Here { .. }
        | RedirectKind::Endless => {
            vec![PartEffect::Write(word)]
        }
    }
}

/// Whether the word is a descriptor: `1`, `-`, `2-`.
fn is_descriptor(word: &ShellWord) -> bool {
    let Some(text) = word.literal() else { return false };
    let digits = text.strip_suffix('-').unwrap_or(text);
    !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the word is a device without contents, or a descriptor of the shell.
fn is_free(word: &ShellWord) -> bool {
    let Some(text) = word.literal() else { return false };
    let number = text.strip_prefix("/dev/fd/");
    matches!(text, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// Whether the word may be one of the names with which bash opens a connection.
fn is_network(word: &ShellWord) -> bool {
    let Some(WordPiece::Text(text)) = word.pieces.first() else { return false };
    let may_be = word.pieces.len() > 1 && text.starts_with("/dev");
    may_be || text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/")
}
