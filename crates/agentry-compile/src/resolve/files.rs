//! The files of an agent with their digests, as a lock records them.

use std::collections::BTreeMap;

use agentry_text::digest;
use agentry_text::path::{absolute, join};
use agentry_text::{Findings, SourceFile, Spanned, limits};

use super::packs::SkillFile;
use super::rules::CONTEXT_TOO_LARGE;
use crate::pipeline::CompiledAgent;
use crate::prompt::named_files;
use crate::relocate::relative;
use crate::world::{EntryKind, ReadError, World};

/// A file of an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedFile {
    /// Its path relative to the workspace root, or `~/…` for a file in the home directory.
    pub path: String,
    /// `sha256:` and the digest of its bytes.
    pub digest: String,
}

/// Every file of `compiled`, sorted by path: its own, and those of its bases.
pub(super) fn files(
    world: &dyn World,
    compiled: &CompiledAgent,
    packs: &[SkillFile],
) -> (Vec<PlannedFile>, Vec<PlannedFile>) {
    let full = |path: &str| absolute(&world.absolute(path));
    let gathering = FileGathering { world, compiled, root: full(&compiled.workspace) };
    let (own, bases): (Vec<_>, Vec<_>) = compiled
        .sources
        .iter()
        .enumerate()
        .filter_map(|(at, source)| Some((at, gathering.source(source)?)))
        .partition(|(at, _)| *at < compiled.own_files);
    let mut found: BTreeMap<_, _> = own.into_iter().map(|(_, file)| file).collect();
    let bases: BTreeMap<_, _> = bases.into_iter().map(|(_, file)| file).collect();
    for (_, _, path) in named_files(world, compiled) {
        gathering.read(&mut found, &compiled.workspace, &path);
    }
    for path in scripts(world, compiled) {
        gathering.read(&mut found, &compiled.workspace, &path);
    }
    for SkillFile { root, path, shown } in packs {
        if let Some(rest) = shown.strip_prefix("~/") {
            let bytes = world.read(root, path, limits::FILE_BYTES);
            found.extend(bytes.map(|bytes| (format!("~/{rest}"), digest::of(&bytes))));
        } else {
            gathering.read(&mut found, root, path);
        }
    }
    let list = |files: BTreeMap<String, String>| {
        files.into_iter().map(|(path, digest)| PlannedFile { path, digest }).collect()
    };
    (list(found), list(bases))
}

struct FileGathering<'a> {
    world: &'a dyn World,
    compiled: &'a CompiledAgent,
    /// The root of the workspace, as an absolute path.
    root: String,
}

impl FileGathering<'_> {
    /// The path of a file, relative to the workspace root.
    fn name(&self, path: &str) -> String {
        relative(&self.root, &absolute(&self.world.absolute(path)))
    }

    /// A file that was read with the definition, so that it is not read again.
    fn source(&self, source: &SourceFile) -> Option<(String, String)> {
        let digest = source.digest(|bytes| digest::of(bytes))?.to_owned();
        // Files of a stored base have no path in the workspace.
        let is_stored = self.compiled.bases.iter().any(|base| {
            let rest = source.path.strip_prefix(base.path.as_str());
            base.stored.is_some() && rest.is_some_and(|rest| rest.starts_with('/'))
        });
        let name = if is_stored { source.path.to_string() } else { self.name(&source.path) };
        Some((name, digest))
    }

    /// Reads a file, unless its digest is already known.
    fn read(&self, found: &mut BTreeMap<String, String>, root: &str, path: &str) {
        let name = self.name(path);
        if found.contains_key(&name) {
            return;
        }
        let read = |root: &str| self.world.read(root, path, limits::FILE_BYTES);
        // A link may leave the agent's directory, but not the workspace.
        if let Ok(bytes) = read(root).or_else(|_| read(&self.compiled.workspace)) {
            found.insert(name, digest::of(&bytes));
        }
    }
}

/// The scripts of the agent: below its directory, or else below the workspace.
fn scripts(world: &dyn World, compiled: &CompiledAgent) -> Vec<String> {
    let scripts = compiled.whole().tools.scripts.iter();
    let path = |path: &Spanned<String>| {
        let places = [join(&compiled.found.dir, path), join(&compiled.workspace, path)];
        places.into_iter().find(|path| world.kind(path) == EntryKind::File)
    };
    scripts.filter_map(|script| script.path.as_ref().and_then(path)).collect()
}

/// Reports context and rule files that are too large for a prompt.
pub(crate) fn too_large(world: &dyn World, compiled: &CompiledAgent, findings: &mut Findings) {
    let limit = limits::INSTRUCTION_BYTES;
    for (name, span, path) in named_files(world, compiled) {
        let read = world.read(&compiled.workspace, &path, limit as u64);
        let Err(ReadError::TooLarge(size)) = read else { continue };
        let message = format!("the {name} `{path}` has {size} bytes; at most {limit} are read");
        findings
            .add(&CONTEXT_TOO_LARGE, span, message)
            .hint("name a shorter file, or let the agent read this one when it needs it");
    }
}
