//! `edit`: replaces a text in a file that occurs exactly once, or every occurrence.

use std::borrow::Cow;

use agentry_compile::policy::Section;
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{ToolFileChange, carry_out, shown};
use super::files::{self, touch};
use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
};
use crate::event::CallClass;

/// Changes a part of a file.
pub(super) struct EditTool;

#[derive(Deserialize)]
struct EditInput {
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl BuiltInTool for EditTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit".to_owned(),
            description: "Replaces a text in a file. `old_string` must be in the file exactly as \
                          given, white space included, and only once: give enough lines around it. \
                          With `replace_all` every occurrence is replaced. The answer is a diff."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, absolute or relative to the working directory"},
                    "old_string": {"type": "string", "minLength": 1, "description": "What is there, without line numbers"},
                    "new_string": {"type": "string", "description": "What is to be there instead"},
                    "replace_all": {"type": "boolean", "description": "Replace every occurrence"}
                },
                "required": ["path", "old_string", "new_string"],
                "additionalProperties": false
            }),
        }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Write
    }

    fn touches(&self, given: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let EditInput { path, .. } = arguments(given)?;
        let path = files::resolve(&path, place)?;
        files::unprotected(&path, place)?;
        Ok(vec![touch(Section::Edit, &path)])
    }

    fn preview(&self, given: &Value, place: &CallLocation) -> Option<String> {
        let given: EditInput = arguments(given).ok()?;
        let path = files::resolve(&given.path, place).ok()?;
        change(given, path, place).ok().map(|change| change.diff())
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move { edit(&arguments, host).into() })
    }
}

fn edit(given: &Value, host: &dyn ToolHost) -> Result<String, String> {
    let given: EditInput = arguments(given)?;
    let path = files::permitted(Section::Edit, &given.path, host)?;
    let name = given.path.clone();
    let changes = [change(given, path, &host.place())?];
    carry_out(&changes, host)?;
    Ok(format!("changed `{name}`\n{}", shown(&changes, host)))
}

fn change(
    given: EditInput,
    path: std::path::PathBuf,
    place: &CallLocation,
) -> Result<ToolFileChange, String> {
    let EditInput { path: name, old_string, new_string, replace_all } = given;
    let found = place.editor.contents(&path).map_err(|error| files::why(&name, &error))?;
    let before = found.ok_or_else(|| format!("`{name}` does not exist: use `write`"))?;
    let text = str::from_utf8(&before.bytes);
    let text = text.map_err(|_| format!("`{name}`: it is no UTF-8 text"))?;
    let after = replaced(text, &old_string, &new_string, replace_all)
        .map_err(|why| format!("`{name}`: {why}"))?;
    let after = Some(after.into_bytes());
    Ok(ToolFileChange { name, path, before: Some(before), after, like: None })
}

/// Returns the text with `old` replaced by `new`, or why that is not possible.
fn replaced(text: &str, old: &str, new: &str, all: bool) -> Result<String, String> {
    if old.is_empty() {
        return Err("`old_string` is empty".to_owned());
    }
    if old == new {
        return Err("`old_string` and `new_string` are the same".to_owned());
    }
    let seen = NormalisedText::new(text, old);
    let places: Vec<usize> = seen.text.match_indices(old).map(|(at, _)| at).collect();
    let first = *places.first().ok_or_else(|| absent(&seen.text, old))?;
    // Overlapping occurrences count too: the text would not be unique.
    let next = first + old.chars().next().map_or(1, char::len_utf8);
    let second = seen.text.get(next..).and_then(|rest| rest.find(old));
    if let (false, Some(second)) = (all, second) {
        let line = |at: usize| seen.text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let (first, second) = (line(first), line(next + second));
        return Err(format!(
            "`old_string` is there more than once, at the lines {first} and {second}: give more of \
             what is around it, or `replace_all`"
        ));
    }
    // Normalised first, so that a CR LF in the new text does not become CR CR LF.
    let for_windows = new.replace("\r\n", "\n").replace('\n', "\r\n");
    let mut after = String::with_capacity(text.len());
    let mut done = 0;
    for at in places {
        let (start, end) = (seen.place(at), seen.place(at + old.len()));
        after.push_str(text.get(done..start).unwrap_or_default());
        after.push_str(if seen.is_windows(at) { &for_windows } else { new });
        done = end;
    }
    Ok(after + text.get(done..).unwrap_or_default())
}

