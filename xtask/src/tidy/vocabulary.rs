//! Checks for words that must not be released: left-overs, ignored tests, and names of the machine the
//! code was written on.

use std::path::Path;

use crate::files::File;

/// This file must contain the words that it searches for.
const EXEMPT: &str = "xtask/src/tidy/vocabulary.rs";

/// Files of other people with masked words, such as `Xxxx XXX`.
const MASKED: &str = "crates/agentry-compile/tests/corpus/";

/// Left-overs in Rust, as text.
const IN_RUST: &[&str] = &["dbg!(", "todo!(", "unimplemented!(", "#[ignore", "should_panic"];
/// Left-overs anywhere, as whole words.
const ANYWHERE: &[&str] = &["FIXME", "XXX"];
/// Settings that name a private package mirror.
const MIRRORS: &[&str] = &["replace-with", "index-url", "extra-index-url"];
/// The directory of this crate: it shows where this checkout lies.
const HERE: &str = env!("CARGO_MANIFEST_DIR");
/// The home of the administrator. Examples may use the home of a user.
const ROOT_HOME: &str = "/root/";
/// Names that stand for any user.
const SAMPLE_USERS: &[&str] = &["alice", "bob", "me", "user", "you"];
/// The only allowed source of a dependency.
const CRATES_IO: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

/// Every line with such a word.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let files = files.iter().filter(|file| file.path != EXEMPT);
    files.flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let complain = |(index, line)| {
        let found = forbidden(file, line)?;
        Some(format!("{}:{}: {found}", file.path, index + 1))
    };
    file.text.lines().enumerate().filter_map(complain).collect()
}

/// The problem of a line.
fn forbidden(file: &File, line: &str) -> Option<String> {
    let in_rust = IN_RUST.iter().find(|word| file.is_rust() && line.contains(**word));
    let is_masked = file.path.starts_with(MASKED) && !file.is_rust();
    let anywhere = || ANYWHERE.iter().find(|word| !is_masked && has_word(line, word));
    if let Some(word) = in_rust.or_else(anywhere) {
        return Some(format!("`{word}` was left over"));
    }
    if let Some(folder) = machine_folder(file, line) {
        return Some(format!("`{folder}` is a folder of one machine"));
    }
    let is_settings = matches!(file.extension(), Some("toml" | "cfg" | "conf"));
    let mirror = MIRRORS.iter().find(|word| is_settings && line.trim_start().starts_with(**word));
    if let Some(word) = mirror {
        return Some(format!("`{word}` names a package mirror"));
    }
    let is_elsewhere = line.starts_with("source = ") && line != CRATES_IO;
    (file.path.ends_with("Cargo.lock") && is_elsewhere)
        .then(|| "a dependency that does not come from crates.io".to_owned())
}

/// The absolute path of a directory of this machine in `line`.
fn machine_folder(file: &File, line: &str) -> Option<String> {
    // Examples and tests may use any path.
    let is_sample = |part: &str| matches!(part, "examples" | "suite" | "tests" | "fixtures");
    if file.path.split('/').any(is_sample) {
        return None;
    }
    let folders = checkout_folders(HERE).into_iter().chain([ROOT_HOME.to_owned()]);
    folders.into_iter().find(|folder| has_path(line, folder)).or_else(|| {
        let (before, after) = line.split_once("/home/")?;
        let name = after.split(|c: char| !c.is_alphanumeric() && c != '-').next()?;
        let is_real_user =
            !name.is_empty() && !SAMPLE_USERS.contains(&name) && ends_before_path(before);
        is_real_user.then(|| format!("/home/{name}"))
    })
}

/// The directory of the checkout that contains the crate `here`, and the one around it unless it is
/// common to all machines.
fn checkout_folders(here: &str) -> Vec<String> {
    let above = Path::new(here).ancestors().skip(1).take(2);
    let own =
        above.filter(|folder| !matches!(folder.to_str(), None | Some("/" | "/tmp" | "/home")));
    own.map(|folder| format!("{}/", folder.display())).collect()
}

/// Whether `folder` is an absolute path in `line`, not the middle of a longer one.
fn has_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| ends_before_path(line.get(..at).unwrap_or_default()))
}

fn ends_before_path(before: &str) -> bool {
    !before
        .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '*' | '}' | '~'))
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + word.len()..).unwrap_or_default();
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn left_over_words_are_reported() {
        let left = |word: &str| Some(format!("`{word}` was left over"));
        let cases = [
            ("src/a.rs", "let a = debug!(1);", None),
            ("src/a.rs", "dbg!(a);", left("dbg!(")),
            ("src/a.rs", "    todo!()", left("todo!(")),
            ("src/a.rs", "#[ignore = \"slow\"]", left("#[ignore")),
            ("src/a.rs", "#[should_panic]", left("should_panic")),
            ("docs/a.md", "`dbg!()` prints", None),
            ("docs/a.md", "FIXME: write", left("FIXME")),
            ("src/a.rs", "// XXX", left("XXX")),
            ("src/a.sh", "mktemp aXXXXXX", None),
            (EXEMPT, "dbg!(a);", None),
            ("crates/agentry-compile/tests/corpus/a.txt", "Xxxx XXX", None),
            ("crates/agentry-compile/tests/corpus/mod.rs", "// XXX", left("XXX")),
        ];
        assert_cases(&cases);
    }

    #[test]
    fn machine_paths_and_mirrors_are_reported() {
        let folder = |name: &str| Some(format!("`{name}` is a folder of one machine"));
        let mirror = Some("`replace-with` names a package mirror".to_owned());
        let elsewhere = Some("a dependency that does not come from crates.io".to_owned());
        let checkout = checkout_folders(HERE).first().cloned().unwrap_or_default();
        let (line, below) =
            (format!("see {checkout}a"), format!("see docs{checkout}a and ~{checkout}a"));
        let cases = [
            ("a.md", line.as_str(), folder(&checkout)),
            ("a.md", below.as_str(), None),
            ("examples/a.md", line.as_str(), None),
            ("src/a.rs", "\"/root/.ssh\"", folder("/root/")),
            ("src/a.rs", "\"/home/carol/a\"", folder("/home/carol")),
            ("src/a.rs", "\"/home/me/a\"", None),
            ("src/a.rs", "\"/home/\"", None),
            (".cargo/config.toml", "replace-with = \"mine\"", mirror),
            ("Cargo.lock", CRATES_IO, None),
            ("Cargo.lock", "source = \"git+https://example.org/a\"", elsewhere),
        ];
        assert_cases(&cases);
    }

    #[test]
    fn checkout_folders_exclude_common_ones() {
        let cases = [
            ("/srv/projects/a/xtask", vec!["/srv/projects/a/", "/srv/projects/"]),
            ("/tmp/a/xtask", vec!["/tmp/a/"]),
            ("/a/xtask", vec!["/a/"]),
        ];
        for (here, expected) in cases {
            assert_eq!(checkout_folders(here), expected, "{here}");
        }
    }

    fn assert_cases(cases: &[(&str, &str, Option<String>)]) {
        for (path, line, expected) in cases {
            let expected: Vec<String> =
                expected.iter().map(|it| format!("{path}:1: {it}")).collect();
            assert_eq!(check(&[file(path, line)]), expected, "{path}: {line}");
        }
    }
}
