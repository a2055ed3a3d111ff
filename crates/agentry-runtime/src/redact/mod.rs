//! Redaction: keeps secrets out of journals, cassettes and the output of tools.
//!
//! A [`Redactor`] knows the secrets of a run, and the form of keys of well-known services. For text in
//! pieces, [`RedactingStream`] returns only what no later piece can turn into a part of a secret.

mod private_key;
mod secret;
mod stream;

use std::ops::Range;
use std::sync::Arc;

use agentry_compile::text::credentials;
use aho_corasick::AhoCorasick;
use serde_json::Value;

use private_key::KeyRest;
pub use secret::{KnownSecret, sounds_secret};
pub use stream::RedactingStream;
use stream::StreamUnit;

/// The start of a mark, which replaces a secret.
const MARK: &str = "[redacted: ";

/// Finds secrets and replaces them by marks.
#[derive(Debug, Default)]
pub struct Redactor {
    finder: Option<AhoCorasick>,
    /// The name of the secret, for each needle of the finder.
    names: Vec<String>,
    /// The bytes of the longest needle.
    longest: usize,
    /// The bytes of the longest needle with line breaks.
    across: usize,
    /// The bytes of the longest needle with several words.
    across_words: usize,
}

/// A part of a text that is a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SecretHit {
    range: Range<usize>,
    what: String,
    /// The end of the text that was needed to decide.
    reach: usize,
    /// Whether text that follows may belong to it.
    is_open: bool,
}

impl Redactor {
    /// Creates a redactor for these secrets and for keys of well-known services.
    pub fn new(secrets: impl IntoIterator<Item = KnownSecret>) -> Self {
        let (mut needles, mut names) = (Vec::new(), Vec::new());
        for secret in secrets {
            for form in secret.forms() {
                needles.push(form);
                names.push(secret.name.clone());
            }
        }
        let longest = needles.iter().map(String::len).max().unwrap_or(0);
        let has_lines = |needle: &&String| needle.contains(['\n', '\r']);
        let across = needles.iter().filter(has_lines).map(String::len).max().unwrap_or(0);
        let has_words = |needle: &&String| needle.contains(char::is_whitespace);
        let across_words = needles.iter().filter(has_words).map(String::len).max().unwrap_or(0);
        let finder = if needles.is_empty() { None } else { AhoCorasick::new(&needles).ok() };
        Self { finder, names, longest, across, across_words }
    }

    /// Replaces each secret in a text by a mark.
    pub fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for SecretHit { range, what, .. } in self.hits(text) {
            out.push_str(text.get(end..range.start).unwrap_or_default());
            out.extend([MARK, &what, "]"]);
            end = range.end;
        }
        out.push_str(text.get(end..).unwrap_or_default());
        out
    }

    /// Redacts every text in a value, including the names of fields.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let redacted =
                    map.into_iter().map(|(key, value)| (self.text(&key), self.value(value)));
                Value::Object(redacted.collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    /// Redacts text in pieces, and returns whole lines.
    pub fn stream(self: &Arc<Self>) -> RedactingStream {
        RedactingStream::new(Arc::clone(self), StreamUnit::Lines)
    }

    /// Redacts text in pieces, and returns whole words.
    pub fn words(self: &Arc<Self>) -> RedactingStream {
        RedactingStream::new(Arc::clone(self), StreamUnit::Words)
    }

    /// Returns all secrets in a text, in order; overlapping ones are merged.
    fn hits(&self, text: &str) -> Vec<SecretHit> {
        // Keys of well-known services are found by their form, even if no variable has them.
        let shapes = credentials::find_started(text).into_iter().map(|(what, range)| {
            let KeyRest { len, reach, is_open } = match what {
                private_key::KIND => private_key::rest(text.get(range.end..).unwrap_or_default()),
                _ => KeyRest { len: 0, reach: 0, is_open: false },
            };
            let (reach, what) = (range.end + reach, what.to_owned());
            SecretHit { range: range.start..range.end + len, what, reach, is_open }
        });
        // Overlapping matches too: a shorter secret may begin inside a longer one.
        let known = self.finder.iter().flat_map(|finder| finder.find_overlapping_iter(text));
        let known = known.filter_map(|found| {
            let what = self.names.get(found.pattern().as_usize())?.clone();
            Some(SecretHit { range: found.range(), what, reach: found.end(), is_open: false })
        });
        // Known secrets come first, so that a merged hit has the name and not only the kind.
        let mut hits: Vec<SecretHit> = known.chain(shapes).collect();
        hits.sort_by_key(|hit| hit.range.start);
        let mut merged: Vec<SecretHit> = Vec::new();
        for hit in hits {
            match merged.last_mut() {
                Some(last) if hit.range.start < last.range.end => {
                    last.range.end = last.range.end.max(hit.range.end);
                    last.reach = last.reach.max(hit.reach);
                    last.is_open |= hit.is_open;
                }
                _ => merged.push(hit),
            }
        }
        merged
    }
}

/// Returns whether a value has marks, so that its meaning may have changed.
pub fn is_redacted(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MARK),
        Value::Array(items) => items.iter().any(is_redacted),
        Value::Object(map) => {
            map.iter().any(|(key, value)| key.contains(MARK) || is_redacted(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether `text` equals `redacted`, where each mark stands for any text.
pub fn equals_redacted(redacted: &str, text: &str) -> bool {
    let mut pieces = pieces(redacted).into_iter();
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

/// Returns the parts of a text before, between and after its marks.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        let Some((_, after)) = after.split_once(']') else { break };
        pieces.push(before);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests;
