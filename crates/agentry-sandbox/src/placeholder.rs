//! What stands where something protected does not exist yet, for as long as a run lasts.

use std::fs;
use std::path::Path;

/// What such a file says: a comment in most languages.
pub const PLACEHOLDER: &str =
    "# stands here while an agent runs, so that its commands cannot make this file\n";

/// Whether the file at `path` is a placeholder, and not what its name says.
pub fn is_placeholder(path: &Path) -> bool {
    let long = |found: fs::Metadata| found.is_file() && found.len() == PLACEHOLDER.len() as u64;
    fs::symlink_metadata(path).is_ok_and(long)
        && fs::read(path).is_ok_and(|text| text == PLACEHOLDER.as_bytes())
}
