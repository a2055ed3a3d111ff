//! The one list of what no call of an agent writes to, whatever its policy says, because somebody else
//! runs it or decides by it later: repositories, settings of harnesses and editors, Agentry's own files.
//!
//! A name counts at any depth of a workspace. No rule of an agent opens one. A run, the guard of a harness
//! and `policy why` go by it alike. Secrets are not here: the judge asks a person about them.

use std::borrow::Cow;

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

/// Where in a path something protected is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// What it is about.
    pub kind: Kind,
    /// How many parts of the path lead to it, its own included.
    pub parts: usize,
}

/// What tools leave alone in a path of these parts, each of them [`fold`]ed; the outermost, which says
/// most.
pub fn find(parts: &[Cow<'_, str>]) -> Option<Hit> {
    let hit = |_: &Name| true;
    among(parts, hit).or_else(|| cassette(parts, |name| name.contains(CASSETTE)))
}

/// The same, but what commands must not make: `git` writes to a repository, and whoever records to what
/// will be a cassette.
pub fn find_made(parts: &[Cow<'_, str>]) -> Option<Hit> {
    among(parts, |name| name.guard != Tools).or_else(|| cassette(parts, is_cassette))
}

fn among(parts: &[Cow<'_, str>], counts: impl Fn(&Name) -> bool) -> Option<Hit> {
    let at = |start: usize| {
        let rest = parts.get(start..)?;
        let name = NAMES.iter().find(|name| counts(name) && begins(rest, name.path))?;
        Some(Hit { kind: name.kind, parts: start + name.path.split('/').count() })
    };
    (0..parts.len()).find_map(at)
}

fn cassette(parts: &[Cow<'_, str>], is_one: impl Fn(&str) -> bool) -> Option<Hit> {
    let is_one = parts.last().is_some_and(|name| is_one(name));
    is_one.then_some(Hit { kind: Kind::Recorded, parts: parts.len() })
}

fn begins(parts: &[Cow<'_, str>], name: &str) -> bool {
    let mut parts = parts.iter();
    name.split('/').all(|wanted| parts.next().is_some_and(|part| part == wanted))
}

/// Whether a name is that of a cassette which somebody may play.
pub fn is_cassette(name: &str) -> bool {
    name.contains(CASSETTE) && !name.ends_with(PART)
}

/// The names that make a directory a repository without a `.git`.
pub fn of_bare() -> impl Iterator<Item = &'static str> {
    BARE.iter().flat_map(|row| row.iter().copied())
}

/// Whether a directory with these entries is a repository without a `.git`.
pub fn is_bare(mut has: impl FnMut(&str) -> bool) -> bool {
    BARE.iter().any(|row| row.iter().all(|name| has(name)))
}

/// A name as the most careless file system compares it: without regard to case and to characters that
/// cannot be seen.
pub fn fold(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let seen = |it: &char| !matches!(it, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    Cow::Owned(name.chars().filter(seen).collect::<String>().to_lowercase())
}
