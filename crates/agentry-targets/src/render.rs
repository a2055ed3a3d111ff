//! Renders agents to the files of a harness, reads the files back, and proves them against the source.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use agentry_model::{AgentRequirements, wrong_name};
use agentry_policy::Section;
use rayon::prelude::*;

use crate::adapt::adapted;
use crate::built_in_protection::unprotected;
use crate::gap::gaps;
use crate::harness_files::{HarnessPath, MemoFiles, Unreadable};
use crate::loss;
use crate::original;
use crate::proof::PolicyProof;
use crate::questions;
use crate::render_result::{
    LossKind, ProjectRendering, RenderSettings, RenderedAgent, RenderedFile,
};
use crate::subject::{PolicySlack, RenderSubject};
use crate::{HarnessFiles, HarnessModel, Target, is_written_by};

/// Renders the agents of one project for a harness. An agent is refused and has no files if these would
/// permit more than its source, or if the harness would not find it under its name. The shared files contain
/// nothing of a refused agent.
pub fn render(
    target: &Target,
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let subjects = adapted(target, Cow::Borrowed(subjects), settings);
    let subjects = original::filled(target, &subjects);
    let mut subjects = original::given_back(target, subjects, settings);
    let unfit = |subject| name(target, subject).or_else(|| gates(target, subject, settings));
    let mut refused: Vec<Option<RenderedAgent>> = subjects.iter().map(unfit).collect();
    // Each round but the last refuses at least one more agent, or removes the grants of one, so this ends.
    loop {
        let kept = kept(&subjects, &refused);
        if kept.is_empty() && !subjects.is_empty() {
            return ProjectRendering {
                agents: refused.into_iter().flatten().collect(),
                ..ProjectRendering::default()
            };
        }
        let ProjectRendering { agents, shared, lines } = proved(target, &kept, settings);
        drop(kept);
        // Remove grants before refusing: without them, the agent may still hold.
        if original::taken_back(&mut subjects, &refused, &agents) {
            continue;
        }
        let is_final = agents.iter().all(|agent| agent.refused.is_none());
        let mut rendered = agents.into_iter();
        for out in refused.iter_mut().filter(|out| out.is_none()) {
            *out = rendered.next().filter(|agent| is_final || agent.refused.is_some());
        }
        if is_final {
            let agents = refused.into_iter().flatten().collect();
            return ProjectRendering { agents, shared, lines };
        }
    }
}

/// Returns the agents that are not refused yet.
fn kept<'a>(
    subjects: &'a [RenderSubject],
    refused: &[Option<RenderedAgent>],
) -> Cow<'a, [RenderSubject]> {
    if refused.iter().all(Option::is_none) {
        return Cow::Borrowed(subjects);
    }
    let kept = subjects.iter().zip(refused).filter(|(_, refused)| refused.is_none());
    kept.map(|(subject, _)| subject.clone()).collect()
}

/// Renders agents together, and refuses those whose proof fails.
fn proved(
    target: &Target,
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let mut rendering = (target.render)(subjects, settings);
    one_file_one_agent(subjects, &mut rendering);
    let written = FutureFiles::of(&rendering, settings);
    let models = each(subjects, |subject| written.model(target.model, subject));
    let agents = std::mem::take(&mut rendering.agents);
    prove_ahead(target, subjects, &models, &agents, settings);
    let unverified = subjects.iter().zip(agents.into_iter().zip(models));
    rendering.agents = each_of(unverified, |subject, (mut rendered, model)| {
        verify(target, subject, model.as_ref(), settings, &mut rendered);
        loss::without_place(&subject.agent, (target, settings), &mut rendered);
        trimmed(subject, target.title, &mut rendered);
        loss::masked(subject, &mut rendered);
        loss::unsent(subject, &mut rendered);
        rendered
    });
    debug_assert_eq!(elsewhere(target, &rendering), None, "a row of `places` is missing");
    for rendered in &mut rendering.agents {
        if rendered.refused.is_some() {
            rendered.files.clear();
            rendered.replaced.clear();
        }
    }
    beyond_the_project(target, subjects, &mut rendering, settings);
    rendering.agents.iter_mut().for_each(|agent| agent.accept(settings));
    rendering
}

