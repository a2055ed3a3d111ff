//! Renders agents for all targets of a run.

use std::borrow::Cow;

use agentry_targets::example::plain;
use agentry_targets::harness_files::{FilesOnce, KnownTexts};
use agentry_targets::{
    HarnessFiles, ProjectRendering, RenderLoss, RenderScope, RenderSettings, RenderSubject,
    RenderedAgent, Target, read_back, render,
};
use rayon::prelude::*;

use super::acceptance::AcceptedLoss;
use super::config::RenderConfig;
use super::explain::{ExplainedSection, explain};
use super::plan::{ReplacedFile, WantedFile};

/// The settings of a render run.
pub struct RenderJob<'a> {
    /// The targets.
    pub targets: &'a [&'static Target],
    /// Where the files are written.
    pub scope: RenderScope,
    /// Whether a harness also asks `agentry guard` about each call.
    pub guard: &'a (dyn Fn(&Target) -> bool + Sync),
    /// Whether the gaps of a harness are closed by stricter rules.
    pub close_gaps: &'a (dyn Fn(&Target) -> bool + Sync),
    /// Whether no person answers the questions of a harness.
    pub unattended: &'a (dyn Fn(&Target) -> bool + Sync),
    /// Whether shared files are written.
    pub shared: bool,
    /// The losses that a person has accepted.
    pub accepted: &'a [AcceptedLoss],
    /// Whether files of the user may be replaced.
    pub force: bool,
    /// Whether both sides of every section are kept for `explain`.
    pub explain: bool,
    /// The settings of the workspace.
    pub config: &'a RenderConfig,
    /// The existing files, without rendered content.
    pub existing: &'a dyn HarnessFiles,
}

/// The result for one harness.
#[derive(Debug)]
pub struct TargetRun {
    /// The harness.
    pub target: &'static Target,
    /// Whether it asks the guard.
    pub guard: bool,
    /// Files, losses and refusals.
    pub rendering: ProjectRendering,
    /// Both sides of every section, by agent, if requested.
    pub explained: Vec<Vec<ExplainedSection>>,
}

/// The existing files of a project.
type ExistingOnce<'a> = FilesOnce<&'a dyn HarnessFiles>;

/// The rendering for one harness.
struct TargetJob<'a> {
    target: &'static Target,
    job: &'a RenderJob<'a>,
    guard: bool,
    close_gaps: bool,
    subjects: Cow<'a, [RenderSubject]>,
}

/// Renders the agents for all targets in parallel. If a target read a file that an earlier target writes,
/// it is rendered again after that one, so that a shared file has the content of both.
pub fn run(job: &RenderJob<'_>, subjects: &[RenderSubject]) -> Vec<TargetRun> {
    let all: Vec<TargetJob<'_>> =
        job.targets.iter().map(|target| TargetJob::new(target, job, subjects)).collect();
    let files = || FilesOnce::new(job.existing, KnownTexts::default());
    // Each target is rendered as if it were alone; most share no file.
    let tried: Vec<(TargetRun, ExistingOnce<'_>)> =
        all.par_iter().map(|one| one.render(files())).collect();
    let mut shared = KnownTexts::default();
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
        // Subjects are copied only if an alias changes a name.
        let subjects = if subjects.iter().all(|subject| name(subject) == subject.name) {
            Cow::Borrowed(subjects)
        } else {
            let renamed =
                |subject: &RenderSubject| RenderSubject { name: name(subject), ..subject.clone() };
            subjects.iter().map(renamed).collect()
        };
        Self { target, job, guard, close_gaps, subjects }
    }

    /// Renders the agents, and returns the files with a record of what was read.
    fn render<'f>(&self, files: ExistingOnce<'f>) -> (TargetRun, ExistingOnce<'f>) {
        let Self { target, job, guard, close_gaps, subjects } = self;
        let accepted = job.accepted.iter().filter_map(|it| it.field_for(target));
        let accepted: Vec<String> = accepted.map(str::to_owned).collect();
        let settings = RenderSettings {
            scope: job.scope,
            guard: *guard,
            close_gaps: *close_gaps,
            unattended: (job.unattended)(target),
            shared: job.shared,
            accepted: &accepted,
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
        (TargetRun { target, guard: *guard, rendering, explained }, files)
    }
}

/// Rewrites the paths of examples relative to the workspace.
fn in_words_of_the_user(rendered: &mut RenderedAgent) {
    for losses in [&mut rendered.losses, &mut rendered.accepted] {
        let all = std::mem::take(losses).into_iter();
        *losses = all.map(|loss| RenderLoss { detail: plain(&loss.detail), ..loss }).collect();
    }
    if let Some(refused) = &mut rendered.refused {
        refused.message = plain(&refused.message);
    }
}

impl TargetRun {
    /// The user's files that are replaced, with the definitions that replace them.
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

    /// The wanted files, with the definitions that they are rendered from.
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
        // Shared files come first, so that their denials exist before any agent does.
        let shared = self.rendering.shared.iter().map(|it| file(it, "", true));
        shared.chain(own).collect()
    }
}
