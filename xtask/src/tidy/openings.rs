//! Checks that every crate starts with its documentation.

use crate::files::File;

/// Roots of crates whose first line is not crate documentation.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let silent = files.iter().filter(|file| is_root(&file.path) && !file.text.starts_with("//! "));
    silent.map(|file| format!("{}: must open with `//!` and what it is for", file.path)).collect()
}

fn is_root(path: &str) -> bool {
    let is_ours = path.starts_with("crates/") || path.starts_with("xtask/");
    is_ours && (path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn crates_without_an_opening_comment_are_reported() {
        let complaint =
            |path: &str| vec![format!("{path}: must open with `//!` and what it is for")];
        let cases = [
            ("crates/one/src/lib.rs", "//! Reads.\n", vec![]),
            ("crates/one/src/lib.rs", "mod read;\n", complaint("crates/one/src/lib.rs")),
            ("crates/one/src/main.rs", "fn main() {}\n", complaint("crates/one/src/main.rs")),
            ("xtask/src/main.rs", "", complaint("xtask/src/main.rs")),
            ("crates/one/src/read.rs", "use std::fmt;\n", vec![]),
        ];
        for (path, text, expected) in cases {
            assert_eq!(check(&[file(path, text)]), expected, "{path}: {text:?}");
        }
    }
}
