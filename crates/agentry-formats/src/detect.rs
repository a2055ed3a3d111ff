//! A file that may be an agent, and the questions that detection asks about it before it is read.

use agentry_text::{SourceFile, TreeMap};

/// A file whose name fits a format.
pub struct DetectedFile<'a> {
    /// The path of the file.
    pub path: &'a str,
    /// Whether one of the format's signs ([`FormatFiles::signs`](crate::FormatFiles)) is beside it.
    pub has_sign: bool,
    /// Loads the file; `None` if it is unreadable. Then it counts as an agent, and its reader reports it.
    pub load: &'a dyn Fn() -> Option<SourceFile>,
}

impl DetectedFile<'_> {
    /// Whether the text of the file passes `fits`. An unreadable file does, so that its reader reports it.
    pub(crate) fn fits(&self, fits: impl FnOnce(&SourceFile) -> bool) -> bool {
        (self.load)().is_none_or(|source| fits(&source))
    }
}

/// Whether a map has one of these keys, compared without case.
pub(crate) fn has_any_key(map: &TreeMap, keys: &[&str]) -> bool {
    map.entries.iter().any(|entry| keys.iter().any(|key| entry.key.text.eq_ignore_ascii_case(key)))
}
