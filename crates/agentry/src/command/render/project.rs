//! The agents of one workspace on their way to disk.

use std::collections::BTreeSet;
use std::path::Path;

use agentry_compile::render::{
    Change, ChangeKind, Entry, Job, Ledger, Plan, Ran, Replaced, Situation, Wanted, plan, run,
};
use agentry_compile::targets::{HarnessFiles, Rendered, Subject, Target};
use agentry_compile::text::path::split;
use agentry_compile::{Compiled, Config, Found, WorldRecorder, read, subject};
use rayon::prelude::*;

use crate::args::Render;
use crate::command::show_errors;
use crate::output::{Failure, complain};
use crate::save::{self, Replace, Saving};

use super::locked::{Locks, Unknown};
use super::place::{FilesAround, LEDGER, Place};

/// Fewer agents than these are read one after the other: starting threads takes longer.
const FEW: usize = 8;

/// One workspace, and where its agents go.
pub(super) struct Project<'a> {
    pub(super) args: &'a Render,
    pub(super) disk: &'a WorldRecorder<'a>,
    pub(super) config: &'a Config,
    pub(super) place: Place,
    pub(super) targets: Vec<&'static Target>,
    pub(super) locks: Locks,
    /// The whole paths that the run speaks for.
    pub(super) named: Vec<String>,
}

/// What became of a workspace.
pub(super) struct Done {
    pub(super) place: Place,
    pub(super) agents: Vec<Agent>,
    pub(super) runs: Vec<Ran>,
    pub(super) plan: Plan,
    /// Agents with errors.
    pub(super) broken: usize,
    /// Agents that are not what `agentry.lock` says.
    pub(super) not_as_locked: usize,
    /// Whether files were written.
    pub(super) written: bool,
    /// The targets that only have the guard because they had it before.
    pub(super) kept_guard: Vec<&'static str>,
    /// The targets whose gaps are only closed because they were before.
    pub(super) kept_closed: Vec<&'static str>,
}

impl Done {
    /// Whether everything was found as it should be.
    pub(super) fn is_settled(&self) -> bool {
        let Plan { changes, refused, ledger } = &self.plan;
        let kept = changes.iter().all(|change| change.kind == ChangeKind::Keep);
        kept && refused.is_empty() && *ledger == self.place.ledger
    }
}

/// An agent that was rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent {
    /// Its own name.
    pub(super) name: String,
    /// Its definition, as the list of rendered files has it.
    pub(super) definition: String,
    /// Whether it was asked for, and not only rendered again beside others.
    pub(super) asked: bool,
}

/// An agent that was read.
struct Loaded {
    /// The path of its definition.
    definition: String,
    state: State,
}

/// What became of an agent that was read.
enum State {
    Subject(Box<Subject>),
    /// It has errors.
    Broken,
    /// It is not what `agentry.lock` says.
    NotAsLocked,
}

/// Why an agent is not rendered.
enum Wrong {
    Errors(Box<Compiled>),
    NotAsLocked(Failure),
}

/// The agents of a run.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) subjects: Vec<Subject>,
    /// What is known of each of them.
    agents: Vec<Agent>,
    /// Definitions with errors.
    pub(super) broken: BTreeSet<String>,
    /// Definitions that are not what `agentry.lock` says.
    pub(super) not_as_locked: BTreeSet<String>,
}

