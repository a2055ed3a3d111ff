//! Checks the sizes of files: each must be readable in one sitting. Clippy checks the functions.

use crate::files::File;

/// A longer file should be split.
const LONG_FILE: usize = 500;
/// Longer files fail.
const MOST_LINES_OF_FILE: usize = 700;

/// Files that are still allowed but long.
pub(super) fn nearly_too_long(files: &[File]) -> Vec<String> {
    let long = sizes(files).filter(|(_, size)| (LONG_FILE + 1..=MOST_LINES_OF_FILE).contains(size));
    long.map(|(path, size)| format!("{path}: {size} lines, getting long")).collect()
}

/// Files that are too long.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let long = sizes(files).filter(|(_, size)| *size > MOST_LINES_OF_FILE);
    long.map(|(path, size)| format!("{path}: {size} lines, at most {MOST_LINES_OF_FILE}")).collect()
}

fn sizes(files: &[File]) -> impl Iterator<Item = (&str, usize)> {
    let rust = files.iter().filter(|file| file.is_rust());
    rust.map(|file| (file.path.as_str(), file.text.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn too_long_files_are_reported() {
        let cases = [
            ("src/a.rs", 700, vec![]),
            ("src/a.rs", 701, vec!["src/a.rs: 701 lines, at most 700"]),
            ("tests/a.rs", 701, vec!["tests/a.rs: 701 lines, at most 700"]),
            ("a.md", 701, vec![]),
        ];
        for (path, lines, expected) in cases {
            assert_eq!(check(&[file(path, &"\n".repeat(lines))]), expected, "{path}");
        }
    }

    #[test]
    fn nearly_too_long_files_are_listed() {
        let files = [file("a.rs", &"\n".repeat(500)), file("b.rs", &"\n".repeat(501))];
        assert_eq!(nearly_too_long(&files), ["b.rs: 501 lines, getting long"]);
    }
}
