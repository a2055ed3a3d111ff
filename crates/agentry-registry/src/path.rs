//! Paths inside an object. A manifest may come from an untrusted source, and the disk may ignore case: a
//! path is accepted only if it is a normal file below the target on every operating system.

use std::collections::BTreeMap;

/// The longest path, in bytes.
const LONGEST: usize = 1000;
/// Names that Windows reserves for devices, with any extension.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// The first problem of a list of paths: of one path, or of two that collide.
pub(crate) fn problem<'p>(paths: impl IntoIterator<Item = &'p str>) -> Option<String> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut folders: BTreeMap<String, &str> = BTreeMap::new();
    for path in paths {
        if let Some(why) = alone(path) {
            return Some(format!("the path `{}` {why}", path.escape_debug()));
        }
        let key = path.to_lowercase();
        for (at, _) in key.match_indices('/') {
            folders.entry(key.get(..at).unwrap_or_default().to_owned()).or_insert(path);
        }
        if let Some(other) = seen.insert(key, path) {
            return Some(format!("the paths `{other}` and `{path}` are the same without case"));
        }
    }
    let both = seen.iter().find_map(|(key, path)| Some((path, folders.get(key)?)));
    both.map(|(file, below)| format!("`{file}` is a file and a directory, for `{below}`"))
}

fn alone(path: &str) -> Option<&'static str> {
    if path.is_empty() || path.len() > LONGEST {
        return Some("is empty or too long");
    }
    if path.chars().any(|c| c.is_control() || "\\:*?\"<>|".contains(c)) {
        return Some("has a character that not every system has in names");
    }
    path.split('/').find_map(part)
}

fn part(part: &str) -> Option<&'static str> {
    let lower = part.to_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    let numbered =
        |start| stem.strip_prefix(start).is_some_and(|rest: &str| rest.chars().count() == 1);
    if matches!(part, "" | "." | "..") {
        Some("is not plain")
    } else if part.len() > 255 {
        Some("has a part that is too long")
    } else if part.ends_with(['.', ' ']) {
        Some("has a part that ends with a dot or a space")
    } else if DEVICES.contains(&stem) || numbered("com") || numbered("lpt") {
        Some("is a device on some systems")
    } else if lower == ".git" {
        Some("leads into a repository")
    } else {
        None
    }
}

/// The part of a normalised absolute `path` below `dir`, or `None`.
pub(crate) fn below<'p>(dir: &str, path: &'p str) -> Option<&'p str> {
    path.strip_prefix(dir.trim_end_matches('/'))?.strip_prefix('/').filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_not_below_itself() {
        let cases = [
            ("/a", "/a/b/c", Some("b/c")),
            ("/", "/a", Some("a")),
            ("/a", "/ab", None),
            ("/a", "/a", None),
        ];
        for (dir, path, expected) in cases {
            assert_eq!(below(dir, path), expected, "{dir} {path}");
        }
    }

    #[test]
    fn unportable_object_paths_are_refused() {
        let good: [&[&str]; 3] = [
            &["agent.toml"],
            &["a/b/c.md", "a/b/d.md", "a/.hidden"],
            &["scripts/auxiliary.sh", "自/x"],
        ];
        for paths in good {
            assert_eq!(problem(paths.iter().copied()), None, "{paths:?}");
        }
        let long = "n".repeat(256);
        let bad: [&[&str]; 24] = [
            &[""],
            &["/etc/passwd"],
            &["../x"],
            &["a/../../x"],
            &["a/./x"],
            &["a//x"],
            &["a/"],
            &["."],
            &["a\\..\\x"],
            &["C:x"],
            &["a\0b"],
            &["a\nb"],
            &["nul"],
            &["a/NUL.txt"],
            &["Com1.md"],
            &["x."],
            &["x /y"],
            &[".git/hooks/pre-commit"],
            &["a/.GIT/config"],
            &[&long],
            &["a.md", "A.md"],
            &["a", "a/b"],
            &["a/b", "A"],
            &["x", "x"],
        ];
        for paths in bad {
            assert!(problem(paths.iter().copied()).is_some(), "{paths:?}");
        }
    }
}
