//! The one list of what no call of an agent writes to, whatever its policy says, because somebody else
//! runs it or decides by it later: repositories, settings of harnesses and editors, Agentry's own files.
//!
//! A name counts at any depth of a workspace. No rule of an agent opens one. Tools ask [`reason`]; the
//! sandbox, which needs paths before a command runs, goes through [`names`]. Secrets are not here: the
//! judge asks a person about them.

use std::fs;
use std::path::{Component, Path};

/// Something that is protected by its name, in any directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// The last parts of its path, in lower case.
    pub path: &'static str,
    /// Whether it is a directory, with all that lies below.
    pub is_directory: bool,
    /// Whether commands must not write to it either. `git` itself writes to the rest of `.git`.
    pub from_commands: bool,
    /// Why.
    pub why: &'static str,
}

const REPOSITORY: &str = "whoever uses the repository next would run it";
const HARNESS: &str = "it decides what other agents and editors do and run";
const OWN: &str = "it decides what agents may do";
const RECORDED: &str = "tests of agents rely on it";

const NAMES: &[Name] = &[
    Name { from_commands: false, ..directory(".git", REPOSITORY) },
    file(".git/config", REPOSITORY),
    file(".git/config.worktree", REPOSITORY),
    file(".git/commondir", REPOSITORY),
    file(".git/info/attributes", REPOSITORY),
    directory(".git/hooks", REPOSITORY),
    directory(".git/modules", REPOSITORY),
    directory(".hg", REPOSITORY),
    directory(".jj", REPOSITORY),
    directory(".sl", REPOSITORY),
    directory(".claude", HARNESS),
    directory(".codex", HARNESS),
    directory(".config/opencode", HARNESS),
    directory(".cursor", HARNESS),
    directory(".gemini", HARNESS),
    directory(".opencode", HARNESS),
    directory(".pi", HARNESS),
    file(".mcp.json", HARNESS),
    file("opencode.json", HARNESS),
    file("opencode.jsonc", HARNESS),
    file(".vscode/launch.json", HARNESS),
    file(".vscode/mcp.json", HARNESS),
    file(".vscode/settings.json", HARNESS),
    file(".vscode/tasks.json", HARNESS),
    file("agentry.toml", OWN),
    file("agentry.lock", OWN),
    directory(".agentry", OWN),
];

/// What stands in the name of every cassette.
const CASSETTE: &str = ".cassette.";
/// What makes a directory a repository without a `.git`.
const BARE: &[&str] = &["HEAD", "objects", "refs"];

const fn file(path: &'static str, why: &'static str) -> Name {
    Name { path, is_directory: false, from_commands: true, why }
}

const fn directory(path: &'static str, why: &'static str) -> Name {
    Name { path, is_directory: true, from_commands: true, why }
}

/// Everything that is protected by its whole name. Cassettes beside agents are, too.
pub fn names() -> &'static [Name] {
    NAMES
}

/// Why a path relative to the workspace is protected by its name, if it is. Nothing is asked of the
/// disk. An absolute path that does not lie in the workspace is judged by all of its parts.
pub fn is_protected(path: &Path) -> Option<&'static str> {
    let parts: Vec<String> = path.components().filter_map(folded).collect();
    let starts = (0..parts.len()).filter_map(|at| parts.get(at..));
    let found = starts.flat_map(|rest| NAMES.iter().filter(|name| begins(rest, name.path)));
    let cassette = || parts.last().is_some_and(|name| name.contains(CASSETTE));
    // The first one is the outermost, which says most.
    let found = found.map(|name| name.why).next();
    found.or_else(|| cassette().then_some(RECORDED))
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
        around.into_iter().any(|at| is_repository(at, path)).then_some(REPOSITORY)
    })
}

/// Whether a directory is a repository, once there is something at `path` below it.
fn is_repository(directory: &Path, path: &Path) -> bool {
    let next = path.strip_prefix(directory).ok().and_then(|below| below.components().next());
    let comes = |name: &str| next.and_then(folded).is_some_and(|next| next == name.to_lowercase());
    BARE.iter().all(|name| comes(name) || fs::symlink_metadata(directory.join(name)).is_ok())
}

/// One part of a path as the most careless file system compares it: without regard to case and to
/// characters that cannot be seen.
fn folded(part: Component<'_>) -> Option<String> {
    let Component::Normal(name) = part else { return None };
    let seen = |it: &char| !matches!(it, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    Some(name.to_string_lossy().chars().filter(seen).collect::<String>().to_lowercase())
}

fn begins(parts: &[String], name: &str) -> bool {
    let mut parts = parts.iter();
    name.split('/').all(|wanted| parts.next().is_some_and(|part| part == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_at_any_depth() {
        let cases = [
            (".git", Some(REPOSITORY)),
            (".git/config", Some(REPOSITORY)),
            ("vendor/x/.GIT/hooks/pre-commit", Some(REPOSITORY)),
            (".g\u{200c}it/config", Some(REPOSITORY)),
            ("sub/.claude/settings.local.json", Some(HARNESS)),
            (".mcp.json", Some(HARNESS)),
            ("web/.vscode/tasks.json", Some(HARNESS)),
            ("a/agentry.toml", Some(OWN)),
            (".agentry/x", Some(OWN)),
            ("agents/writer.cassette.short.jsonl", Some(RECORDED)),
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
            assert_eq!(is_protected(Path::new(path)), expected, "{path}");
        }
        for Name { path, why, .. } in names() {
            assert_eq!(is_protected(&Path::new("a/b").join(path)), Some(*why), "{path}");
        }
    }

    #[test]
    fn the_way_to_a_workspace_does_not_count() {
        let cases = [
            ("/r/.claude/trees/x", "/r/.claude/trees/x/src/a.rs", None),
            ("/r/.claude/trees/x", "/r/.claude/settings.json", Some(HARNESS)),
            ("/r/sub", "/r/.git/config", Some(REPOSITORY)),
            ("/r/sub", "/r/other", None),
        ];
        for (workspace, path, expected) in cases {
            assert_eq!(reason(Path::new(path), Path::new(workspace)), expected, "{path}");
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
            ("bare/HEAD", Some(REPOSITORY)),
            ("bare/config", None),
            ("half/HEAD", None),
            ("half/refs/heads/main", None),
            ("HEAD", None),
        ];
        for (path, expected) in cases {
            assert_eq!(reason(&root.join(path), root), expected, "{path}");
        }
        fs::write(root.join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        for path in ["bare/config", "bare/hooks/pre-commit", "bare/x/y/z"] {
            assert_eq!(reason(&root.join(path), root), Some(REPOSITORY), "{path}");
        }
        let bare = root.join("bare");
        assert_eq!(reason(&bare.join("config"), &bare), Some(REPOSITORY), "as a workspace");
    }
}
