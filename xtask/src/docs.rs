//! `cargo xtask docs`: builds rustdoc without warnings, and checks the links of the pages.
//!
//! Links to other sites are not followed: a check that needs the network may fail for other reasons.

mod page;

use std::collections::BTreeMap;
use std::process::Command;

use crate::files::{self, File};
use crate::process::cargo;
use page::Page;

/// The command for the documentation of the code, private items included, with warnings as errors.
pub(crate) fn rustdoc() -> Command {
    let mut command = cargo("doc --workspace --no-deps --document-private-items");
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}

/// Fails if a relative link or an anchor of a page leads nowhere.
pub(crate) fn check_links() -> Result<(), String> {
    let broken = broken_links(&files::all()?);
    match broken.len() {
        0 => Ok(()),
        count => Err(format!("{}\n\ndocs: {count} links lead nowhere", broken.join("\n"))),
    }
}

fn broken_links(files: &[File]) -> Vec<String> {
    let pages: BTreeMap<&str, Page> = files
        .iter()
        .filter(|file| is_page(file))
        .map(|file| (&*file.path, Page::read(file)))
        .collect();
    let mut broken = Vec::new();
    for (path, page) in &pages {
        let wrong = page.links.iter().filter_map(|link| {
            let problem = problem(path, &link.target, files, &pages)?;
            Some(format!("{path}:{}: {problem}", link.line))
        });
        broken.extend(wrong);
    }
    broken
}

/// Whether a file is a page; other Markdown files are agents, with any content.
fn is_page(file: &File) -> bool {
    let is_prose = !file.path.contains('/') || file.path.starts_with("docs/");
    file.extension() == Some("md") && (is_prose || file.path.ends_with("/README.md"))
}

/// The problem of a link on the page `from`.
fn problem(
    from: &str,
    target: &str,
    files: &[File],
    pages: &BTreeMap<&str, Page>,
) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let Some(path) = resolve(from, path) else {
        return Some(format!("`{target}` leaves the repository"));
    };
    let folder = format!("{path}/");
    let exists = |file: &File| file.path == path || file.path.starts_with(&folder);
    if !path.is_empty() && !files.iter().any(exists) {
        return Some(format!("there is no `{path}`"));
    }
    // Anchors are checked in pages only, not in source files.
    let page = pages.get(&*path)?;
    let is_known = anchor.is_empty() || page.anchors.iter().any(|known| known == anchor);
    (!is_known).then(|| format!("`{path}` has no heading `#{anchor}`"))
}

/// The path from the root of the repository; empty for the root itself.
fn resolve(from: &str, target: &str) -> Option<String> {
    if target.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            // More `..` than directories leaves the repository.
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn broken_links_are_reported() {
        let cases = [
            ("[a](docs/guide.md)", None),
            ("[a](docs/guide.md#the-end)", None),
            ("[a](docs) and [b](https://example.org/x#y)", None),
            ("# Top\n\n[a](#top)", None),
            ("[a](docs/gone.md)", Some("README.md:1: there is no `docs/gone.md`")),
            (
                "\n[a](docs/guide.md#start)",
                Some("README.md:2: `docs/guide.md` has no heading `#start`"),
            ),
            ("[a](#top)", Some("README.md:1: `README.md` has no heading `#top`")),
            ("[a](../other)", Some("README.md:1: `../other` leaves the repository")),
            ("`[a](gone.md)`\n\n```\n[a](gone.md)\n```", None),
            ("[a][b]\n\n[b]: gone.md", Some("README.md:1: there is no `gone.md`")),
        ];
        for (text, expected) in cases {
            let guide = file("docs/guide.md", "# The end\n\n[back](../README.md)\n");
            let found = broken_links(&[file("README.md", text), guide]);
            assert_eq!(found, Vec::from_iter(expected), "{text}");
        }
    }

    #[test]
    fn agent_files_are_not_checked_as_pages() {
        let cases = [
            ("README.md", true),
            ("docs/a/b.md", true),
            ("examples/one/README.md", true),
            ("examples/one/instructions.md", false),
            ("docs/a.txt", false),
        ];
        for (path, expected) in cases {
            assert_eq!(is_page(&file(path, "")), expected, "{path}");
        }
    }
}
