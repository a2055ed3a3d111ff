//! The original front matter of an imported agent, restored when the agent is rendered for its harness again.
//!
//! The rows of a target define how each field is restored. A preference permits nothing, and is restored
//! where its value fits. A grant lets the agent do something, and needs a proof. An import reads a harness'
//! files as the least that they may mean, so what may or may not be asked becomes an ask. Rendering reads
//! them as the most, so the agent would lose the tool on the way back. Grants are therefore kept as written,
//! and count while the definition still has the imported permissions. A deny of the definition stays a deny.
//! An ask may then run without a question, which is reported as a gap. `--close-gaps`, `--unattended` and the
//! guard restore none.

mod store;
mod trial;

use crate::memo::RenderMemo;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use agentry_model::{Agent, AgentIdentity, AgentInstructions, ModelChoice, tree};
use agentry_policy::PolicyContext;
use agentry_policy::memo::MemoTable;
use agentry_text::Data;
use rayon::prelude::*;

use crate::adapt::adapted;
use crate::fields::grants;
use crate::front_matter::list_items;
use crate::import::ImportedAgent;
use crate::import_loss::ImportLoss;
use crate::proof::{self, PolicyProof};
use crate::render_result::{LossKind, RenderSettings, RenderedAgent};
use crate::subject::{PolicySlack, RenderSubject};
use crate::{HarnessFiles, HarnessModel, HarnessTool, TARGETS, Target};

use store::AS_WRITTEN;
pub(crate) use store::{MODEL, OriginalFrontMatter, TOOLS, filled, keep_name, name, set};
pub use store::{completed, place, spare_fields};
use trial::GrantTrial;

/// How the grants of a harness are compared, beside what its rows define.
#[derive(Debug)]
pub struct GrantReading {
    /// Normalises metadata, so that agents with the same grants have the same metadata.
    pub normalise: fn(&Data) -> Data,
    /// Extends grants by values that remove what the definition denies.
    pub closed: fn(&RenderSubject, &mut [OriginalGrant]),
    /// Whether two sets of metadata mean the same; by default, whether their grants are equal.
    pub same: Option<fn(&Data, &Data) -> bool>,
    /// Whether agents with the same rules and grants may have the same of them, whatever their names and
    /// prompts are. That needs a harness whose settings name no agents.
    pub is_shared: bool,
}

/// The original value of a field with grants.
#[derive(Debug, Clone, PartialEq)]
pub struct OriginalGrant {
    /// The name of the field in the harness.
    pub key: &'static str,
    /// Its value; `None` if the file did not have the field.
    pub value: Option<Data>,
}

/// The longest list that is restored: each item may need a trial rendering.
const LONGEST: usize = 100;

/// Returns the items of a list of texts; `None` for any other value.
pub(crate) fn names(value: &Data) -> Option<Vec<String>> {
    let is_list = match value {
        Data::Str(_) => true,
        Data::List(items) => items.iter().all(|item| item.as_str().is_some()),
        _ => false,
    };
    list_items(value).filter(|_| is_list)
}

/// Whether a list is too long to be restored.
fn is_long(value: &Data) -> bool {
    list_items(value).is_some_and(|items| items.len() > LONGEST)
}

/// Puts the restored grants of an agent into its metadata.
pub(crate) fn applied(subject: &RenderSubject, metadata: Data) -> Data {
    let Data::Map(mut fields) = metadata else { return metadata };
    for OriginalGrant { key, value } in &subject.grants {
        let at = fields.iter().position(|(known, _)| known == key);
        match (at.and_then(|at| fields.get_mut(at)), value) {
            (Some((_, field)), Some(value)) => *field = value.clone(),
            (None, Some(value)) => fields.push(((*key).to_owned(), value.clone())),
            // The original had no such field, and its absence may have a meaning.
            (_, None) => fields.retain(|(known, _)| known != key),
        }
    }
    Data::Map(fields)
}

/// Returns the restored grant of a field.
pub(crate) fn given<'a>(subject: &'a RenderSubject, key: &str) -> Option<&'a OriginalGrant> {
    subject.grants.iter().find(|grant| grant.key == key)
}