/// A text as models see and write it: with LF line ends.
struct NormalisedText<'a> {
    text: Cow<'a, str>,
    /// The positions of LF before which a CR was removed.
    ends: Vec<usize>,
}

impl<'a> NormalisedText<'a> {
    fn new(text: &'a str, old: &str) -> Self {
        // A CR in the searched text is meant literally.
        if old.contains('\r') || !text.contains("\r\n") {
            return Self { text: Cow::Borrowed(text), ends: Vec::new() };
        }
        let ends = text.match_indices("\r\n").enumerate().map(|(before, (at, _))| at - before);
        Self { ends: ends.collect(), text: Cow::Owned(text.replace("\r\n", "\n")) }
    }

    /// Converts a position to one in the original text.
    fn place(&self, at: usize) -> usize {
        at + self.ends.partition_point(|end| *end < at)
    }

    /// Returns whether the line at a position ends in CR LF; the last line ends like the one before.
    fn is_windows(&self, at: usize) -> bool {
        let end = self.text.get(at..).and_then(|rest| rest.find('\n')).map(|end| at + end);
        let end = end.or_else(|| self.text.get(..at).and_then(|before| before.rfind('\n')));
        end.is_some_and(|end| self.ends.binary_search(&end).is_ok())
    }
}

/// Explains why a text was not found; it may be there with other white space.
fn absent(text: &str, old: &str) -> String {
    let wanted: Vec<&str> = old.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let alike = |window: &[(usize, &str)]| window.iter().map(|(_, line)| line).eq(&wanted);
    let near =
        if wanted.is_empty() { None } else { lines.windows(wanted.len()).find(|it| alike(it)) };
    match near.and_then(|window| window.first()) {
        Some((line, _)) => format!(
            "`old_string` is not in the file; what is at line {line} differs from it in white space"
        ),
        None => "`old_string` is not in the file; read it again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use agentry_compile::policy::Action;

    use super::super::testing::TestWorkspace;
    use super::*;

    #[test]
    fn edit_replaces_only_an_exact_unique_text() {
        let twice = "`old_string` is there more than once, at the lines 1 and 3: give more of what is \
                     around it, or `replace_all`";
        let space =
            "`old_string` is not in the file; what is at line 2 differs from it in white space";
        let cases = [
            ("a\nb\nc\n", "b", "x", false, Ok("a\nx\nc\n")),
            ("a\nb\nc", "c", "", false, Ok("a\nb\n")),
            ("a\nb\na\n", "a", "x", false, Err(twice)),
            ("a\nb\na\n", "a", "x", true, Ok("x\nb\nx\n")),
            (
                "aaa",
                "aa",
                "b",
                false,
                Err(
                    "`old_string` is there more than once, at the lines 1 and 1: give more of what is around it, or `replace_all`",
                ),
            ),
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", false, Ok("x\r\ny\r\nc\r\n")),
            ("a\r\nb\r\n", "b", "x\ny", false, Ok("a\r\nx\r\ny\r\n")),
            ("a\r\nb\n", "b", "x\ny", false, Ok("a\r\nx\ny\n")),
            ("a\r\nb\r\n", "b", "x\r\ny", false, Ok("a\r\nx\r\ny\r\n")),
            ("a\r\nb", "b", "x\ny", false, Ok("a\r\nx\r\ny")),
            ("a\r\n\nb", "\n\n", "\n", false, Ok("a\r\nb")),
            ("a\r\nb\r\na\nb\n", "a\nb", "x\ny", true, Ok("x\r\ny\r\nx\ny\n")),
            ("a\r\nb\r\n", "a\r\n", "x\n", false, Ok("x\nb\r\n")),
            ("ü\r\nü\r\nb\r\n", "b\n", "c\n", false, Ok("ü\r\nü\r\nc\r\n")),
            ("grün 🦀 ende", "🦀", "🐢", false, Ok("grün 🐢 ende")),
            ("\u{feff}a", "a", "b", false, Ok("\u{feff}b")),
            ("x\n\tfoo();\n", "  foo();", "y", false, Err(space)),
            ("a", "b", "c", false, Err("`old_string` is not in the file; read it again")),
            ("a", "", "c", false, Err("`old_string` is empty")),
            ("a", "a", "a", false, Err("`old_string` and `new_string` are the same")),
            ("a $1 b", "$1", "$0 \\1", false, Ok("a $0 \\1 b")),
        ];
        for (text, old, new, all, expected) in cases {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(replaced(text, old, new, all), expected, "{text:?} {old:?}");
        }
    }

    #[tokio::test]
    async fn edit_returns_a_diff() {
        let world = TestWorkspace::new();
        world.file("a.rs", "fn a() {}\nfn b() {}\n");
        let arguments = json!({"path": "a.rs", "old_string": "b()", "new_string": "c()"});
        let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n fn a() {}\n-fn b() {}\n+fn c() {}\n";
        let host = world.host();
        assert_eq!(EditTool.preview(&arguments, &host.place()).as_deref(), Some(diff));
        let output = host.call(&EditTool, arguments.clone()).await;
        assert_eq!(output, ToolOutput::done(format!("changed `a.rs`\n{diff}")));
        assert_eq!(world.text("a.rs"), "fn a() {}\nfn c() {}\n");
        assert_eq!(*host.kept.lock().unwrap(), [world.path("a.rs")]);
        assert!(host.call(&EditTool, arguments).await.text.contains("not in the file"));
    }

    #[tokio::test]
    async fn edit_hides_the_diff_of_an_unreadable_file() {
        let world = TestWorkspace::new();
        world.file("a", "hush\nb\nhush\n");
        let rules = [
            (Section::Edit, Action::Allow, [].as_slice()),
            (Section::Read, Action::Deny, [].as_slice()),
        ];
        let arguments = json!({"path": "a", "old_string": "b", "new_string": "c"});
        let output = world.judged(&rules).call(&EditTool, arguments).await;
        assert_eq!(output, ToolOutput::done("changed `a`\n"));
    }

    #[tokio::test]
    async fn edit_refuses_missing_binary_and_protected_files() {
        let world = TestWorkspace::new();
        world.file("latin", [b'a', 0xfc]);
        let cases = [
            ("missing", "`missing` does not exist: use `write`"),
            ("latin", "`latin`: it is no UTF-8 text"),
            ("agentry.toml", " is protected from every tool"),
            (".", " is protected from every tool"),
            ("/", " is protected from every tool"),
        ];
        for (path, expected) in cases {
            let arguments = json!({"path": path, "old_string": "a", "new_string": "b"});
            let output = world.host().call(&EditTool, arguments).await;
            assert!(output.failed && output.text.contains(expected), "{path}: {output:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn edit_changes_only_the_unique_match(text in "(a|b|\n|\r\n){0,12}", old in "[ab\n]{1,3}", new in "[abc\n]{0,3}") {
            let plain = |text: &str| text.replace("\r\n", "\n");
            let unique = plain(&text).matches(&old).count() == 1;
            if let (true, Ok(after)) = (unique, replaced(&text, &old, &new, false)) {
                let once = plain(&text).replacen(&old, &new, 1);
                assert_eq!(plain(&after), plain(&once));
            }
        }
    }
}
