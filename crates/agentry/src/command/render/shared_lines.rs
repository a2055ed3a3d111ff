//! Attributes changes of shared files to the agents that caused them.

use std::collections::BTreeSet;

use agentry_compile::render::{PlannedChange, PlannedChangeKind};
use agentry_compile::targets::SharedLine;

use super::loss_text::names;
use super::project::ProjectOutcome;

/// Explains each change of a shared file of a target, one line each.
pub(super) fn causes(done: &ProjectOutcome, target: &str) -> Vec<String> {
    let changes = done.plan.changes.iter().filter(|change| change.target == target);
    let is_shared =
        |change: &&PlannedChange| change.agent.is_empty() && change.kind != PlannedChangeKind::Keep;
    changes.filter(is_shared).flat_map(|change| cause(done, change)).collect()
}

/// The new lines of a shared file with their agents; without new lines, the agents that changed.
fn cause(done: &ProjectOutcome, change: &PlannedChange) -> Vec<String> {
    let path = done.place.shown(&change.path);
    let runs = done.runs.iter().filter(|ran| ran.target.name == change.target);
    let lines: Vec<&SharedLine> =
        runs.flat_map(|ran| &ran.rendering.lines).filter(|it| it.path == change.path).collect();
    let holds = |bytes: &Option<Vec<u8>>, text: &str| {
        let found = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
        let quoted = serde_json::json!(text).to_string();
        found.contains(text) || found.contains(quoted.trim_matches('"'))
    };
    let is_new =
        |it: &&&SharedLine| holds(&change.after, &it.text) && !holds(&change.before, &it.text);
    let mut reported: Vec<(String, BTreeSet<&str>)> = Vec::new();
    for line in lines.iter().filter(is_new) {
        let place = if line.place.is_empty() { String::new() } else { format!("{} ", line.place) };
        let text = format!("{place}`{}`", line.text);
        let agent = done.agents.get(line.agent).map(|agent| agent.name.as_str());
        match reported.iter_mut().find(|(known, _)| *known == text) {
            Some((_, agents)) => agents.extend(agent),
            None => reported.push((text, agent.into_iter().collect())),
        }
    }
    if reported.is_empty() {
        return changed_agents(done, change)
            .map(|agent_names| format!("  {path} changes with {agent_names}"))
            .into_iter()
            .collect();
    }
    let line = |(text, agents): (String, BTreeSet<&str>)| {
        let agents: Vec<&str> = agents.into_iter().collect();
        format!("  {path} gets {text} for {}", names(&agents))
    };
    reported.into_iter().map(line).collect()
}

/// The agents with changed files in the same target.
fn changed_agents(done: &ProjectOutcome, change: &PlannedChange) -> Option<String> {
    let is_own = |it: &&PlannedChange| {
        it.target == change.target && !it.agent.is_empty() && it.kind != PlannedChangeKind::Keep
    };
    let definitions: BTreeSet<&str> =
        done.plan.changes.iter().filter(is_own).map(|it| it.agent.as_str()).collect();
    let name = |definition: &&str| {
        let known = done.agents.iter().find(|agent| agent.definition == **definition);
        known.map_or(*definition, |agent| agent.name.as_str()).to_owned()
    };
    let changed: Vec<String> = definitions.iter().map(name).collect();
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    (!changed.is_empty()).then(|| names(&changed))
}
