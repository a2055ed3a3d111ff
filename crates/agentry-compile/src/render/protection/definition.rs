//! The parts of an agent's definition, including those that do not exist yet. A new tool, rule file or
//! setting changes the agent as much as an edited one.

use agentry_formats::{FormatFiles, info};
use agentry_model::Format;
use agentry_policy::path::is_inside;
use agentry_text::path::{join, split};

use crate::detect::is_main_file;
use crate::pipeline::CompiledAgent;
use crate::world::{EntryKind, World};

/// A file or directory of a definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefinitionPart {
    /// Its absolute path, whether it exists or not.
    pub path: String,
    /// Whether it is a directory, with everything below it.
    pub is_directory: bool,
}

/// The parts of an agent and its bases. An agent of several files owns its directory. If that directory
/// is the workspace or contains it, the agent owns only what its format reads there.
pub fn definition(world: &dyn World, compiled: &CompiledAgent) -> Vec<DefinitionPart> {
    let workspace = world.absolute(&compiled.workspace);
    let mut out = Vec::new();
    let found = &compiled.found;
    of(world, &join(&found.dir, &found.main), found.format, &workspace, &mut out);
    // A stored base lies in the store, which is protected with Agentry's home directory.
    for base in compiled.bases.iter().filter(|base| base.stored.is_none()) {
        let path = match world.kind(&base.path) {
            // Any main file name will do, because only the directory matters.
            EntryKind::Directory => {
                join(&base.path, info(base.format).files.mains.first().unwrap_or(&"agent"))
            }
            _ => base.path.clone(),
        };
        of(world, &path, base.format, &workspace, &mut out);
    }
    let read = compiled.sources.iter().map(|source| world.absolute(&source.path));
    out.extend(read.map(|path| DefinitionPart { path, is_directory: false }));
    out.sort();
    out.dedup();
    out
}

/// Adds the parts of the agent with this main file.
pub(super) fn of(
    world: &dyn World,
    main: &str,
    format: Format,
    workspace: &str,
    out: &mut Vec<DefinitionPart>,
) {
    let (dir, name) = split(main);
    if !is_main_file(name) {
        out.push(DefinitionPart { path: world.absolute(main), is_directory: false });
        return;
    }
    let dir = world.absolute(dir);
    if !is_inside(workspace, &dir) {
        out.push(DefinitionPart { path: dir, is_directory: true });
        return;
    }
    let FormatFiles { mains, parts, .. } = info(format).files;
    out.extend(mains.iter().chain(parts).map(|part| {
        let name = part.trim_end_matches('/');
        DefinitionPart { path: join(&dir, name), is_directory: name.len() < part.len() }
    }));
}

#[cfg(test)]
mod tests {
    use agentry_formats::FORMATS;
    use agentry_policy::path::NoLinks;
    use agentry_policy::{Action, Section, SectionCall};

    use super::super::{ProtectedPaths, protect};
    use super::*;
    use crate::memory_world::MemoryWorld;
    use crate::render::RenderLedger;
    use crate::world::FileTree as _;
    use crate::{at, new_agent, read};

    #[test]
    fn also_what_is_not_there_yet() {
        const SOLO: &str = "name: solo\ndescription: Works\nsoul: You work.\n";
        let texts = [
            ("agents/a/instructions.md", "You work."),
            ("agents/a/agent.acl", ""),
            ("instructions.md", "You work."),
            ("agent.acl", ""),
            ("b/solo.agent", SOLO),
            ("c/agent.yaml", "name: c\nbase: ../b/solo.agent\ndescription: Works\n"),
        ];
        let world = MemoryWorld::new(texts.map(|(path, text)| (path.to_owned(), text)));
        let root = world.absolute("");
        let root = root.trim_end_matches('/');
        let cases = [
            ("agents/a", vec!["agents/a/", "agents/a/agent.acl", "agents/a/instructions.md"]),
            (".", vec!["agent.acl", "instructions.md", "schedules/", "skills/", "tools/"]),
            ("b/solo.agent", vec!["b/solo.agent"]),
            ("c", vec!["b/solo.agent", "c/", "c/agent.yaml"]),
        ];
        for (path, expected) in cases {
            let compiled = read(&world, &at(&world, path).expect("an agent"));
            let shown = definition(&world, &compiled).into_iter().map(|own| {
                let slash = if own.is_directory { "/" } else { "" };
                let path = own.path.strip_prefix(root).unwrap_or(&own.path);
                format!("{}{slash}", path.trim_start_matches('/'))
            });
            assert_eq!(shown.collect::<Vec<_>>(), expected, "{path}");
        }
    }

    /// All files that a format declares are protected from an agent whose directory is the workspace.
    #[test]
    fn every_file_of_every_format() {
        for row in FORMATS {
            let Some(main) = row.files.mains.first() else { continue };
            let files = new_agent(row.format, "solo").into_iter();
            let files = files.map(|(path, text)| match path.strip_prefix("solo/") {
                Some(path) => (path.to_owned(), text),
                // A single file contains the text of the main file.
                None => ((*main).to_owned(), text),
            });
            let world = MemoryWorld::new(files);
            let compiled = read(&world, &at(&world, ".").expect("an agent"));
            let paths = protect(&world, &compiled, &RenderLedger::default(), &[]);
            let places = crate::places(&world, &compiled.workspace);
            let protected = ProtectedPaths { paths: &paths, places: &places, world: &world };
            for part in row.files.mains.iter().chain(row.files.parts) {
                let subject =
                    if part.ends_with('/') { format!("{part}x") } else { (*part).to_owned() };
                let call =
                    SectionCall { section: Section::Edit, subject: &subject, directory: "/" };
                let reason = protected.reason(call, &NoLinks);
                assert_eq!(reason.map(|it| it.action), Some(Action::Deny), "{} {part}", row.format);
            }
        }
    }
}
