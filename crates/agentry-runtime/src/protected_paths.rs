//! The paths that no call of a run may write, whatever its policy allows. Applies the list of
//! [`agentry_compile::protected_names`] to real paths, which may not be UTF-8.

pub(crate) mod walk;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path};

use agentry_compile::protected_names as table;
use table::{WrittenBy, bare_names, find, find_bare};

pub use table::{CommandBarrier, ProtectedKind, ProtectedName, names};
pub(crate) use table::{is_bare, is_cassette};

/// Returns why a path relative to the workspace is protected by its name. Does not access the disk. Of an
/// absolute path outside the workspace, all parts count.
pub fn why_protected(path: &Path) -> Option<&'static str> {
    find(&folded(path), WrittenBy::Tool).map(|hit| hit.kind.why())
}

/// Returns why no tool may write this path: by its name, or because it is in a bare repository or would
/// complete one. Both paths must be real paths.
pub fn why_refused(path: &Path, workspace: &Path) -> Option<&'static str> {
    let below = path.strip_prefix(workspace).unwrap_or(path);
    why_protected(below).or_else(|| {
        let parts = folded(below);
        let has = |depth: usize, name: &str| {
            let directory = path.ancestors().nth(parts.len() - depth);
            directory.is_some_and(|it| it.join(name).symlink_metadata().is_ok())
        };
        find_bare(&parts, has).map(|_| ProtectedKind::Repository.why())
    })
}

/// Returns why a path is protected wherever the workspace is. The directories of harnesses do not count,
/// because some users keep workspaces in them.
pub(crate) fn why_protected_anywhere(path: &Path) -> Option<&'static str> {
    why_protected(path).filter(|_| {
        let name = path.file_name().map(Path::new).and_then(why_protected);
        name.is_some() || folded(path).iter().any(|part| part == ".git")
    })
}

/// Returns the protected names in a git directory, relative to it.
pub(crate) fn names_in_repository() -> impl Iterator<Item = (&'static str, &'static ProtectedName)>
{
    names().iter().filter_map(|name| Some((name.in_repository()?, name)))
}

/// Returns the protected names that count in every directory.
fn names_everywhere() -> impl Iterator<Item = &'static ProtectedName> {
    names().iter().filter(|name| name.in_repository().is_none())
}

/// Returns whether commands must not create this entry of a directory. Both names are [`fold`]ed.
pub(crate) fn is_entry(directory: &str, name: &str) -> bool {
    let fits = |path: &str| match path.split_once('/') {
        Some((first, last)) => first == directory && last == name,
        None => path == name,
    };
    let mut names = names_everywhere().filter(|name| name.counts_for(WrittenBy::Command));
    names.any(|it| fits(it.path)) || is_cassette(name)
}

/// Returns whether an entry of this name may be protected or a part of a repository, whatever its directory
/// is. The walk drops all other files.
pub(crate) fn may_be_entry(name: &str) -> bool {
    let is_last = |it: &ProtectedName| it.path.rsplit('/').next() == Some(name);
    names_everywhere().any(is_last)
        || bare_names().any(|part| part.eq_ignore_ascii_case(name))
        || is_cassette(name)
}

/// Returns the parts of a path in the form in which a case-insensitive file system compares them.
fn folded(path: &Path) -> Vec<Cow<'_, str>> {
    let named = |part| match part {
        Component::Normal(name) => Some(fold(name)),
        _ => None,
    };
    path.components().filter_map(named).collect()
}

