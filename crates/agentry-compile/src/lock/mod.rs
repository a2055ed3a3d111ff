//! `agentry.lock`: what the agents of a workspace were when somebody looked at them, so that what runs
//! is what was reviewed.
//!
//! ```text
//! Compiled ─▶ entry ─▶ Locked ─▶ write ─▶ one table of the lock
//!                        │                     │ read (old versions are migrated)
//!                        └──── compare ◀───────┘ ─▶ changes, in words
//! ```
//!
//! An entry depends on the files of the workspace, the bases in the store and the built-in catalogue of
//! models, never on keys, servers or the user's own settings: it is the same on every machine. Only a
//! skill that is found nowhere but in the home is pinned from there.

mod compare;
mod entry;
mod policy;
mod read;
#[cfg(test)]
mod tests;
mod tool;
mod version_0;
mod write;

use std::collections::BTreeMap;
use std::fmt;

use agentry_model::Format;

use crate::pipeline::CompiledAgent;
use crate::resolve::PlannedFile;
use crate::world::World;

pub use compare::{LockChange, LockChangeKind};
pub use entry::{key, locked, look};
pub use read::read;
pub use tool::LockedTool;

/// The name of the file, at the root of a workspace.
pub const FILE: &str = "agentry.lock";
/// The version that is written.
pub const VERSION: i64 = 1;

/// The lock of one workspace. Entries are kept as they are written until somebody looks at them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lockfile {
    sections: BTreeMap<String, LockSection>,
}

/// One table of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LockSection {
    /// Its text, from its header on, without blank lines around it.
    text: String,
    /// The line of its header, from 1.
    line: usize,
}

/// What is pinned of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedAgent {
    /// Its name.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// `sha256:…`, the digest of `hash --full`.
    pub digest: String,
    /// What it is built on, the nearest first: a path, or a name in the store with the digest.
    pub bases: Vec<String>,
    /// The files that take part, sorted by path.
    pub files: Vec<PlannedFile>,
    /// The files of its bases, sorted by path.
    pub base_files: Vec<PlannedFile>,
    /// The models that it may run on, in order.
    pub models: Vec<String>,
    /// Its skills, each with what it comes down to.
    pub skills: Vec<(String, String)>,
    /// `sha256:…` of the lines of its policy.
    pub policy_digest: String,
    /// What it may do, a line a rule. Empty in a lock of version 0.
    pub policy: Vec<String>,
    /// Its MCP servers. Nothing in a lock of version 0.
    pub servers: Option<Vec<LockedServer>>,
    /// The tools that its MCP servers had when they were last seen.
    pub tools: Vec<LockedTool>,
}

/// An MCP server as the definition describes it. Values of variables and headers are not kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockedServer {
    /// Its name.
    pub name: String,
    /// The program that is it.
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Its address.
    pub url: Option<String>,
    /// The names of the variables that it gets.
    pub env: Vec<String>,
    /// The names of the headers that are sent to it.
    pub headers: Vec<String>,
}

/// Why a lock cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockError {
    /// What was found, with the line where that is known.
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
    /// The main files of the agents that are locked, from the root of the workspace.
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

    /// What is pinned of an agent; nothing if it is not locked.
    pub fn get(&self, key: &str) -> Result<Option<LockedAgent>, LockError> {
        self.sections.get(key).map(|section| read::entry(key, section)).transpose()
    }

    /// Pins an agent.
    pub fn set(&mut self, key: &str, locked: &LockedAgent) {
        let text = write::section(key, locked);
        self.sections.insert(key.to_owned(), LockSection { text, line: 0 });
    }

    /// Forgets an agent.
    pub fn remove(&mut self, key: &str) {
        self.sections.remove(key);
    }

    /// What is different about an agent now. An agent that is not locked is itself a change.
    pub fn changes(&self, key: &str, now: &LockedAgent) -> Result<Vec<LockChange>, LockError> {
        let Some(section) = self.sections.get(key) else {
            return Ok(vec![LockChange::not_locked()]);
        };
        // Most of the time nothing changed, and nothing needs to be read.
        if section.text == write::section(key, now) {
            return Ok(Vec::new());
        }
        let mut now = now.clone();
        let old = read::entry(key, section)?;
        now.keep_tools(&old);
        Ok(compare::changes(&old, &now))
    }
}

impl LockedAgent {
    /// Takes over the tools that were seen before, of servers that are still the same.
    pub fn keep_tools(&mut self, before: &Self) {
        let server = |locked: &Self, name: &str| -> Option<LockedServer> {
            locked.servers.iter().flatten().find(|server| server.name == name).cloned()
        };
        let same = |tool: &&LockedTool| {
            let now = server(self, &tool.server);
            now.is_some() && now == server(before, &tool.server)
        };
        self.tools = before.tools.iter().filter(same).cloned().collect();
    }

    /// What is different about the tools of a server, as far as they were seen before. What is `seen`
    /// for the first time is no change.
    pub fn tool_changes(&self, server: &str, seen: &[LockedTool]) -> Vec<LockChange> {
        compare::tools(server, &self.tools, seen)
    }

    /// Pins the tools of a server as they are now.
    pub fn see_tools(&mut self, server: &str, seen: Vec<LockedTool>) {
        self.tools.retain(|tool| tool.server != server);
        self.tools.extend(seen);
        self.tools.sort();
    }
}

/// Whether an agent is what the lock of its workspace says; else what changed, in words. Whoever runs an
/// agent of a locked workspace asks this first, and refuses with exit code 3.
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
