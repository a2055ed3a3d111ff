//! Collects the skills of an agent as files for a harness.

use agentry_model::Agent;
use agentry_targets::BundledSkill;
use agentry_text::limits;
use agentry_text::path::split;

use crate::pipeline::CompiledAgent;
use crate::resolve::packs::{self, InstalledSkill};
use crate::world::World;

/// The agent's own skills, and those that it names.
pub(super) fn skills(
    world: &dyn World,
    compiled: &CompiledAgent,
    agent: &Agent,
) -> Vec<BundledSkill> {
    let mut out: Vec<BundledSkill> = Vec::new();
    for (name, pack) in packs::own(compiled, agent) {
        if !name.is_empty() && out.iter().all(|known| known.name != name) {
            out.push(skill(world, compiled, name, Some(&pack)));
        }
    }
    for asked in agent.skills.iter().flatten() {
        if out.iter().all(|known| known.name != asked.name) {
            let places = packs::near(world, compiled).into_iter().chain(packs::home(world));
            let found = places.into_iter().find_map(|place| packs::at(world, place, &asked.name));
            out.push(skill(world, compiled, &asked.name, found.as_ref()));
        }
    }
    out
}

fn skill(
    world: &dyn World,
    compiled: &CompiledAgent,
    name: &str,
    pack: Option<&InstalledSkill>,
) -> BundledSkill {
    let name = name.to_owned();
    let Some(pack) = pack else { return BundledSkill { name, files: None, dir: None } };
    let folder = split(&pack.file()).0.to_owned();
    let files = packs::files(world, pack);
    let read = files.iter().filter_map(|file| {
        let bytes = world.read(&file.root, &file.path, limits::FILE_BYTES).ok()?;
        // A skill that is a single file becomes `SKILL.md`.
        let inner = if pack.is_folder() {
            file.path.strip_prefix(&folder)?.trim_start_matches('/').to_owned()
        } else {
            "SKILL.md".to_owned()
        };
        Some((inner, bytes))
    });
    let mut files: Vec<_> = read.collect();
    files.sort();
    let root = world.absolute(&compiled.workspace);
    let below = world.absolute(&folder);
    let below = below.strip_prefix(root.trim_end_matches('/')).and_then(|it| it.strip_prefix('/'));
    let dir = below.filter(|_| pack.is_folder()).map(str::to_owned);
    BundledSkill { name, files: Some(files), dir }
}
