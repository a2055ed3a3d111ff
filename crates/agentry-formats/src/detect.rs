//! A file that may be an agent: what a format is asked about it before it is read.

use agentry_text::{SourceFile, TreeMap};

/// A file whose name fits a format.
pub struct DetectedFile<'a> {
    /// Its path.
    pub path: &'a str,
    /// Whether one of the format's signs lies beside it.
    pub has_sign: bool,
    /// Reads it. Nothing if it cannot be read: then it counts as an agent, and its reader says why.
    pub load: &'a dyn Fn() -> Option<SourceFile>,
}

impl DetectedFile<'_> {
    /// Whether the text of the file fits. One that cannot be read does.
    pub(crate) fn fits(&self, fits: impl FnOnce(&SourceFile) -> bool) -> bool {
        (self.load)().is_none_or(|source| fits(&source))
    }
}

/// Whether a map has one of these keys, in any case.
pub(crate) fn has_any_key(map: &TreeMap, keys: &[&str]) -> bool {
    map.entries.iter().any(|entry| keys.iter().any(|key| entry.key.text.eq_ignore_ascii_case(key)))
}
