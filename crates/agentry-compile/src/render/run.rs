//! Agents through all targets of a run.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use agentry_targets::example::plain;
use agentry_targets::{
    HarnessFiles, HarnessPath, ProjectRendering, RenderLoss, RenderScope, RenderSettings,
    RenderSubject, RenderedAgent, Target, Unreadable, read_back, render,
};
use rayon::prelude::*;

use super::config::RenderConfig;
use super::explain::{ExplainedSection, explain};
use super::plan::{ReplacedFile, WantedFile};

/// How agents are rendered.
pub struct RenderJob<'a> {
    /// For which harnesses.
    pub targets: &'a [&'static Target],
    /// Where the files go.
    pub scope: RenderScope,
    /// For which harnesses each call is put to `agentry guard` as well.
    pub guard: &'a (dyn Fn(&Target) -> bool + Sync),
    /// For which harnesses gaps are closed by stricter rules.
    pub close_gaps: &'a (dyn Fn(&Target) -> bool + Sync),
    /// Whether files that somebody else wrote may be replaced.
    pub force: bool,
    /// Whether both sides of every section are kept.
    pub explain: bool,
    /// What the workspace says.
    pub config: &'a RenderConfig,
    /// The text of a file without what was rendered before.
    pub existing: &'a dyn HarnessFiles,
}

/// What became of the agents in one harness.
#[derive(Debug)]
pub struct TargetRun {
    /// The harness.
    pub target: &'static Target,
    /// Files, losses and refusals.
    pub rendering: ProjectRendering,
    /// Both sides of every section, by agent, if that was asked for.
    pub explained: Vec<Vec<ExplainedSection>>,
}

/// How agents are rendered for one harness.
struct TargetJob<'a> {
    target: &'static Target,
    job: &'a RenderJob<'a>,
    guard: bool,
    close_gaps: bool,
    subjects: Cow<'a, [RenderSubject]>,
}

/// Renders the agents for each target, side by side. A file that two of them share holds what both say: a
/// target that looked at a file which one before it writes is rendered again, after that one.
pub fn run(job: &RenderJob<'_>, subjects: &[RenderSubject]) -> Vec<TargetRun> {
    let all: Vec<TargetJob<'_>> =
        job.targets.iter().map(|target| TargetJob::new(target, job, subjects)).collect();
    let files = || FilesOnce::new(job.existing, HashMap::new());
    let tried: Vec<(TargetRun, FilesOnce<'_>)> =
        all.par_iter().map(|one| one.render(files())).collect();
    let mut shared = HashMap::new();
    let mut out = Vec::new();
    for (one, (ran, files)) in all.iter().zip(tried) {
        let ran = if files.looked_at(&shared) {
            one.render(FilesOnce::new(job.existing, shared.clone())).0
        } else {
            ran
        };
        let texts = ran.rendering.shared.iter();
        shared.extend(texts.map(|file| (file.path.clone(), Some(file.text().to_owned()))));
        out.push(ran);
    }
    out
}

impl<'a> TargetJob<'a> {
    fn new(target: &'static Target, job: &'a RenderJob<'a>, subjects: &'a [RenderSubject]) -> Self {
        let (guard, close_gaps) = ((job.guard)(target), (job.close_gaps)(target));
        let name = |subject: &RenderSubject| job.config.name(target, &subject.name).to_owned();
        let subjects = if subjects.iter().all(|subject| name(subject) == subject.name) {
            Cow::Borrowed(subjects)
        } else {
            let renamed =
                |subject: &RenderSubject| RenderSubject { name: name(subject), ..subject.clone() };
            subjects.iter().map(renamed).collect()
        };
        Self { target, job, guard, close_gaps, subjects }
    }

    /// Renders them with these files around them, of which those are known afterwards that were looked at.
    fn render<'f>(&self, files: FilesOnce<'f>) -> (TargetRun, FilesOnce<'f>) {
        let Self { target, job, guard, close_gaps, subjects } = self;
        let settings = RenderSettings {
            scope: job.scope,
            guard: *guard,
            close_gaps: *close_gaps,
            force: job.force,
            options: job.config.options(target),
            existing: &files,
        };
        let mut rendering = render(target, subjects, &settings);
        rendering.agents.iter_mut().for_each(in_words_of_the_user);
        let explained = if job.explain {
            let rendered = subjects.iter().zip(&rendering.agents);
            let one = |(subject, rendered): (&RenderSubject, &RenderedAgent)| {
                let model = read_back(target, subject, &rendering, &settings);
                explain(subject, rendered, &model.unwrap_or_default())
            };
            rendered.map(one).collect()
        } else {
            Vec::new()
        };
        (TargetRun { target, rendering, explained }, files)
    }
}

/// The files that exist, each read once: every agent asks for the settings of the project.
struct FilesOnce<'a> {
    existing: &'a dyn HarnessFiles,
    texts: RwLock<KnownTexts>,
    names: RwLock<HashMap<String, Option<Vec<String>>>>,
}

/// Files that were looked at, with their texts if they are there.
type KnownTexts = HashMap<String, Option<String>>;

impl<'a> FilesOnce<'a> {
    fn new(existing: &'a dyn HarnessFiles, texts: KnownTexts) -> Self {
        Self { existing, texts: RwLock::new(texts), names: RwLock::default() }
    }

    /// Whether one of these was looked at.
    fn looked_at(&self, files: &KnownTexts) -> bool {
        let known = self.texts.read().unwrap_or_else(PoisonError::into_inner);
        files.keys().any(|path| known.contains_key(path))
    }
}

impl HarnessFiles for FilesOnce<'_> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        once(&self.texts, path, || self.existing.read(path))
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        once(&self.names, dir, || self.existing.list(dir))
    }
}

/// What is known of a path; what is found there, if nothing is known yet.
fn once<T: Clone>(
    known: &RwLock<HashMap<String, Option<T>>>,
    path: HarnessPath<'_>,
    find: impl FnOnce() -> Result<Option<T>, Unreadable>,
) -> Result<Option<T>, Unreadable> {
    let key = path.to_string();
    if let Some(known) = known.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(known.clone());
    }
    let found = find()?;
    let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
    Ok(known.entry(key).or_insert(found).clone())
}

/// Writes examples as seen from the workspace.
fn in_words_of_the_user(rendered: &mut RenderedAgent) {
    let losses = std::mem::take(&mut rendered.losses);
    rendered.losses =
        losses.into_iter().map(|loss| RenderLoss { detail: plain(&loss.detail), ..loss }).collect();
    if let Some(refused) = &mut rendered.refused {
        refused.message = plain(&refused.message);
    }
}

impl TargetRun {
    /// The files of others that go, with the definitions that take their place.
    pub fn replaced(&self, agents: &[String]) -> Vec<ReplacedFile> {
        let agents = self.rendering.agents.iter().zip(agents);
        let replaced = agents.flat_map(|(rendered, agent)| {
            rendered.replaced.iter().map(move |path| ReplacedFile {
                path: path.clone(),
                target: self.target.name.to_owned(),
                agent: agent.clone(),
            })
        });
        replaced.collect()
    }

    /// The files that should be there, with the definitions that they are made from.
    pub fn wanted(&self, agents: &[String]) -> Vec<WantedFile> {
        let target = self.target.name;
        let file = |file: &agentry_targets::RenderedFile, agent: &str, shared| WantedFile {
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
