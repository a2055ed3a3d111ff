//! Placeholders: files that stand at protected paths that do not exist yet, while a run lasts.

use std::fs;
use std::path::Path;

/// The content of a placeholder file: a comment in most languages.
pub const PLACEHOLDER: &str =
    "# stands here while an agent runs, so that its commands cannot make this file\n";

/// Whether the file at `path` is a placeholder.
pub fn is_placeholder(path: &Path) -> bool {
    let long = |found: fs::Metadata| found.is_file() && found.len() == PLACEHOLDER.len() as u64;
    fs::symlink_metadata(path).is_ok_and(long)
        && fs::read(path).is_ok_and(|text| text == PLACEHOLDER.as_bytes())
}
