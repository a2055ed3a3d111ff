//! Plans the changes on disk from three inputs: the wanted files, the ledger of files rendered before, and
//! the files that are present now.

mod clashes;
mod retention;
mod stale_files;

use std::collections::{BTreeMap, BTreeSet};

use agentry_text::digest::sha256;
use rayon::prelude::*;

use super::ledger::{LedgerEntry, RenderLedger};
use super::merge_record::{UnmergedFile, merge, unmerge};

/// A file that should exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedFile {
    /// The path relative to the root.
    pub path: String,
    /// Its complete content.
    pub bytes: Vec<u8>,
    /// The target harness.
    pub target: String,
    /// The definition that it is rendered from; empty for a file that all agents share.
    pub agent: String,
    /// Whether it may also hold the user's settings.
    pub shared: bool,
}

/// A file not written by Agentry that is removed when an agent replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedFile {
    /// The path relative to the root.
    pub path: String,
    /// The target harness.
    pub target: String,
    /// The definition that replaces it.
    pub agent: String,
}

/// What is at a path now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresentFile {
    /// Nothing.
    Nothing,
    /// A file with these bytes.
    File(Vec<u8>),
    /// Something that cannot be written to, and why.
    Blocked(String),
}

/// The planned changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// Every file that is written, kept or removed, in the order of the targets.
    pub changes: Vec<PlannedChange>,
    /// Changes that are refused.
    pub refused: Vec<RefusedFile>,
    /// The ledger after the changes.
    pub ledger: RenderLedger,
}

/// The planned change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedChange {
    /// The path relative to the root.
    pub path: String,
    /// The target harness.
    pub target: String,
    /// The definition that it is rendered from; empty for a file that all agents share.
    pub agent: String,
    /// The kind of change.
    pub kind: PlannedChangeKind,
    /// The content before, if the file exists.
    pub before: Option<Vec<u8>>,
    /// The content after, if the file will exist.
    pub after: Option<Vec<u8>>,
    /// Whether the old content was edited or written by the user, so that `--force` is required.
    pub forced: bool,
}

/// The kind of a planned change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedChangeKind {
    /// The file is new.
    Create,
    /// The content changes.
    Update,
    /// The content is already right.
    Keep,
    /// The file is no longer wanted.
    Remove,
}

/// A file that must not change. All files of its agent for this harness stay too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedFile {
    /// The path relative to the root.
    pub path: String,
    /// The target harness.
    pub target: String,
    /// The definition that it is rendered from; empty for a file that all agents share.
    pub agent: String,
    /// The problem.
    pub message: String,
    /// What the user can do.
    pub hint: &'static str,
    /// The change that `--force` would make.
    pub instead: Option<Box<PlannedChange>>,
}

/// The inputs of a plan, beside the wanted files.
pub struct PlanSituation<'a> {
    /// The files that were rendered before.
    pub ledger: &'a RenderLedger,
    /// The files that are present now.
    pub present: &'a (dyn Fn(&str) -> PresentFile + Sync),
    /// Whether this run decides about a rendered file, so that it is removed unless it is wanted.
    pub covers: &'a (dyn Fn(&LedgerEntry) -> bool + Sync),
    /// Definitions that cannot be rendered now. Their files stay, and so do the files that they share with
    /// others.
    pub held: &'a BTreeSet<String>,
    /// Whether files are replaced and removed that the user wrote or edited.
    pub force: bool,
    /// Files of the user that are removed then.
    pub replaced: &'a [ReplacedFile],
}

/// The hint for a path that cannot be written to.
const IN_THE_WAY: &str = "remove what is in the way, or write elsewhere with `--output`";

const TAKE_OVER: &str =
    "pass `--force` once to replace it, if the definition was imported from it; else move it away";
const MOVE: &str = "move it away, or pass `--force` to replace it";
const HELD: &str = "see to that agent first; until then nothing is written for this target";
const STAYS: &str =
    "remove that file, or pass `--force`; until then nothing is written for this target";
const EDITED: &str = "take the change over into the definition, or pass `--force` to undo it";