/// Restores to each agent the grants that it may have.
pub(crate) fn given_back<'a>(
    target: &Target,
    mut subjects: Cow<'a, [RenderSubject]>,
    settings: &RenderSettings<'_>,
) -> Cow<'a, [RenderSubject]> {
    let keeps = |subject: &RenderSubject| kept(&subject.agent, target).is_some();
    if settings.guard || !settings.is_attended() || !subjects.iter().any(keeps) {
        return subjects;
    }
    // Many agents have the same rules and grants, and one trial is enough for all of them.
    let is_shared = target.import.as_ref().is_some_and(|import| import.grants.is_shared);
    let trials: MemoTable<String, Vec<OriginalGrant>> = MemoTable::default();
    subjects.to_mut().par_iter_mut().filter(|subject| keeps(subject)).for_each(|subject| {
        let granted = || {
            let trial = GrantTrial::new(target, subject, settings);
            trial.and_then(|trial| trial.granted()).unwrap_or_default()
        };
        let granted =
            if is_shared { trials.get(trial_key(target, subject), granted) } else { granted() };
        subject.grants = granted;
    });
    subjects
}

/// Removes the grants of agents that are refused with them when all agents are rendered together. Returns
/// whether there are any. `refused` are the agents without a rendering; `rendered` belongs to the others.
pub(crate) fn taken_back(
    subjects: &mut Cow<'_, [RenderSubject]>,
    refused: &[Option<RenderedAgent>],
    rendered: &[RenderedAgent],
) -> bool {
    let left = refused.iter().enumerate().filter(|(_, refused)| refused.is_none());
    let wrong = left.zip(rendered).filter(|(_, rendered)| rendered.refused.is_some());
    let has_grants = |at: &usize| subjects.get(*at).is_some_and(|it| !it.grants.is_empty());
    let wrong: Vec<usize> = wrong.map(|((at, _), _)| at).filter(has_grants).collect();
    for at in &wrong {
        if let Some(subject) = subjects.to_mut().get_mut(*at) {
            subject.grants.clear();
        }
    }
    !wrong.is_empty()
}

/// Whether a tool exceeds the policy only because of restored grants: an ask may run without a question.
/// Reports that as a gap.
pub(crate) fn excuse(
    target: &Target,
    subject: &RenderSubject,
    way: &HarnessTool,
    proof: &PolicyProof,
    out: &mut RenderedAgent,
) -> bool {
    let PolicyProof::Fails { example, source, .. } = proof else { return false };
    // Only an ask may be exceeded; a deny of the source must still hold.
    if subject.grants.is_empty()
        || subject.within(way, PolicySlack::Questions) != PolicyProof::Holds
    {
        return false;
    }
    out.unasked.insert(way.section);
    let detail = format!(
        "as it was written: `{example}` is {source} in the source and not asked about in {}; \
         `--close-gaps` takes that away",
        target.title
    );
    out.lose(format!("permissions.{}", way.section), LossKind::Gap, detail);
    true
}

/// Proves that a tool exceeds the policy nowhere, except where that is already reported for `known` tools.
pub(crate) fn beyond(
    subject: &RenderSubject,
    way: &HarnessTool,
    known: &HarnessModel,
) -> PolicyProof {
    let same = |it: &&HarnessTool| it.section == way.section && it.tool == way.tool;
    let Some(known) = known.ways.iter().find(same) else {
        return subject.within(way, PolicySlack::None);
    };
    match proof::prove_with_example(&subject.memo, way.section, &way.layers, &known.layers) {
        PolicyProof::Fails { example, target, .. } => {
            let bounds = subject.written_bounds(way.section);
            let source = proof::action(&bounds.iter().collect::<Vec<_>>(), &example);
            // The user's settings permit more than the project's, but no more than the source.
            if source <= target {
                PolicyProof::Holds
            } else {
                PolicyProof::Fails { example, source, target }
            }
        }
        other => other,
    }
}

/// Reports grants that are kept and not restored.
pub(crate) fn report(
    target: &Target,
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) {
    let wanted = !settings.guard && settings.is_attended();
    let Some(kept) = kept(&subject.agent, target).filter(|_| wanted) else { return };
    if subject.grants.is_empty() {
        let detail = "it does not match the permissions and the settings, and is ignored: remove \
                      it, or import the agent again";
        out.lose(grants_place(target), LossKind::Narrowed, detail);
        return;
    }
    for grant in &subject.grants {
        let missing: Vec<String> =
            missing_items(kept, grant).iter().map(|item| format!("`{item}`")).collect();
        if !missing.is_empty() {
            let (items, key) = (missing.join(", "), grant.key);
            let detail =
                format!("of `{key}`, {items} may do what is denied, or is not known: left out");
            out.lose(grants_place(target), LossKind::Narrowed, detail);
        }
    }
}

