//! The agents of one workspace on their way to disk.

use std::collections::BTreeSet;

use agentry_compile::render::{
    Change, ChangeKind, Entry, Job, Ledger, Plan, Ran, Situation, Wanted, plan, run,
};
use agentry_compile::targets::{Scope, Subject, Target};
use agentry_compile::{Config, Found, World as _, discover, read, subject};
use rayon::prelude::*;

use crate::args::Render;
use crate::command::show_errors;
use crate::disk::Disk;
use crate::output::{Failure, complain};
use crate::save::{Replace, Saving};

use super::place::{LEDGER, Place};

/// Fewer agents than these are read one after the other: starting threads takes longer.
const FEW: usize = 8;

/// One workspace, and where its agents go.
pub(super) struct Project<'a> {
    pub(super) args: &'a Render,
    pub(super) disk: &'a Disk,
    pub(super) config: &'a Config,
    pub(super) place: Place,
    pub(super) targets: Vec<&'static Target>,
}

/// What became of a workspace.
pub(super) struct Done {
    pub(super) place: Place,
    pub(super) agents: Vec<Agent>,
    pub(super) runs: Vec<Ran>,
    pub(super) plan: Plan,
    /// Agents with errors.
    pub(super) broken: usize,
    /// Whether files were written.
    pub(super) written: bool,
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
enum Loaded {
    /// It, with the path of its definition.
    Subject(Box<Subject>, String),
    /// The path of a definition with errors.
    Broken(String),
}

/// The agents of a run.
#[derive(Default)]
struct Gathered {
    subjects: Vec<Subject>,
    /// What is known of each of them.
    agents: Vec<Agent>,
    /// Definitions with errors.
    broken: BTreeSet<String>,
}

impl Project<'_> {
    /// Renders the agents and writes the files, unless that is not wanted.
    pub(super) fn render(self, found: &[Found]) -> Result<Done, Failure> {
        let Gathered { mut subjects, agents, broken } = self.gather(found);
        let known = self.place.ledger.entries().iter().filter(|entry| self.covers(entry));
        let known = Ledger::new(known.cloned().collect());
        let existing = |path: &str| self.place.existing(&known, path);
        let runs = run(&self.job(&existing), &mut subjects);
        let plan = self.plan(&runs, &agents, &broken);
        let lost =
            runs.iter().flat_map(|ran| &ran.rendering.agents).any(|it| !it.losses.is_empty());
        let dry = self.args.check || self.args.dry_run || (self.args.strict && lost);
        if !dry {
            self.write(&plan)?;
        }
        let Self { place, .. } = self;
        Ok(Done { place, agents, runs, plan, broken: broken.len(), written: !dry })
    }

    /// Reads the agents that were asked for, and those that were rendered before.
    fn gather(&self, found: &[Found]) -> Gathered {
        let carried = self.carried(&self.definitions(found));
        let asked = self.load(found).into_iter().map(|loaded| (loaded, true));
        let again = self.load(&carried).into_iter().map(|loaded| (loaded, false));
        let mut out = Gathered::default();
        for (loaded, asked) in asked.chain(again) {
            match loaded {
                Loaded::Subject(subject, definition) => {
                    out.agents.push(Agent { name: subject.name.clone(), definition, asked });
                    out.subjects.push(*subject);
                }
                Loaded::Broken(definition) => drop(out.broken.insert(definition)),
            }
        }
        out
    }

    fn job<'a>(&'a self, existing: &'a dyn Fn(&str) -> Option<String>) -> Job<'a> {
        let render = &self.config.render;
        Job {
            targets: &self.targets,
            scope: self.place.scope,
            guard: self.args.guard || render.guard,
            close_gaps: self.args.close_gaps || render.close_gaps,
            explain: self.args.explain,
            config: render,
            existing,
        }
    }

    /// Reads agents; what is wrong with them is shown.
    fn load(&self, found: &[Found]) -> Vec<Loaded> {
        let one = |found: &Found| {
            let compiled = read(self.disk, found);
            if compiled.has_errors() {
                return Err(Box::new(compiled));
            }
            Ok(Box::new(subject(self.disk, &compiled, None)))
        };
        let read: Vec<_> = if found.len() < FEW {
            found.iter().map(one).collect()
        } else {
            found.par_iter().map(one).collect()
        };
        let taken = |(found, read): (&Found, Result<Box<Subject>, Box<_>>)| match read {
            Ok(subject) => Loaded::Subject(subject, self.definition(found)),
            Err(compiled) => {
                show_errors(&compiled);
                complain(
                    &Failure::new(format!("`{}` has errors and is not rendered", found.path))
                        .hint("`agentry check` shows all findings"),
                );
                Loaded::Broken(self.definition(found))
            }
        };
        found.iter().zip(read).map(taken).collect()
    }

