//! The difference of two trees as text.

use std::fmt::Write as _;
use std::time::Duration;

use similar::TextDiff;

use super::AgentTree;

/// The most bytes of one file's diff.
const MOST_OF_DIFF: usize = 64 * 1024;
/// The time limit for finding the shortest diff.
const PATIENCE: Duration = Duration::from_millis(300);

/// The difference of two trees as a unified diff.
#[must_use]
pub fn text_diff(old: &AgentTree, new: &AgentTree) -> String {
    let mut text = String::new();
    for path in old.changed_paths(new) {
        let bytes = |tree: &AgentTree| tree.files.get(path).map(|file| file.bytes.clone());
        text.push_str(&file_diff(path, bytes(old), bytes(new)));
    }
    text
}

fn file_diff(path: &str, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> String {
    let name = |side: &str, is_there: bool| {
        if is_there { format!("{side}/{path}") } else { "/dev/null".to_owned() }
    };
    let (from, to) = (name("a", before.is_some()), name("b", after.is_some()));
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let (Ok(before), Ok(after)) = (str::from_utf8(&before), str::from_utf8(&after)) else {
        return format!("--- {from}\n+++ {to}\nit is not text\n");
    };
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    let mut text = diff.unified_diff().header(&from, &to).to_string();
    if text.len() > MOST_OF_DIFF {
        let cut = text.floor_char_boundary(MOST_OF_DIFF);
        let left_out = text.len() - cut;
        text.truncate(cut);
        let _ = writeln!(text, "\n[{left_out} bytes of the diff are left out]");
    }
    text
}
