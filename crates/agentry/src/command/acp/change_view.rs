//! Reads a unified diff as the changes that an editor shows.

use std::path::Path;

use agentry_acp::ToolContent;

/// The changes of a diff, one for each hunk; `None` if a part of it is no diff, such as a note that something
/// is left out. The paths are made absolute from `directory`.
pub(super) fn changes(diff: &str, directory: &Path) -> Option<Vec<ToolContent>> {
    let (mut found, mut names) = (Vec::new(), (None, None));
    let mut hunk: Option<(String, String)> = None;
    let mut lines = diff.lines().peekable();
    while let Some(line) = lines.next() {
        // In a hunk a removed line may begin with `--- `, but no header follows it.
        let is_header =
            line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if is_header {
            finish(&mut found, hunk.take(), &names, directory);
            names = (named(line, "--- a/"), named(lines.next()?, "+++ b/"));
        } else if line.starts_with("@@ ") {
            finish(&mut found, hunk.take(), &names, directory);
            hunk = Some((String::new(), String::new()));
        } else {
            let (old, new) = hunk.as_mut()?;
            let (mark, text) = (line.get(..1).unwrap_or(" "), line.get(1..).unwrap_or_default());
            match mark {
                " " => (push(old, text), push(new, text)),
                "-" => (push(old, text), ()),
                "+" => ((), push(new, text)),
                "\\" => ((), ()),
                _ => return None,
            };
        }
    }
    finish(&mut found, hunk, &names, directory);
    (!found.is_empty()).then_some(found)
}

type DiffNames = (Option<String>, Option<String>);

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The name in a header; `None` for a missing file.
fn named(line: &str, mark: &str) -> Option<String> {
    line.strip_prefix(mark).map(str::to_owned)
}

fn finish(
    found: &mut Vec<ToolContent>,
    hunk: Option<(String, String)>,
    (old_name, new_name): &DiffNames,
    directory: &Path,
) {
    let (Some((old, new)), Some(name)) = (hunk, new_name.as_ref().or(old_name.as_ref())) else {
        return;
    };
    let path = directory.join(name).display().to_string();
    found.push(ToolContent::Diff { path, old: old_name.is_some().then_some(old), new });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_hunks_become_editor_changes() {
        let change = |path: &str, old: Option<&str>, new: &str| ToolContent::Diff {
            path: path.into(),
            old: old.map(str::to_owned),
            new: new.into(),
        };
        let cases = [
            (
                "--- a/x.txt\n+++ b/x.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n",
                Some(vec![change("/w/x.txt", Some("a\nb\nd\n"), "a\nc\nd\n")]),
            ),
            (
                "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n",
                Some(vec![change("/w/new.txt", None, "hello\n")]),
            ),
            (
                "--- a//tmp/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n\\ No newline at end of file\n",
                Some(vec![change("/tmp/gone", Some("hello\n"), "")]),
            ),
            // A removed line that looks like a header stays in its file.
            (
                "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- b/etc\n a\n@@ -9 +8 @@\n-y\n+z\n",
                Some(vec![
                    change("/w/x", Some("-- b/etc\na\n"), "a\n"),
                    change("/w/x", Some("y\n"), "z\n"),
                ]),
            ),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n[9 bytes of the diff are left out]\n", None),
            ("--- a/x\n+++ b/x\nit is not text\n", None),
            ("echo hi\n", None),
        ];
        for (diff, expected) in cases {
            assert_eq!(changes(diff, Path::new("/w")), expected, "{diff}");
        }
    }
}