/// Returns a file outside the declared places of the target, which would be a bug.
fn elsewhere<'a>(target: &Target, rendering: &'a ProjectRendering) -> Option<&'a RenderedFile> {
    let own = rendering.agents.iter().flat_map(|agent| &agent.files);
    own.chain(&rendering.shared).find(|file| !is_written_by(target.name, &file.path))
}

/// Reports that the harness gets the prompt without leading and trailing white space.
fn trimmed(subject: &RenderSubject, title: &str, out: &mut RenderedAgent) {
    let Some(system) = &subject.agent.instructions.system else { return };
    // Empty lines below the metadata and the last newline belong to the file, not to the prompt.
    let mut text = system.value.trim_start_matches('\u{feff}');
    while let Some(rest) = text.strip_prefix('\n').or_else(|| text.strip_prefix("\r\n")) {
        text = rest;
    }
    let whole = text.strip_suffix('\n').map_or(text, |it| it.strip_suffix('\r').unwrap_or(it));
    let is_there = || {
        let whole = whole.replace("\r\n", "\n");
        out.files.iter().any(|file| file.text().contains(&whole))
    };
    if whole != whole.trim() && !is_there() {
        let detail = format!("{title} gets the prompt without the blanks at its start and its end");
        out.lose("system", LossKind::Dropped, detail);
    }
}

/// Returns the harness' model of the files after rendering.
pub fn read_back(
    target: &Target,
    subject: &RenderSubject,
    rendering: &ProjectRendering,
    settings: &RenderSettings<'_>,
) -> Option<HarnessModel> {
    let name = original::name(target, subject).unwrap_or(&subject.name);
    let written = FutureFiles::of(rendering, settings);
    let model = (target.model)(&MemoFiles { below: &written, memo: &subject.memo }, name);
    model.map(|model| model.in_session(settings.is_attended()))
}

/// The files of a project as they will be after rendering.
pub(crate) struct FutureFiles<'a> {
    files: HashMap<&'a str, &'a RenderedFile>,
    replaced: HashSet<&'a str>,
    settings: &'a RenderSettings<'a>,
}

impl<'a> FutureFiles<'a> {
    pub(crate) fn of(rendering: &'a ProjectRendering, settings: &'a RenderSettings<'a>) -> Self {
        let own = rendering.agents.iter().flat_map(|agent| &agent.files);
        let files = own.chain(&rendering.shared).map(|file| (file.path.as_str(), file)).collect();
        let replaced = rendering.agents.iter().flat_map(|agent| &agent.replaced);
        Self { files, replaced: replaced.map(String::as_str).collect(), settings }
    }

    /// Returns a harness' model of these files for one agent, in the session that the settings describe.
    pub(crate) fn model(
        &self,
        model: fn(&dyn HarnessFiles, &str) -> Option<HarnessModel>,
        subject: &RenderSubject,
    ) -> Option<HarnessModel> {
        let model = model(&MemoFiles { below: self, memo: &subject.memo }, &subject.name)?;
        Some(model.in_session(self.settings.is_attended()))
    }
}

impl HarnessFiles for FutureFiles<'_> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        let text = path.to_string();
        match self.files.get(text.as_str()) {
            Some(file) => Ok(Some(file.text().to_owned())),
            // A replaced file is deleted by the rendering, so the harness will not find it.
            None if self.replaced.contains(text.as_str()) => Ok(None),
            None => self.settings.existing.read(path),
        }
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        self.settings.existing.list(dir)
    }
}

/// Fewer agents than this are rendered sequentially: starting threads would take longer.
const FEW: usize = 8;

/// Returns the first agent of each policy; its proofs hold for all others with the same policy.
fn leaders(subjects: &[RenderSubject]) -> impl Iterator<Item = (usize, &RenderSubject)> {
    let mut seen = HashSet::new();
    subjects.iter().enumerate().filter(move |(_, subject)| seen.insert(subject.kind()))
}