/// Whether an agent gets all the tools back that it was imported with, so that it loses none.
pub(crate) fn is_complete(target: &Target, subject: &RenderSubject) -> bool {
    let Some(Data::Map(kept)) = kept(&subject.agent, target) else { return false };
    let is_given = |(key, value): &(String, Data)| {
        let grant = subject.grants.iter().find(|grant| grant.key == key);
        grant.and_then(|grant| grant.value.as_ref()).is_some_and(|given| {
            let items = names(value).zip(names(given));
            given == value
                || items.is_some_and(|(all, given)| all.iter().all(|item| given.contains(item)))
        })
    };
    kept.iter().all(is_given)
}

/// The items of an original list that are not restored.
fn missing_items(kept: &Data, OriginalGrant { key, value }: &OriginalGrant) -> Vec<String> {
    let mut wanted = kept.get(key).and_then(names).unwrap_or_default();
    let given = value.as_ref().and_then(names).unwrap_or_default();
    wanted.retain(|item| value.is_some() && !given.contains(item));
    wanted
}

/// Returns the grants that an agent keeps for a harness.
fn kept<'a>(agent: &'a Agent, target: &Target) -> Option<&'a Data> {
    let has_grants = target.fields.iter().any(|field| field.grant.is_some());
    OriginalFrontMatter::of(agent, target.name).grants().filter(|_| has_grants)
}

/// Returns every harness that an agent keeps grants for, with these grants.
pub fn all(agent: &Agent) -> Vec<(&'static Target, &Data)> {
    TARGETS.iter().filter_map(|target| Some((*target, kept(agent, target)?))).collect()
}

/// The place of kept grants, as the field name for losses and reports.
pub fn grants_place(target: &Target) -> String {
    format!("{}.{AS_WRITTEN}", place(target.name))
}

/// Returns the agent without its grants if a definition format made them useless: the converted agent,
/// `result`, has other permissions. `None` if the grants still count.
pub fn forgotten(
    target: &Target,
    agent: &Agent,
    result: &RenderSubject,
    files: &dyn HarnessFiles,
) -> Option<Agent> {
    kept(agent, target)?;
    let counts = tried(target, result, files).granted.is_some();
    let mut bare = agent.clone();
    store::remove(&mut bare, target.name, AS_WRITTEN);
    (!counts).then_some(bare)
}

/// The result of a trial in a project of which only the files are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrialOutcome {
    /// The grants to restore, if they make a difference.
    granted: Option<Vec<OriginalGrant>>,
    /// The metadata of the agent without them.
    plain: Option<Data>,
}

/// Tries the grants of an agent, once for all agents that differ in nothing but names, prompts and models.
fn tried(target: &Target, subject: &RenderSubject, files: &dyn HarnessFiles) -> TrialOutcome {
    let try_them = |settings: &RenderSettings<'_>| {
        let subject = adapted_one(target, subject, settings);
        let trial = GrantTrial::new(target, &subject, settings)?;
        let plain = trial.read(&[]).map(|read| read.metadata);
        Some(TrialOutcome { granted: trial.useful(), plain })
    };
    let outcome = || anywhere(files, try_them).unwrap_or_default();
    subject.memo.trials.get(trial_key(target, subject), outcome)
}

