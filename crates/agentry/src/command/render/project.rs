//! Renders the agents of one workspace: reads them, plans the files and writes them.

use std::collections::BTreeSet;
use std::path::Path;

use agentry_compile::model::AgentStatus;
use agentry_compile::render::{
    FilePlan, LedgerEntry, PlanSituation, PlannedChange, PlannedChangeKind, RenderJob,
    RenderLedger, ReplacedFile, TargetRun, WantedFile, plan, run,
};
use agentry_compile::targets::{RenderSubject, RenderedAgent, Target};
use agentry_compile::text::path::split;
use agentry_compile::{CompiledAgent, FoundAgent, WorkspaceConfig, WorldRecorder, subject};
use rayon::prelude::*;

use crate::args::RenderArguments;
use crate::command::{read_definition, show_errors};
use crate::output::{CliFailure, complain};
use crate::save::{self, FileSaving, ReplaceMode};

use super::destination::{FilesAround, LEDGER, RenderRoot};
use super::lock_check::{RenderLocks, UnlockedAgent};

/// Fewer agents than this are read on one thread: starting threads takes longer.
const FEW: usize = 8;

/// One workspace, and the destination of its agents.
pub(super) struct RenderProject<'a> {
    pub(super) args: &'a RenderArguments,
    pub(super) disk: &'a WorldRecorder<'a>,
    pub(super) config: &'a WorkspaceConfig,
    pub(super) place: RenderRoot,
    pub(super) targets: Vec<&'static Target>,
    pub(super) locks: RenderLocks,
    /// The absolute paths that the run covers.
    pub(super) named: Vec<String>,
}

/// The result for a workspace.
pub(super) struct ProjectOutcome {
    pub(super) place: RenderRoot,
    pub(super) agents: Vec<ProjectAgent>,
    pub(super) runs: Vec<TargetRun>,
    pub(super) plan: FilePlan,
    /// The number of agents with errors.
    pub(super) broken: usize,
    /// The number of agents that differ from `agentry.lock`.
    pub(super) not_as_locked: usize,
    /// Whether files were written.
    pub(super) written: bool,
    /// The targets that have the guard only because they had it before.
    pub(super) kept_guard: Vec<&'static str>,
    /// The targets whose gaps are closed only because they were closed before.
    pub(super) kept_closed: Vec<&'static str>,
    /// The targets that deny questions only because they denied them before.
    pub(super) kept_unattended: Vec<&'static str>,
    /// The names of the agents that are disabled.
    pub(super) disabled: Vec<String>,
}

impl ProjectOutcome {
    /// Whether everything was as it should be.
    pub(super) fn is_settled(&self) -> bool {
        let FilePlan { changes, refused, ledger } = &self.plan;
        let kept = changes.iter().all(|change| change.kind == PlannedChangeKind::Keep);
        kept && refused.is_empty() && *ledger == self.place.ledger
    }
}

/// An agent that was rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectAgent {
    /// The name of the agent.
    pub(super) name: String,
    /// Its definition, as the ledger has it.
    pub(super) definition: String,
    /// Whether it was requested, and not only rendered again beside others.
    pub(super) asked: bool,
}

/// An agent that was read.
struct LoadedAgent {
    /// The path of its definition.
    definition: String,
    state: LoadState,
}

/// The result of reading an agent.
enum LoadState {
    Subject(Box<RenderSubject>),
    /// It is disabled; this is its name.
    Disabled(String),
    /// It has errors.
    Broken,
    /// It differs from `agentry.lock`.
    NotAsLocked,
}

/// Why an agent is not rendered.
enum LoadFailure {
    Errors(Box<CompiledAgent>),
    NotAsLocked(CliFailure),
}

/// The agents of a run.
#[derive(Default)]
pub(super) struct GatheredAgents {
    pub(super) subjects: Vec<RenderSubject>,
    /// Their descriptions, in the same order.
    agents: Vec<ProjectAgent>,
    /// The names of disabled agents that were requested.
    disabled: Vec<String>,
    /// Definitions with errors.
    pub(super) broken: BTreeSet<String>,
    /// Definitions that differ from `agentry.lock`.
    pub(super) not_as_locked: BTreeSet<String>,
}

