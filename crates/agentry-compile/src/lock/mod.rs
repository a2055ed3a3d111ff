//! `agentry.lock`: the state of a workspace's agents when they were reviewed, so that only reviewed agents
//! run.
//!
//! ```text
//! CompiledAgent ─▶ entry ─▶ LockedAgent ─▶ write ─▶ one table of the lock
//!                               │                     │ read (old versions are migrated)
//!                               └──── compare ◀───────┘ ─▶ changes as text
//! ```
//!
//! An entry depends on the files of the workspace, the bases in the store and the built-in catalogue. It
//! does not depend on keys, servers or the user's settings, so it is the same on every machine. The only
//! exception is a skill that is found only in the home directory.

mod compare;
mod delegates;
mod entry;
mod policy;
mod read;
#[cfg(test)]
mod tests;
mod version_0;
mod write;

use std::collections::BTreeMap;
use std::fmt;

use agentry_model::Format;

use crate::pipeline::CompiledAgent;
use crate::resolve::PlannedFile;
use crate::world::World;

pub use compare::{LockChange, LockChangeKind};
pub use delegates::LockedDelegate;
pub use entry::{key, locked, look};
pub use read::read;

/// The name of the file, at the root of a workspace.
pub const FILE: &str = "agentry.lock";
/// The version of the lock that this build writes.
pub const VERSION: i64 = 1;

/// The lock of one workspace. An entry stays text until it is needed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lockfile {
    sections: BTreeMap<String, LockSection>,
}

/// One table of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LockSection {
    /// Its text, starting with the header, without blank lines around it.
    text: String,
    /// The line of its header, starting at 1.
    line: usize,
}

/// The locked state of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedAgent {
    /// Its name.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// `sha256:…`, the digest of `hash --full`.
    pub digest: String,
    /// Its bases, the nearest first: a path, or a name in the store with the digest.
    pub bases: Vec<String>,
    /// Its own files, sorted by path.
    pub files: Vec<PlannedFile>,
    /// The files of its bases, sorted by path.
    pub base_files: Vec<PlannedFile>,
    /// The language models that it may use, in order.
    pub models: Vec<String>,
    /// Its skills, each with what it resolves to.
    pub skills: Vec<(String, String)>,
    /// `sha256:…` of the lines of its policy.
    pub policy_digest: String,
    /// Its policy, one rule a line. Empty in version 0.
    pub policy: Vec<String>,
    /// Its MCP servers. `None` in version 0.
    pub servers: Option<Vec<LockedServer>>,
    /// The agents that it names, and those below them.
    pub delegates: Vec<LockedDelegate>,
}

/// An MCP server as the definition describes it. Values of variables and headers are not stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockedServer {
    /// Its name.
    pub name: String,
    /// The program that runs it.
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Its address.
    pub url: Option<String>,
    /// The names of the variables that it gets.
    pub env: Vec<String>,
    /// The names of the headers that are sent to it.
    pub headers: Vec<String>,
    /// What it announced when a user agreed to it; `None` if that is not known.
    pub pins: Option<Vec<ServerPinLine>>,
}

/// One thing that a server announced: its instructions, or a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPinLine {
    /// What it is: `instructions`, `tool NAME`.
    pub what: String,
    /// `sha256:…` of all that was announced about it.
    pub digest: String,
}

impl LockedServer {
    /// What of these is not as locked; nothing if nothing was pinned.
    pub fn unlike(&self, now: &[ServerPinLine]) -> Vec<String> {
        let Some(pins) = &self.pins else { return Vec::new() };
        let new = now.iter().filter(|line| !pins.contains(line));
        new.map(|line| line.what.clone()).collect()
    }
}

/// Why a lock cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockError {
    /// The problem, with the line if it is known.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl LockError {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Lockfile {
    /// The keys of the locked agents: their main files, relative to the workspace root.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.sections.keys().map(String::as_str)
    }

    /// Whether an agent is locked.
    pub fn has(&self, key: &str) -> bool {
        self.sections.contains_key(key)
    }

    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// The entry of an agent, or `None` if it is not locked.
    pub fn get(&self, key: &str) -> Result<Option<LockedAgent>, LockError> {
        self.sections.get(key).map(|section| read::entry(key, section)).transpose()
    }

    /// Adds or replaces the entry of an agent.
    pub fn set(&mut self, key: &str, locked: &LockedAgent) {
        let text = write::section(key, locked);
        self.sections.insert(key.to_owned(), LockSection { text, line: 0 });
    }

    /// Removes the entry of an agent.
    pub fn remove(&mut self, key: &str) {
        self.sections.remove(key);
    }

    /// The changes of an agent since it was locked. For an agent that is not locked, that is the change.
    pub fn changes(&self, key: &str, now: &LockedAgent) -> Result<Vec<LockChange>, LockError> {
        let Some(section) = self.sections.get(key) else {
            return Ok(vec![LockChange::not_locked()]);
        };
        // Fast path: usually nothing changed, and no entry has to be parsed.
        if section.text == write::section(key, now) {
            return Ok(Vec::new());
        }
        Ok(compare::changes(&read::entry(key, section)?, now))
    }
}

/// Compares an agent with its lock, and returns the changes as an error. Callers that run an agent of a
/// locked workspace check this first, and refuse with exit code 3.
pub fn verify(
    world: &dyn World,
    compiled: &CompiledAgent,
    lock: &Lockfile,
) -> Result<(), Vec<LockChange>> {
    let key = key(world, compiled);
    match lock.changes(&key, &locked(world, compiled)) {
        Ok(changes) if changes.is_empty() => Ok(()),
        Ok(changes) => Err(changes),
        Err(error) => Err(vec![LockChange::unreadable(&error)]),
    }
}
