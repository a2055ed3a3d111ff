//! Records what was merged into a shared file, and removes it again. The next rendering starts from the
//! text without the last one, so that nothing of it is left behind.

use similar::{DiffOp, TextDiff};

/// How a shared file got its rendered content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeRecord {
    /// The file did not exist before.
    Created,
    /// Lines were changed in it.
    Hunks(Vec<MergeHunk>),
}

/// Replaced lines, with their line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeHunk {
    /// How many lines precede them in the result.
    pub at: usize,
    /// The original lines.
    pub removed: Vec<String>,
    /// The new lines.
    pub added: Vec<String>,
}

/// A shared file without the merged content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnmergedFile {
    /// Nothing is left: all of it was rendered.
    Nothing,
    /// This text.
    Text(String),
    /// Unknown: the merged lines were edited.
    Unknown,
}

/// The record of a change from `before` to `after`.
pub(super) fn merge(before: Option<&str>, after: &str) -> MergeRecord {
    let Some(before) = before else { return MergeRecord::Created };
    let diff = TextDiff::from_lines(before, after);
    let (old, new) = (diff.old_slices(), diff.new_slices());
    let lines = |slices: &[&str], start: usize, len: usize| -> Vec<String> {
        slices.iter().skip(start).take(len).map(|line| (*line).to_owned()).collect()
    };
    let hunk = |op: &DiffOp| {
        let (old_range, new_range) = (op.old_range(), op.new_range());
        MergeHunk {
            at: new_range.start,
            removed: lines(old, old_range.start, old_range.len()),
            added: lines(new, new_range.start, new_range.len()),
        }
    };
    let changes = diff.ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    MergeRecord::Hunks(changes.map(hunk).collect())
}

/// Removes the merged content from `text`. `untouched` means that the file was not edited since.
pub(super) fn unmerge(merge: &MergeRecord, text: &str, untouched: bool) -> UnmergedFile {
    let hunks = match merge {
        MergeRecord::Created if untouched => return UnmergedFile::Nothing,
        MergeRecord::Created => return UnmergedFile::Unknown,
        MergeRecord::Hunks(hunks) => hunks,
    };
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    // From the end, so that the positions of earlier hunks stay valid.
    for hunk in hunks.iter().rev() {
        let at = if untouched { Some(hunk.at) } else { place(&lines, hunk) };
        let Some(at) = at.filter(|at| holds(&lines, *at, hunk)) else {
            return UnmergedFile::Unknown;
        };
        lines.splice(at..at + hunk.added.len(), hunk.removed.iter().map(String::as_str));
    }
    UnmergedFile::Text(lines.concat())
}

/// The position of a hunk's lines, if there is exactly one.
fn place(lines: &[&str], hunk: &MergeHunk) -> Option<usize> {
    let mut places = (0..lines.len()).filter(|at| holds(lines, *at, hunk));
    // A hunk that only removed lines matches everywhere, so its position is unknown.
    let first = places.next().filter(|_| !hunk.added.is_empty())?;
    places.next().is_none().then_some(first)
}

fn holds(lines: &[&str], at: usize, hunk: &MergeHunk) -> bool {
    let found = lines.get(at..at + hunk.added.len());
    found.is_some_and(|found| found.iter().zip(&hunk.added).all(|(a, b)| a == b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmerging_restores_the_original_text() {
        let cases = [
            ("", "a\n"),
            ("a\nb\n", "a\nx\nb\n"),
            ("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"b\": 2\n}\n"),
            ("a\nb\nc\n", "x\nb\ny\n"),
            ("a\nb", "a\nb\nc"),
            ("a\r\nb\r\n", "a\r\nc\r\nb\r\n"),
            ("a\n", "a\n"),
            ("a\na\na\n", "a\na\na\na\n"),
        ];
        for (before, after) in cases {
            let merged = merge(Some(before), after);
            let expected = UnmergedFile::Text(before.to_owned());
            assert_eq!(unmerge(&merged, after, true), expected, "{before:?}");
        }
        let all = merge(None, "a\n");
        assert_eq!(unmerge(&all, "a\n", true), UnmergedFile::Nothing);
        assert_eq!(unmerge(&all, "a\nb\n", false), UnmergedFile::Unknown);
    }

    #[test]
    fn unmerging_keeps_lines_of_the_user() {
        let merged = merge(Some("{\n  \"a\": 1\n}\n"), "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
        let edited = "// mine\n{\n  \"a\": 1,\n  \"b\": 2\n}\n";
        let expected = UnmergedFile::Text("// mine\n{\n  \"a\": 1\n}\n".to_owned());
        assert_eq!(unmerge(&merged, edited, false), expected);
        let changed = "{\n  \"a\": 1,\n  \"b\": 3\n}\n";
        assert_eq!(unmerge(&merged, changed, false), UnmergedFile::Unknown);
        let twice = merge(Some("a\n"), "a\nx\n");
        assert_eq!(unmerge(&twice, "x\na\nx\n", false), UnmergedFile::Unknown);
    }
}
