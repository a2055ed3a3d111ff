//! What Agentry would load besides a definition: its context, rule files and skills, and the other agents of the
//! workspace. A rule of the agent that names such a file without a wildcard lifts the protection.

use agentry_policy::path::is_inside;
use agentry_policy::{Action, Section};
use agentry_text::path::{join, split};

use super::definition::{DefinitionPart, of};
use crate::discover::discover;
use crate::pipeline::CompiledAgent;
use crate::prompt::named_files;
use crate::resolve::packs;
use crate::world::World;

/// The context, the rule files and the skills of an agent, by absolute path.
pub(super) fn own_files(world: &dyn World, compiled: &CompiledAgent) -> Vec<String> {
    let files = named_files(world, compiled).map(|(_, _, path)| world.absolute(&path));
    let mut paths: Vec<String> = files.collect();
    for skill in compiled.whole().skills.iter().flatten() {
        let folders = packs::near(world, compiled).into_iter();
        let pack = folders.into_iter().find_map(|folder| packs::at(world, folder, &skill.name));
        paths.extend(pack.map(|pack| {
            let file = pack.file();
            let whole = if pack.is_folder() { split(&file).0 } else { &file };
            world.absolute(whole)
        }));
    }
    without_named(world, compiled, paths)
}

/// The definitions of the other agents of the workspace, by absolute path.
pub fn other_agents(world: &dyn World, compiled: &CompiledAgent) -> Vec<String> {
    let workspace = world.absolute(&compiled.workspace);
    let own = world.absolute(&join(&compiled.found.dir, &compiled.found.main));
    let mut parts: Vec<DefinitionPart> = Vec::new();
    for found in discover(world, std::slice::from_ref(&workspace), None, &|_| false).agents {
        let main = join(&found.dir, &found.main);
        if world.absolute(&main) != own {
            of(world, &main, found.format, &workspace, &mut parts);
        }
    }
    let paths = parts.into_iter().map(|part| part.path).collect();
    without_named(world, compiled, paths)
}

/// The paths without those that an allow rule names literally. A directory with such a file is replaced by its
/// other entries.
fn without_named(world: &dyn World, compiled: &CompiledAgent, paths: Vec<String>) -> Vec<String> {
    let named = named(world, compiled);
    let mut out = Vec::new();
    let mut open = paths;
    while let Some(path) = open.pop() {
        if named.contains(&path) {
            continue;
        }
        if named.iter().any(|named| is_inside(named, &path)) {
            let entries = world.list(&path, &path).unwrap_or_default();
            open.extend(entries.into_iter().map(|entry| join(&path, &entry.name)));
            continue;
        }
        out.push(path);
    }
    out
}

/// The absolute paths that allow rules about edits name without a wildcard.
fn named(world: &dyn World, compiled: &CompiledAgent) -> Vec<String> {
    let permissions = compiled.whole().policy.permissions.as_ref();
    let edit = permissions.and_then(|permissions| permissions.get(Section::Edit));
    let rules = edit.into_iter().flat_map(|edit| edit.rules.iter());
    let literal = rules.filter(|rule| {
        rule.value.action == Action::Allow && !rule.value.pattern.contains(['*', '~'])
    });
    let root = world.absolute(&compiled.workspace);
    literal
        .map(|rule| {
            let text = rule.value.pattern.trim();
            let text = text.strip_prefix("./").unwrap_or(text);
            if text.starts_with('/') { text.to_owned() } else { join(&root, text) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_world::MemoryWorld;
    use crate::world::FileTree as _;
    use crate::{at, read};

    #[test]
    fn files_that_an_agent_loads_are_protected() {
        let toml =
            |name: &str, more: &str| format!("name = \"{name}\"\ndescription = \"Works\"\n{more}");
        let loads =
            "context = [\"../../docs/terms.md\"]\nrules = [\"style\"]\nskills = [\"review\"]\n";
        let rule = |path: &str| {
            format!("{loads}[permissions.edit]\nintent = \"allow\"\nrules = [\"{path}:allow\"]\n")
        };
        let all = "agents/b docs/terms.md rules/style.md skills/review solo.agent";
        let cases = [
            (loads.to_owned(), all),
            (rule("docs/**"), all),
            (rule("docs/*.md"), all),
            (rule("./docs/terms.md"), "agents/b rules/style.md skills/review solo.agent"),
            (rule("solo.agent"), "agents/b docs/terms.md rules/style.md skills/review"),
            (
                rule("agents/b/system-prompt.md"),
                "agents/b/agent.toml docs/terms.md rules/style.md skills/review solo.agent",
            ),
        ];
        for (more, expected) in cases {
            let world = MemoryWorld::new([
                ("agentry.toml".to_owned(), String::new()),
                ("agents/a/agent.toml".to_owned(), toml("a", &more)),
                ("agents/a/system-prompt.md".to_owned(), "Work.".to_owned()),
                ("agents/b/agent.toml".to_owned(), toml("b", "")),
                ("agents/b/system-prompt.md".to_owned(), "Work.".to_owned()),
                ("solo.agent".to_owned(), "name: solo\ndescription: W\nsoul: W.\n".to_owned()),
                ("docs/terms.md".to_owned(), "Terms.".to_owned()),
                ("docs/other.md".to_owned(), "Other.".to_owned()),
                ("rules/style.md".to_owned(), "Style.".to_owned()),
                ("rules/other.md".to_owned(), "Other.".to_owned()),
                (
                    "skills/review/SKILL.md".to_owned(),
                    "---\nname: review\ndescription: Reviews\n---\nLook.\n".to_owned(),
                ),
            ]);
            let compiled = read(&world, &at(&world, "agents/a").expect("an agent"));
            let root = world.absolute("");
            let root = format!("{}/", root.trim_end_matches('/'));
            let mut found = own_files(&world, &compiled);
            found.extend(other_agents(&world, &compiled));
            let mut found: Vec<&str> =
                found.iter().map(|path| path.strip_prefix(&root).unwrap_or(path)).collect();
            found.sort_unstable();
            assert_eq!(found.join(" "), expected, "{more}");
        }
    }
}
