//! A base as it is seen from the agent that is built on it: with what its format means by saying
//! nothing about limits, and with its paths named from the agent's directory.

use agentry_formats::info;
use agentry_model::{Agent, AgentRef, ListField};
use agentry_policy::{Network, Trust};
use agentry_text::{Findings, Span, Spanned};

use super::chain::Link;
use super::rules::NO_BASE;
use crate::files::join;
use crate::judge::place;
use crate::pipeline::Compiled;
use crate::relocate::{is_relative_reference, normal, relative};
use crate::world::World;

/// The base of `child`, whole; `at` is where the child names it.
pub(super) fn seen(
    world: &dyn World,
    child: &Compiled,
    (link, at): (&Link, Span),
    findings: &mut Findings,
) -> Agent {
    let mut agent = link.compiled.whole().clone();
    let mut filled = agent.clone();
    (info(link.compiled.found.format).defaults)(&mut filled);
    agent.policy = filled.policy;
    agent.budget = filled.budget;
    name_hosts(&mut agent);
    let full = |path: &str| normal(&world.absolute(path));
    let same_workspace = !link.stored && full(&link.compiled.workspace) == full(&child.workspace);
    if !same_workspace {
        unreachable(&mut agent, at, findings);
    }
    // An agent of the store has no place of its own: its paths start where the child is.
    if !link.stored {
        let move_ = Move { from: full(&link.compiled.found.dir), to: full(&child.found.dir) };
        move_.agent(&mut agent);
    }
    agent
}

/// Writes out the hosts of `network: scoped` that only follow from the servers: a server that a child
/// adds must not open its host.
fn name_hosts(agent: &mut Agent) {
    let servers = place(agent, "").servers;
    let Some(Trust { network: Some(network), hosts, .. }) = &mut agent.policy.trust else { return };
    if network.value == Network::Scoped && hosts.is_none() {
        let named = servers.into_iter().filter_map(|server| server.host);
        *hosts = Some(named.map(|host| Spanned::new(host, network.span)).collect());
    }
}

/// Gives up the files that a base from elsewhere names in its own workspace.
fn unreachable(agent: &mut Agent, at: Span, findings: &mut Findings) {
    let instructions = &mut agent.instructions;
    let context = instructions.context.take().unwrap_or_default();
    let rules = instructions.rule_files.take().unwrap_or_default();
    for file in context.into_iter().chain(rules) {
        let message = format!("the base names `{}`, which cannot be reached from here", file.value);
        findings
            .add(&NO_BASE, at, message)
            .related(file.span, "named here")
            .hint("copy the text into the base");
    }
}

/// From the directory of a base to that of an agent that is built on it.
struct Move {
    from: String,
    to: String,
}

impl Move {
    fn agent(&self, agent: &mut Agent) {
        if self.from == self.to {
            return;
        }
        if let Some(trust) = &mut agent.policy.trust {
            self.paths(&mut trust.scope);
        }
        self.paths(&mut agent.instructions.context);
        for other in agent.agents.iter_mut().flatten() {
            self.reference(&mut other.value);
        }
    }

    fn paths(&self, paths: &mut ListField<String>) {
        let relative = |path: &&mut Spanned<String>| !path.starts_with(['/', '~']);
        for path in paths.iter_mut().flatten().filter(relative) {
            path.value = self.path(&path.value);
        }
    }

    fn reference(&self, agent: &mut AgentRef) {
        let Some(reference) = &mut agent.reference else { return };
        let text = &reference.value;
        let (path, pin) = text.split_once('#').map_or((text.as_str(), ""), |parts| parts);
        if is_relative_reference(path) {
            let sign = if pin.is_empty() { "" } else { "#" };
            reference.value = format!("{}{sign}{pin}", self.path(path));
        }
    }

    fn path(&self, path: &str) -> String {
        relative(&self.to, &normal(&join(&self.from, path)))
    }
}
