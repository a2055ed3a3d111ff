//! Shows how a file differs from what would be rendered.

use similar::TextDiff;

use super::plan::{PlannedChange, PlannedChangeKind};

/// The unified diff from the current file to the planned one; empty if they are equal. `shown` is the path
/// as shown to the user.
pub fn drift(change: &PlannedChange, shown: &str) -> String {
    if change.kind == PlannedChangeKind::Keep {
        return String::new();
    }
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let name = |bytes: Option<&[u8]>| bytes.map_or("/dev/null", |_| shown);
    let text = |bytes: Option<&[u8]>| {
        std::str::from_utf8(bytes.unwrap_or_default()).map(str::to_owned).ok()
    };
    let (Some(old), Some(new)) = (text(before), text(after)) else {
        return format!("Binary files {} and {} differ\n", name(before), name(after));
    };
    let diff = TextDiff::from_lines(&old, &new);
    let mut unified = diff.unified_diff();
    let text = unified.context_radius(3).header(name(before), name(after)).to_string();
    // The diff between an empty file and no file has no lines.
    if text.is_empty() {
        return format!("--- {}\n+++ {}\n", name(before), name(after));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_shown_as_a_unified_diff() {
        let cases = [
            (
                Some(&b"a\nb\n"[..]),
                Some(&b"a\nc\n"[..]),
                "--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
            ),
            (None, Some(b"a\n"), "--- /dev/null\n+++ x\n@@ -0,0 +1 @@\n+a\n"),
            (Some(b"a\n"), None, "--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
            (Some(b""), None, "--- x\n+++ /dev/null\n"),
            (Some(b"\xff"), Some(b"a\n"), "Binary files x and x differ\n"),
        ];
        for (before, after, expected) in cases {
            let change = PlannedChange {
                path: "x".to_owned(),
                target: String::new(),
                agent: String::new(),
                kind: PlannedChangeKind::Update,
                before: before.map(Vec::from),
                after: after.map(Vec::from),
                forced: false,
            };
            assert_eq!(drift(&change, "x"), expected, "{before:?} {after:?}");
        }
    }
}