/// Computes memoised answers in parallel, once per policy. Otherwise all threads would compute the same
/// answer at the same time.
pub(crate) fn ask_ahead<Q: Sync>(
    subjects: &[RenderSubject],
    questions: &[Q],
    ask: impl Fn(&RenderSubject, &Q) + Sync,
) {
    if subjects.len() < FEW {
        return;
    }
    let pairs =
        leaders(subjects).flat_map(|(_, leader)| questions.iter().map(move |it| (leader, it)));
    let pairs: Vec<(&RenderSubject, &Q)> = pairs.collect();
    pairs.into_par_iter().for_each(|(leader, question)| ask(leader, question));
}

/// Computes all proofs and gaps for the first agent of each policy, in parallel by tool.
fn prove_ahead(
    target: &Target,
    subjects: &[RenderSubject],
    models: &[Option<HarnessModel>],
    rendered: &[RenderedAgent],
    settings: &RenderSettings<'_>,
) {
    if subjects.len() < FEW {
        return;
    }
    let leaders = leaders(subjects);
    let leaders = leaders.filter_map(|(at, it)| Some((at, it, models.get(at)?.as_ref()?)));
    let leaders: Vec<(usize, &RenderSubject, &HarnessModel)> = leaders.collect();
    let proofs = || {
        let ways = leaders.par_iter().flat_map(|(at, subject, model)| {
            let out = rendered.get(*at);
            model.ways.par_iter().filter_map(move |way| Some((*subject, way, out?)))
        });
        ways.for_each(|(subject, way, out)| {
            subject.within(way, slack(way.section, settings, out));
        });
    };
    let blind = || {
        let unguarded = !is_guarded(target, settings);
        leaders.par_iter().filter(|_| unguarded).for_each(|(_, subject, model)| {
            rayon::join(|| gaps(subject, model, target.blind), || unprotected(subject, model));
        });
    };
    rayon::join(proofs, blind);
}

/// Applies a function to each agent, in parallel where there are many.
pub(crate) fn each<T: Send>(
    subjects: &[RenderSubject],
    one: impl Fn(&RenderSubject) -> T + Sync,
) -> Vec<T> {
    each_of(subjects.iter().map(|subject| (subject, ())), |subject, ()| one(subject))
}

/// Applies a function to each agent and its item. Agents with the same policy are neighbours, so that two
/// threads seldom compute the same proof.
pub(crate) fn each_of<'s, I: Send, T: Send>(
    items: impl ExactSizeIterator<Item = (&'s RenderSubject, I)>,
    one: impl Fn(&'s RenderSubject, I) -> T + Sync,
) -> Vec<T> {
    if items.len() < FEW {
        return items.map(|(subject, item)| one(subject, item)).collect();
    }
    let mut items: Vec<(usize, (&RenderSubject, I))> = items.enumerate().collect();
    items.sort_by_key(|(_, (subject, _))| subject.kind());
    let done = items.into_par_iter().map(|(at, (subject, item))| (at, one(subject, item)));
    let mut done: Vec<(usize, T)> = done.collect();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, done)| done).collect()
}

/// Reports what the user's settings permit beyond the source.
fn beyond_the_project(
    target: &Target,
    subjects: &[RenderSubject],
    rendering: &mut ProjectRendering,
    settings: &RenderSettings<'_>,
) {
    let personal = target.personal.as_ref().filter(|personal| personal.is_there(settings));
    let Some(personal) = personal else { return };
    let written = FutureFiles::of(rendering, settings);
    let models = each(subjects, |subject| {
        let is_compared = !subject.grants.is_empty() || !subject.eased.is_empty();
        let known = is_compared.then(|| written.model(target.model, subject));
        (written.model(personal.model, subject), known.flatten())
    });
    for ((subject, (model, known)), out) in subjects.iter().zip(models).zip(&mut rendering.agents) {
        let model = model.filter(|_| out.refused.is_none());
        for way in model.iter().flat_map(|model| model.ways.iter()) {
            let is_skipped =
                out.unasked.contains(&way.section) || subject.eased.contains(&way.section);
            let known = known.as_ref().filter(|_| is_skipped);
            let proof = match known {
                Some(known) => original::beyond(subject, way, known),
                None => subject.within(way, slack(way.section, settings, out)),
            };
            personal.report(way, proof, out);
        }
    }
}