impl RenderProject<'_> {
    /// Renders the agents and writes the files, except in a dry run or a check.
    pub(super) fn render(self, found: &[FoundAgent]) -> Result<ProjectOutcome, CliFailure> {
        let gathered = self.gather(found);
        self.has_primaries(&gathered)?;
        let accepted = self.accepted()?;
        let GatheredAgents { subjects, agents, disabled, broken, not_as_locked } = gathered;
        // The files of agents that cannot be read now are kept: an error must not remove a rendered agent.
        let held = self.gone().chain(broken.union(&not_as_locked).cloned()).collect();
        // Our own files of the last run are not settings of the user.
        let known = self.place.ledger.entries().iter().filter(|entry| self.rewrites(entry));
        let known = RenderLedger::new(known.cloned().collect());
        let existing = FilesAround { place: &self.place, recorder: self.disk, ledger: &known };
        let guard = |target: &Target| self.guards(target);
        let close_gaps = |target: &Target| self.closes_gaps(target);
        let unattended = |target: &Target| self.is_unattended(target);
        let job = RenderJob {
            targets: &self.targets,
            scope: self.place.scope,
            guard: &guard,
            close_gaps: &close_gaps,
            unattended: &unattended,
            shared: self.writes_shared(),
            accepted: &accepted,
            force: self.args.force,
            explain: self.args.explain,
            config: &self.config.render,
            existing: &existing,
        };
        let runs = run(&job, &subjects);
        let plan = self.plan(&runs, &agents, &held);
        let lost = runs.iter().flat_map(|ran| &ran.rendering.agents).any(RenderedAgent::is_lossy);
        // With `--strict`, one loss in any agent means that nothing is written.
        let dry = self.args.check || self.args.dry_run || (self.args.strict && lost);
        if !dry {
            self.write(&plan)?;
        }
        let (kept_guard, kept_closed) = (self.kept_guard(), self.kept_closed());
        let kept_unattended = self.kept_unattended();
        let (broken, not_as_locked, written) = (broken.len(), not_as_locked.len(), !dry);
        let Self { place, .. } = self;
        Ok(ProjectOutcome {
            place,
            agents,
            runs,
            plan,
            broken,
            not_as_locked,
            written,
            kept_guard,
            kept_closed,
            kept_unattended,
            disabled,
        })
    }

    /// Reads the requested agents, and those that were rendered before.
    fn gather(&self, found: &[FoundAgent]) -> GatheredAgents {
        let carried = self.carried(&self.definitions(found));
        let asked = self.load(found).into_iter().map(|loaded| (loaded, true));
        let again = self.load(&carried).into_iter().map(|loaded| (loaded, false));
        let mut loaded: Vec<_> = asked.chain(again).collect();
        // Sorted, so that shared files do not depend on the order of the arguments.
        loaded.sort_by(|(one, _), (other, _)| one.definition.cmp(&other.definition));
        let mut out = GatheredAgents::default();
        for (LoadedAgent { definition, state }, asked) in loaded {
            match state {
                LoadState::Subject(subject) => {
                    out.agents.push(ProjectAgent { name: subject.name.clone(), definition, asked });
                    out.subjects.push(*subject);
                }
                LoadState::Disabled(name) => out.disabled.extend(asked.then_some(name)),
                LoadState::Broken => drop(out.broken.insert(definition)),
                LoadState::NotAsLocked => drop(out.not_as_locked.insert(definition)),
            }
        }
        out
    }

    /// Reads agents, and shows their problems.
    fn load(&self, found: &[FoundAgent]) -> Vec<LoadedAgent> {
        let guarded = self.targets.iter().any(|target| self.guards(target));
        let one = |found: &FoundAgent| {
            let compiled = read_definition(self.disk, found);
            if compiled.has_errors() {
                return Err(LoadFailure::Errors(Box::new(compiled)));
            }
            let admitted = self.locks.admit(self.disk, &compiled, UnlockedAgent::IsNoted);
            admitted.map_err(LoadFailure::NotAsLocked)?;
            let mut subject = subject(self.disk, &compiled, None, guarded);
            if is_disabled(&subject) {
                return Ok(LoadState::Disabled(subject.name));
            }
            // The guard starts in the directory that files are rendered into.
            subject.guarded_path = self.definition(found);
            // Memoised here, where agents are read in parallel.
            subject.kind();
            Ok(LoadState::Subject(Box::new(subject)))
        };
        let read: Vec<_> = if found.len() < FEW {
            found.iter().map(one).collect()
        } else {
            found.par_iter().map(one).collect()
        };
        let taken = |(found, read): (&FoundAgent, Result<LoadState, LoadFailure>)| {
            let state = read.unwrap_or_else(|wrong| refused(found, &wrong));
            LoadedAgent { definition: self.definition(found), state }
        };
        found.iter().zip(read).map(taken).collect()
    }

    fn definitions(&self, found: &[FoundAgent]) -> BTreeSet<String> {
        found.iter().map(|found| self.definition(found)).collect()
    }

    fn plan(
        &self,
        runs: &[TargetRun],
        agents: &[ProjectAgent],
        held: &BTreeSet<String>,
    ) -> FilePlan {
        let definitions: Vec<String> = agents.iter().map(|it| it.definition.clone()).collect();
        let wanted: Vec<WantedFile> =
            runs.iter().flat_map(|ran| ran.wanted(&definitions)).collect();
        let replaced: Vec<ReplacedFile> =
            runs.iter().flat_map(|ran| ran.replaced(&definitions)).collect();
        let refused = self.left_as_they_are(runs, &definitions);
        let covers = |entry: &LedgerEntry| {
            let is_left = |(target, definition): &(&str, &str)| {
                *target == entry.target
                    && (entry.agent.is_empty() || *definition == entry.agent.as_str())
            };
            !refused.iter().any(is_left) && self.covers(entry)
        };
        let situation = PlanSituation {
            ledger: &self.place.ledger,
            present: &|path| self.place.present(self.disk, path),
            covers: &covers,
            held,
            force: self.args.force,
            replaced: &replaced,
        };
        let FilePlan { changes, refused, ledger } = plan(&wanted, &situation);
        FilePlan { changes, refused, ledger: self.remembering(ledger) }
    }

    /// Pairs of target and definition whose files stay: agents that were rendered before and are refused now.
    /// Where shared files are written anew or removed, such an agent would run under the rules of others, or
    /// they under its rules, so its files are removed.
    fn left_as_they_are<'a>(
        &self,
        runs: &'a [TargetRun],
        definitions: &'a [String],
    ) -> BTreeSet<(&'a str, &'a str)> {
        let is_known = |target: &str, definition: &str| {
            let mut entries = self.place.ledger.entries().iter();
            entries.any(|entry| entry.target == target && entry.agent == definition)
        };
        let mut left = BTreeSet::new();
        for ran in runs.iter().filter(|ran| !self.changes_what_is_shared(ran)) {
            let target = ran.target.name;
            let refused = ran.rendering.agents.iter().zip(definitions);
            let refused = refused.filter(|(rendered, _)| rendered.refused.is_some());
            let known = refused.filter(|(_, definition)| is_known(target, definition));
            left.extend(known.map(|(_, definition)| (target, definition.as_str())));
        }
        left
    }

    /// Whether shared files are written for a target, or removed while other agents are rendered.
    fn changes_what_is_shared(&self, ran: &TargetRun) -> bool {
        let is_shared = |entry: &LedgerEntry| {
            entry.agent.is_empty() && entry.target == ran.target.name && self.rewrites(entry)
        };
        let is_rendered = ran.rendering.agents.iter().any(|it| it.refused.is_none());
        !ran.rendering.shared.is_empty()
            || (is_rendered && self.place.ledger.entries().iter().any(is_shared))
    }

    /// Writes all files, or none.
    fn write(&self, plan: &FilePlan) -> Result<(), CliFailure> {
        let changed = |change: &&PlannedChange| change.kind != PlannedChangeKind::Keep;
        let mut files = Vec::new();
        let mut stale = Vec::new();
        for change in plan.changes.iter().filter(changed) {
            match &change.after {
                Some(bytes) => files.push((change.path.clone(), bytes.clone())),
                None => stale.push(change.path.clone()),
            }
        }
        let mut beside = Vec::new();
        if plan.ledger != self.place.ledger {
            let text = plan.ledger.to_text().into_bytes();
            match &self.place.elsewhere {
                Some(path) => beside.push((path.clone(), text)),
                // An empty ledger is removed like any other rendered file.
                None if plan.ledger.is_empty() => stale.push(LEDGER.to_owned()),
                None => files.push((LEDGER.to_owned(), text)),
            }
        }
        self.sweep(&files);
        let (dir, mode) = (&self.place.root, ReplaceMode::Force);
        FileSaving { dir, files: &files, beside: &beside, stale: &stale, mode, durable: false }
            .save()
    }
}

