//! The files that take part in an agent, each with its digest: what a lock pins.

use std::collections::BTreeMap;

use agentry_model::digest;
use agentry_text::{Findings, Spanned, limits};

use super::packs::PackFile;
use super::rules::CONTEXT_TOO_LARGE;
use crate::pipeline::{Compiled, relative};
use crate::prompt::named_files;
use crate::world::{EntryKind, ReadError, World};
use agentry_text::path::join;

/// A file that takes part in an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedFile {
    /// Its path, from the root of the workspace; below `~/` for a file of the home.
    pub path: String,
    /// `sha256:` and the digest of its bytes.
    pub digest: String,
}

/// Every file that takes part in `compiled`, sorted by path.
pub(super) fn files(
    world: &dyn World,
    compiled: &Compiled,
    packs: &[PackFile],
) -> Vec<PlannedFile> {
    let mut found = BTreeMap::new();
    let workspace = &compiled.workspace;
    let mut add = |root: &str, path: &str, shown: Option<&str>| {
        let name = match shown.filter(|shown| shown.starts_with("~/")) {
            Some(shown) => shown.to_owned(),
            None => match relative(world, workspace, path) {
                below if below.is_empty() => path.to_owned(),
                below => below,
            },
        };
        let read = |root: &str| world.read(root, path, limits::FILE_BYTES);
        if let Ok(bytes) = read(root).or_else(|_| read(workspace)) {
            found.insert(name, digest::bytes(&bytes));
        }
    };
    for source in compiled.sources.iter() {
        add(&compiled.found.dir, &source.path, None);
    }
    for (_, _, path) in named_files(compiled) {
        add(workspace, &path, None);
    }
    for path in scripts(world, compiled) {
        add(workspace, &path, None);
    }
    for PackFile { root, path, shown } in packs {
        add(root, path, Some(shown));
    }
    found.into_iter().map(|(path, digest)| PlannedFile { path, digest }).collect()
}

/// The scripts of the agent: below its directory, else below the workspace.
fn scripts(world: &dyn World, compiled: &Compiled) -> Vec<String> {
    let scripts = compiled.whole().tools.scripts.iter();
    let path = |path: &Spanned<String>| {
        let places = [join(&compiled.found.dir, path), join(&compiled.workspace, path)];
        places.into_iter().find(|path| world.kind(path) == EntryKind::File)
    };
    scripts.filter_map(|script| script.path.as_ref().and_then(path)).collect()
}

/// Reports context and rule files that are too large to be put into a prompt.
pub(crate) fn too_large(world: &dyn World, compiled: &Compiled, findings: &mut Findings) {
    let limit = limits::INSTRUCTION_BYTES;
    for (name, span, path) in named_files(compiled) {
        let read = world.read(&compiled.workspace, &path, limit as u64);
        let Err(ReadError::TooLarge(size)) = read else { continue };
        let message = format!("the {name} `{path}` has {size} bytes; at most {limit} are read");
        findings
            .add(&CONTEXT_TOO_LARGE, span, message)
            .hint("name a shorter file, or let the agent read this one when it needs it");
    }
}