impl PlanSituation<'_> {
    /// A definition that cannot be rendered now, but has files for the target.
    pub fn held_for(&self, target: &str) -> Option<&str> {
        let mut entries = self.ledger.entries().iter();
        let held =
            |entry: &&LedgerEntry| entry.target == target && self.held.contains(&entry.agent);
        entries.find(held).map(|entry| entry.agent.as_str())
    }
}

/// Plans the changes that create the wanted files.
pub fn plan(wanted: &[WantedFile], situation: &PlanSituation<'_>) -> FilePlan {
    let mut planner = FilePlanner {
        situation,
        changes: Vec::new(),
        refused: Vec::new(),
        blocked: BTreeSet::new(),
        staying: BTreeMap::new(),
        kept: Vec::new(),
    };
    let wanted = planner.without_clashes(wanted);
    planner.wanted(&wanted);
    let paths: BTreeSet<&str> = wanted.iter().map(|wanted| wanted.path.as_str()).collect();
    for entry in situation.ledger.entries() {
        if !paths.contains(entry.path.as_str()) {
            planner.unwanted(entry);
        }
    }
    let replaced = situation.replaced.iter().filter(|it| !paths.contains(it.path.as_str()));
    replaced.for_each(|it| planner.replaced(it));
    let FilePlanner { changes, refused, kept, .. } = planner;
    FilePlan { changes, refused, ledger: RenderLedger::new(kept) }
}

/// The text of a file without rendered content, as a target reads it. `ledger` has only the files that
/// this run writes or removes; everything else counts as the user's.
pub fn existing(ledger: &RenderLedger, present: &PresentFile, path: &str) -> Option<String> {
    let PresentFile::File(bytes) = present else { return None };
    let text = || Some(String::from_utf8_lossy(bytes).into_owned());
    let Some(entry) = ledger.get(path) else { return text() };
    let untouched = sha256(bytes) == entry.sha256;
    let Some(merge) = &entry.merge else { return if untouched { None } else { text() } };
    match unmerge(merge, &String::from_utf8_lossy(bytes), untouched) {
        UnmergedFile::Nothing => None,
        UnmergedFile::Text(text) => Some(text),
        UnmergedFile::Unknown => text(),
    }
}

struct FilePlanner<'a> {
    situation: &'a PlanSituation<'a>,
    changes: Vec<PlannedChange>,
    refused: Vec<RefusedFile>,
    /// The targets and definitions for which nothing is written.
    blocked: BTreeSet<(String, String)>,
    /// For each target, a file of an agent that stays although it is outdated.
    staying: BTreeMap<String, String>,
    kept: Vec<LedgerEntry>,
}

