//! Redirections as file access.

use super::What;
use super::expand::Expander;
use super::simple::{Kind, Redirect};
use crate::argv::{Piece, Word};

/// What a redirection does, once its words are known.
pub(super) fn effects(redirect: &Redirect, words: &mut Expander<'_>) -> Vec<What> {
    if redirect.kind == Kind::Endless {
        return vec![What::Unclear { why: "a here-document with a hidden end".to_owned() }];
    }
    let raw = match (&redirect.target, redirect.kind) {
        (None, _) | (Some(_), Kind::Here { expands: false }) => return Vec::new(),
        (Some(body), Kind::Here { expands: true }) => {
            words.text(body);
            return Vec::new();
        }
        (Some(raw), Kind::Text) => {
            words.value(raw);
            return Vec::new();
        }
        (Some(raw), _) => raw,
    };
    let word = words.target(raw);
    if redirect.kind == Kind::Duplicate && is_descriptor(&word) || is_free(&word) {
        return Vec::new();
    }
    if is_network(&word) {
        return vec![What::Unclear { why: "a redirection to the network".to_owned() }];
    }
    match redirect.kind {
        Kind::Read => vec![What::Read(word)],
        Kind::Both => vec![What::Read(word.clone()), What::Write(word)],
        Kind::Duplicate if redirect.is_input => vec![What::Read(word)],
        Kind::Write | Kind::Duplicate | Kind::Text | Kind::Here { .. } | Kind::Endless => {
            vec![What::Write(word)]
        }
    }
}

/// `1`, `-`, `2-`.
fn is_descriptor(word: &Word) -> bool {
    let Some(text) = word.literal() else { return false };
    let digits = text.strip_suffix('-').unwrap_or(text);
    !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Files that take and give nothing of interest.
fn is_free(word: &Word) -> bool {
    let Some(text) = word.literal() else { return false };
    let number = text.strip_prefix("/dev/fd/");
    matches!(text, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// The names by which bash opens a connection.
fn is_network(word: &Word) -> bool {
    let Some(Piece::Text(text)) = word.pieces.first() else { return false };
    let may_be = word.pieces.len() > 1 && text.starts_with("/dev");
    may_be || text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/")
}
