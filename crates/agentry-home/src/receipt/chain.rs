//! Which chain a receipt belongs to: the identity of an agent over all its runs.

use std::fmt;
use std::path::Component;

use agentry_compile::text::digest::sha256;

use crate::layout::{HomeLayout, identifier_of, is_identifier};

/// The number of digits of a path's digest that distinguish agents with the same name.
const DIGITS: usize = 12;
/// How many characters of a name the chain keeps.
const NAME_LENGTH: usize = 48;

/// How the chains end that several homes share. The digits of a path are no word.
const SHARED: &str = "~shared";

/// The chain of the receipts of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentChain(String);

impl AgentChain {
    /// The chain of the agent at `path`. An installed agent has its id. Every other agent has the identifier of
    /// its name and a digest of where its definition is: agents of the same name in two workspaces are two
    /// agents. The versions of an agent in the store, `name@version`, are one.
    #[must_use]
    pub fn of(layout: &HomeLayout, path: &str, name: &str) -> Self {
        if let Some(id) = installed_id(layout, path) {
            return Self(id);
        }
        let place = match path.split_once('@') {
            Some((stored, _)) if !path.contains('/') => stored,
            _ => path.trim_end_matches('/'),
        };
        let mut slug = identifier_of(name).unwrap_or_else(|| "agent".to_owned());
        slug.truncate(NAME_LENGTH);
        let mut digits = sha256(place);
        digits.truncate(DIGITS);
        // No identifier has a `~`, so this is never the id of an installed agent.
        Self(format!("{slug}~{digits}"))
    }

    /// The chain in which several homes share the receipts of this agent: apart from that of each home, because a chain has
    /// one place where it grows.
    #[must_use]
    pub fn shared(&self) -> Self {
        if self.is_shared() { self.clone() } else { Self(format!("{}{SHARED}", self.0)) }
    }

    /// Whether several homes share it.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.ends_with(SHARED)
    }

    /// The chain with this text, as a receipt has it.
    pub(super) fn written(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text of the chain.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The identifier, without the digest of a path.
    #[must_use]
    pub fn identifier(&self) -> &str {
        self.0.split('~').next().unwrap_or_default()
    }
}

impl fmt::Display for AgentChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of the installed agent whose definition is at `path`.
fn installed_id(layout: &HomeLayout, path: &str) -> Option<String> {
    let agents = layout.agents();
    let real = std::fs::canonicalize(&agents).unwrap_or_else(|_| agents.clone());
    // An installed agent may be named by its id, or by a path relative to the current directory.
    if is_identifier(path) && agents.join(path).is_dir() {
        return Some(path.to_owned());
    }
    let path = std::path::absolute(path).ok()?;
    let below = path.strip_prefix(&agents).or_else(|_| path.strip_prefix(&real)).ok()?;
    let Component::Normal(id) = below.components().next()? else { return None };
    id.to_str().filter(|id| is_identifier(id)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_runs_of_an_agent_share_one_chain() {
        let layout = HomeLayout::new("/h/.agentry");
        let of = |path: &str, name: &str| AgentChain::of(&layout, path, name).0;
        assert_eq!(of("/h/.agentry/agents/ops/agent.toml", "Night Ops"), "ops");
        assert_eq!(of("/h/.agentry/agents/ops", "renamed"), "ops");
        let (one, other) = (of("/w/one/ops", "ops"), of("/w/two/ops", "ops"));
        assert!(one.starts_with("ops~") && one != other, "{one} {other}");
        assert_eq!(one, of("/w/one/ops/", "ops"));
        assert_eq!(of("ops@1.0.0", "ops"), of("ops@2.0.0", "ops"));
        assert!(of("/w/审", "审查").starts_with("agent~"));
        assert!(!is_identifier(&of("/w/x", &"x".repeat(200))));
        let own = AgentChain::of(&layout, "/w/one/ops", "ops");
        assert!(own.shared().is_shared() && !own.is_shared());
        assert_eq!((own.shared().shared(), own.shared().identifier()), (own.shared(), "ops"));
        // Nothing outside of `agents/` gets the id of an installed agent.
        for path in ["/h/.agentry/agents/../x", "/h/.agentry/agents", "/h/.agentry/agents/A"] {
            assert!(of(path, "ops").contains('~'), "{path}");
        }
    }
}
