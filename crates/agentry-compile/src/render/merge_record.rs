//! What was merged into a file that others write, too, and how it is taken out again: the next
//! rendering starts from the text without the last one, so that nothing of it is left behind.

use similar::{DiffOp, TextDiff};

/// How a shared file came to hold what was rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeRecord {
    /// There was no such file before.
    Created,
    /// Lines were changed in it.
    Hunks(Vec<MergeHunk>),
}

/// Lines that were replaced by others. Lines keep their ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeHunk {
    /// How many lines stand before them in the result.
    pub at: usize,
    /// The lines as they were.
    pub removed: Vec<String>,
    /// The lines as they are.
    pub added: Vec<String>,
}

/// What is left of a shared file without what was merged into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnmergedFile {
    /// Nothing: it was all ours.
    Nothing,
    /// This text.
    Text(String),
    /// It cannot be told: somebody changed the very lines.
    Unknown,
}

/// What makes `after` of `before`.
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

/// Takes what was merged out of `text`; `untouched` says whether it is still the text that was
/// written.
pub(super) fn unmerge(merge: &MergeRecord, text: &str, untouched: bool) -> UnmergedFile {
    let hunks = match merge {
        MergeRecord::Created if untouched => return UnmergedFile::Nothing,
        MergeRecord::Created => return UnmergedFile::Unknown,
        MergeRecord::Hunks(hunks) => hunks,
    };
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    // From the end, so that the places of the others stay what they are.
    for hunk in hunks.iter().rev() {
        let at = if untouched { Some(hunk.at) } else { place(&lines, hunk) };
        let Some(at) = at.filter(|at| holds(&lines, *at, hunk)) else {
            return UnmergedFile::Unknown;
        };
        lines.splice(at..at + hunk.added.len(), hunk.removed.iter().map(String::as_str));
    }
    UnmergedFile::Text(lines.concat())
}

/// Where the lines of a hunk are now, if there is only one such place.
fn place(lines: &[&str], hunk: &MergeHunk) -> Option<usize> {
    let mut places = (0..lines.len()).filter(|at| holds(lines, *at, hunk));
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
    fn what_was_merged_is_taken_out_again() {
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
    fn lines_of_others_stay() {
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