/// Returns a name in the form in which a case-insensitive file system compares it.
pub(crate) fn fold(name: &OsStr) -> Cow<'_, str> {
    match name.to_string_lossy() {
        Cow::Borrowed(text) => table::fold(text),
        Cow::Owned(text) => Cow::Owned(table::fold(&text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn protected_names_are_found_at_any_depth() {
        let cases = [
            (".git", Some(ProtectedKind::Repository)),
            (".git/config", Some(ProtectedKind::Repository)),
            ("vendor/x/.GIT/hooks/pre-commit", Some(ProtectedKind::Repository)),
            (".g\u{200c}it/config", Some(ProtectedKind::Repository)),
            ("sub/.claude/settings.local.json", Some(ProtectedKind::Harness)),
            (".mcp.json", Some(ProtectedKind::Harness)),
            ("web/.vscode/tasks.json", Some(ProtectedKind::Harness)),
            ("a/agentry.toml", Some(ProtectedKind::Own)),
            (".agentry/x", Some(ProtectedKind::Own)),
            ("agents/writer.cassette.short.jsonl", Some(ProtectedKind::Recorded)),
            (".vscode/words.txt", None),
            (".gitignore", None),
            (".github/workflows/ci.yml", None),
            ("git/config", None),
            ("config/opencode", None),
            ("agentry.toml.md", None),
            ("cassette.jsonl", None),
            ("", None),
        ];
        for (path, expected) in cases {
            assert_eq!(why_protected(Path::new(path)), expected.map(ProtectedKind::why), "{path}");
        }
        for ProtectedName { path, kind, .. } in names() {
            assert_eq!(why_protected(&Path::new("a/b").join(path)), Some(kind.why()), "{path}");
        }
    }

    #[test]
    fn protected_names_for_commands_are_listed() {
        let cases = [
            ("a", "agentry.toml", true),
            ("a", ".claude", true),
            ("a", "x.cassette.jsonl", true),
            ("a", "x.cassette.jsonl.part", false),
            (".vscode", "tasks.json", true),
            ("a", "tasks.json", false),
            (".config", "opencode", true),
            ("a", ".git", false),
            (".git", "config", false),
        ];
        for (directory, name, expected) in cases {
            assert_eq!(is_entry(directory, name), expected, "{directory}/{name}");
            assert!(!expected || may_be_entry(name), "{name}");
        }
        for name in [".git", "head", "refs", "objects", "commondir", "tasks.json"] {
            assert!(may_be_entry(name), "{name}");
        }
        assert!(!may_be_entry("main.rs"));
        assert_eq!(fold(OsStr::new("Agentry.TOML")), "agentry.toml");
    }

    #[test]
    fn the_path_above_the_workspace_is_not_protected() {
        let cases = [
            ("/r/.claude/trees/x", "/r/.claude/trees/x/src/a.rs", None),
            ("/r/.claude/trees/x", "/r/.claude/settings.json", Some(ProtectedKind::Harness)),
            ("/r/sub", "/r/.git/config", Some(ProtectedKind::Repository)),
            ("/r/sub", "/r/other", None),
        ];
        for (workspace, path, expected) in cases {
            assert_eq!(
                why_refused(Path::new(path), Path::new(workspace)),
                expected.map(ProtectedKind::why),
                "{path}"
            );
        }
    }

    #[test]
    fn bare_repositories_are_protected_under_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["bare/objects", "bare/refs", "half/objects"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let cases = [
            ("bare/HEAD", Some(ProtectedKind::Repository)),
            ("bare/config", None),
            ("half/HEAD", None),
            ("half/refs/heads/main", None),
            ("half/commondir", None),
            ("HEAD", None),
        ];
        for (path, expected) in cases {
            assert_eq!(
                why_refused(&root.join(path), root),
                expected.map(ProtectedKind::why),
                "{path}"
            );
        }
        fs::write(root.join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        for path in ["bare/config", "bare/hooks/pre-commit", "bare/x/y/z"] {
            assert_eq!(
                why_refused(&root.join(path), root),
                Some(ProtectedKind::Repository.why()),
                "{path}"
            );
        }
        fs::write(root.join("half/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(
            why_refused(&root.join("half/commondir"), root),
            Some(ProtectedKind::Repository.why())
        );
        let bare = root.join("bare");
        assert_eq!(
            why_refused(&bare.join("config"), &bare),
            Some(ProtectedKind::Repository.why()),
            "as a workspace"
        );
    }
}
