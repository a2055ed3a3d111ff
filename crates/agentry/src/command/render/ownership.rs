//! Which definition a rendered file belongs to, and whether this run speaks for it. Several workspaces
//! may render to one place: none of them takes the files of another for its own.

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

/// The whole paths that a run speaks for: those that were named, or the workspace if none was.
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
    /// The path of a definition in the list of rendered files: from the place of that list, but the
    /// whole path where it is one list for all projects of the user.
    pub(super) fn definition(&self, found: &FoundAgent) -> String {
        let path = absolute(&self.disk.absolute(&join(&found.dir, &found.main)));
        match self.place.scope {
            RenderScope::Project => way(&self.disk.absolute(&self.place.root), &path),
            RenderScope::User => path,
        }
    }

    /// Where a definition of the list of rendered files is.
    fn path(&self, definition: &str) -> String {
        match self.place.scope {
            RenderScope::Project => join(&self.place.root, definition),
            RenderScope::User => definition.to_owned(),
        }
    }

    /// Agents that were rendered here before and are not spoken for now. What all agents of a harness
    /// share can only be written for all of them.
    pub(super) fn carried(&self, named: &BTreeSet<String>) -> Vec<FoundAgent> {
        let others = self.others().filter(|agent| !named.contains(*agent));
        let paths: BTreeSet<String> = others.map(|agent| self.path(agent)).collect();
        let there = paths.into_iter().filter(|path| self.disk.kind(path) == EntryKind::File);
        discover(self.disk, &there.collect::<Vec<_>>(), None, &|_| false).agents
    }

    /// Definitions that are not spoken for now and cannot be found, though their files are here: what
    /// they share with others must stay.
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

    /// Definitions with files for our targets that are not spoken for now.
    fn others(&self) -> impl Iterator<Item = &str> {
        let is_ours = |entry: &&LedgerEntry| self.targets.iter().any(|it| it.name == entry.target);
        let entries = self.place.ledger.entries().iter().filter(is_ours);
        let agents = entries.map(|entry| entry.agent.as_str()).filter(|agent| !agent.is_empty());
        agents.filter(|agent| !self.speaks_for(&self.path(agent)))
    }

    /// Whether the run speaks for every agent of the workspace.
    pub(super) fn speaks_for_all(&self) -> bool {
        self.speaks_for(&super::destination::here(&self.config.root))
    }

    /// Whether a definition lies at or below one of the paths that the run speaks for.
    fn speaks_for(&self, path: &str) -> bool {
        let path = absolute(&self.disk.absolute(path));
        self.named.iter().any(|named| is_inside(&path, named))
    }

    /// Whether a file that nobody asks for any more is to be removed by this run.
    pub(super) fn covers(&self, entry: &LedgerEntry) -> bool {
        let named = self.targets.iter().any(|target| target.name == entry.target);
        // A target that the team does not list any more.
        let unlisted = self.args.targets.is_empty() && self.args.agents.is_empty();
        if entry.agent.is_empty() {
            return named || (unlisted && !self.is_for_others(&entry.target));
        }
        (named || unlisted) && self.speaks_for(&self.path(&entry.agent))
    }

    /// Whether a target has files of agents that are not spoken for now.
    fn is_for_others(&self, target: &str) -> bool {
        let of_target = |entry: &&LedgerEntry| entry.target == target && !entry.agent.is_empty();
        let mut entries = self.place.ledger.entries().iter().filter(of_target);
        entries.any(|entry| !self.speaks_for(&self.path(&entry.agent)))
    }
}
