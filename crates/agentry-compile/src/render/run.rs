//! Agents through all targets of a run.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use agentry_targets::example::plain;
use agentry_targets::{File, Loss, Rendered, Rendering, Scope, Settings, Subject, Target, render};

use super::config::RenderConfig;
use super::explain::{Explained, explain};
use super::plan::{Replaced, Wanted};

/// How agents are rendered.
pub struct Job<'a> {
    /// For which harnesses.
    pub targets: &'a [&'static Target],
    /// Where the files go.
    pub scope: Scope,
    /// For which harnesses each call is put to `agentry guard` as well.
    pub guard: &'a dyn Fn(&Target) -> bool,
    /// For which harnesses gaps are closed by stricter rules.
    pub close_gaps: &'a dyn Fn(&Target) -> bool,
    /// Whether files that somebody else wrote may be replaced.
    pub force: bool,
    /// Whether both sides of every section are kept.
    pub explain: bool,
    /// What the workspace says.
    pub config: &'a RenderConfig,
    /// The text of a file without what was rendered before.
    pub existing: &'a (dyn Fn(&str) -> Option<String> + Sync),
}

/// What became of the agents in one harness.
#[derive(Debug)]
pub struct Ran {
    /// The harness.
    pub target: &'static Target,
    /// Files, losses and refusals.
    pub rendering: Rendering,
    /// Both sides of every section, by agent, if that was asked for.
    pub explained: Vec<Vec<Explained>>,
}

/// Renders the agents for each target. Their names are left as they are in the last one.
pub fn run(job: &Job<'_>, subjects: &mut [Subject]) -> Vec<Ran> {
    let files = Files { existing: job.existing, known: RwLock::default() };
    let existing = |path: &str| files.get(path);
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let mut out = Vec::new();
    for target in job.targets {
        for (subject, name) in subjects.iter_mut().zip(&names) {
            job.config.name(target, name).clone_into(&mut subject.name);
        }
        let settings = Settings {
            scope: job.scope,
            guard: (job.guard)(target),
            close_gaps: (job.close_gaps)(target),
            force: job.force,
            options: job.config.options(target),
            existing: &existing,
        };
        let mut rendering = render(target, subjects, &settings);
        rendering.agents.iter_mut().for_each(in_words_of_the_user);
        let explained = if job.explain {
            subjects.iter().map(|it| explain(target, it, &rendering, &settings)).collect()
        } else {
            Vec::new()
        };
        files.add(&rendering.shared);
        out.push(Ran { target, rendering, explained });
    }
    out
}

/// The files that exist, each looked at once: every agent asks for the settings of the project.
struct Files<'a> {
    existing: &'a (dyn Fn(&str) -> Option<String> + Sync),
    known: RwLock<HashMap<String, Option<String>>>,
}

impl Files<'_> {
    fn get(&self, path: &str) -> Option<String> {
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return known.clone();
        }
        let found = (self.existing)(path);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.entry(path.to_owned()).or_insert(found).clone()
    }

    /// A file that two targets share holds what both of them say.
    fn add(&self, shared: &[File]) {
        let texts = shared.iter().map(|file| (file.path.clone(), Some(file.text().to_owned())));
        self.known.write().unwrap_or_else(PoisonError::into_inner).extend(texts);
    }
}

/// Writes examples as seen from the workspace.
fn in_words_of_the_user(rendered: &mut Rendered) {
    let losses = std::mem::take(&mut rendered.losses);
    rendered.losses =
        losses.into_iter().map(|loss| Loss { detail: plain(&loss.detail), ..loss }).collect();
    if let Some(refused) = &mut rendered.refused {
        refused.message = plain(&refused.message);
    }
}

impl Ran {
    /// The files of others that go, with the definitions that take their place.
    pub fn replaced(&self, agents: &[String]) -> Vec<Replaced> {
        let agents = self.rendering.agents.iter().zip(agents);
        let replaced = agents.flat_map(|(rendered, agent)| {
            rendered.replaced.iter().map(move |path| Replaced {
                path: path.clone(),
                target: self.target.name.to_owned(),
                agent: agent.clone(),
            })
        });
        replaced.collect()
    }

    /// The files that should be there, with the definitions that they are made from.
    pub fn wanted(&self, agents: &[String]) -> Vec<Wanted> {
        let target = self.target.name;
        let file = |file: &agentry_targets::File, agent: &str, shared| Wanted {
            path: file.path.clone(),
            bytes: file.bytes.clone(),
            target: target.to_owned(),
            agent: agent.to_owned(),
            shared,
        };
        let agents = self.rendering.agents.iter().zip(agents);
        let own = agents.flat_map(|(rendered, agent)| {
            rendered.files.iter().map(move |it| file(it, agent, false))
        });
        // What denies something for all agents is there before any of them.
        let shared = self.rendering.shared.iter().map(|it| file(it, "", true));
        shared.chain(own).collect()
    }
}