    /// The path of a definition in the list of rendered files: from the workspace, but the whole path
    /// where agents of many workspaces go to one place.
    fn definition(&self, found: &Found) -> String {
        let path = agentry_compile::text::path::join(&found.dir, &found.main);
        match self.place.scope {
            Scope::Project => self.config.from_root(&path),
            Scope::User => self.disk.absolute(&path),
        }
    }

    fn definitions(&self, found: &[Found]) -> BTreeSet<String> {
        found.iter().map(|found| self.definition(found)).collect()
    }

    /// Agents that were rendered here before and were not named now. What all agents of a harness
    /// share can only be written for all of them.
    fn carried(&self, named: &BTreeSet<String>) -> Vec<Found> {
        if self.args.agents.is_empty() {
            return Vec::new();
        }
        let ours = |entry: &&Entry| {
            let is_target = self.targets.iter().any(|target| target.name == entry.target);
            is_target && !entry.agent.is_empty() && !named.contains(&entry.agent)
        };
        let entries = self.place.ledger.entries().iter().filter(ours);
        let paths: BTreeSet<String> = entries.map(|entry| self.path(&entry.agent)).collect();
        let there = paths.into_iter().filter(|path| {
            self.disk.kind(path) == agentry_compile::EntryKind::File && !self.speaks_for(path)
        });
        discover(self.disk, &there.collect::<Vec<_>>(), None, &|_| false).agents
    }

    /// Where a definition of the list of rendered files is.
    fn path(&self, definition: &str) -> String {
        match self.place.scope {
            Scope::Project => agentry_compile::text::path::join(&self.config.root, definition),
            Scope::User => definition.to_owned(),
        }
    }

    /// Whether a definition lies at or below a path that was named.
    fn speaks_for(&self, path: &str) -> bool {
        let path = self.disk.absolute(path);
        let below = |named: &String| {
            let named = self.disk.absolute(named);
            agentry_compile::policy::path::is_inside(&path, &named)
        };
        self.args.agents.iter().any(below)
    }

    /// Whether a file that nobody asks for any more is to be removed by this run.
    fn covers(&self, entry: &Entry) -> bool {
        let named = self.targets.iter().any(|target| target.name == entry.target);
        let whole = self.args.agents.is_empty();
        // A target that the team does not list any more.
        let unlisted = self.args.targets.is_empty() && whole;
        let is_target = named || unlisted;
        let is_agent = entry.agent.is_empty() || {
            let path = self.path(&entry.agent);
            let here = self.place.scope == Scope::Project || {
                let root = self.disk.absolute(&self.config.root);
                agentry_compile::policy::path::is_inside(&path, &root)
            };
            if whole { here } else { self.speaks_for(&path) }
        };
        is_target && is_agent
    }

    fn plan(&self, runs: &[Ran], agents: &[Agent], broken: &BTreeSet<String>) -> Plan {
        let definitions: Vec<String> = agents.iter().map(|it| it.definition.clone()).collect();
        let wanted: Vec<Wanted> = runs.iter().flat_map(|ran| ran.wanted(&definitions)).collect();
        // What was rendered from a definition before it was refused stays as it is.
        let refused: BTreeSet<(&str, &str)> = runs
            .iter()
            .flat_map(|ran| ran.rendering.agents.iter().zip(&definitions).map(move |it| (ran, it)))
            .filter(|(_, (rendered, _))| rendered.refused.is_some())
            .map(|(ran, (_, definition))| (ran.target.name, definition.as_str()))
            .collect();
        let covers = |entry: &Entry| {
            !broken.contains(&entry.agent)
                && !refused.contains(&(entry.target.as_str(), entry.agent.as_str()))
                && self.covers(entry)
        };
        let situation = Situation {
            ledger: &self.place.ledger,
            present: &|path| self.place.present(path),
            covers: &covers,
            force: self.args.force,
        };
        plan(&wanted, &situation)
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
        let (dir, mode) = (&self.place.root, Replace::Force);
        Saving { dir, files: &files, beside: &beside, stale: &stale, mode, durable: false }.save()
    }
}
