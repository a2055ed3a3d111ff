//! A base as its child sees it: with the defaults of its format for limits, with paths relative to the
//! child's directory, and with the texts of files that have no path from there.

use agentry_formats::info;
use agentry_model::{Agent, AgentRef, DeclaredList};
use agentry_policy::{NetworkTrust, Trust};
use agentry_text::{SourceFiles, Spanned, limits};

use super::chain::BaseLink;
use crate::pipeline::{CarriedFile, CompiledAgent};
use crate::prompt::{CONTEXT, named_files};
use crate::relocate::{is_relative_reference, relative};
use crate::world::World;
use agentry_text::path::absolute as normal;
use agentry_text::path::join;

/// The base as every child inherits it, wherever the child lies.
pub(super) fn offered(base: &CompiledAgent) -> Agent {
    let mut agent = base.whole().clone();
    let mut filled = agent.clone();
    (info(base.found.format).defaults)(&mut filled);
    // Only limits get the defaults of the base's format. A child has its own defaults for the rest.
    agent.policy = filled.policy;
    agent.budget = filled.budget;
    name_hosts(&mut agent);
    agent
}

/// The base of `child`. Files that it names in another workspace are carried along as text.
pub(super) fn seen(world: &dyn World, child: &mut CompiledAgent, link: &BaseLink) -> Agent {
    let mut agent = link.agent.clone();
    let full = |path: &str| normal(&world.absolute(path));
    let base = &link.compiled;
    child.carried = base.carried.iter().chain(&link.carried).cloned().collect();
    let elsewhere = !link.stored && full(&base.workspace) != full(&child.workspace);
    if elsewhere {
        child.carried.extend(texts(world, base, &mut child.sources));
    }
    // These files are carried as text, because their paths mean nothing from the child.
    if link.stored || elsewhere {
        (agent.instructions.context, agent.instructions.rule_files) = (None, None);
    }
    // The child's own context replaces the base's.
    if child.agent.instructions.context.is_some() {
        child.carried.retain(|file| file.name != CONTEXT);
    }
    // A stored agent has no directory, so its relative paths start at the child's.
    if !link.stored {
        let move_ = BaseMove { from: full(&base.found.dir), to: full(&child.found.dir) };
        move_.agent(&mut agent);
    }
    agent
}

/// The context and rule files that an agent names, with their texts.
pub(super) fn texts(
    world: &dyn World,
    compiled: &CompiledAgent,
    sources: &mut SourceFiles,
) -> Vec<CarriedFile> {
    let mut found = Vec::new();
    for (name, _, path) in named_files(world, compiled) {
        let limit = limits::INSTRUCTION_BYTES as u64;
        if !world.inside(&compiled.workspace, &path) {
            continue;
        }
        // A missing or too large file is reported as an error of the base itself.
        let Ok(bytes) = world.read(&compiled.workspace, &path, limit) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let unmarked = text.trim_start_matches('\u{feff}');
        sources.add_whole(&path, unmarked, unmarked.len() < text.len());
        found.push(CarriedFile { name, path, text: unmarked.trim().to_owned() });
    }
    found
}

/// Writes out the hosts that `network: scoped` derives from the servers. Otherwise a server that a child
/// adds would open its host.
fn name_hosts(agent: &mut Agent) {
    let servers = agent.policy_context("").servers;
    let Some(Trust { network: Some(network), hosts, .. }) = &mut agent.policy.trust else { return };
    if network.value == NetworkTrust::Scoped && hosts.is_none() {
        let named = servers.into_iter().filter_map(|server| server.host);
        *hosts = Some(named.map(|host| Spanned::new(host, network.span)).collect());
    }
}

/// The move of paths from the directory of a base to that of its child.
struct BaseMove {
    from: String,
    to: String,
}

impl BaseMove {
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

    fn paths(&self, paths: &mut DeclaredList<String>) {
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
