//! The parts of an agent's definition, including those that do not exist yet. A new tool, rule file or
//! setting changes the agent as much as an edited one.

use agentry_formats::{FORMATS, FormatFiles, info};
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
    let context = compiled.whole().instructions.context.iter().flatten();
    out.extend(context.map(|file| {
        let path = world.absolute(&join(&found.dir, &file.value));
        DefinitionPart { path, is_directory: false }
    }));
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

/// The definition in the workspace that a real path belongs to, whichever agent it is: the file of an agent,
/// or the directory of an agent of several files.
pub(super) fn loaded(world: &dyn World, workspace: &str, real: &str) -> Option<String> {
    let below = real.strip_prefix(workspace.trim_end_matches('/'))?.strip_prefix('/')?;
    let (_, name) = split(below);
    if is_single_file(name) {
        return Some(real.to_owned());
    }
    let mut dir = workspace.trim_end_matches('/').to_owned();
    let mut parts = below.split('/').peekable();
    while parts.peek().is_some() {
        let rest: Vec<&str> = parts.clone().collect();
        if let Some(part) = part_of_agent(world, &dir, &rest, dir.len() > workspace.len()) {
            return Some(part);
        }
        dir = join(&dir, parts.next()?);
    }
    None
}

/// Whether a file of this name is an agent by itself.
fn is_single_file(name: &str) -> bool {
    FORMATS.iter().any(|row| row.files.has_ending(name))
}

/// The part of the agent in `dir` that the path `rest` below it belongs to. An agent at the root of the
/// workspace owns only the files that its format reads.
fn part_of_agent(
    world: &dyn World,
    dir: &str,
    rest: &[&str],
    owns_directory: bool,
) -> Option<String> {
    let is_there =
        |name: &str| world.kind(&join(dir, name.trim_end_matches('/'))) != EntryKind::Missing;
    let first = *rest.first()?;
    let is_last = rest.len() == 1;
    FORMATS.iter().find_map(|row| {
        let FormatFiles { mains, parts, signs, needs_sign, .. } = row.files;
        let is_main = |name: &str| is_last && mains.contains(&name);
        let has_sign = !needs_sign || signs.iter().any(|sign| is_there(sign));
        // A main file that does not exist yet would make the directory an agent.
        let is_agent = has_sign && (is_main(first) || mains.iter().any(|main| is_there(main)));
        if !is_agent {
            return None;
        }
        if owns_directory {
            return Some(dir.to_owned());
        }
        let is_part = |part: &&&str| part.trim_end_matches('/') == first;
        let own = mains.iter().chain(parts).find(is_part)?;
        Some(join(dir, own.trim_end_matches('/')))
    })
}

#[cfg(test)]
mod tests {
    use agentry_policy::path::NoLinks;
    use agentry_policy::{Action, Section, SectionCall};

    use super::super::{ProtectedPaths, protect};
    use super::*;
    use crate::memory_world::MemoryWorld;
    use crate::render::RenderLedger;
    use crate::world::FileTree as _;
    use crate::{at, new_agent, read};