/// How far a harness may exceed the policy in a section.
fn slack(section: Section, settings: &RenderSettings<'_>, out: &RenderedAgent) -> PolicySlack {
    let guarded = settings.guard && out.guarded.contains(&section);
    if guarded { PolicySlack::Denials } else { PolicySlack::None }
}

/// The field of the loss for a guard that was requested and does not exist.
pub const GUARD_FIELD: &str = "guard";

/// Whether the guard is asked about calls: not every harness supports it.
pub(crate) fn is_guarded(target: &Target, settings: &RenderSettings<'_>) -> bool {
    settings.guard && target.guard.is_some()
}

/// Refuses an agent whose files permit more than its source, and reports the blind spots of the harness.
fn verify(
    target: &Target,
    subject: &RenderSubject,
    model: Option<&HarnessModel>,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) {
    let Some(model) = model else {
        let message = format!("{} would not find the agent under this name", target.title);
        out.refuse("name", message, None);
        return;
    };
    for way in model.ways.iter() {
        let proof = subject.within(way, slack(way.section, settings, out));
        let guards = target.guard.is_some() && !settings.guard;
        if !original::excuse(target, subject, way, &proof, out) {
            bound(way.section, proof, (target.title, guards), out);
        }
    }
    // Only a harness whose agents can be imported has tools of its own.
    let has_tools = target.import.is_some() && !is_guarded(target, settings);
    if has_tools && !original::is_complete(target, subject) {
        out.lost_tools = loss::lost_tools(subject, model);
        out.is_only_text = model.is_text;
    }
    overriding(target, subject, out);
    original::report(target, subject, settings, out);
    questions::report(target, (subject, model), settings, out);
    if is_guarded(target, settings) {
        loss::programs_behind_the_guard(subject, out);
    } else {
        if settings.guard {
            let detail = format!("there is none for {}: only what is rendered holds", target.title);
            out.lose(GUARD_FIELD, LossKind::Gap, detail);
        }
        for gap in gaps(subject, model, target.blind) {
            out.lose("permissions.bash", LossKind::Gap, gap.detail());
        }
        for found in unprotected(subject, model) {
            let field = format!("permissions.{}", found.section);
            out.lose(field, LossKind::Gap, found.detail(target.title));
        }
    }
}

/// Refuses an agent whose section is not proved; `guards` if `--guard` would help.
fn bound(
    section: Section,
    proof: PolicyProof,
    (title, guards): (&str, bool),
    out: &mut RenderedAgent,
) {
    let field = format!("permissions.{section}");
    match proof {
        PolicyProof::Holds => {}
        PolicyProof::Fails { example, source, target: milder } => {
            let message =
                format!("`{example}` is {source} in the source and would be {milder} in {title}");
            let hint = if guards {
                "write a stricter rule, or render with `--guard`"
            } else {
                "write a stricter rule, or take out the setting that allows it there"
            };
            // Another file that the harness merges into this one may be what allows it.
            let joined =
                out.losses.iter().find(|loss| loss.field == "name" && loss.kind == LossKind::Gap);
            let joined = joined.map_or(String::new(), |loss| format!("; {}", loss.detail));
            out.refuse(&field, message, Some(&format!("{hint}{joined}")));
        }
        PolicyProof::Unknown(why) => out.refuse(&field, why, Some("write fewer or simpler rules")),
    }
}

