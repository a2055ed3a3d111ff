//! The one list of what no call of an agent writes to, whatever its policy says, because somebody else
//! runs it or decides by it later: repositories, settings of harnesses and editors, Agentry's own files.
//!
//! A name counts at any depth of a workspace. No rule of an agent opens one. Tools ask [`reason`]; the
//! sandbox and the quarantine, which keep commands from the same, go through [`names`]. Secrets are not
//! here: the judge asks a person about them.

pub(crate) mod walk;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path};

/// Something that is protected by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// The last parts of its path, in lower case.
    pub path: &'static str,
    /// What it is about.
    pub kind: Kind,
    /// What it is.
    pub form: Form,
    /// Where it counts.
    pub holds: Holds,
    /// What keeps commands from it.
    pub guard: Guard,
}

/// What a name is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A repository.
    Repository,
    /// Another harness, or an editor.
    Harness,
    /// Agentry itself.
    Own,
    /// A recorded run.
    Recorded,
}

impl Kind {
    /// Why it is protected.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Repository => "whoever uses the repository next would run it",
            Self::Harness => "it decides what other agents and editors do and run",
            Self::Own => "it decides what agents may do",
            Self::Recorded => "tests of agents rely on it",
        }
    }
}

/// What is under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A file.
    File,
    /// A directory, with all that lies below.
    Directory,
}

/// Where a name counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// In every directory.
    Everywhere,
    /// In what git keeps of a repository, whatever the directory with it is called.
    Repositories,
}

/// What keeps commands from a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// A mount, at the root of the workspace even before it exists: nobody minds what stands there.
    Placeholder,
    /// A mount where it exists.
    Mount,
    /// No mount: something that stands there would be read, or nobody knows where it will be. What
    /// commands make is taken away when they have ended.
    Afterwards,
    /// Nothing; only tools leave it alone. `git` itself writes there.
    Tools,
}

impl Guard {
    /// What becomes of commands that write there, for people.
    pub const fn says(self) -> &'static str {
        match self {
            Self::Placeholder => "cannot, at the root of a workspace; elsewhere it is taken back",
            Self::Mount => "cannot, where it exists at the root; elsewhere it is taken back",
            Self::Afterwards => "it is taken back",
            Self::Tools => "may, but for what runs something: settings, hooks, modules",
        }
    }
}

use Form::{Directory, File};
use Guard::{Afterwards, Mount, Placeholder, Tools};

const NAMES: &[Name] = &[
    everywhere(".git", Kind::Repository, Directory, Tools),
    in_repositories(".git/config", File, Placeholder),
    in_repositories(".git/config.worktree", File, Mount),
    in_repositories(".git/commondir", File, Mount),
    in_repositories(".git/gitdir", File, Afterwards),
    in_repositories(".git/info/attributes", File, Mount),
    in_repositories(".git/hooks", Directory, Placeholder),
    in_repositories(".git/modules", Directory, Mount),
    everywhere(".hg", Kind::Repository, Directory, Mount),
    everywhere(".jj", Kind::Repository, Directory, Mount),
    everywhere(".sl", Kind::Repository, Directory, Mount),
    everywhere(".claude", Kind::Harness, Directory, Placeholder),
    everywhere(".codex", Kind::Harness, Directory, Placeholder),
    everywhere(".config/opencode", Kind::Harness, Directory, Afterwards),
    everywhere(".cursor", Kind::Harness, Directory, Placeholder),
    everywhere(".gemini", Kind::Harness, Directory, Placeholder),
    everywhere(".opencode", Kind::Harness, Directory, Placeholder),
    everywhere(".pi", Kind::Harness, Directory, Placeholder),
    everywhere(".mcp.json", Kind::Harness, File, Afterwards),
    everywhere("opencode.json", Kind::Harness, File, Afterwards),
    everywhere("opencode.jsonc", Kind::Harness, File, Afterwards),
    everywhere(".vscode/launch.json", Kind::Harness, File, Afterwards),
    everywhere(".vscode/mcp.json", Kind::Harness, File, Afterwards),
    everywhere(".vscode/settings.json", Kind::Harness, File, Afterwards),
    everywhere(".vscode/tasks.json", Kind::Harness, File, Afterwards),
    everywhere("agentry.toml", Kind::Own, File, Placeholder),
    everywhere("agentry.lock", Kind::Own, File, Placeholder),
    everywhere(".agentry", Kind::Own, Directory, Placeholder),
];

/// What stands in the name of every cassette.
const CASSETTE: &str = ".cassette.";
/// How the name of a cassette ends that is still being written: nobody plays it.
const PART: &str = ".part";
/// What makes a directory a repository without a `.git`: all of one row. With the second, its settings
/// lie elsewhere.
const BARE: &[&[&str]] = &[&["HEAD", "objects", "refs"], &["HEAD", "commondir"]];

const fn everywhere(path: &'static str, kind: Kind, form: Form, guard: Guard) -> Name {
    Name { path, kind, form, holds: Holds::Everywhere, guard }
}

const fn in_repositories(path: &'static str, form: Form, guard: Guard) -> Name {
    Name { path, kind: Kind::Repository, form, holds: Holds::Repositories, guard }
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
    let found = found.map(|name| name.kind).next();
    found.or_else(|| cassette().then_some(Kind::Recorded)).map(Kind::why)
}

/// The names in a directory of git that decide, seen from there.
pub(crate) fn of_repositories() -> impl Iterator<Item = (&'static str, &'static Name)> {
    NAMES.iter().filter_map(|name| {
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
    let mut ours = NAMES.iter().filter(|name| is_everybodys(name) && name.guard != Tools);
    ours.any(|it| fits(it.path)) || is_cassette(name)
}

/// Whether an entry of this name may be one, whatever its directory is called, or may be a part of a
/// repository. For one that is not, nobody needs to know that it is there.
pub(crate) fn may_be_entry(name: &str) -> bool {
    let last = |name: &Name| name.path.rsplit('/').next().unwrap_or_default();
    let in_bare = |part: &&str| part.eq_ignore_ascii_case(name);
    NAMES.iter().filter(|name| is_everybodys(name)).any(|it| last(it) == name)
        || BARE.iter().flat_map(|row| row.iter()).any(in_bare)
        || is_cassette(name)
}

/// Whether a directory with these entries is a repository without a `.git`.
pub(crate) fn is_bare(mut has: impl FnMut(&str) -> bool) -> bool {
    BARE.iter().any(|row| row.iter().all(|name| has(name)))
}

fn is_everybodys(name: &Name) -> bool {
    name.holds == Holds::Everywhere
}

fn is_cassette(name: &str) -> bool {
    name.contains(CASSETTE) && !name.ends_with(PART)
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
fn folded(part: Component<'_>) -> Option<String> {
    let Component::Normal(name) = part else { return None };
    Some(fold(name).into_owned())
}

/// A name, as [`folded`] compares it.
pub(crate) fn fold(name: &OsStr) -> Cow<'_, str> {
    let text = name.to_string_lossy();
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return text;
    }
    let seen = |it: &char| !matches!(it, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    Cow::Owned(text.chars().filter(seen).collect::<String>().to_lowercase())
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
