//! The agents that a run can delegate to: those that the definition names, and those of the workspace.

use std::collections::HashSet;

use agentry_compile::delegates::{DelegatePlace, names_in_rules};
use agentry_compile::model::Agent;
use agentry_compile::policy::Section;
use agentry_compile::text::path::join;
use agentry_compile::{CompiledAgent, FileTree as _, discover, gate, read, resolved};
use agentry_runtime::function::AgentFunction;

use crate::command::find_one;
use crate::command::run::function::functions;
use crate::command::run::is_set;
use crate::command::run::pipeline;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::disk::DiskWorld;

/// The most agents of a workspace that are offered.
const MOST_AGENTS: usize = 100;
/// The most agents that are read to find a circle.
const MOST_READ: usize = 200;

/// An agent that a run can delegate to.
#[derive(Clone)]
pub(crate) struct KnownDelegate {
    /// The name that the model uses.
    pub(crate) name: String,
    /// The name in its own definition.
    pub(crate) own_name: String,
    /// The file that it is read from: two names of one agent have the same.
    pub(crate) identity: String,
    /// The path or the reference by which it is read.
    pub(crate) path: String,
    /// The digest that the definition pins.
    pub(crate) pin: Option<String>,
    pub(crate) description: String,
    pub(crate) role: Option<&'static str>,
    pub(crate) functions: Vec<AgentFunction>,
    /// Whether it is one of the definition's `agents`.
    pub(crate) is_declared: bool,
    /// Whether the definition names it: in `agents`, or in a rule for delegates.
    pub(crate) is_named: bool,
    /// Why it cannot be used.
    pub(crate) problem: Option<String>,
}

/// An agent of a chain.
#[derive(Clone)]
pub(crate) struct ChainLink {
    pub(crate) name: String,
    pub(crate) identity: String,
}

impl ChainLink {
    pub(crate) fn of(ground: &PreparedAgent) -> Self {
        let identity = identity(&ground.disk, &ground.compiled);
        Self { name: ground.agent.name().to_owned(), identity }
    }
}

/// A chain of agents as text, with one more name at its end.
pub(crate) fn chain_text(chain: &[ChainLink], last: &str) -> String {
    let names = chain.iter().map(|link| link.name.as_str()).chain([last]);
    names.collect::<Vec<_>>().join(" › ")
}

/// The real path of the main file of an agent.
fn identity(disk: &DiskWorld, compiled: &CompiledAgent) -> String {
    let main = disk.absolute(&join(&compiled.found.dir, &compiled.found.main));
    disk.real(&main).unwrap_or(main)
}

/// The agents that a definition names, each with what is wrong with it.
pub(super) fn declared(ground: &PreparedAgent) -> Vec<KnownDelegate> {
    let entries = ground.agent.agents.iter().flatten();
    let known = entries.map(|entry| {
        let reference = entry.value.reference.as_ref().map(|it| it.value.as_str());
        let located = DelegatePlace::of(&ground.compiled.found.dir, reference.unwrap_or_default());
        let role = entry.value.role.map(|role| role.value.as_str());
        let (path, pin, found) = match located {
            Ok(DelegatePlace { path, pin, .. }) => {
                let found = survey(&ground.disk, &path);
                (path, pin, found)
            }
            Err(why) => (String::new(), None, Err(why)),
        };
        let name = entry.value.name.clone();
        let known = match found {
            Ok(compiled) => {
                let problem = circle_through(ground, &compiled);
                let known = described(&ground.disk, &compiled, path);
                KnownDelegate { problem, ..known }
            }
            Err(why) => KnownDelegate::unusable(path, why),
        };
        KnownDelegate { name, pin, role, is_declared: true, is_named: true, ..known }
    });
    known.collect()
}

/// The agents that a definition names and that can be used.
pub(super) fn named(ground: &PreparedAgent) -> Vec<KnownDelegate> {
    let mut named = declared(ground);
    if !names_in_rules(&ground.agent).is_empty() {
        let others = of_workspace(ground).into_iter();
        let others =
            others.filter(|it| it.is_named && !named.iter().any(|one| one.name == it.name));
        let others: Vec<_> = others.collect();
        named.extend(others);
    }
    named.retain(|delegate| delegate.problem.is_none());
    named
}

