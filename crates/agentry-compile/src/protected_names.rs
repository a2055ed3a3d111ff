//! The list of names that no call of an agent may write to, whatever its policy says: repositories,
//! settings of harnesses and editors, and Agentry's own files. Other programs run these files or obey them.
//!
//! Harnesses declare their own names ([`Target::places`](agentry_targets::Target)). A name counts in every
//! directory. The tools of a run, the sandbox, the quarantine, the guard of a harness and `policy why` all
//! use this list. Secrets are not in it: for them, the judge asks the user.

use std::borrow::Cow;
use std::sync::LazyLock;

use agentry_policy::path::is_inside;
use agentry_targets::{HarnessPlace, PlaceRole, TARGETS};

/// A protected name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectedName {
    /// The last parts of its path, in lower case.
    pub path: &'static str,
    /// What it belongs to.
    pub kind: ProtectedKind,
    /// Whether it is a directory, with everything below it.
    pub is_directory: bool,
    /// What keeps commands from writing it.
    pub barrier: CommandBarrier,
}

/// What a protected name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedKind {
    /// A repository.
    Repository,
    /// Another harness.
    Harness,
    /// An editor.
    Editor,
    /// Agentry itself.
    Own,
    /// A recorded run.
    Recorded,
}

impl ProtectedKind {
    /// Why it is protected, as shown to the user.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Repository => "the next user of the repository would run it",
            Self::Harness | Self::Editor => "it decides what other agents and editors do and run",
            Self::Own => "it decides what agents may do",
            Self::Recorded => "tests of agents rely on it",
        }
    }
}

/// What keeps commands from writing a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandBarrier {
    /// A mount at the workspace root, even before the name exists. An empty directory there does no harm.
    Placeholder,
    /// A mount where the name exists.
    Mount,
    /// No mount, because an empty file there would be read, or its directory must stay writable. The
    /// quarantine removes what commands create.
    Quarantine,
    /// Nothing; only tools are kept from it. `git` itself writes there.
    ToolsOnly,
}

impl CommandBarrier {
    /// What happens to commands that write there, as shown to the user.
    pub const fn effect_text(self) -> &'static str {
        match self {
            Self::Placeholder => {
                "cannot, at the root of a workspace; elsewhere it is restored afterwards"
            }
            Self::Mount => {
                "cannot, where it exists at the root; elsewhere it is restored afterwards"
            }
            Self::Quarantine => "it is restored afterwards",
            Self::ToolsOnly => "may, but for what runs something: settings, hooks, modules",
        }
    }
}

/// The kind of writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenBy {
    /// A tool that writes files.
    Tool,
    /// A command. `git` may write to its repository, and a recording to an unfinished cassette.
    Command,
}

use CommandBarrier::{Mount, Placeholder, Quarantine, ToolsOnly};
use ProtectedKind::{Editor, Own, Repository};

/// The names that no harness declares. Those below `.git/` count in every Git directory, whatever its
/// name is.
const OTHERS: &[ProtectedName] = &[
    directory(".git", Repository, ToolsOnly),
    file(".git/config", Repository, Placeholder),
    file(".git/config.worktree", Repository, Mount),
    file(".git/commondir", Repository, Mount),
    file(".git/gitdir", Repository, Quarantine),
    file(".git/info/attributes", Repository, Mount),
    directory(".git/hooks", Repository, Placeholder),
    directory(".git/modules", Repository, Mount),
    directory(".hg", Repository, Mount),
    directory(".jj", Repository, Mount),
    directory(".sl", Repository, Mount),
    file(".vscode/launch.json", Editor, Quarantine),
    file(".vscode/mcp.json", Editor, Quarantine),
    file(".vscode/settings.json", Editor, Quarantine),
    file(".vscode/tasks.json", Editor, Quarantine),
    file("agentry.toml", Own, Placeholder),
    file("agentry.lock", Own, Placeholder),
    directory(".agentry", Own, Placeholder),
    directory(".config/agentry", Own, Quarantine),
];

/// A part of every cassette's name.
const CASSETTE: &str = ".cassette.";
/// The end of an unfinished cassette's name. Such a file is never replayed.
const PART: &str = ".part";
/// The entries that make a directory a repository without `.git`: all entries of one row. A repository
/// of the second row has its settings elsewhere.
const BARE: &[&[&str]] = &[&["HEAD", "objects", "refs"], &["HEAD", "commondir"]];

