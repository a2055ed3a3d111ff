//! Which agent a file belongs to, when a user names one of its files: its prompt, a skill, a script.

use agentry_formats::{FORMATS, info};
use agentry_text::path::{absolute, join, split};

use crate::detect::main_files;
use crate::discover::{FoundAgent, discover, is_agent};
use crate::pipeline::{CompiledAgent, read};
use crate::prompt::named_files;
use crate::world::World;

/// The most directories above a file in which an agent is looked for.
const LEVELS: usize = 16;

/// The agents of the workspace that read a file, or name it as context or rules.
pub(crate) fn owners(world: &dyn World, path: &str) -> Vec<FoundAgent> {
    let wanted = absolute(&world.absolute(path));
    let root = world.workspace(split(path).0);
    let agents = discover(world, &[root], None, &|_| false).agents;
    agents.into_iter().filter(|found| names(world, &read(world, found), &wanted)).collect()
}

/// The agent of the nearest directory above that has the file among its parts.
pub(crate) fn owner_above(world: &dyn World, path: &str) -> Option<FoundAgent> {
    let mut dir = split(path).0;
    for _ in 0..LEVELS {
        let rest = path.strip_prefix(dir).unwrap_or(path).trim_start_matches('/');
        if let Some(found) = at(world, dir, rest) {
            return Some(found);
        }
        if dir.is_empty() || dir == "/" {
            return None;
        }
        dir = split(dir).0;
    }
    None
}

fn at(world: &dyn World, dir: &str, rest: &str) -> Option<FoundAgent> {
    let is_part = |part: &&str| rest == *part || (part.ends_with('/') && rest.starts_with(*part));
    // Listing a directory is slow, so only directories that could own the file are listed.
    if !FORMATS.iter().any(|row| row.files.parts.iter().any(&is_part)) {
        return None;
    }
    let names: Vec<String> =
        world.list(dir, dir).ok()?.into_iter().map(|entry| entry.name).collect();
    let (main, format) = main_files().find(|(main, format)| {
        let files = &info(*format).files;
        names.iter().any(|name| name == main)
            && files.parts.iter().any(&is_part)
            && is_agent(world, &join(dir, main), *format, files.has_sign(&names))
    })?;
    let path = if dir.is_empty() { "." } else { dir };
    Some(FoundAgent { path: path.to_owned(), dir: dir.to_owned(), main: main.to_owned(), format })
}

/// Whether an agent reads a file, or names it as context or rules.
fn names(world: &dyn World, compiled: &CompiledAgent, wanted: &str) -> bool {
    let is_it = |path: &str| absolute(&world.absolute(path)) == wanted;
    compiled.own_sources().any(|source| is_it(&source.path))
        || named_files(world, compiled).into_iter().any(|(_, _, path)| is_it(&path))
}