/// The other agents of the workspace, if the definition has rules about delegates or names the tool.
pub(super) fn of_workspace(ground: &PreparedAgent) -> Vec<KnownDelegate> {
    if !speaks_of_delegates(&ground.agent) {
        return Vec::new();
    }
    let disk = &ground.disk;
    let own = identity(disk, &ground.compiled);
    let root = disk.absolute(&ground.compiled.workspace);
    let found = discover(&**disk, std::slice::from_ref(&root), None, &|_| false).agents;
    let names = names_in_rules(&ground.agent);
    let mut known: Vec<KnownDelegate> = Vec::new();
    for found in found.into_iter().take(MOST_AGENTS) {
        let compiled = read(&**disk, &found);
        if identity(disk, &compiled) == own {
            continue;
        }
        let mut next = described(disk, &compiled, disk.absolute(&found.path));
        next.problem = problem(&compiled);
        next.is_named = names.contains(&next.name.as_str());
        match known.iter_mut().find(|other| other.name == next.name) {
            Some(other) => {
                let why =
                    format!("two agents have this name: `{}` and `{}`", other.path, next.path);
                other.problem = Some(why);
            }
            None => known.push(next),
        }
    }
    known
}

/// Whether a definition has something to say about other agents of the workspace.
pub(crate) fn speaks_of_delegates(agent: &Agent) -> bool {
    let rules = agent.policy.permissions.as_ref().and_then(|it| it.get(Section::Delegate));
    let native = agent.tools.native.iter().flatten();
    let is_named = native.into_iter().any(|name| name.value == "delegate");
    rules.is_some() || is_named || !pipeline::calls(agent).is_empty()
}

/// Reads an agent, or says why it cannot be used.
fn survey(disk: &DiskWorld, path: &str) -> Result<CompiledAgent, String> {
    let found = find_one(disk, path, None).map_err(|failure| failure.message)?;
    let compiled = read(disk, &found);
    match problem(&compiled) {
        Some(why) => Err(why),
        None => Ok(compiled),
    }
}

/// Why an agent cannot start, as far as its definition says.
fn problem(compiled: &CompiledAgent) -> Option<String> {
    if compiled.has_errors() {
        let path = &compiled.found.path;
        return Some(format!("`{path}` has errors: `agentry check {path}` shows them"));
    }
    let mut agent = resolved(compiled);
    agent.requirements.startup = None;
    gate(&agent, &is_set, &|_| false).err().map(|closed| closed.to_string())
}

fn described(disk: &DiskWorld, compiled: &CompiledAgent, path: String) -> KnownDelegate {
    let agent = resolved(compiled);
    let description = agent.identity.description.as_ref().map(|it| it.value.clone());
    KnownDelegate {
        name: agent.name().to_owned(),
        own_name: agent.name().to_owned(),
        identity: identity(disk, compiled),
        path,
        pin: None,
        description: description.unwrap_or_default(),
        role: None,
        functions: functions(&agent),
        is_declared: false,
        is_named: false,
        problem: None,
    }
}

impl KnownDelegate {
    fn unusable(path: String, why: String) -> Self {
        Self {
            name: String::new(),
            own_name: String::new(),
            identity: String::new(),
            path,
            pin: None,
            description: String::new(),
            role: None,
            functions: Vec::new(),
            is_declared: true,
            is_named: true,
            problem: Some(why),
        }
    }
}

/// The circle that delegating to an agent could make, if their definitions show one.
fn circle_through(ground: &PreparedAgent, compiled: &CompiledAgent) -> Option<String> {
    let mut chain = vec![ChainLink::of(ground)];
    let chain = circle(&ground.disk, compiled, &mut chain, &mut HashSet::new())?;
    Some(format!("`{chain}` is a circle"))
}

fn circle(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
    chain: &mut Vec<ChainLink>,
    seen: &mut HashSet<String>,
) -> Option<String> {
    let identity = identity(disk, compiled);
    let agent = resolved(compiled);
    let name = agent.name().to_owned();
    if let Some(start) = chain.iter().position(|link| link.identity == identity) {
        return Some(chain_text(chain.get(start..).unwrap_or_default(), &name));
    }
    if seen.len() >= MOST_READ || !seen.insert(identity.clone()) {
        return None;
    }
    chain.push(ChainLink { name, identity });
    let found = agent.agents.iter().flatten().find_map(|entry| {
        let reference = entry.value.reference.as_ref()?;
        let DelegatePlace { path, .. } =
            DelegatePlace::of(&compiled.found.dir, &reference.value).ok()?;
        circle(disk, &survey(disk, &path).ok()?, chain, seen)
    });
    chain.pop();
    found
}
