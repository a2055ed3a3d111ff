//! A call in words: `edit README.md`, and a diff with line numbers.

use agentry_runtime::ToolCall;
use serde_json::Value;

use super::screen::styled_line::{StyledLine, TextLook};
use crate::output::cut;

/// The most characters of a call in one line.
const MOST_CHARACTERS: usize = 120;
/// The argument that names what a native tool works on.
const SUBJECTS: [&str; 8] =
    ["command", "path", "url", "pattern", "query", "question", "name", "agent"];

/// A call as a person would say it: the tool, and what it works on.
pub(super) fn call_words(tool: &str, arguments: &Value) -> String {
    let subject = SUBJECTS.iter().find_map(|name| arguments.get(name)?.as_str());
    let text = match subject {
        Some(subject) => format!("{tool} {}", cut(&one_line(subject), MOST_CHARACTERS)),
        None => format!("{tool} {}", brief(arguments)),
    };
    text.trim_end().to_owned()
}

/// The arguments in one short line.
pub(crate) fn brief(arguments: &Value) -> String {
    let text = match arguments {
        Value::Object(entries) if entries.len() == 1 => {
            entries.values().next().map_or(String::new(), plain)
        }
        Value::Object(entries) => {
            let parts =
                entries.iter().map(|(name, value)| format!("{name}={}", cut(&plain(value), 60)));
            parts.collect::<Vec<_>>().join(" ")
        }
        other => plain(other),
    };
    cut(&one_line(&text), MOST_CHARACTERS)
}

/// The arguments that [`call_words`] leaves out and that no diff shows, one line each.
pub(super) fn other_arguments(arguments: &Value, has_diff: bool) -> Vec<String> {
    let Some(entries) = arguments.as_object() else { return Vec::new() };
    let subject = SUBJECTS.iter().find(|name| entries.get(**name).is_some_and(Value::is_string));
    let left = entries.iter().filter(|(name, value)| match subject {
        // A long or broken command is shown whole: what is left out could be what matters.
        Some(subject) if name == subject => is_long(value),
        // The content of a change stands in its diff.
        _ => !(has_diff && value.is_string()),
    });
    left.flat_map(|(name, value)| {
        let text = plain(value);
        let mut lines = text.lines();
        let first = format!("{name}: {}", lines.next().unwrap_or_default());
        std::iter::once(first).chain(lines.map(|line| format!("  {line}"))).collect::<Vec<_>>()
    })
    .collect()
}

/// Whether a text does not fit into the line of its call.
fn is_long(value: &Value) -> bool {
    value.as_str().is_some_and(|it| it.contains('\n') || it.chars().count() > MOST_CHARACTERS)
}

/// The call in a question: without what [`other_arguments`] shows whole.
pub(super) fn call_title(tool: &str, arguments: &Value) -> String {
    match SUBJECTS.iter().find_map(|name| arguments.get(name).filter(|it| it.is_string())) {
        Some(subject) if is_long(subject) => tool.to_owned(),
        _ => call_words(tool, arguments),
    }
}

fn one_line(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "⏎")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a call would change. The file that the call names is not named again.
pub(super) fn preview_lines(call: &ToolCall, diff: &str) -> Vec<StyledLine> {
    let path = call.arguments.get("path").and_then(Value::as_str).unwrap_or_default();
    let mut lines = diff.lines();
    let is_new = match (lines.next(), lines.next()) {
        (Some("--- /dev/null"), Some(to)) if to == format!("+++ b/{path}") => true,
        (Some(from), Some(to))
            if from == format!("--- a/{path}") && to == format!("+++ b/{path}") =>
        {
            false
        }
        _ => return diff_lines(diff),
    };
    let label = if is_new { "      a new file" } else { "" };
    let mut out = vec![StyledLine::new(TextLook::Dim, label)];
    // The numbers say where a hunk is; its header is only a gap to the hunk before.
    let is_header = |line: &StyledLine| line.starts_with("@@ -");
    let shown = diff_lines(diff).into_iter().skip(2);
    for (at, line) in shown.enumerate() {
        match is_header(&line) {
            true if at == 0 => {}
            true => out.push(StyledLine::new(TextLook::Dim, "    ⋮")),
            false => out.push(line),
        }
    }
    out.into_iter().filter(|line| !line.is_empty()).collect()
}

/// A unified diff with line numbers and colours.
pub(super) fn diff_lines(diff: &str) -> Vec<StyledLine> {
    let (mut old, mut new) = (0_u64, 0_u64);
    let mut out = Vec::new();
    let mut is_inside = false;
    for line in diff.lines() {
        if let Some(hunk) = line.strip_prefix("@@ -") {
            (old, new) = starts(hunk);
            is_inside = true;
            out.push(StyledLine::new(TextLook::Dim, line));
            continue;
        }
        // Inside a hunk `--- x` is a removed line that begins with `--`.
        if line.starts_with("--- ") && (!is_inside || names_a_file(line)) {
            is_inside = false;
            out.push(StyledLine::new(TextLook::Bold, line));
            continue;
        }
        let (number, look) = match line.chars().next() {
            _ if !is_inside => (None, TextLook::Bold),
            Some('+') => (Some(&mut new), TextLook::Good),
            Some('-') => (Some(&mut old), TextLook::Bad),
            Some(' ') | None => {
                old += 1;
                (Some(&mut new), TextLook::Plain)
            }
            _ => (None, TextLook::Dim),
        };
        let label = number.map_or(String::new(), |number| {
            *number += 1;
            (*number - 1).to_string()
        });
        let row = StyledLine::new(TextLook::Dim, &format!("{label:>5} ")).with(look, line);
        out.push(if is_inside { row } else { StyledLine::new(look, line) });
    }
    out
}

