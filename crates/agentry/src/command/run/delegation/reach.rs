//! The agents that a run can reach through delegation. The user agrees to all of them before the run begins.

use std::sync::Arc;

use agentry_compile::delegates::{MOST_DELEGATES, MOST_DEPTH};
use agentry_compile::text::digest;
use agentry_runtime::consent::ConsentListing;

use super::ceiling::DelegationCeiling;
use super::delegate_list::{self, ChainLink, KnownDelegate, chain_text};
use crate::command::run::first_consent::listing;
use crate::command::run::prepared_agent::PreparedAgent;

/// A delegate that a definition names, under its ceiling.
pub(crate) struct ReachableDelegate {
    /// The agents that lead to it: `lead › helper`.
    pub(crate) chain: String,
    /// The real path of its main file.
    pub(crate) identity: String,
    /// Whether it works under its own policy.
    has_own_policy: bool,
    pub(crate) ground: PreparedAgent,
}

impl ReachableDelegate {
    /// What it may do, one line each, for the user.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Self { chain, has_own_policy, ground, .. } = self;
        let bound =
            if *has_own_policy { "under its own policy" } else { "within that of its parent" };
        let path = ground.path();
        let digest = digest::short(&ground.digest);
        let head = format!("`{chain}`: {path} ({digest}), {bound}");
        let listing =
            ConsentListing { delegates: Vec::new(), ..listing(ground, String::new(), Vec::new()) };
        let mut kind = String::new();
        let rows = listing.rows().into_iter().filter_map(|(name, line)| {
            if !name.is_empty() {
                kind = name;
            }
            let is_listed = !line.is_empty() && line != ConsentListing::NOTHING;
            (is_listed && kind != "sandbox" && kind != "models")
                .then(|| format!("  {kind}: {line}"))
        });
        let mut lines = vec![head];
        // Several layers may have the same rule.
        for row in rows {
            if !lines.contains(&row) {
                lines.push(row);
            }
        }
        lines
    }
}

/// The delegates that a definition names, and those below them. One that cannot be read is left out: it is
/// refused when the tools are made ready.
pub(crate) fn reachable(ground: &PreparedAgent) -> Vec<ReachableDelegate> {
    let mut found = Vec::new();
    let ceiling = DelegationCeiling::of(ground, None);
    collect(ground, &ceiling, &mut vec![ChainLink::of(ground)], &mut found);
    found
}

fn collect(
    ground: &PreparedAgent,
    ceiling: &Arc<DelegationCeiling>,
    chain: &mut Vec<ChainLink>,
    found: &mut Vec<ReachableDelegate>,
) {
    if chain.len() > MOST_DEPTH {
        return;
    }
    for delegate in delegate_list::named(ground) {
        let is_circle = chain.iter().any(|link| link.identity == delegate.identity);
        if is_circle || found.len() >= MOST_DELEGATES {
            continue;
        }
        let Some((child, above)) = read(ceiling, &delegate) else { continue };
        let link = ChainLink { name: delegate.name.clone(), identity: delegate.identity.clone() };
        let text = chain_text(chain, &delegate.name);
        let has_own_policy = above.is_none();
        let below = DelegationCeiling::of(&child, above);
        let at = found.len();
        found.push(ReachableDelegate {
            chain: text,
            identity: delegate.identity,
            has_own_policy,
            ground: child,
        });
        chain.push(link);
        let mut deeper = Vec::new();
        if let Some(parent) = found.get(at) {
            collect(&parent.ground, &below, chain, &mut deeper);
        }
        found.extend(deeper);
        chain.pop();
    }
}

/// A delegate under its ceiling, and that ceiling.
fn read(
    ceiling: &Arc<DelegationCeiling>,
    delegate: &KnownDelegate,
) -> Option<(PreparedAgent, Option<Arc<DelegationCeiling>>)> {
    let mut child = PreparedAgent::read(&delegate.path, None).ok()?;
    let above = ceiling.lower(delegate, &mut child).ok()?;
    Some((child, above))
}