static NAMES: LazyLock<Vec<ProtectedName>> = LazyLock::new(|| {
    let places = TARGETS.iter().flat_map(|target| target.places);
    let mut places: Vec<&HarnessPlace> =
        places.filter(|place| place.role != PlaceRole::Context).collect();
    places.sort_by_key(|place| place.path);
    places.dedup_by_key(|place| place.path);
    // A name below another protected directory is already protected.
    let is_outer = |place: &&&HarnessPlace| {
        !places.iter().any(|other| other.path != place.path && other.covers(place.path))
    };
    let harnesses = places.iter().filter(is_outer).map(|place| of_harness(place.path));
    OTHERS.iter().copied().chain(harnesses).collect()
});

const fn directory(
    path: &'static str,
    kind: ProtectedKind,
    barrier: CommandBarrier,
) -> ProtectedName {
    ProtectedName { path, kind, is_directory: true, barrier }
}

const fn file(path: &'static str, kind: ProtectedKind, barrier: CommandBarrier) -> ProtectedName {
    ProtectedName { path, kind, is_directory: false, barrier }
}

/// The name of a harness. An empty directory can stand in for it, but an empty file would be read as
/// settings. A directory around it, such as `.github`, must stay writable.
fn of_harness(place: &'static str) -> ProtectedName {
    let path = place.trim_end_matches('/');
    let is_directory = path.len() < place.len();
    let barrier = if is_directory && !path.contains('/') { Placeholder } else { Quarantine };
    ProtectedName { path, kind: ProtectedKind::Harness, is_directory, barrier }
}

impl ProtectedName {
    /// Its path inside a Git directory, if it counts only there.
    pub fn in_repository(&self) -> Option<&'static str> {
        self.path.strip_prefix(".git/")
    }

    /// Whether it is protected from writes of this kind.
    pub fn counts_for(&self, by: WrittenBy) -> bool {
        by == WrittenBy::Tool || self.barrier != ToolsOnly
    }
}

/// All names that are protected as a whole. Cassettes are protected too, by a part of their name.
pub fn names() -> &'static [ProtectedName] {
    &NAMES
}

/// A protected name in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectedHit {
    /// What it belongs to.
    pub kind: ProtectedKind,
    /// How many parts of the path lead to it, including its own.
    pub parts: usize,
}

/// The outermost protected name in a path. Each part must be [`fold`]ed.
pub fn find(parts: &[Cow<'_, str>], by: WrittenBy) -> Option<ProtectedHit> {
    let at = |start: usize| {
        let rest = parts.get(start..)?;
        // `start` grows, so the first hit is the outermost one.
        let counts = |name: &&ProtectedName| name.counts_for(by) && begins(rest, name.path);
        let name = NAMES.iter().find(counts)?;
        Some(ProtectedHit { kind: name.kind, parts: start + name.path.split('/').count() })
    };
    let is_recorded = |name: &Cow<'_, str>| match by {
        WrittenBy::Tool => name.contains(CASSETTE),
        WrittenBy::Command => is_cassette(name),
    };
    let recorded = ProtectedHit { kind: ProtectedKind::Recorded, parts: parts.len() };
    (0..parts.len())
        .find_map(at)
        .or_else(|| parts.last().is_some_and(is_recorded).then_some(recorded))
}

fn begins(parts: &[Cow<'_, str>], name: &str) -> bool {
    let mut parts = parts.iter();
    name.split('/').all(|wanted| parts.next().is_some_and(|part| part == wanted))
}

/// The start of a real path up to a protected name. A protected name above the workspace does not count
/// for files inside the workspace.
pub fn find_in<'a>(real: &'a str, workspace: &str, by: WrittenBy) -> Option<&'a str> {
    let skipped =
        if is_inside(real, workspace) { workspace.trim_end_matches('/').len() } else { 0 };
    let hit = find(&folded(real.get(skipped..)?), by)?;
    let below = real.get(skipped..)?.trim_start_matches('/');
    let length: usize = below.split('/').take(hit.parts).map(|part| part.len() + 1).sum();
    real.get(..real.len() - below.len() + length.saturating_sub(1))
}

/// The rests of protected names that would lie below a path, if the path ends with their first parts:
/// `hooks` below a `.git`.
pub fn names_below(real: &str) -> impl Iterator<Item = &'static str> {
    let parts: Vec<String> = folded(real).into_iter().map(Cow::into_owned).collect();
    let rest = move |name: &'static str| {
        let ends = name.match_indices('/').map(|(at, _)| at);
        let mut halves = ends.filter_map(|at| name.split_at_checked(at));
        let is_end = |start: &str| {
            let mut known = parts.iter().rev();
            start.rsplit('/').all(|wanted| known.next().is_some_and(|part| part == wanted))
        };
        let (_, rest) = halves.find(|(start, _)| is_end(start))?;
        Some(rest.trim_start_matches('/'))
    };
    NAMES
        .iter()
        .filter(|name| name.counts_for(WrittenBy::Command))
        .filter_map(move |it| rest(it.path))
}