/// Renders for a project of which only the files are known.
pub(crate) fn anywhere<T>(
    files: &dyn HarnessFiles,
    render: impl FnOnce(&RenderSettings<'_>) -> T,
) -> T {
    render(&RenderSettings { force: true, ..RenderSettings::new(files) })
}

/// Returns one agent as the target gets it.
fn adapted_one(
    target: &Target,
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
) -> RenderSubject {
    let subjects = adapted(target, Cow::Borrowed(std::slice::from_ref(subject)), settings);
    subjects.first().unwrap_or(subject).clone()
}

/// Keeps the grants of an imported agent that rendering would otherwise lose, as far as they can be restored.
pub(crate) fn keep(
    target: &Target,
    (imported, memo): (&mut ImportedAgent, &Arc<RenderMemo>),
    metadata: &Data,
    files: &dyn HarnessFiles,
) {
    let keys: Vec<&'static str> = grants(target.fields).into_iter().map(|(key, _)| key).collect();
    let Some(import) = target.import.as_ref().filter(|_| !keys.is_empty()) else { return };
    let written = keys.iter().filter_map(|key| {
        let value = metadata.get(key).filter(|value| **value != Data::Null)?;
        Some(((*key).to_owned(), value.clone()))
    });
    let written: Vec<(String, Data)> = written.collect();
    if written.iter().any(|(_, value)| is_long(value)) {
        return;
    }
    let mut agent = imported.agent.clone();
    set(&mut agent, target.name, AS_WRITTEN, Data::Map(written));
    let subject = RenderSubject::of(agent, &PolicyContext::default(), memo);
    let TrialOutcome { granted, plain } = tried(target, &subject, files);
    // Without a difference between the rendered and the imported grants, there is nothing to keep.
    let has_them = plain.is_some_and(|plain| import.grants.agree(&keys, &plain, metadata));
    if let Some(granted) = granted.filter(|_| !has_them) {
        imported.losses.insert(kept_note(target, &granted, &keys, metadata));
        imported.agent = subject.agent;
    }
}

/// Everything that a trial depends on, as a text: the agent without its prompt, its names, its model and what else
/// permits nothing, and which of its skills exist. The files around the agents are the same in one session.
fn trial_key(target: &Target, subject: &RenderSubject) -> String {
    let mut agent = subject.agent.clone();
    agent.instructions = AgentInstructions::default();
    agent.identity = AgentIdentity { mode: agent.identity.mode, ..AgentIdentity::default() };
    agent.model = ModelChoice::default();
    (agent.behaviour.temperature, agent.behaviour.max_turns) = (None, None);
    store::keep_grants_only(&mut agent, target);
    // The number of the verdicts stands for the rules.
    agent.policy.permissions = None;
    let rest = tree::tree(&agent).to_data().to_json();
    let skills = subject.skills.iter().map(|skill| (&skill.name, skill.files.is_some()));
    let skills: Vec<(&String, bool)> = skills.collect();
    format!("{} {} {rest} {skills:?}", target.name, subject.verdict_kind())
}

/// Reports which grants are kept.
fn kept_note(
    target: &Target,
    granted: &[OriginalGrant],
    keys: &[&str],
    metadata: &Data,
) -> ImportLoss {
    let given = |key: &&str| granted.iter().any(|grant| grant.key == *key);
    let names = keys.iter().filter(|key| given(key) && metadata.get(key).is_some());
    let names: Vec<String> = names.map(|key| format!("`{key}`")).collect();
    let title = target.title;
    let what = match names.as_slice() {
        [] => format!("a render for {title} writes no list of tools, as here"),
        [one] => format!("a render for {title} writes {one} as here"),
        several => format!("a render for {title} writes {} as here", several.join(", ")),
    };
    let detail = format!("{what}, as long as the permissions are not edited");
    ImportLoss { field: grants_place(target), kind: LossKind::Changed, detail, at: None }
}

impl GrantReading {
    /// Grants that are compared as written, and that cannot be extended.
    pub(crate) const PLAIN: Self =
        Self { normalise: Data::clone, closed: |_, _| {}, same: None, is_shared: false };

    fn agree(&self, keys: &[&str], one: &Data, other: &Data) -> bool {
        let written_grants = |metadata: &Data| self.comparable_grants(keys, metadata);
        self.same
            .map_or_else(|| written_grants(one) == written_grants(other), |same| same(one, other))
    }

    /// The grants of metadata, independent of the order and the syntax of a list.
    fn comparable_grants(&self, keys: &[&str], metadata: &Data) -> Vec<Option<Data>> {
        let metadata = (self.normalise)(metadata);
        let value = |key: &&str| {
            let value = metadata.get(key)?;
            let sorted = list_items(value).map(|it| it.into_iter().collect::<BTreeSet<_>>());
            Some(sorted.map_or_else(|| value.clone(), Data::strings))
        };
        keys.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness_files::ListedFiles;
    use crate::import::import_from;

    /// The key of the trial of an agent of Claude Code with these lines.
    fn key(lines: &str, memo: &Arc<RenderMemo>) -> String {
        let target = &crate::claude_code::TARGET;
        let path = ".claude/agents/a.md";
        let text = format!("---\nname: a\n{lines}---\nYou work.\n");
        let imported = import_from(target, &ListedFiles(&[(path, &text)]), path, memo);
        let agent = imported.expect("an agent").agent;
        trial_key(target, &RenderSubject::of(agent, &PolicyContext::default(), memo))
    }

    #[test]
    fn agents_with_the_same_grants_share_a_trial() {
        let memo = Arc::default();
        let tools = "tools: Read, Grep\n";
        let known = key(&format!("description: Works\n{tools}"), &memo);
        let same = ["description: Reads\n", "color: red\n", "model: opus\n", "maxTurns: 3\n"];
        for lines in same {
            assert_eq!(key(&format!("{lines}{tools}"), &memo), known, "{lines}");
        }
        let other = ["tools: Read\n", "tools: Read, Grep\npermissionMode: plan\n"];
        for lines in other {
            assert_ne!(key(lines, &memo), known, "{lines}");
        }
    }
}