impl FilePlanner<'_> {
    fn wanted(&mut self, wanted: &[&WantedFile]) {
        // Files of single agents are planned first. If one stays, the shared files must not change.
        let mut steps = self.steps(wanted, false);
        self.staying = self.those_that_stay(wanted);
        steps.append(&mut self.steps(wanted, true));
        self.refuse_outlived(wanted);
        for (at, file) in wanted.iter().enumerate() {
            let Some((entry, change)) = steps.remove(&at) else { continue };
            if !self.is_blocked(&file.target, &file.agent) {
                self.kept.push(entry);
                self.changes.push(change);
            }
        }
        for entry in self.situation.ledger.entries() {
            if self.is_blocked(&entry.target, &entry.agent) {
                self.kept.push(entry.clone());
            }
        }
    }

    /// The changes of agents' own files, or of shared ones, by their position in the list.
    fn steps(
        &mut self,
        wanted: &[&WantedFile],
        shared: bool,
    ) -> BTreeMap<usize, (LedgerEntry, PlannedChange)> {
        let step = |file: &WantedFile| {
            let change = self.step(file)?;
            Ok((self.entry(file, &change), change))
        };
        let files = wanted.par_iter().enumerate().filter(|(_, file)| file.shared == shared);
        let steps: Vec<(usize, Result<_, RefusedFile>)> =
            files.map(|(at, file)| (at, step(file))).collect();
        let refused = steps.iter().filter_map(|(_, step)| step.as_ref().err());
        self.refused.extend(refused.cloned());
        self.blocked =
            self.refused.iter().map(|it| (it.target.clone(), it.agent.clone())).collect();
        steps.into_iter().filter_map(|(at, step)| Some((at, step.ok()?))).collect()
    }

    /// The change of one wanted file.
    fn step(&self, file: &WantedFile) -> Result<PlannedChange, RefusedFile> {
        let WantedFile { path, bytes, target, agent, shared } = file;
        let refuse = |message: String, hint| {
            let (path, target, agent) = (path.clone(), target.clone(), agent.clone());
            Err(RefusedFile { path, target, agent, message, hint, instead: None })
        };
        let change = |kind, before, forced| {
            let (path, target, agent) = (path.clone(), target.clone(), agent.clone());
            PlannedChange { path, target, agent, kind, before, after: Some(bytes.clone()), forced }
        };
        let mut forced = false;
        let (kind, before) = match (self.situation.present)(path) {
            PresentFile::Blocked(why) => {
                return refuse(format!("`{path}` {why}"), IN_THE_WAY);
            }
            // Equal content is kept, even if the user wrote it.
            PresentFile::File(found) if found == *bytes => (PlannedChangeKind::Keep, Some(found)),
            // The user's part of a shared file must survive as text.
            PresentFile::File(found) if *shared && std::str::from_utf8(&found).is_err() => {
                return refuse(format!("`{path}` is not UTF-8"), MOVE);
            }
            present => {
                if let Some((message, hint)) = self.why_it_must_not_change(file) {
                    return refuse(message, hint);
                }
                match present {
                    PresentFile::File(found) => {
                        match self.whose(file, &found) {
                            Some((message, hint)) if !self.situation.force => {
                                let instead = change(PlannedChangeKind::Update, Some(found), true);
                                let instead = Some(Box::new(instead));
                                return refuse(message, hint)
                                    .map_err(|refused| RefusedFile { instead, ..refused });
                            }
                            whose => forced = whose.is_some(),
                        }
                        (PlannedChangeKind::Update, Some(found))
                    }
                    _ => (PlannedChangeKind::Create, None),
                }
            }
        };
        Ok(change(kind, before, forced))
    }

    /// Why an existing file is replaced only with `--force`: the user wrote or edited it.
    fn whose(&self, file: &WantedFile, found: &[u8]) -> Option<(String, &'static str)> {
        let path = &file.path;
        let entry = self.situation.ledger.get(path);
        let ours = entry.is_some_and(|entry| sha256(found) == entry.sha256);
        // A shared file was merged with the user's content, so it may be updated.
        if ours || file.shared {
            return None;
        }
        Some(match entry {
            Some(_) => (format!("`{path}` was edited after it was rendered"), EDITED),
            None => (format!("`{path}` is there already, and agentry did not write it"), TAKE_OVER),
        })
    }

    /// The ledger entry of a file.
    fn entry(&self, file: &WantedFile, change: &PlannedChange) -> LedgerEntry {
        let before = || {
            let present = change.before.clone();
            let present = present.map_or(PresentFile::Nothing, PresentFile::File);
            existing(self.situation.ledger, &present, &file.path)
        };
        LedgerEntry {
            path: file.path.clone(),
            target: file.target.clone(),
            agent: file.agent.clone(),
            sha256: sha256(&file.bytes),
            merge: file
                .shared
                .then(|| merge(before().as_deref(), &String::from_utf8_lossy(&file.bytes))),
        }
    }

    fn refuse(&mut self, file: &WantedFile, message: String, hint: &'static str) {
        let WantedFile { path, target, agent, .. } = file.clone();
        self.refused.push(RefusedFile { path, target, agent, message, hint, instead: None });
    }

    /// Whether a file of the agent, or a shared file, must not change.
    fn is_blocked(&self, target: &str, agent: &str) -> bool {
        !self.blocked.is_empty()
            && ["", agent]
                .iter()
                .any(|agent| self.blocked.contains(&(target.to_owned(), (*agent).to_owned())))
    }
}

#[cfg(test)]
mod tests;
