//! The change of a file as a unified diff.

use std::time::Duration;

use similar::TextDiff;

use crate::context_window::start;

/// The time limit for finding the shortest diff.
const PATIENCE: Duration = Duration::from_millis(300);

/// Returns the lines in which two texts differ.
pub(crate) fn by_lines<'t>(before: &'t str, after: &'t str) -> TextDiff<'t, 't, 't, str> {
    TextDiff::configure().timeout(PATIENCE).diff_lines(before, after)
}

/// Returns the change of a file as a unified diff of at most about `most` bytes. `None` is a file that does not exist.
pub fn file_diff(name: &str, before: Option<&[u8]>, after: Option<&[u8]>, most: usize) -> String {
    let header = |side: &str, bytes: Option<&[u8]>| {
        bytes.map_or_else(|| "/dev/null".to_owned(), |_| format!("{side}/{name}"))
    };
    let (from, to) = (header("a", before), header("b", after));
    let texts =
        (str::from_utf8(before.unwrap_or_default()), str::from_utf8(after.unwrap_or_default()));
    let (Ok(before), Ok(after)) = texts else {
        return format!("--- {from}\n+++ {to}\nit is not text\n");
    };
    let text = by_lines(before, after).unified_diff().header(&from, &to).to_string();
    if text.len() <= most {
        return text;
    }
    let start = start(&text, most);
    format!("{start}\n[{} bytes of the diff are left out]\n", text.len() - start.len())
}
