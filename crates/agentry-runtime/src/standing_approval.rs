//! Standing approvals: what a user has approved for every later run of an agent with the same policy.
//!
//! They answer `ask` and never change a denial. What they cover is judged again for each call. They lapse
//! with the policy: the digest of its rules is part of the key.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentry_compile::text::digest::sha256;
use serde::{Deserialize, Serialize};

use crate::private_files;

/// The approvals for one agent, one policy and one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingApproval {
    /// The path of its definition.
    pub agent: String,
    /// Its name.
    pub name: String,
    /// The digest of the rules.
    pub policy: String,
    /// The workspace in which they hold.
    pub workspace: PathBuf,
    /// What is covered, as the user saw it.
    pub covers: Vec<String>,
    /// When the last one was given, in milliseconds since the Unix epoch.
    pub at: u64,
}

impl StandingApproval {
    /// Returns whether both are about the same agent, policy and workspace.
    fn is_about(&self, other: &Self) -> bool {
        (&self.agent, &self.name, &self.policy, &self.workspace)
            == (&other.agent, &other.name, &other.policy, &other.workspace)
    }
}

/// The standing approvals of a user: one file for each key, below Agentry's home directory.
#[derive(Debug, Clone)]
pub struct StandingStore {
    directory: PathBuf,
}

impl StandingStore {
    /// Returns the approvals that are stored in this home directory.
    pub fn of(home: &Path) -> Self {
        Self { directory: home.join("approvals") }
    }

    /// Returns what is covered for this agent, policy and workspace.
    pub fn covered(&self, key: &StandingApproval) -> Vec<String> {
        let known = read(&self.path(key)).filter(|known| known.is_about(key));
        known.map(|known| known.covers).unwrap_or_default()
    }

    /// Adds what `new` covers to what is covered already.
    pub fn add(&self, new: &StandingApproval) -> io::Result<()> {
        let mut covers = self.covered(new);
        covers.extend(new.covers.iter().cloned());
        covers.sort();
        covers.dedup();
        private_files::directories(&self.directory)?;
        let all = StandingApproval { covers, ..new.clone() };
        let text = serde_json::to_string_pretty(&all).map_err(io::Error::other)?;
        private_files::replace(&self.path(new), format!("{text}\n"))
    }

    /// Returns all of them, the oldest first.
    pub fn list(&self) -> Vec<StandingApproval> {
        self.files().into_iter().map(|(_, approval)| approval).collect()
    }

    /// Revokes every one for the agent of this name or path, and returns the revoked ones.
    pub fn revoke(&self, what: &str) -> io::Result<Vec<StandingApproval>> {
        let mut gone = Vec::new();
        for (path, approval) in self.files() {
            if approval.name == what || approval.agent == what {
                fs::remove_file(path)?;
                gone.push(approval);
            }
        }
        Ok(gone)
    }

    fn files(&self) -> Vec<(PathBuf, StandingApproval)> {
        let paths = private_files::with_extension(&self.directory, "json");
        let mut all: Vec<_> =
            paths.into_iter().filter_map(|path| Some((path.clone(), read(&path)?))).collect();
        all.sort_by(|(_, a), (_, b)| (a.at, &a.agent).cmp(&(b.at, &b.agent)));
        all
    }

    fn path(&self, key: &StandingApproval) -> PathBuf {
        let StandingApproval { agent, name, policy, workspace, .. } = key;
        let text = serde_json::to_string(&(agent, name, policy, workspace)).unwrap_or_default();
        self.directory.join(format!("{}.json", sha256(text)))
    }
}

fn read(path: &Path) -> Option<StandingApproval> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standing_approvals_lapse_with_policy_agent_or_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let store = StandingStore::of(folder.path());
        let key = |agent: &str, policy: &str, workspace: &str| StandingApproval {
            agent: agent.to_owned(),
            name: "helper".to_owned(),
            policy: policy.to_owned(),
            workspace: workspace.into(),
            covers: vec![format!("covered in {workspace}")],
            at: 1,
        };
        let known = key("a.agent", "sha256:1", "/w");
        store.add(&known).unwrap();
        store.add(&StandingApproval { covers: vec!["more".to_owned()], ..known.clone() }).unwrap();
        assert_eq!(store.covered(&known), ["covered in /w", "more"]);
        for other in [
            key("b.agent", "sha256:1", "/w"),
            key("a.agent", "sha256:2", "/w"),
            key("a.agent", "sha256:1", "/v"),
        ] {
            assert!(store.covered(&other).is_empty(), "{other:?}");
        }
        // A file that was copied to the name of another key is about the first one still.
        let other = key("a.agent", "sha256:2", "/w");
        fs::copy(store.path(&known), store.path(&other)).unwrap();
        assert!(store.covered(&other).is_empty());
        assert_eq!(store.revoke("nobody").unwrap(), []);
        assert_eq!(store.revoke("helper").unwrap().len(), 2);
        assert_eq!(store.list(), []);
    }
}
