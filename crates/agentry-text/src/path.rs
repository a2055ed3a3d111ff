//! Paths as text, without access to a disk. Parts are separated by `/`, as in all formats.

use std::borrow::Cow;

/// Reports whether every part of `path` is a name, so that it stays below its start.
pub fn is_plain(path: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    // A backslash is a separator on Windows.
    !path.contains('\\') && path.split('/').all(is_name)
}

/// Reports whether `path` is plain and valid on every system.
pub fn is_portable(path: &str) -> bool {
    // On Windows `:` follows a drive, or precedes a stream of a file.
    is_plain(path) && !path.contains(['\0', ':'])
}

/// Reports whether `path` has a `..` part, with the separator of any system.
pub fn climbs(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part == "..")
}

/// Reports whether `path` is the directory `root` or below it, judged by names alone.
pub fn is_inside(path: &str, root: &str) -> bool {
    path.strip_prefix(root.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reports whether `path` starts at the root or a home directory, and is not relative.
pub fn is_rooted(path: &str) -> bool {
    path.starts_with(['/', '~'])
}

/// Normalises `a/./b/../c` to `a/c`, without a `/` at either end; `None` if it leaves its start.
pub fn normal(path: &str) -> Option<String> {
    let PathSteps { names, leaves } = steps(path);
    (!leaves).then(|| names.join("/"))
}

/// Normalises an absolute path; `..` at the root stays at the root.
pub fn absolute(path: &str) -> String {
    let start = if path.starts_with('/') { "/" } else { "" };
    format!("{start}{}", steps(path).names.join("/"))
}

/// Removes empty and `.` parts: `./w/` becomes `w`.
pub fn shortest(path: &str) -> Cow<'_, str> {
    let is_plain = |part: &str| !matches!(part, "" | ".");
    let root = if path.starts_with('/') { "/" } else { "" };
    let body = path.strip_prefix('/').unwrap_or(path);
    if body.split('/').all(is_plain) {
        return Cow::Borrowed(path);
    }
    let parts: Vec<_> = body.split('/').filter(|part| is_plain(part)).collect();
    match (root, parts.is_empty()) {
        ("", true) => Cow::Borrowed("."),
        _ => Cow::Owned(format!("{root}{}", parts.join("/"))),
    }
}

/// Joins `dir/path`; `path` alone in the current directory.
pub fn join(dir: &str, path: &str) -> String {
    match (dir, path) {
        ("" | ".", path) => path.to_owned(),
        (dir, "") => dir.to_owned(),
        (dir, path) if dir.ends_with('/') => format!("{dir}{path}"),
        (dir, path) => format!("{dir}/{path}"),
    }
}

/// Joins the names of fields: `path.key`; `key` alone at the top.
pub fn dotted(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns the relative path from the directory `from` to `to`, both absolute: `../b/c`.
pub fn way(from: &str, to: &str) -> String {
    let (from, to) = (steps(from).names, steps(to).names);
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from.iter().skip(common).map(|_| "..");
    up.chain(to.iter().skip(common).copied()).collect::<Vec<_>>().join("/")
}

/// Splits `path` into directory and name.
pub fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/')
        .map_or(("", path), |(dir, name)| (if dir.is_empty() { "/" } else { dir }, name))
}

/// Returns the last part of `path`.
pub fn name(path: &str) -> &str {
    split(path).1
}

/// A path, resolved part by part.
struct PathSteps<'p> {
    /// The names from the start to the end.
    names: Vec<&'p str>,
    /// Whether the path goes above its start at some point.
    leaves: bool,
}

fn steps(path: &str) -> PathSteps<'_> {
    let mut names: Vec<&str> = Vec::new();
    let mut leaves = false;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => leaves |= names.pop().is_none(),
            name => names.push(name),
        }
    }
    PathSteps { names, leaves }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_classified() {
        let cases = [
            ("a/b.md", true, true, false),
            ("a:b.md", true, false, false),
            ("a\0b.md", true, false, false),
            ("a\\b.md", false, false, false),
            ("", false, false, false),
            ("/a", false, false, false),
            ("a//b", false, false, false),
            ("./a", false, false, false),
            ("a/..", false, false, true),
            ("..\\a", false, false, true),
            ("a/..b", true, true, false),
        ];
        for (path, plain, portable, climbing) in cases {
            let found = (is_plain(path), is_portable(path), climbs(path));
            assert_eq!(found, (plain, portable, climbing), "{path:?}");
        }
    }

    #[test]
    fn paths_are_normalised() {
        let cases = [
            ("/w/./a/../b//c", Some("w/b/c"), "/w/b/c"),
            ("/../x", None, "/x"),
            ("/w/a/", Some("w/a"), "/w/a"),
            ("C:/w/../x", Some("C:/x"), "C:/x"),
            ("a/../../b", None, "b"),
            ("", Some(""), ""),
        ];
        for (path, relative, full) in cases {
            assert_eq!(normal(path).as_deref(), relative, "{path}");
            assert_eq!(absolute(path), full, "{path}");
        }
    }

    #[test]
    fn paths_are_joined_and_split() {
        let cases =
            [("", "a", "a"), (".", "a", "a"), ("d", "", "d"), ("/", "a", "/a"), ("d", "a", "d/a")];
        for (dir, path, whole) in cases {
            assert_eq!(join(dir, path), whole, "{dir:?} {path:?}");
        }
        for (path, parts) in [("a", ("", "a")), ("/a", ("/", "a")), ("d/e/a", ("d/e", "a"))] {
            assert_eq!(split(path), parts, "{path}");
        }
    }

    #[test]
    fn a_path_is_inside_by_whole_names() {
        let cases = [
            ("/w", "/w", true),
            ("/w/a", "/w/", true),
            ("/wa", "/w", false),
            ("/a", "/", true),
            ("a/b", "a", true),
            ("a", "", false),
        ];
        for (path, root, inside) in cases {
            assert_eq!(is_inside(path, root), inside, "{path:?} {root:?}");
        }
    }

    #[test]
    fn paths_have_one_shortest_form() {
        let cases = [
            ("w", "w"),
            ("./w", "w"),
            ("w/", "w"),
            (".//w/./x/", "w/x"),
            (".", "."),
            ("./", "."),
            ("", "."),
            ("/", "/"),
            ("/w/", "/w"),
            ("../w", "../w"),
            ("~/w", "~/w"),
        ];
        for (written, expected) in cases {
            assert_eq!(shortest(written), expected, "{written:?}");
        }
    }
}
