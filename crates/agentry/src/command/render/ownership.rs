//! Which definition a rendered file belongs to, and whether this run covers it. Several workspaces may
//! render to one directory: a run never removes the files of another workspace.

use std::collections::BTreeSet;

use agentry_compile::policy::path::is_inside;
use agentry_compile::render::{LedgerEntry, PresentFile};
use agentry_compile::targets::RenderScope;
use agentry_compile::text::path::{absolute, join, way};
use agentry_compile::{
    EntryKind, FileTree as _, FoundAgent, WorkspaceConfig, WorldRecorder, discover,
};

use crate::args::RenderArguments;

use super::project::RenderProject;

/// The absolute paths that a run covers: the named ones, or the workspace if none is named.
pub(super) fn named(
    disk: &WorldRecorder<'_>,
    args: &RenderArguments,
    config: &WorkspaceConfig,
) -> Vec<String> {
    let named = match args.agents.as_slice() {
        [] => std::slice::from_ref(&config.root),
        named => named,
    };
    named.iter().map(|path| absolute(&disk.absolute(path))).collect()
}

impl RenderProject<'_> {
    /// The path of a definition in the ledger: relative to the ledger, but absolute in the ledger that all
    /// projects of the user share.
    pub(super) fn definition(&self, found: &FoundAgent) -> String {
        let path = absolute(&self.disk.absolute(&join(&found.dir, &found.main)));
        match self.place.scope {
            RenderScope::Project => way(&self.disk.absolute(&self.place.root), &path),
            RenderScope::User => path,
        }
    }

    /// The path of a definition in the ledger.
    fn path(&self, definition: &str) -> String {
        match self.place.scope {
            RenderScope::Project => join(&self.place.root, definition),
            RenderScope::User => definition.to_owned(),
        }
    }

    /// Agents that were rendered here before and that this run does not cover. Files that all agents of a
    /// harness share can be written only for all of them.
    pub(super) fn carried(&self, named: &BTreeSet<String>) -> Vec<FoundAgent> {
        let others = self.others().filter(|agent| !named.contains(*agent));
        let paths: BTreeSet<String> = others.map(|agent| self.path(agent)).collect();
        let there = paths.into_iter().filter(|path| self.disk.kind(path) == EntryKind::File);
        // Nothing is excluded: these agents were rendered already.
        discover(self.disk, &there.collect::<Vec<_>>(), None, &|_| false).agents
    }

    /// Definitions that this run does not cover and that are gone, although their files are here: the files
    /// that they share with others must stay.
    pub(super) fn gone(&self) -> impl Iterator<Item = String> {
        let is_gone = |agent: &&str| self.disk.kind(&self.path(agent)) != EntryKind::File;
        let is_here = |entry: &&LedgerEntry| {
            !matches!(self.place.present(self.disk, &entry.path), PresentFile::Nothing)
        };
        let gone: BTreeSet<&str> = self.others().filter(is_gone).collect();
        let entries = self.place.ledger.entries().iter();
        let gone = entries.filter(move |entry| gone.contains(entry.agent.as_str()));
        gone.filter(is_here).map(|entry| entry.agent.clone())
    }

    /// Definitions with files for our targets that this run does not cover.
    fn others(&self) -> impl Iterator<Item = &str> {
        let is_ours = |entry: &&LedgerEntry| self.targets.iter().any(|it| it.name == entry.target);
        let entries = self.place.ledger.entries().iter().filter(is_ours);
        let agents = entries.map(|entry| entry.agent.as_str()).filter(|agent| !agent.is_empty());
        agents.filter(|agent| !self.speaks_for(&self.path(agent)))
    }

    /// Whether the run covers every agent of the workspace.
    pub(super) fn speaks_for_all(&self) -> bool {
        self.speaks_for(&super::destination::here(&self.config.root))
    }

    /// Whether a definition lies at or below one of the covered paths.
    fn speaks_for(&self, path: &str) -> bool {
        let path = absolute(&self.disk.absolute(path));
        self.named.iter().any(|named| is_inside(&path, named))
    }

    /// Whether this run removes a file that no agent needs any more.
    pub(super) fn covers(&self, entry: &LedgerEntry) -> bool {
        let named = self.targets.iter().any(|target| target.name == entry.target);
        // A full run also covers targets that the workspace no longer lists.
        let unlisted = self.args.targets.is_empty() && self.args.agents.is_empty();
        // A shared file has no agent; it goes only if no agent of another workspace needs it.
        if entry.agent.is_empty() {
            return named || (unlisted && !self.is_for_others(&entry.target));
        }
        (named || unlisted) && self.speaks_for(&self.path(&entry.agent))
    }

    /// Whether a target has files of agents that this run does not cover.
    fn is_for_others(&self, target: &str) -> bool {
        let of_target = |entry: &&LedgerEntry| entry.target == target && !entry.agent.is_empty();
        let mut entries = self.place.ledger.entries().iter().filter(of_target);
        entries.any(|entry| !self.speaks_for(&self.path(&entry.agent)))
    }
}
