//! What no call of a run writes to, whatever its policy says, by the one list of
//! [`agentry_compile::protected`].
//!
//! Tools ask [`reason`]; the sandbox and the quarantine, which keep commands from the same, go through
//! [`names`].

pub(crate) mod walk;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path};

use agentry_compile::protected as table;

pub use agentry_compile::protected::{Form, Guard, Holds, Kind, Name, names};
pub(crate) use agentry_compile::protected::{is_bare, is_cassette};

/// Why a path relative to the workspace is protected by its name, if it is. Nothing is asked of the
/// disk. An absolute path that does not lie in the workspace is judged by all of its parts.
pub fn is_protected(path: &Path) -> Option<&'static str> {
    let parts: Vec<Cow<'_, str>> = path.components().filter_map(folded).collect();
    table::find(&parts).map(|hit| hit.kind.why())
}

/// The names in a directory of git that decide, seen from there.
pub(crate) fn of_repositories() -> impl Iterator<Item = (&'static str, &'static Name)> {
    names().iter().filter_map(|name| {
        let below = name.path.strip_prefix(".git/")?;
        (name.holds == Holds::Repositories).then_some((below, name))
    })
}

/// Whether an entry of a directory is one of those that count everywhere and that commands must not
/// make. Both names are [`folded`].
pub(crate) fn is_entry(directory: &str, name: &str) -> bool {
    let fits = |path: &str| match path.split_once('/') {
        Some((first, last)) => first == directory && last == name,
        None => path == name,
    };
    let mut ours = names().iter().filter(|name| is_everybodys(name) && name.guard != Guard::Tools);
    ours.any(|it| fits(it.path)) || is_cassette(name)
}

/// Whether an entry of this name may be one, whatever its directory is called, or may be a part of a
/// repository. For one that is not, nobody needs to know that it is there.
pub(crate) fn may_be_entry(name: &str) -> bool {
    let last = |name: &Name| name.path.rsplit('/').next().unwrap_or_default();
    let in_bare = |part: &str| part.eq_ignore_ascii_case(name);
    names().iter().filter(|name| is_everybodys(name)).any(|it| last(it) == name)
        || table::of_bare().any(in_bare)
        || is_cassette(name)
}

fn is_everybodys(name: &Name) -> bool {
    name.holds == Holds::Everywhere
}

/// Why a path is protected wherever the workspace is. Some people keep workspaces in the directories of
/// harnesses, so those do not count here.
pub(crate) fn anywhere(path: &Path) -> Option<&'static str> {
    is_protected(path).filter(|_| {
        let name = path.file_name().map(Path::new).and_then(is_protected);
        let in_git = path.components().filter_map(folded).any(|part| part == ".git");
        in_git || name.is_some()
    })
}

/// Why no tool writes to this path, if none does: by its name, or because it lies in a repository
/// that has another name, or would complete one. Both paths are real.
pub fn reason(path: &Path, workspace: &Path) -> Option<&'static str> {
    let below = path.strip_prefix(workspace).unwrap_or(path);
    is_protected(below).or_else(|| {
        let depth = below.components().count();
        let around = path.ancestors().skip(1).take(depth);
        let is_one = around.into_iter().any(|at| is_repository(at, path));
        is_one.then_some(Kind::Repository.why())
    })
}

/// Whether a directory is a repository, once there is something at `path` below it.
fn is_repository(directory: &Path, path: &Path) -> bool {
    let next = path.strip_prefix(directory).ok().and_then(|below| below.components().next());
    let comes = |name: &str| next.and_then(folded).is_some_and(|next| next == name.to_lowercase());
    is_bare(|name| comes(name) || fs::symlink_metadata(directory.join(name)).is_ok())
}

/// One part of a path as the most careless file system compares it: without regard to case and to
/// characters that cannot be seen.
fn folded(part: Component<'_>) -> Option<Cow<'_, str>> {
    let Component::Normal(name) = part else { return None };
    Some(fold(name))
}

/// A name, as [`folded`] compares it.
pub(crate) fn fold(name: &OsStr) -> Cow<'_, str> {
    match name.to_string_lossy() {
        Cow::Borrowed(text) => table::fold(text),
        Cow::Owned(text) => Cow::Owned(table::fold(&text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_at_any_depth() {
        let cases = [
            (".git", Some(Kind::Repository)),
            (".git/config", Some(Kind::Repository)),
            ("vendor/x/.GIT/hooks/pre-commit", Some(Kind::Repository)),
            (".g\u{200c}it/config", Some(Kind::Repository)),
            ("sub/.claude/settings.local.json", Some(Kind::Harness)),
            (".mcp.json", Some(Kind::Harness)),
            ("web/.vscode/tasks.json", Some(Kind::Harness)),
            ("a/agentry.toml", Some(Kind::Own)),
            (".agentry/x", Some(Kind::Own)),
            ("agents/writer.cassette.short.jsonl", Some(Kind::Recorded)),
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
            assert_eq!(is_protected(Path::new(path)), expected.map(Kind::why), "{path}");
        }
        for Name { path, kind, .. } in names() {
            assert_eq!(is_protected(&Path::new("a/b").join(path)), Some(kind.why()), "{path}");
        }
    }

    #[test]
    fn what_commands_must_not_make() {
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
    fn the_way_to_a_workspace_does_not_count() {
        let cases = [
            ("/r/.claude/trees/x", "/r/.claude/trees/x/src/a.rs", None),
            ("/r/.claude/trees/x", "/r/.claude/settings.json", Some(Kind::Harness)),
            ("/r/sub", "/r/.git/config", Some(Kind::Repository)),
            ("/r/sub", "/r/other", None),
        ];
        for (workspace, path, expected) in cases {
            assert_eq!(
                reason(Path::new(path), Path::new(workspace)),
                expected.map(Kind::why),
                "{path}"
            );
        }
    }

    #[test]
    fn a_repository_of_another_name() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["bare/objects", "bare/refs", "half/objects"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let cases = [
            ("bare/HEAD", Some(Kind::Repository)),
            ("bare/config", None),
            ("half/HEAD", None),
            ("half/refs/heads/main", None),
            ("half/commondir", None),
            ("HEAD", None),
        ];
        for (path, expected) in cases {
            assert_eq!(reason(&root.join(path), root), expected.map(Kind::why), "{path}");
        }
        fs::write(root.join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        for path in ["bare/config", "bare/hooks/pre-commit", "bare/x/y/z"] {
            assert_eq!(reason(&root.join(path), root), Some(Kind::Repository.why()), "{path}");
        }
        fs::write(root.join("half/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(reason(&root.join("half/commondir"), root), Some(Kind::Repository.why()));
        let bare = root.join("bare");
        assert_eq!(
            reason(&bare.join("config"), &bare),
            Some(Kind::Repository.why()),
            "as a workspace"
        );
    }
}
