//! The layout of the home: the only module that knows its directories.
//!
//! ```text
//! agents/<id>/                         an installed agent: a Git repository
//! users/<user>/agents/<id>/memory/     what one user taught it; never exported
//! users/<user>/memory/                 what agents with a shared memory remember for one user
//! runs/<run>/                          journal, files and `receipts/` of a run
//! schedules/ledger.db                  which firings were started
//! cache/                               indexes that can be rebuilt, such as those of memories
//! logs/audit.jsonl                     the attempts of agents to change themselves
//! agents.db                            the record of installed agents and the heads of receipt chains
//! logins/                              tokens for MCP servers, where there is no keyring
//! keys/                                the key that signs receipts
//! ```

use std::path::{Path, PathBuf};

/// The directories of one home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeLayout {
    root: PathBuf,
}

impl HomeLayout {
    /// The layout below `root`; nothing is created.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The home itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The installed agents, one directory each.
    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// The repository of the agent `id`. The caller has checked `id` with [`is_identifier`].
    #[must_use]
    pub fn agent(&self, id: &str) -> PathBuf {
        self.agents().join(id)
    }

    /// What users taught agents in private; never exported.
    #[must_use]
    pub fn users(&self) -> PathBuf {
        self.root.join("users")
    }

    /// What `user` taught the agent `id` in private.
    #[must_use]
    pub fn user_memory(&self, user: &str, id: &str) -> PathBuf {
        self.users().join(user).join("agents").join(id).join("memory")
    }

    /// What the agents that share their memory remember for `user`.
    #[must_use]
    pub fn shared_memory(&self, user: &str) -> PathBuf {
        self.users().join(user).join("memory")
    }

    /// The memory that belongs to the agent `id` itself, for all users.
    #[must_use]
    pub fn agent_memory(&self, id: &str) -> PathBuf {
        self.agent(id).join("memory")
    }

    /// The index of everything that the agent `id` remembers in runs of `user`. Each user has another file, so that
    /// no search of one can read what another taught. Without a user: only the memory of the agent itself.
    #[must_use]
    pub fn memory_index(&self, user: Option<&str>, id: &str) -> PathBuf {
        let indexes = self.cache().join("memory");
        let folder = match user {
            Some(user) => indexes.join("users").join(user),
            None => indexes.join("agents"),
        };
        folder.join(format!("{id}.db"))
    }

    /// The runs, one directory each.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The receipts of one run.
    #[must_use]
    pub fn receipts(&self, run: &str) -> PathBuf {
        self.runs().join(run).join("receipts")
    }

    /// The attempts of one run to change what is protected, one line each.
    #[must_use]
    pub fn attempts(&self, run: &str) -> PathBuf {
        self.runs().join(run).join("attempts.jsonl")
    }

    /// Whether `user` taught the agent `id` something in private.
    #[must_use]
    pub fn has_private_memory(&self, user: &str, id: &str) -> bool {
        is_identifier(user) && is_identifier(id) && has_entries(&self.user_memory(user, id))
    }

    /// Whether agents that share their memory remember something for `user`.
    #[must_use]
    pub fn has_shared_memory(&self, user: &str) -> bool {
        is_identifier(user) && has_entries(&self.shared_memory(user))
    }

    /// The ledger of schedules.
    #[must_use]
    pub fn schedules(&self) -> PathBuf {
        self.root.join("schedules")
    }

    /// The tokens of the user for MCP servers.
    #[must_use]
    pub fn logins(&self) -> PathBuf {
        self.root.join("logins")
    }

    /// Indexes that can be rebuilt.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// The logs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The file that a process locks while it changes the agent `id`. It lies beside the agents, so that it stays when an
    /// agent is removed.
    #[must_use]
    pub fn agent_lock(&self, id: &str) -> PathBuf {
        self.agents().join(format!(".{id}.lock"))
    }

    /// Where agents are prepared before they are moved to their place. On the same file system as [`Self::agents`].
    #[must_use]
    pub fn staging(&self) -> PathBuf {
        self.agents().join(".staging")
    }

    /// One line per attempt of an agent to change itself.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.jsonl")
    }

    /// The record of installed agents and of the heads of receipt chains.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.root.join("agents.db")
    }
}

pub(crate) fn has_entries(directory: &Path) -> bool {
    directory.read_dir().is_ok_and(|mut entries| entries.next().is_some())
}

/// Whether `name` can be the identifier of an agent or a user: one path component of 1 to 64 lower-case letters, digits,
/// `-`, `_` and `.` that starts with a letter or a digit. Nothing else ever becomes a part of a path.
#[must_use]
pub fn is_identifier(name: &str) -> bool {
    let starts =
        name.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
    let inner =
        |next: char| next.is_ascii_lowercase() || next.is_ascii_digit() || "-_.".contains(next);
    starts && name.len() <= 64 && name.chars().all(inner)
}

/// The identifier that a name gets: letters and digits stay, in lower case; each run of anything else is one `-`. `None` if
/// nothing is left.
#[must_use]
pub fn identifier_of(name: &str) -> Option<String> {
    let mut slug = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(64);
    let slug = slug.trim_end_matches('-');
    is_identifier(slug).then(|| slug.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_one_plain_path_component() {
        for good in ["a", "code-reviewer", "v1.2_x", "0"] {
            assert!(is_identifier(good), "{good}");
        }
        for bad in ["", ".", "..", ".git", "-x", "A", "a/b", "a\\b", "ä", "a b", &"x".repeat(65)] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }

    #[test]
    fn agent_names_become_slugs() {
        let table = [
            ("Code Reviewer", Some("code-reviewer")),
            ("  Ops / Night  ", Some("ops-night")),
            ("../../etc", Some("etc")),
            ("审查", None),
            ("", None),
        ];
        for (name, slug) in table {
            assert_eq!(identifier_of(name).as_deref(), slug, "{name}");
        }
    }
}
