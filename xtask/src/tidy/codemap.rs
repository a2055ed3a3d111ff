//! Checks that the code map of `ARCHITECTURE.md` has one heading for each crate and no other, and that
//! the Rust files it names exist.

use std::collections::BTreeMap;
use std::path::Path;

use crate::files::File;

const PAGE: &str = "ARCHITECTURE.md";
const SECTION: &str = "## Code map";

/// Crates that are not shipped; the map may list them.
const TOOLS: &[&str] = &["agentry-conformance", "xtask"];

/// Crates that the map omits or lists twice, entries for crates that do not exist, and names of files
/// that do not exist.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return vec![format!("{PAGE}: is missing")];
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in entries(&page.text) {
        *counts.entry(name).or_default() += 1;
    }
    let crates: Vec<&str> = files.iter().filter_map(crate_name).collect();
    let unknown = counts.keys().filter(|name| !crates.contains(name) && !TOOLS.contains(name));
    let unknown = unknown.map(|name| format!("{PAGE}: `{name}` is in the code map, but no crate"));
    let wrong = crates.iter().filter_map(|name| match counts.get(name) {
        None => Some(format!("{PAGE}: the code map has no heading for `{name}`")),
        Some(1) => None,
        Some(count) => Some(format!("{PAGE}: the code map has `{name}` {count} times")),
    });
    let missing = missing_files(&page.text, files);
    let missing = missing.map(|name| format!("{PAGE}: there is no file `{name}`"));
    wrong.chain(unknown).chain(missing).collect()
}

/// The Rust files that the page names and that do not exist: in backticks, by the end of their path.
fn missing_files<'a>(page: &'a str, files: &'a [File]) -> impl Iterator<Item = &'a str> {
    let is_rust = |name: &&str| Path::new(name).extension().is_some_and(|end| end == "rs");
    // `<format>/read.rs` stands for a file of every format.
    let is_one_file = |name: &&str| !name.contains([' ', '<']);
    let names = page.split('`').filter(is_rust).filter(is_one_file);
    names.filter(|name| {
        let path = files.iter().filter_map(|file| file.path.strip_suffix(*name));
        !path.into_iter().any(|before| before.is_empty() || before.ends_with('/'))
    })
}

/// The crate of a manifest.
fn crate_name(file: &File) -> Option<&str> {
    let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (!name.contains('/')).then_some(name)
}

/// The names in the headings of the code map: ``### `agentry-text` ``.
fn entries(page: &str) -> impl Iterator<Item = &str> {
    let section = page.lines().skip_while(|line| *line != SECTION).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    section.filter_map(|line| line.strip_prefix("### `")?.split('`').next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn each_crate_has_one_heading() {
        let cases = [
            ("## Code map\n### `one`\n### `two`, the second\n### `xtask`\n", vec![]),
            (
                "## Code map\n### `one`\n",
                vec!["ARCHITECTURE.md: the code map has no heading for `two`"],
            ),
            (
                "## Code map\n### `one`\n### `two`\n### `one`\n",
                vec!["ARCHITECTURE.md: the code map has `one` 2 times"],
            ),
            (
                "## Code map\n### `one`\n### `two`\n### `three`\n",
                vec!["ARCHITECTURE.md: `three` is in the code map, but no crate"],
            ),
            (
                "## Code map\n### `one`\n## Invariants\n### `two`\n",
                vec!["ARCHITECTURE.md: the code map has no heading for `two`"],
            ),
            (
                "`src/a.rs` `a.rs` `<x>/b.rs` `rc/a.rs`\n## Code map\n### `one`\n### `two`\n",
                vec!["ARCHITECTURE.md: there is no file `rc/a.rs`"],
            ),
        ];
        for (page, expected) in cases {
            let files = [
                file("ARCHITECTURE.md", page),
                file("crates/one/Cargo.toml", ""),
                file("crates/one/tests/x/Cargo.toml", ""),
                file("crates/two/Cargo.toml", ""),
                file("crates/two/src/a.rs", ""),
            ];
            assert_eq!(check(&files), expected, "{page}");
        }
        assert_eq!(check(&[]), ["ARCHITECTURE.md: is missing"]);
    }
}
