//! The text files of the repository, for every check of `tidy` and `docs`.

use std::path::{Path, PathBuf};

use crate::process::{output, program};

/// One file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// The path from the root of the repository, with `/` between its parts.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

impl File {
    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.extension() == Some("rs")
    }

    /// The part of its name after the last dot.
    pub(crate) fn extension(&self) -> Option<&str> {
        Path::new(&self.path).extension()?.to_str()
    }

    /// Whether all of it is test code.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.split('/').any(|part| part == "tests")
    }

    /// The lines of Rust with their numbers, up to the tests at the foot.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        const FEET: [&str; 2] =
            ["\n#[cfg(test)]\nmod tests {", "\n#[cfg(test)]\npub(crate) mod tests {"];
        let foot = FEET.iter().filter_map(|foot| self.text.find(foot)).min();
        let foot = foot.unwrap_or(self.text.len());
        let code = if self.is_test() { "" } else { self.text.get(..foot).unwrap_or_default() };
        code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Like [`File::code`], without comments.
    pub(crate) fn statements(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code().filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// Every text file that is tracked, or new and not ignored.
pub(crate) fn all() -> Result<Vec<File>, String> {
    let listing = output(&mut program("git ls-files -z --cached --others --exclude-standard"));
    let paths = match listing {
        Ok(listing) => listing.split_terminator('\0').map(PathBuf::from).collect(),
        // A source archive has no history: take every file outside of build directories.
        Err(_) => walk(Path::new("."))?,
    };
    let read = |path: PathBuf| {
        // A binary file, or one that is deleted but still tracked, is skipped.
        let text = std::fs::read_to_string(&path).ok()?;
        let path = path.to_string_lossy().replace('\\', "/");
        Some(File { path, text })
    };
    let mut files: Vec<File> = paths.into_iter().filter_map(read).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(root: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        let complain = |error| format!("cannot list `{}`: {error}", folder.display());
        for entry in folder.read_dir().map_err(complain)?.flatten() {
            let path = entry.path();
            let is_product = path.ends_with("target") || path.ends_with(".git");
            if path.is_dir() && !path.is_symlink() && !is_product {
                folders.push(path);
            } else if path.is_file() {
                files.push(path.strip_prefix(root).unwrap_or(&path).to_owned());
            }
        }
    }
    Ok(files)
}

/// A file made up for a test.
#[cfg(test)]
pub(crate) fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_lines_exclude_the_tests() {
        let text = "//! Why.\nfn one() {}\n\n#[cfg(test)]\nmod tests {\n}\n";
        let cases = [
            ("src/lib.rs", text, vec![(1, "//! Why."), (2, "fn one() {}")]),
            (
                "src/lib.rs",
                "#[cfg(test)]\nmod tests;",
                vec![(1, "#[cfg(test)]"), (2, "mod tests;")],
            ),
            ("src/tests.rs", text, vec![]),
            ("tests/show.rs", text, vec![]),
        ];
        for (path, text, expected) in cases {
            let found: Vec<_> =
                file(path, text).code().map(|(at, line)| (at, line.to_owned())).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(at, line)| (at, line.to_owned())).collect();
            assert_eq!(found, expected, "{path}");
        }
    }
}
