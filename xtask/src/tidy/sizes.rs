//! Checks the sizes of files and functions: each must be readable in one sitting.
//!
//! The code is formatted, so a function ends at the first closing brace with the indentation of its first
//! line. Test code may have longer functions, but no longer files.

use crate::files::File;

/// A longer file should be split.
const LONG_FILE: usize = 500;
/// Longer files fail.
const MOST_LINES_OF_FILE: usize = 700;
/// Longer functions fail.
const MOST_LINES_OF_FUNCTION: usize = 80;

/// A file that may be longer for a while.
#[derive(Debug)]
pub(super) struct Exception {
    /// The path from the root of the repository.
    path: &'static str,
    /// The reason.
    reason: &'static str,
    /// The last day, as `2027-03-01`.
    until: &'static str,
}

/// Every exception; one that has expired or is not needed fails.
pub(super) const EXCEPTIONS: &[Exception] = &[];

/// Files that are still allowed but long.
pub(super) fn nearly_too_long(files: &[File]) -> Vec<String> {
    let sizes = files.iter().filter(|file| file.is_rust()).map(|file| (file, lines(file)));
    let long = sizes.filter(|(_, size)| (LONG_FILE + 1..=MOST_LINES_OF_FILE).contains(size));
    long.map(|(file, size)| format!("{}: {size} lines, getting long", file.path)).collect()
}

/// Files and functions that are too long, and exceptions that no longer apply.
pub(super) fn check(files: &[File], exceptions: &[Exception], today: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let found = too_long(file);
        match exceptions.iter().find(|exception| exception.path == file.path) {
            None => problems.extend(found),
            Some(exception) => problems.extend(exception.problem(&found, today)),
        }
    }
    let gone = exceptions.iter().filter(|it| files.iter().all(|file| file.path != it.path));
    problems.extend(gone.map(|it| format!("{}: has an exception, but does not exist", it.path)));
    problems
}

impl Exception {
    fn problem(&self, found: &[String], today: &str) -> Option<String> {
        let Self { path, reason, until } = self;
        if found.is_empty() {
            Some(format!("{path}: is short enough; remove its exception"))
        } else if *until < today {
            Some(format!("{path}: its exception ({reason}) ended on {until}"))
        } else {
            None
        }
    }
}

fn too_long(file: &File) -> Vec<String> {
    let File { path, .. } = file;
    let size = lines(file);
    let whole = (size > MOST_LINES_OF_FILE)
        .then(|| format!("{path}: {size} lines, at most {MOST_LINES_OF_FILE}"));
    let functions = functions(file);
    let long = functions.iter().filter(|function| function.lines > MOST_LINES_OF_FUNCTION);
    let long = long.map(|Function { name, line, lines }| {
        format!("{path}:{line}: `{name}` has {lines} lines, at most {MOST_LINES_OF_FUNCTION}")
    });
    whole.into_iter().chain(long).collect()
}

fn lines(file: &File) -> usize {
    file.text.lines().count()
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// The functions with a body of several lines.
fn functions(file: &File) -> Vec<Function> {
    let code: Vec<(usize, &str)> = file.statements().collect();
    let starts = code.iter().enumerate();
    let found = starts.filter_map(|(index, (line, text))| {
        let name = function_name(text)?;
        let end = end_of_function(&code[index..])?;
        Some(Function { name: name.to_owned(), line: *line, lines: end + 1 - line })
    });
    found.collect()
}

/// The name of the function that `line` begins.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let modifier = |word: &str| {
        matches!(word, "pub" | "const" | "async" | "unsafe" | "extern" | "\"C\"")
            || word.starts_with("pub(")
    };
    let name = after.split(['(', '<']).next()?;
    before.split_whitespace().all(modifier).then_some(name)
}

/// The last line of the function that begins at the first line of `code`; `None` if it has no body or
/// only one line.
fn end_of_function(code: &[(usize, &str)]) -> Option<usize> {
    let (_, first) = code.first()?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let level = indent(first);
    let mut same_level = code.iter().filter(|(_, line)| !line.is_empty() && indent(line) == level);
    let (end, last) =
        same_level.find(|(_, line)| line.ends_with(['}', ';']) || line.trim_start() == "}")?;
    // A declaration in a trait ends with `;`, and a one-line body with `}` after code.
    (last.trim_start() == "}").then_some(*end)
}

/// Today, as `2027-03-01` in UTC.
pub(crate) fn today() -> String {
    chrono::Utc::now().format("%F").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    fn function(lines: usize) -> String {
        format!("pub(crate) fn long(\n    a: u8,\n) -> u8 {{\n{}}}\n", "    a;\n".repeat(lines - 4))
    }

    #[test]
    fn long_files_and_functions_fail() {
        let in_tests = format!("\n#[cfg(test)]\nmod tests {{\n{}}}\n", function(90));
        let cases = [
            ("src/a.rs", function(80), vec![]),
            ("src/a.rs", function(81), vec!["src/a.rs:1: `long` has 81 lines, at most 80"]),
            ("src/a.rs", in_tests, vec![]),
            ("tests/a.rs", function(81), vec![]),
            ("src/a.rs", "\n".repeat(700), vec![]),
            ("src/a.rs", "\n".repeat(701), vec!["src/a.rs: 701 lines, at most 700"]),
            ("tests/a.rs", "\n".repeat(701), vec!["tests/a.rs: 701 lines, at most 700"]),
            ("a.md", "\n".repeat(701), vec![]),
        ];
        for (path, text, expected) in cases {
            assert_eq!(check(&[file(path, &text)], &[], "2026-01-01"), expected, "{path}");
        }
    }

    #[test]
    fn files_that_grow_are_listed() {
        let files = [file("a.rs", &"\n".repeat(500)), file("b.rs", &"\n".repeat(501))];
        assert_eq!(nearly_too_long(&files), ["b.rs: 501 lines, getting long"]);
    }

    #[test]
    fn functions_end_where_they_end() {
        let cases = [
            ("fn one() {}", None),
            ("fn one();\nfn two() {\n}", None),
            ("fn one() {\n    two();\n}", Some(3)),
            ("fn one()\nwhere\n    A: B,\n{\n    two();\n}", Some(6)),
            ("    fn one(\n        a: u8,\n    );\n    fn two() {\n    }", None),
            ("    fn one() {\n        if a {\n        }\n    }\n}", Some(4)),
        ];
        for (text, expected) in cases {
            let code: Vec<_> = text.lines().enumerate().map(|(at, line)| (at + 1, line)).collect();
            assert_eq!(end_of_function(&code), expected, "{text}");
        }
    }

    #[test]
    fn exceptions_end() {
        let exception = |until| Exception { path: "a.rs", reason: "a table", until };
        let (long, short) = ("\n".repeat(701), "\n".repeat(7));
        let cases = [
            (&long, "2026-01-02", vec![]),
            (&long, "2026-01-01", vec![]),
            (&long, "2025-12-31", vec!["a.rs: its exception (a table) ended on 2025-12-31"]),
            (&short, "2026-01-02", vec!["a.rs: is short enough; remove its exception"]),
        ];
        for (text, until, expected) in cases {
            let found = check(&[file("a.rs", text)], &[exception(until)], "2026-01-01");
            assert_eq!(found, expected, "until {until}");
        }
        let found = check(&[], &[exception("2026-01-02")], "2026-01-01");
        assert_eq!(found, ["a.rs: has an exception, but does not exist"]);
    }
}
