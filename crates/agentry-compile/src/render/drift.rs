//! How a file differs from what would be rendered, for a person.

use similar::TextDiff;

use super::plan::{Change, ChangeKind};

/// The difference in unified form, from what is there to what would be; empty where there is none.
/// `shown` is what the user calls the path.
pub fn drift(change: &Change, shown: &str) -> String {
    if change.kind == ChangeKind::Keep {
        return String::new();
    }
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let name = |text: Option<&str>| text.map_or("/dev/null", |_| shown);
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let mut unified = diff.unified_diff();
    let text = unified.context_radius(3).header(name(before), name(after)).to_string();
    // An empty file differs from none without a line.
    if text.is_empty() {
        return format!("--- {}\n+++ {}\n", name(before), name(after));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shown() {
        let cases = [
            (Some("a\nb\n"), Some("a\nc\n"), "--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
            (None, Some("a\n"), "--- /dev/null\n+++ x\n@@ -0,0 +1 @@\n+a\n"),
            (Some("a\n"), None, "--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
            (Some(""), None, "--- x\n+++ /dev/null\n"),
        ];
        for (before, after, expected) in cases {
            let change = Change {
                path: "x".to_owned(),
                target: String::new(),
                agent: String::new(),
                kind: ChangeKind::Update,
                before: before.map(str::to_owned),
                after: after.map(str::to_owned),
            };
            assert_eq!(drift(&change, "x"), expected, "{before:?} {after:?}");
        }
    }
}