impl RenderProject<'_> {
    /// Removes the temporary files that a killed run left beside the files we write.
    fn sweep(&self, files: &[(String, Vec<u8>)]) {
        let known = self.place.ledger.entries().iter().map(|entry| entry.path.as_str());
        let all = known.chain(files.iter().map(|(path, _)| path.as_str())).chain([LEDGER]);
        let dirs: BTreeSet<String> = all.map(|path| self.place.shown(split(path).0)).collect();
        dirs.iter().for_each(|dir| save::sweep(Path::new(dir)));
    }
}

/// Whether an agent is disabled.
fn is_disabled(subject: &RenderSubject) -> bool {
    let status = subject.agent.identity.status;
    status.is_some_and(|status| status.value == AgentStatus::Disabled)
}

/// Reports why an agent is not rendered.
fn refused(found: &FoundAgent, wrong: &LoadFailure) -> LoadState {
    match wrong {
        LoadFailure::Errors(compiled) => {
            show_errors(compiled);
            complain(
                &CliFailure::new(format!("`{}` has errors and is not rendered", found.path))
                    .hint("`agentry check` shows all findings"),
            );
            LoadState::Broken
        }
        LoadFailure::NotAsLocked(failure) => {
            complain(failure);
            LoadState::NotAsLocked
        }
    }
}