impl Project<'_> {
    /// Renders the agents and writes the files, unless that is not wanted.
    pub(super) fn render(self, found: &[Found]) -> Result<Done, Failure> {
        let gathered = self.gather(found);
        self.has_primaries(&gathered)?;
        let Gathered { subjects, agents, broken, not_as_locked } = gathered;
        let held = self.gone().chain(broken.union(&not_as_locked).cloned()).collect();
        let known = self.place.ledger.entries().iter().filter(|entry| self.covers(entry));
        let known = Ledger::new(known.cloned().collect());
        let existing = FilesAround { place: &self.place, recorder: self.disk, ledger: &known };
        let guard = |target: &Target| self.guards(target);
        let close_gaps = |target: &Target| self.closes_gaps(target);
        let runs = run(&self.job(&existing, &guard, &close_gaps), &subjects);
        let plan = self.plan(&runs, &agents, &held);
        let lost = runs.iter().flat_map(|ran| &ran.rendering.agents).any(Rendered::is_lossy);
        let dry = self.args.check || self.args.dry_run || (self.args.strict && lost);
        if !dry {
            self.write(&plan)?;
        }
        let (kept_guard, kept_closed) = (self.kept_guard(), self.kept_closed());
        let (broken, not_as_locked, written) = (broken.len(), not_as_locked.len(), !dry);
        let Self { place, .. } = self;
        Ok(Done {
            place,
            agents,
            runs,
            plan,
            broken,
            not_as_locked,
            written,
            kept_guard,
            kept_closed,
        })
    }

    /// Reads the agents that were asked for, and those that were rendered before.
    fn gather(&self, found: &[Found]) -> Gathered {
        let carried = self.carried(&self.definitions(found));
        let asked = self.load(found).into_iter().map(|loaded| (loaded, true));
        let again = self.load(&carried).into_iter().map(|loaded| (loaded, false));
        let mut loaded: Vec<_> = asked.chain(again).collect();
        // What they share is the same whoever was named.
        loaded.sort_by(|(one, _), (other, _)| one.definition.cmp(&other.definition));
        let mut out = Gathered::default();
        for (Loaded { definition, state }, asked) in loaded {
            match state {
                State::Subject(subject) => {
                    out.agents.push(Agent { name: subject.name.clone(), definition, asked });
                    out.subjects.push(*subject);
                }
                State::Broken => drop(out.broken.insert(definition)),
                State::NotAsLocked => drop(out.not_as_locked.insert(definition)),
            }
        }
        out
    }

    fn job<'a>(
        &'a self,
        existing: &'a dyn HarnessFiles,
        guard: &'a (dyn Fn(&Target) -> bool + Sync),
        close_gaps: &'a (dyn Fn(&Target) -> bool + Sync),
    ) -> Job<'a> {
        let render = &self.config.render;
        Job {
            targets: &self.targets,
            scope: self.place.scope,
            guard,
            close_gaps,
            force: self.args.force,
            explain: self.args.explain,
            config: render,
            existing,
        }
    }

    /// Reads agents; what is wrong with them is shown.
    fn load(&self, found: &[Found]) -> Vec<Loaded> {
        let guarded = self.targets.iter().any(|target| self.guards(target));
        let one = |found: &Found| {
            let compiled = read(self.disk, found);
            if compiled.has_errors() {
                return Err(Wrong::Errors(Box::new(compiled)));
            }
            let admitted = self.locks.admit(self.disk, &compiled, Unknown::IsNoted);
            admitted.map_err(Wrong::NotAsLocked)?;
            let subject = subject(self.disk, &compiled, None, guarded);
            // Asked for while others are read.
            subject.kind();
            Ok(Box::new(subject))
        };
        let read: Vec<_> = if found.len() < FEW {
            found.iter().map(one).collect()
        } else {
            found.par_iter().map(one).collect()
        };
        let taken = |(found, read): (&Found, Result<Box<Subject>, Wrong>)| {
            let state = read.map_or_else(|wrong| refused(found, &wrong), State::Subject);
            Loaded { definition: self.definition(found), state }
        };
        found.iter().zip(read).map(taken).collect()
    }

    fn definitions(&self, found: &[Found]) -> BTreeSet<String> {
        found.iter().map(|found| self.definition(found)).collect()
    }

    fn plan(&self, runs: &[Ran], agents: &[Agent], held: &BTreeSet<String>) -> Plan {
        let definitions: Vec<String> = agents.iter().map(|it| it.definition.clone()).collect();
        let wanted: Vec<Wanted> = runs.iter().flat_map(|ran| ran.wanted(&definitions)).collect();
        let replaced: Vec<Replaced> =
            runs.iter().flat_map(|ran| ran.replaced(&definitions)).collect();
        let refused = self.left_as_they_are(runs, &definitions);
        let covers = |entry: &Entry| {
            let is_left = |(target, definition): &(&str, &str)| {
                *target == entry.target
                    && (entry.agent.is_empty() || *definition == entry.agent.as_str())
            };
            !refused.iter().any(is_left) && self.covers(entry)
        };
        let situation = Situation {
            ledger: &self.place.ledger,
            present: &|path| self.place.present(self.disk, path),
            covers: &covers,
            held,
            force: self.args.force,
            replaced: &replaced,
        };
        let Plan { changes, refused, ledger } = plan(&wanted, &situation);
        Plan { changes, refused, ledger: self.remembering(ledger) }
    }

    /// Targets and definitions whose files stay as they are, with what they share: those that were
    /// rendered before they were refused. Where others get shared files anew, they would run under
    /// rules that are not their own, and go.
    fn left_as_they_are<'a>(
        &self,
        runs: &'a [Ran],
        definitions: &'a [String],
    ) -> BTreeSet<(&'a str, &'a str)> {
        let is_known = |target: &str, definition: &str| {
            let mut entries = self.place.ledger.entries().iter();
            entries.any(|entry| entry.target == target && entry.agent == definition)
        };
        let mut left = BTreeSet::new();
        for ran in runs.iter().filter(|ran| ran.rendering.shared.is_empty()) {
            let target = ran.target.name;
            let refused = ran.rendering.agents.iter().zip(definitions);
            let refused = refused.filter(|(rendered, _)| rendered.refused.is_some());
            let known = refused.filter(|(_, definition)| is_known(target, definition));
            left.extend(known.map(|(_, definition)| (target, definition.as_str())));
        }
        left
    }

    /// Writes everything, or nothing.
    fn write(&self, plan: &Plan) -> Result<(), Failure> {
        let changed = |change: &&Change| change.kind != ChangeKind::Keep;
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
                None if plan.ledger.is_empty() => stale.push(LEDGER.to_owned()),
                None => files.push((LEDGER.to_owned(), text)),
            }
        }
        self.sweep(&files);
        let (dir, mode) = (&self.place.root, Replace::Force);
        Saving { dir, files: &files, beside: &beside, stale: &stale, mode, durable: false }.save()
    }
}

impl Project<'_> {
    /// Takes away what a run that was killed left beside the files that we write.
    fn sweep(&self, files: &[(String, Vec<u8>)]) {
        let known = self.place.ledger.entries().iter().map(|entry| entry.path.as_str());
        let all = known.chain(files.iter().map(|(path, _)| path.as_str())).chain([LEDGER]);
        let dirs: BTreeSet<String> = all.map(|path| self.place.shown(split(path).0)).collect();
        dirs.iter().for_each(|dir| save::sweep(Path::new(dir)));
    }
}

/// Says why an agent is not rendered.
fn refused(found: &Found, wrong: &Wrong) -> State {
    match wrong {
        Wrong::Errors(compiled) => {
            show_errors(compiled);
            complain(
                &Failure::new(format!("`{}` has errors and is not rendered", found.path))
                    .hint("`agentry check` shows all findings"),
            );
            State::Broken
        }
        Wrong::NotAsLocked(failure) => {
            complain(failure);
            State::NotAsLocked
        }
    }
}