/// Whether a name is that of a finished cassette.
pub fn is_cassette(name: &str) -> bool {
    name.contains(CASSETTE) && !name.ends_with(PART)
}

/// The entry names that make a directory a repository without `.git`.
pub fn bare_names() -> impl Iterator<Item = &'static str> {
    BARE.iter().flat_map(|row| row.iter().copied())
}

/// Whether a directory with these entries is a repository without `.git`.
pub fn is_bare(mut has: impl FnMut(&str) -> bool) -> bool {
    BARE.iter().any(|row| row.iter().all(|name| has(name)))
}

/// How many parts of a path lead to a repository without `.git` that contains it, or that it would
/// complete. Each part must be [`fold`]ed; `has` returns whether the directory at a depth has an
/// entry.
pub fn find_bare(parts: &[Cow<'_, str>], has: impl Fn(usize, &str) -> bool) -> Option<usize> {
    let is_one = |(depth, next): &(usize, &Cow<'_, str>)| {
        is_bare(|name| **next == fold(name) || has(*depth, name))
    };
    parts.iter().enumerate().find(is_one).map(|(depth, _)| depth)
}

/// The parts of a path, [`fold`]ed.
pub fn folded(path: &str) -> Vec<Cow<'_, str>> {
    path.split('/').filter(|part| !part.is_empty()).map(fold).collect()
}

/// A name as the most lenient file system compares it: without case and without invisible characters.
pub fn fold(name: &str) -> Cow<'_, str> {
    // Fast path: nothing to change.
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let seen = |it: &char| !matches!(it, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    Cow::Owned(name.chars().filter(seen).collect::<String>().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_names_are_found_in_paths() {
        let cases = [
            ("/w/.claude", Some("/w/.claude")),
            ("/w/.Claude/x", Some("/w/.Claude")),
            ("/w/.git/hooks/pre-commit", Some("/w/.git/hooks")),
            ("/w/sub/.git/config", Some("/w/sub/.git/config")),
            ("/w/.git/HEAD", None),
            ("/w/.vscode/tasks.json", Some("/w/.vscode/tasks.json")),
            ("/w/.vscode/words.txt", None),
            ("/w/a/b.cassette.jsonl", Some("/w/a/b.cassette.jsonl")),
            ("/w/.config/agentry/x", Some("/w/.config/agentry")),
            ("/w/.copilot/config.json", Some("/w/.copilot")),
            ("/w/a/.claude/x", Some("/w/a/.claude")),
            ("/other/opencode.json", Some("/other/opencode.json")),
            ("/w/.github/agents/x.md", Some("/w/.github/agents")),
            ("/w/.github/workflows/x", None),
            ("/w/agents/x", None),
            ("/w/.claude2", None),
            ("/v/.claude/worktrees/x/a", None),
            ("/v/.claude/worktrees/x/.pi/a", Some("/v/.claude/worktrees/x/.pi")),
        ];
        for (path, expected) in cases {
            let workspace = if path.starts_with("/v") { "/v/.claude/worktrees/x" } else { "/w" };
            assert_eq!(find_in(path, workspace, WrittenBy::Command), expected, "{path}");
        }
        for path in ["/w/.git/HEAD", "/w/.git/hooks/pre-commit"] {
            assert_eq!(find_in(path, "/w", WrittenBy::Tool), Some("/w/.git"), "{path}");
        }
        assert!(names_below("/w/sub/.GIT").any(|name| name == "hooks"));
        assert_eq!(names_below("/w/.github").collect::<Vec<_>>(), ["agents", "skills"]);
        assert_eq!(names_below("/w/.git/info").collect::<Vec<_>>(), ["attributes"]);
        assert_eq!(names_below("/w/info").count() + names_below("/w/src").count(), 0);
    }

    /// Every name that a harness declares is protected, except context files. All are in lower case, because
    /// folded paths are compared with them.
    #[test]
    fn every_declared_harness_path_is_protected() {
        for target in TARGETS {
            assert!(!target.places.is_empty(), "{} declares no place", target.name);
            for place in target.places {
                let hit = find(&folded(place.path), WrittenBy::Command);
                let expected = place.role != PlaceRole::Context;
                assert_eq!(hit.is_some(), expected, "{} {}", target.name, place.path);
            }
        }
        for name in names() {
            assert_eq!(fold(name.path), name.path);
        }
    }
}
