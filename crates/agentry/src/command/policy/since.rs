//! `agentry policy diff --since REF`: what the agents of a workspace may do more than at a commit.

use std::collections::BTreeMap;

use agentry_compile::model::Format;
use agentry_compile::text::report::human;
use agentry_compile::text::{Diagnostic, Severity};
use agentry_compile::{CompiledAgent, WorkspaceConfig, World, discover, read};
use rayon::prelude::*;

use super::diff::PolicyChange;
use super::since_report;
use crate::args::PolicyDiffArguments;
use crate::disk::DiskWorld;
use crate::output::{CliOutcome, ExitKind, remark, style};
use crate::revision_world::RevisionWorld;

/// How an agent differs from the commit.
#[derive(Debug)]
pub(super) enum AgentState {
    /// It was not there.
    New(PolicyChange),
    /// It was there, at this path if at another one.
    Changed(Option<String>, PolicyChange),
    /// It was removed.
    Gone,
    /// One of the versions has errors; which one.
    Broken(&'static str),
}

/// One agent in the comparison.
#[derive(Debug)]
pub(super) struct AgentChange {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) state: AgentState,
}

impl AgentChange {
    /// Whether it may do more, or may do so for all that is known.
    pub(super) fn is_gain(&self) -> bool {
        match &self.state {
            AgentState::New(change) | AgentState::Changed(_, change) => change.is_gain(),
            AgentState::Broken(_) => true,
            AgentState::Gone => false,
        }
    }
}

/// The whole comparison.
pub(super) struct SinceComparison {
    /// The reference as the user wrote it.
    pub(super) reference: String,
    /// The commit that it led to.
    pub(super) commit: String,
    /// The agents that differ, sorted by path.
    pub(super) agents: Vec<AgentChange>,
    /// How many agents may do the same as before.
    pub(super) same: usize,
}

pub(super) fn run(args: &PolicyDiffArguments, reference: &str) -> CliOutcome {
    let disk = DiskWorld::default();
    let before = RevisionWorld::open(&disk, reference)?;
    let paths = if args.paths.is_empty() { vec![".".to_owned()] } else { args.paths.clone() };
    // The excludes of the commit count for both sides: a change cannot hide the agent that it widens.
    let config = WorkspaceConfig::read(&before, ".");
    let exclude = |path: &str| config.excludes_path(path);
    let agents = |world: &dyn World| {
        let found = discover(world, &paths, args.format_override, &exclude);
        let agents = found.agents.into_par_iter().map(|it| (it.path.clone(), read(world, &it)));
        (agents.collect::<BTreeMap<_, _>>(), found.diagnostics, found.sources)
    };
    let (old, ..) = agents(&before);
    let (new, problems, sources) = agents(&disk);
    for problem in &problems {
        remark(&human::render(problem, &sources, style(&std::io::stderr())));
    }
    let count = new.len();
    let agents = compare(old, &new);
    let same = count - agents.iter().filter(|it| new.contains_key(&it.path)).count();
    let commit = before.commit().to_owned();
    let comparison = SinceComparison { reference: reference.to_owned(), commit, agents, same };
    since_report::print(args.format, &comparison);
    Ok(exit(&comparison, &problems))
}

fn exit(comparison: &SinceComparison, problems: &[Diagnostic]) -> ExitKind {
    let is_broken = |it: &AgentChange| matches!(it.state, AgentState::Broken(_));
    let is_error = |it: &Diagnostic| it.severity == Severity::Error;
    if comparison.agents.iter().any(is_broken) || problems.iter().any(is_error) {
        ExitKind::Usage
    } else if comparison.agents.iter().any(AgentChange::is_gain) {
        ExitKind::Findings
    } else {
        ExitKind::Done
    }
}

/// Pairs the agents of both sides, by path and then by name.
fn compare(
    mut old: BTreeMap<String, CompiledAgent>,
    new: &BTreeMap<String, CompiledAgent>,
) -> Vec<AgentChange> {
    let mut pairs: Vec<(&CompiledAgent, Option<CompiledAgent>)> =
        new.iter().map(|(path, agent)| (agent, old.remove(path))).collect();
    // What is left on both sides may have moved.
    for (agent, before) in &mut pairs {
        let Some(key) = identity(agent).filter(|_| before.is_none()) else { continue };
        let moved = old.iter().find(|(_, other)| identity(other) == Some(key));
        let moved = moved.map(|(path, _)| path.clone());
        *before = moved.and_then(|path| old.remove(&path));
    }
    let mut changes: Vec<AgentChange> = pairs
        .into_par_iter()
        .filter_map(|(agent, before)| {
            let state = state(agent, before.as_ref())?;
            Some(AgentChange { path: agent.found.path.clone(), name: name(agent), state })
        })
        .collect();
    changes.extend(old.into_iter().map(|(path, agent)| AgentChange {
        path,
        name: name(&agent),
        state: AgentState::Gone,
    }));
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
}

/// How an agent differs; `None` if it may do the same.
fn state(new: &CompiledAgent, old: Option<&CompiledAgent>) -> Option<AgentState> {
    if new.has_errors() {
        return Some(AgentState::Broken("it has errors; `agentry check` shows them"));
    }
    let Some(old) = old else { return Some(AgentState::New(PolicyChange::of_new(new))) };
    if old.has_errors() {
        return Some(AgentState::Broken("its version at the commit has errors"));
    }
    let change = PolicyChange::of(old, new);
    let moved = (old.found.path != new.found.path).then(|| old.found.path.clone());
    (change.is_any() || moved.is_some()).then_some(AgentState::Changed(moved, change))
}

fn identity(agent: &CompiledAgent) -> Option<(&str, Format)> {
    let name = agent.agent.identity.name.as_ref()?;
    Some((name.value.as_str(), agent.found.format))
}

fn name(agent: &CompiledAgent) -> String {
    identity(agent).map(|(name, _)| name.to_owned()).unwrap_or_default()
}