    #[test]
    fn missing_parts_of_a_definition_are_protected() {
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
    fn definition_files_of_every_format_are_protected() {
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
            let protected =
                ProtectedPaths { paths: &paths, named: &[], places: &places, world: &world };
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

    /// No call writes to another agent of the workspace, unless a rule names the file.
    #[test]
    fn writes_to_other_agents_of_the_workspace_are_denied() {
        let texts = [
            ("agents/b/agent.toml", ""),
            ("agents/b/system-prompt.md", ""),
            ("agents/c/instructions.md", ""),
            ("agents/c/tools/x.js", ""),
            ("docs/instructions.md", ""),
            ("src/main.rs", ""),
            ("drafts/d/agent.toml", ""),
        ];
        let world = MemoryWorld::new(texts.map(|(path, text)| (format!("workspace/{path}"), text)));
        let places = agentry_policy::PathAnchors::default();
        let named = ["/workspace/agents/b/notes.md".to_owned()];
        let protected =
            ProtectedPaths { paths: &[], named: &named, places: &places, world: &world };
        let cases = [
            (Section::Edit, "agents/b/agent.toml", true),
            (Section::Edit, "agents/b/system-prompt.md", true),
            (Section::Edit, "agents/b/skills/x/SKILL.md", true),
            (Section::Edit, "agents/b/notes.md", false),
            (Section::Edit, "agents/c/instructions.md", true),
            (Section::Edit, "agents/c/agent.acl", true),
            (Section::Edit, "agents/new/agent.toml", true),
            (Section::Edit, "x.agent.md", true),
            (Section::Edit, "x.agent", true),
            (Section::Edit, "agent.yaml", true),
            (Section::Edit, "docs/instructions.md", false),
            (Section::Edit, "docs/a.md", false),
            (Section::Edit, "src/main.rs", false),
            (Section::Edit, "agents/README.md", false),
            (Section::Bash, "echo x > agents/b/agent.toml", true),
            (Section::Bash, "cp x agents/b/agent.toml", true),
            (Section::Bash, "sed -i s/a/b/ agents/c/instructions.md", true),
            (Section::Bash, "rm agents/b/agent.toml", true),
            (Section::Bash, "cat agents/b/agent.toml", false),
            (Section::Bash, "git pull", false),
            (Section::Bash, "git checkout main", false),
            (Section::Bash, "echo x > src/main.rs", false),
            (Section::Bash, "cp -r drafts/d agents/d", true),
            (Section::Bash, "mv drafts/d agents", true),
            (Section::Bash, "rsync -a drafts/d/ agents/d", true),
            (Section::Bash, "mv src agents/z", false),
        ];
        for (section, subject, expected) in cases {
            let call = SectionCall { section, subject, directory: "/workspace" };
            let action = protected.reason(call, &NoLinks).map(|reason| reason.action);
            assert_eq!(action == Some(Action::Deny), expected, "{section} {subject}");
        }
    }

    /// A directory with a definition is as protected as the definition, whichever program changes it.
    #[test]
    fn commands_on_a_directory_with_a_definition_are_denied() {
        const DENIED: &[&str] = &[
            "rm -rf agents",
            "rm -rf .",
            "mv agents a2",
            "git rm -rf agents",
            "git rm -r ./agents",
            "git rm -r :/agents",
            "git -C agents rm -r .",
            "git mv agents a",
            "git clean -fdx agents",
            "git checkout agents",
            "git checkout HEAD~1 -- agents",
            "git restore -s HEAD~1 agents",
            "git stash push -- agents",
            "find agents -delete",
            "find agents -type f -delete",
            "find agents -name '*.toml' -delete",
            "find agents -type f -exec rm {} \\;",
            "find agents -type f | xargs rm",
            "find . -delete",
            "find .git -delete",
            "tar xf x.tar -C agents",
            "tar -xf x.tar --directory=agents",
            "unzip x.zip -d agents",
            "cpio -i -D agents < x",
            "rsync -a --delete x/ .",
            "rsync -a --delete x/ agents",
            "chmod -R 777 agents",
        ];
        const FREE: &[&str] = &[
            "git pull",
            "git checkout main",
            "git checkout .",
            "git restore .",
            "git clean -fd",
            "git stash",
            "git merge agents",
            "git log agents",
            "git rm -r src",
            "git mv src lib",
            "git clean -fdx target",
            "find . -name '*.pyc' -delete",
            "find src -delete",
            "find agents -type f",
            "find agents -name '*.toml' -exec grep x {} +",
            "tar xzf x.tgz",
            "tar xf x.tar -C out",
            "tar czf x.tgz agents",
            "unzip x.zip -d out",
            "rsync -a x/ out",
            "rsync -a --delete x/ out",
            "rm -rf target",
            "cp x agents/README.md",
        ];
        let texts = ["agents/x/agent.toml", "agents/x/system-prompt.md", "src/a.rs", ".git/config"];
        let world = MemoryWorld::new(texts.map(|path| (format!("workspace/{path}"), "")));
        let places = agentry_policy::PathAnchors::default();
        let paths = ["/workspace/agents/x", "/workspace/agentry.toml"].map(str::to_owned);
        let protected =
            ProtectedPaths { paths: &paths, named: &[], places: &places, world: &world };
        for (lines, expected) in [(DENIED, true), (FREE, false)] {
            for line in lines {
                let call =
                    SectionCall { section: Section::Bash, subject: line, directory: "/workspace" };
                let action = protected.reason(call, &NoLinks).map(|reason| reason.action);
                assert_eq!(action == Some(Action::Deny), expected, "{line}: {action:?}");
            }
        }
    }
}
