//! What an agent is made of, also what of it does not exist yet: a tool, a rule file or a setting that
//! is added to a definition changes the agent as much as one that is rewritten.

use agentry_model::Format;
use agentry_policy::path::is_inside;
use agentry_text::path::{join, split};

use crate::detect::MAIN_FILES;
use crate::pipeline::Compiled;
use crate::world::{EntryKind, World};

/// A file or a directory that an agent is made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Own {
    /// Where it is, or would be; absolute.
    pub path: String,
    /// Whether it is a directory, with all that is below it.
    pub is_directory: bool,
}

/// What an agent and its bases are made of. An agent of several files owns its directory; if that is the
/// workspace itself, or holds it, it owns what its format reads there.
pub fn definition(world: &dyn World, compiled: &Compiled) -> Vec<Own> {
    let workspace = world.absolute(&compiled.workspace);
    let mut out = Vec::new();
    let found = &compiled.found;
    of(world, &join(&found.dir, &found.main), found.format, &workspace, &mut out);
    for base in compiled.bases.iter().filter(|base| base.stored.is_none()) {
        let path = match world.kind(&base.path) {
            // Any name will do: what counts is the directory.
            EntryKind::Directory => join(&base.path, main_of(base.format)),
            _ => base.path.clone(),
        };
        of(world, &path, base.format, &workspace, &mut out);
    }
    let read = compiled.sources.iter().map(|source| world.absolute(&source.path));
    out.extend(read.map(|path| Own { path, is_directory: false }));
    out.sort();
    out.dedup();
    out
}

fn main_of(format: Format) -> &'static str {
    MAIN_FILES.iter().find(|(_, of)| *of == format).map_or("agent", |(main, _)| main)
}

/// What an agent with this main file is made of.
fn of(world: &dyn World, main: &str, format: Format, workspace: &str, out: &mut Vec<Own>) {
    let (dir, name) = split(main);
    if !MAIN_FILES.iter().any(|(main, _)| *main == name) {
        out.push(Own { path: world.absolute(main), is_directory: false });
        return;
    }
    let dir = world.absolute(dir);
    if !is_inside(workspace, &dir) {
        out.push(Own { path: dir, is_directory: true });
        return;
    }
    let (files, directories) = parts(format);
    let own = |name: &&str, is_directory| Own { path: join(&dir, name), is_directory };
    out.extend(files.iter().map(|name| own(name, false)));
    out.extend(directories.iter().map(|name| own(name, true)));
}

/// The files and directories that a format reads in the directory of an agent.
fn parts(format: Format) -> (&'static [&'static str], &'static [&'static str]) {
    match format {
        Format::AgentMd => (&[], &[]),
        Format::AgentToml => (&["agent.toml", "system-prompt.md"], &["skills"]),
        Format::Manifest => {
            (&["agent.yaml", "agent.yml", "SOUL.md", "RULES.md"], &["memory", "skills"])
        }
        Format::AgentFs => {
            (&["agent.json", "persona.md", "principles.md"], &["memory", "schedules", "skills"])
        }
        Format::AgentDir => (&["agent.acl", "instructions.md"], &["schedules", "skills", "tools"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_world::MemoryWorld;
    use crate::world::FileTree as _;
    use crate::{at, read};

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
}
