//! The agents that a definition names to work for it. Consent and lock list them, because what they may do
//! belongs to what the agent may do.

use std::collections::HashSet;

use agentry_formats::agentry_block::declares_ceiling;
use agentry_model::Agent;
use agentry_policy::{Action, Section};
use agentry_text::Findings;
use agentry_text::path::join;

use crate::discover::{FoundAgent, at, discover};
use crate::pipeline::{CompiledAgent, read_openly};
use crate::resolve::rules::{DELEGATES_IN_CIRCLE, MISSING_DELEGATE};
use crate::show::resolved;
use crate::world::World;

/// How many levels of delegates there are below the first agent.
pub const MOST_DEPTH: usize = 3;
/// The most delegates below one agent that are listed.
pub const MOST_DELEGATES: usize = 200;

/// The most agents that are read to find a circle.
const MOST_READ: usize = 200;

/// Where an agent is that a definition names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegatePlace {
    /// Its path, or its reference to the store.
    pub path: String,
    /// The digest that the definition pins.
    pub pin: Option<String>,
    /// Whether it is in the store.
    pub is_stored: bool,
}

impl DelegatePlace {
    /// Reads a reference. A path is relative to the directory of the definition.
    pub fn of(dir: &str, reference: &str) -> Result<Self, String> {
        let stored = |path: &str, pin| Self { path: path.to_owned(), pin, is_stored: true };
        if reference.is_empty() {
            return Err("it has no `ref`".to_owned());
        }
        if ["ag1:", "sha256:"].iter().any(|start| reference.starts_with(start)) {
            return Ok(stored(reference, None));
        }
        if reference.contains("://") {
            let why = "it is not on this machine: pull it into the store, and refer to it there";
            return Err(why.to_owned());
        }
        let (place, pin) = match reference.rsplit_once('#') {
            Some((place, pin)) => (place, Some(pin.to_owned())),
            None => (reference, None),
        };
        let is_path = place.starts_with(['.', '/']) || place.contains('/') || !place.contains('@');
        if !is_path {
            return Ok(stored(place, pin));
        }
        let path = if place.starts_with('/') { place.to_owned() } else { join(dir, place) };
        Ok(Self { path, pin, is_stored: false })
    }
}

/// The agents that the rules of a definition name without a wildcard, and do not deny. They count as named only
/// if the definition declares a ceiling: otherwise all agents of the workspace are treated alike.
pub fn names_in_rules(agent: &Agent) -> Vec<&str> {
    if !declares_ceiling(agent) {
        return Vec::new();
    }
    let rules = agent.policy.permissions.as_ref().and_then(|all| all.get(Section::Delegate));
    let rules = rules.into_iter().flat_map(|section| &section.rules);
    let named = rules.filter(|rule| {
        rule.action != Action::Deny && !rule.pattern.contains(['*', '?', '[', '{', '\\'])
    });
    named.map(|rule| rule.pattern.as_str()).collect()
}

/// The agents that a definition names, each with its name there. One that cannot be found has the reference.
pub(crate) fn named(
    world: &dyn World,
    compiled: &CompiledAgent,
) -> Vec<(String, Result<FoundAgent, String>)> {
    let agent = resolved(compiled);
    let entries = agent.agents.iter().flatten();
    let mut named: Vec<_> = entries
        .map(|entry| {
            let reference = entry.value.reference.as_ref().map_or("", |it| it.value.as_str());
            let place = DelegatePlace::of(&compiled.found.dir, reference);
            let found = match place {
                Ok(place) if !place.is_stored => at(world, &place.path).ok(),
                _ => None,
            };
            (entry.value.name.clone(), found.ok_or_else(|| reference.to_owned()))
        })
        .collect();
    let in_rules = names_in_rules(&agent);
    if !in_rules.is_empty() {
        let root = world.absolute(&compiled.workspace);
        let found = discover(world, std::slice::from_ref(&root), None, &|_| false).agents;
        let of_workspace = found.into_iter().filter_map(|found| {
            let name = read_openly(world, &found).whole().name().to_owned();
            in_rules.contains(&name.as_str()).then_some((name, Ok(found)))
        });
        named.extend(of_workspace);
    }
    named
}

/// Reports agents that a definition names and that are not there, or that lead back to it.
pub(crate) fn check(world: &dyn World, compiled: &CompiledAgent, findings: &mut Findings) {
    let own = identity(world, &compiled.found);
    for entry in compiled.agent.agents.iter().flatten() {
        let Some(reference) = &entry.value.reference else { continue };
        let name = &entry.value.name;
        match located(world, compiled, &reference.value) {
            Ok(None) => {}
            Ok(Some(found)) => {
                let mut seen = HashSet::new();
                if let Some(chain) = chain_to(world, &found, &own, &mut seen) {
                    let message = format!("`{name}` leads back to this agent: {chain}");
                    findings
                        .add(&DELEGATES_IN_CIRCLE, reference.span, message)
                        .hint("leave one of them out");
                }
            }
            Err(why) => {
                findings
                    .add(
                        &MISSING_DELEGATE,
                        reference.span,
                        format!("`{name}` cannot be called: {why}"),
                    )
                    .hint("write the path of an agent, relative to this file");
            }
        }
    }
}

/// The agent that a path means; nothing for one of the store or a registry, which is not looked at here.
fn located(
    world: &dyn World,
    compiled: &CompiledAgent,
    reference: &str,
) -> Result<Option<FoundAgent>, String> {
    let place = DelegatePlace::of(&compiled.found.dir, reference).ok();
    let Some(place) = place.filter(|place| !place.is_stored) else { return Ok(None) };
    at(world, &place.path).map(Some).map_err(|why| format!("`{reference}` {why}"))
}

/// The names of the agents from `found` to the agent `own`, if the definitions show such a chain.
fn chain_to(
    world: &dyn World,
    found: &FoundAgent,
    own: &str,
    seen: &mut HashSet<String>,
) -> Option<String> {
    let identity = identity(world, found);
    let compiled = read_openly(world, found);
    let name = format!("`{}`", compiled.agent.name());
    if identity == own {
        return Some(name);
    }
    if seen.len() >= MOST_READ || !seen.insert(identity) {
        return None;
    }
    let below = compiled.agent.agents.iter().flatten().find_map(|entry| {
        let reference = entry.value.reference.as_ref()?;
        let next = located(world, &compiled, &reference.value).ok()??;
        chain_to(world, &next, own, seen)
    })?;
    Some(format!("{name} › {below}"))
}

/// The real path of the main file of an agent.
fn identity(world: &dyn World, found: &FoundAgent) -> String {
    let main = world.absolute(&join(&found.dir, &found.main));
    world.real(&main).unwrap_or(main)
}
