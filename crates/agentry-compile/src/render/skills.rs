//! The skills of an agent, as files: what it brings itself, else what the workspace has.

use agentry_model::Agent;
use agentry_targets::Skill;
use agentry_text::limits;
use agentry_text::path::{is_plain, join};

use crate::pipeline::Compiled;
use crate::world::{EntryKind, World};

/// Where a workspace keeps skills.
const PLACES: &[&str] = &["skills", ".agents/skills", ".claude/skills"];

/// The skills that the agent asks for by name, and those that come with it.
pub(super) fn skills(world: &dyn World, compiled: &Compiled, agent: &Agent) -> Vec<Skill> {
    let asked = agent.skills.iter().flatten().map(|skill| skill.name.clone());
    let brought = agent
        .skill_packs
        .iter()
        .filter_map(|pack| pack.path.split_once('/').map(|(dir, _)| dir.to_owned()));
    let mut names: Vec<String> = Vec::new();
    for name in asked.chain(brought) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| skill(world, compiled, name)).collect()
}

fn skill(world: &dyn World, compiled: &Compiled, name: String) -> Skill {
    let own = join(&compiled.found.dir, "skills");
    let shared = PLACES.iter().map(|place| (join(&compiled.workspace, place), Some(*place)));
    let places = std::iter::once((own, None)).chain(shared);
    // A name that is a path leads nowhere.
    let named = places.filter(|_| is_plain(&name) && !name.contains('/'));
    let holds = |dir: &str| world.kind(&join(dir, "SKILL.md")) == EntryKind::File;
    let found = named
        .map(|(place, known)| (join(&place, &name), known))
        .find(|(dir, _)| holds(dir) && world.inside(&compiled.workspace, dir));
    match found {
        Some((dir, known)) => Skill {
            files: Some(files(world, &compiled.workspace, &dir)),
            dir: known.map(|place| format!("{place}/{name}")),
            name,
        },
        None => Skill { name, files: None, dir: None },
    }
}

/// The files below a directory that can be read, by their paths in it.
fn files(world: &dyn World, root: &str, dir: &str) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let mut open = vec![String::new()];
    while let Some(below) = open.pop() {
        let path = if below.is_empty() { dir.to_owned() } else { join(dir, &below) };
        for entry in world.list(root, &path).unwrap_or_default() {
            let inner = if below.is_empty() { entry.name } else { join(&below, &entry.name) };
            match entry.kind {
                EntryKind::Directory if open.len() < limits::FILES => open.push(inner),
                EntryKind::File if out.len() < limits::FILES => {
                    if let Ok(bytes) = world.read(root, &join(dir, &inner), limits::FILE_BYTES) {
                        out.push((inner, bytes));
                    }
                }
                _ => {}
            }
        }
    }
    out.sort();
    out
}