/// Refuses an agent whose start-up gates nothing would check, unless a person has accepted that.
fn gates(
    target: &Target,
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
) -> Option<RenderedAgent> {
    let has_gates = subject.agent.requirements != AgentRequirements::default();
    let mut out = RenderedAgent::default();
    if is_guarded(target, settings) {
        let startup = subject.agent.requirements.startup.as_ref()?;
        let message = format!(
            "`{}` must succeed before the agent starts, and the guard does not run it: it would deny \
             every call",
            startup.value
        );
        let hint = "start it with `agentry run`, or render it without the check and the guard: \
                    `--no-guard --accept required`";
        out.refuse(REQUIRED, message, Some(hint));
        return Some(out);
    }
    if !has_gates || settings.has_accepted(REQUIRED) {
        return None;
    }
    let message = format!(
        "{} does not check what must hold before the agent starts: its environment variables and its \
         start-up tool",
        target.title
    );
    let is_checked = target.guard.is_some() && subject.agent.requirements.startup.is_none();
    let hint = if is_checked {
        "render with `--guard`, which checks it, or without the check: `--accept required`"
    } else {
        "render it without the check: `--accept required`"
    };
    out.refuse(REQUIRED, message, Some(hint));
    Some(out)
}

/// The field of the start-up gates.
pub const REQUIRED: &str = "required";

/// Refuses a name that is built into the harness, or that is not a valid file name.
fn name(target: &Target, subject: &RenderSubject) -> Option<RenderedAgent> {
    let mut out = RenderedAgent::default();
    let name = subject.name.as_str();
    let hint = format!(
        "set another name in `agentry.toml`: `[render.{}.aliases]` `{} = \"…\"`",
        target.name,
        subject.agent.name()
    );
    let is_known = original::name(target, subject) == Some(name);
    if is_built_in(target, name) && !overrides(target, subject) {
        let message = format!("`{name}` is built into {}", target.title);
        out.refuse("name", message, Some(&hint));
    }
    // An original name may have capitals and dots, which a name of a definition may not.
    let small = name.to_ascii_lowercase().replace('.', "-");
    if let Some(why) = wrong_name(if is_known { &small } else { name }) {
        out.refuse("name", format!("`{name}` {why}"), Some(&hint));
    }
    out.refused.is_some().then_some(out)
}

/// Whether the harness has a built-in agent of this name.
pub(crate) fn is_built_in(target: &Target, name: &str) -> bool {
    target.built_in.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether an agent was imported as a replacement of a built-in one.
fn overrides(target: &Target, subject: &RenderSubject) -> bool {
    let can = target.import.as_ref().is_some_and(|import| import.overrides);
    can && original::name(target, subject) == Some(&subject.name)
}

/// Reports that an agent replaces a built-in one.
fn overriding(target: &Target, subject: &RenderSubject, out: &mut RenderedAgent) {
    let name = &subject.name;
    if is_built_in(target, name) && overrides(target, subject) {
        let detail = format!("it takes the place of the `{name}` of {}", target.title);
        out.lose("name", LossKind::Gap, detail);
    }
}

/// Refuses agents that would be written to the same file.
fn one_file_one_agent(subjects: &[RenderSubject], rendering: &mut ProjectRendering) {
    let mut owners: HashMap<String, usize> = HashMap::new();
    let mut clashes = Vec::new();
    for (at, agent) in rendering.agents.iter().enumerate() {
        for file in &agent.files {
            // Some file systems ignore case.
            let key = file.path.to_lowercase();
            match owners.get(&key) {
                Some(other) if *other != at => {
                    // Two agents may share an identical file, such as one of a skill.
                    let same = rendering
                        .agents
                        .get(*other)
                        .is_some_and(|other| other.files.contains(file));
                    if !same {
                        clashes.push((*other, at, file.path.clone()));
                    }
                }
                _ => drop(owners.insert(key, at)),
            }
        }
    }
    for (first, second, path) in clashes {
        for (at, other) in [(first, second), (second, first)] {
            let (Some(own), Some(other)) = (subjects.get(at), subjects.get(other)) else {
                continue;
            };
            // An alias applies to a name, and so to every agent with that name.
            let hint = if own.agent.name() == other.agent.name() {
                "rename one of them; an alias would be for both"
            } else {
                "give one of them an alias in `agentry.toml`"
            };
            let (own, other) = (&own.path, &other.path);
            if let Some(agent) = rendering.agents.get_mut(at) {
                let message = format!("`{path}` would be written for `{own}` and for `{other}`");
                agent.refuse("name", message, Some(hint));
            }
        }
    }
}