/// Whether a line is the header of the next file of a diff.
fn names_a_file(line: &str) -> bool {
    line.starts_with("--- a/") || line == "--- /dev/null"
}

/// The first line numbers of a hunk: `1,3 +1,4 @@`.
fn starts(hunk: &str) -> (u64, u64) {
    let number = |text: &str| {
        text.split([',', ' ']).next().and_then(|it| it.parse().ok()).unwrap_or_default()
    };
    let (old, new) = hunk.split_once('+').unwrap_or((hunk, ""));
    (number(old), number(new))
}

/// How many lines a diff adds and removes; `None` if the text is no diff.
pub(super) fn diff_stat(text: &str) -> Option<(usize, usize)> {
    let from = text.find("\n@@ -")?;
    let lines = text.get(from..).unwrap_or_default().lines();
    let is_change = |line: &&str| !line.starts_with("+++ ") && !names_a_file(line);
    let count =
        |mark: char| lines.clone().filter(is_change).filter(|it| it.starts_with(mark)).count();
    Some((count('+'), count('-')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_are_summarised_on_one_line() {
        let cases = [
            (json!({"command": "ls -l"}), "ls -l", "bash ls -l"),
            (json!({"command": "a\nb"}), "a⏎b", "bash a⏎b"),
            (json!({"path": "x", "text": "y"}), "path=x text=y", "bash x"),
            (json!({"one": 1, "two": "b"}), "one=1 two=b", "bash one=1 two=b"),
            (json!("not JSON"), "not JSON", "bash not JSON"),
            (json!({}), "", "bash"),
        ];
        for (arguments, short, words) in cases {
            assert_eq!(brief(&arguments), short, "{arguments}");
            assert_eq!(call_words("bash", &arguments), words, "{arguments}");
        }
    }

    #[test]
    fn all_other_arguments_are_listed() {
        let long = "x".repeat(200);
        let cases = [
            (json!({"command": "ls"}), false, vec![]),
            (json!({"command": "ls", "timeout": 5}), false, vec!["timeout: 5".to_owned()]),
            (json!({"command": "a\nb"}), false, vec!["command: a".to_owned(), "  b".to_owned()]),
            (json!({"command": long}), false, vec![format!("command: {long}")]),
            (json!({"path": "a", "content": "b"}), true, vec![]),
            (json!({"path": "a", "content": "b"}), false, vec!["content: b".to_owned()]),
        ];
        assert_eq!(call_title("bash", &json!({"command": long})), "bash");
        assert_eq!(call_title("bash", &json!({"command": "ls"})), "bash ls");
        assert_eq!(call_title("none", &json!({"a": 1})), "none 1");
        for (arguments, has_diff, expected) in cases {
            assert_eq!(other_arguments(&arguments, has_diff), expected, "{arguments}");
        }
    }

    #[test]
    fn a_diff_has_line_numbers() {
        let diff = "--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@\n one\n-two\n--- three\n+2\n four\n";
        let shown: Vec<String> = diff_lines(diff).iter().map(|line| line.painted(false)).collect();
        let expected = [
            "--- a/x",
            "+++ b/x",
            "@@ -3,3 +3,3 @@",
            "    3  one",
            "    4 -two",
            "    5 --- three",
            "    4 +2",
            "    5  four",
        ];
        assert_eq!(shown, expected);
        assert_eq!(diff_stat(diff), Some((1, 2)));
        assert_eq!(diff_stat("no diff"), None);
    }

    #[test]
    fn a_preview_does_not_repeat_the_name_of_its_file() {
        let hunks = "@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n";
        let of_hunks = ["    1 -a", "    1 +b", "    ⋮", "    9 -c", "    9 +d"];
        let with = |first: &[&str]| {
            first.iter().chain(&of_hunks).map(ToString::to_string).collect::<Vec<_>>()
        };
        let whole = |from: &str, to: &str| {
            let diff = format!("--- {from}\n+++ {to}\n{hunks}");
            diff_lines(&diff).iter().map(|line| line.painted(false)).collect()
        };
        let cases = [
            ("a/x", "b/x", with(&[])),
            ("/dev/null", "b/x", with(&["      a new file"])),
            // Another file than the named one is shown.
            ("a/x", "b/y", whole("a/x", "b/y")),
            ("/dev/null", "b/y", whole("/dev/null", "b/y")),
        ];
        for (from, to, expected) in cases {
            let call = ToolCall {
                id: String::new(),
                tool: "edit".to_owned(),
                arguments: json!({"path": "x"}),
                opaque: None,
            };
            let lines = preview_lines(&call, &format!("--- {from}\n+++ {to}\n{hunks}"));
            let lines: Vec<String> = lines.iter().map(|line| line.painted(false)).collect();
            assert_eq!(lines, expected, "{from} {to}");
        }
    }
}
