//! Plugins of OpenCode: a plugin may stop any call that the rules allow.

use super::layers::{homes, plugins};
use crate::HarnessFiles;

/// Words of which a plugin needs one to stop a call: names of hooks, and ways to load more code.
const WORDS: &[&str] = &["tool", "permission", "import", "require", "from", "eval"];

/// Returns the first plugin that may decide about calls: one that settings name, whose code is elsewhere, or
/// a file that contains one of the words or cannot be read.
pub(super) fn deciding(files: &dyn HarnessFiles) -> Option<String> {
    let kinds = ["plugin", "plugins"];
    let dirs = homes().flat_map(|home| kinds.map(|kind| format!("{home}/{kind}/")));
    let ends = [".js", ".ts", ".mjs", ".cjs", ".mts", ".cts", ".jsx", ".tsx"];
    let names = dirs.flat_map(|dir| {
        let names = files.names(&dir).unwrap_or_default();
        names.iter().map(|name| format!("{dir}{name}")).collect::<Vec<_>>()
    });
    let decides = |path: &String| {
        let is_free = |text: String| !WORDS.iter().any(|word| text.contains(word));
        ends.iter().any(|end| path.ends_with(end)) && !files.text(path).is_some_and(is_free)
    };
    plugins(files).into_iter().next().or_else(|| names.into_iter().find(decides))
}
