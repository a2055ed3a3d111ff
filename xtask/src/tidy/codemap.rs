//! The code map of `ARCHITECTURE.md` has one heading for each crate, and no other.

use std::collections::BTreeMap;

use crate::files::File;

const PAGE: &str = "ARCHITECTURE.md";
const SECTION: &str = "## Code map";

/// Crates that are not shipped; the map may have them.
const TOOLS: &[&str] = &["agentry-conformance", "xtask"];

/// Crates that the map leaves out or has twice, and entries for crates that do not exist.
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
    wrong.chain(unknown).collect()
}

/// The crate whose manifest this file is.
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
        ];
        for (page, expected) in cases {
            let files = [
                file("ARCHITECTURE.md", page),
                file("crates/one/Cargo.toml", ""),
                file("crates/one/tests/x/Cargo.toml", ""),
                file("crates/two/Cargo.toml", ""),
            ];
            assert_eq!(check(&files), expected, "{page}");
        }
        assert_eq!(check(&[]), ["ARCHITECTURE.md: is missing"]);
    }
}
