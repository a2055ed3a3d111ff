//! The difference of two trees as text.

use agentry_runtime::file_diff;

use super::AgentTree;

/// The most bytes of one file's diff.
const MOST_OF_DIFF: usize = 64 * 1024;

/// The difference of two trees as a unified diff.
#[must_use]
pub fn text_diff(old: &AgentTree, new: &AgentTree) -> String {
    let diff = |path| {
        let bytes = |tree: &AgentTree| tree.files.get(path).map(|file| file.bytes.clone());
        file_diff(path, bytes(old).as_deref(), bytes(new).as_deref(), MOST_OF_DIFF)
    };
    old.changed_paths(new).into_iter().map(diff).collect()
}
