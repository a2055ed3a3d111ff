//! From the files of a harness to the model, never wider: what a harness permits is the bound that the
//! imported rules must stay within.

use crate::memo::RenderMemo;
use std::collections::BTreeSet;
use std::sync::Arc;

use agentry_model::Agent;
use agentry_policy::compare::ExampleSubject;
use agentry_policy::{
    Action, PathAnchors, Pattern, PatternKind, PatternRule, RuleList, Section, SectionRules,
};
use agentry_text::{Data, Spanned, TextPosition};

use crate::draft::{at, inside};
use crate::example::plain;
use crate::import_files::CheckedFiles;
use crate::model::{always, outside};
use crate::original::{self, GrantReading};
use crate::proof::{PolicyProof, told, within};
use crate::render_result::{LossKind, RenderLoss};
use crate::{HarnessFiles, HarnessModel, Target};

/// How the agents of a harness are read.
#[derive(Debug)]
pub struct HarnessImport {
    /// Where they are: directories below a project, and the ends of their file names.
    pub places: &'static [(&'static str, &'static str)],
    /// Whether a file is one, by its path and its text.
    pub is_one: fn(&str, &str) -> bool,
    /// Files that hold several of them by name.
    pub several: Option<SettingsAgents>,
    /// Reads the agent at a path, or the one that [`SettingsAgents::path`] made, as leniently as the harness does; why
    /// not otherwise. Its policy is the nearest that the reader has words for: it is narrowed afterwards.
    pub read: fn(&dyn HarnessFiles, &str) -> Result<HarnessAgent, ImportError>,
    /// Whether an agent takes the place of one that is built in, if it has the name.
    pub overrides: bool,
    /// How the fields that let an agent do something are compared and completed.
    pub grants: GrantReading,
}

/// Why an agent cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// In words.
    pub message: String,
    /// Where in its file; at its start if the whole of it is wrong.
    pub at: TextPosition,
}

impl From<&str> for ImportError {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<String> for ImportError {
    fn from(message: String) -> Self {
        Self { message, at: TextPosition { line: 1, column: 1 } }
    }
}

/// Settings in which a harness finds agents by name.
#[derive(Debug, Clone, Copy)]
pub struct SettingsAgents {
    /// Their paths below a project or a home.
    pub files: &'static [&'static str],
    /// The names in one of them, without those that have a file of their own.
    pub names: fn(&dyn HarnessFiles, &str) -> Vec<String>,
}

impl SettingsAgents {
    /// The names in a file, unless some file that counts is there and is not understood.
    pub fn names_in(
        &self,
        files: &dyn HarnessFiles,
        file: &str,
    ) -> Result<Vec<String>, ImportError> {
        let checked = CheckedFiles::new(files, None);
        let names = (self.names)(&checked, file);
        Ok(checked.sound(names)?)
    }

    /// The path by which one of the agents in a file is read.
    pub fn path(file: &str, name: &str) -> String {
        format!("{file}#{name}")
    }

    /// The file and the name, if a path was made of both.
    pub fn split<'a>(&self, path: &'a str) -> (&'a str, Option<&'a str>) {
        let ends = |file: &str| self.files.iter().any(|known| file.ends_with(known));
        match path.split_once('#').filter(|(file, _)| ends(file)) {
            Some((file, name)) => (file, Some(name)),
            None => (path, None),
        }
    }
}

/// An agent as a harness has it.
#[derive(Debug)]
pub struct HarnessAgent {
    /// It, with `permissions` for its policy.
    pub agent: Agent,
    /// What the harness permits it for sure.
    pub bound: PermittedBound,
    /// What has no place in the model, and where the reader was lenient.
    pub losses: BTreeSet<RenderLoss>,
    /// All that its file says besides its prompt.
    pub metadata: Data,
    /// What the harness calls it, if that is no name here.
    pub called: Option<String>,
}

/// What a harness permits for sure. A [`HarnessModel`] is the most that the files of a harness may mean, which
/// is what a rendered agent must hold against; this is the least, which an imported one must stay within.
#[derive(Debug)]
pub struct PermittedBound {
    model: HarnessModel,
    /// Rules that deny what no tool is called: nothing is lost where the harness would permit that.
    unreal: Vec<RuleList>,
}

impl PermittedBound {
    /// From a model that was made by [`View::Strictest`](crate::encoding::EncodingView::Strictest).
    pub fn new(model: HarnessModel) -> Self {
        Self { model, unreal: Vec::new() }
    }

    /// The same with rules that deny what no tool is called.
    #[must_use]
    pub fn without(self, unreal: Vec<RuleList>) -> Self {
        Self { unreal, ..self }
    }

    /// What holds for a section, of what there is.
    fn real(&self, section: Section) -> Vec<RuleList> {
        let unreal = self.unreal.iter().filter(|rules| rules.section == section);
        self.of(section).into_iter().chain(unreal.cloned()).collect()
    }

    /// What holds for a section: of each of its ways, the strictest. A section that nothing is known of
    /// is one in which nothing is permitted.
    fn of(&self, section: Section) -> Vec<RuleList> {
        let ways = self.model.ways.iter().filter(|way| way.section == section);
        let layers: Vec<RuleList> = ways.flat_map(|way| way.layers.iter().cloned()).collect();
        if layers.is_empty() { vec![always(section, Action::Deny, "no such tool")] } else { layers }
    }
}

/// An imported agent.
#[derive(Debug)]
pub struct ImportedAgent {
    /// It.
    pub agent: Agent,
    /// What the model has no words for, or says more strictly.
    pub losses: BTreeSet<RenderLoss>,
}

/// Reads an agent of a harness from files of which all that are there can be read.
pub fn import(
    target: &Target,
    files: &dyn HarnessFiles,
    path: &str,
) -> Result<ImportedAgent, ImportError> {
    import_from(target, files, path, &Arc::default())
}

/// Reads an agent of a harness, unless some file that counts is there and is not understood.
pub fn import_from(
    target: &Target,
    files: &dyn HarnessFiles,
    path: &str,
    memo: &Arc<RenderMemo>,
) -> Result<ImportedAgent, ImportError> {
    let import = target.import.as_ref().ok_or("its agents cannot be imported")?;
    let checked = CheckedFiles::new(files, Some(memo));
    let read = (import.read)(&checked, path);
    let read = checked.sound(read)??;
    let metadata = read.metadata.clone();
    let mut imported = narrowed(target, read, memo);
    original::keep(target, (&mut imported, memo), &metadata, files);
    Ok(imported)
}

/// An agent as it was read. Rules that would permit more than the harness does are made stricter.
pub(crate) fn narrowed(
    target: &Target,
    read: HarnessAgent,
    memo: &Arc<RenderMemo>,
) -> ImportedAgent {
    let HarnessAgent { mut agent, bound, losses, metadata: _, called } = read;
    original::keep_name(&mut agent, target, called);
    let permissions = agent.policy.permissions.get_or_insert_default();
    for section in bounded() {
        if permissions.get(section).is_some() {
            continue;
        }
        let intent = Some(at(Action::Deny));
        permissions.sections.push(SectionRules { section: at(section), intent, rules: vec![] });
    }
    // What is said of places outside the workspace bounds what is said of files.
    let beyond = permissions.get(Section::ExternalDirectory).cloned();
    let mut narrowing =
        RuleNarrowing { title: target.title, bound, beyond: None, losses, memo: Arc::clone(memo) };
    if let Some(mut written) = beyond.filter(|_| narrowing.knows(Section::ExternalDirectory)) {
        narrowing.section(&mut written);
        permissions.sections.retain(|it| it.section.value != Section::ExternalDirectory);
        permissions.sections.push(written);
    }
    let beyond = permissions.get(Section::ExternalDirectory);
    narrowing.beyond = beyond.map(|written| RuleList::new(written, &PathAnchors::default()));
    let sections = permissions.sections.iter_mut();
    for written in sections.filter(|it| bounded().any(|section| section == it.section.value)) {
        narrowing.section(written);
    }
    permissions.sections.sort_by_key(|written| written.section.value);
    ImportedAgent { agent, losses: narrowing.losses }
}

/// The sections that a harness has to permit something in. What is said of places outside the workspace
/// is bounded by what is said of files, unless the harness has rules about it; no harness says anything
/// about variables.
fn bounded() -> impl Iterator<Item = Section> {
    let free = [Section::ExternalDirectory, Section::Env];
    Section::ALL.iter().copied().filter(move |section| !free.contains(section))
}

/// The most rules that are made stricter one by one.
const MANY: usize = 100;

/// Rules on their way into their bound.
struct RuleNarrowing {
    title: &'static str,
    bound: PermittedBound,
    /// What is said of places outside the workspace.
    beyond: Option<RuleList>,
    losses: BTreeSet<RenderLoss>,
    memo: Arc<RenderMemo>,
}

impl RuleNarrowing {
    fn knows(&self, section: Section) -> bool {
        self.bound.model.ways.iter().any(|way| way.section == section)
    }

    /// Makes the rules of a section stricter until no way of the harness is stricter than they are, and
    /// reports what they are stricter about then.
    fn section(&mut self, written: &mut SectionRules) {
        settle(written);
        let bounds = self.bound.of(written.section.value);
        if let Err(why) = self.narrow(written, &bounds) {
            self.lose(written, why);
            written.rules.clear();
            written.intent = Some(Spanned::new(Action::Deny, written.section.span));
        }
        self.simplify(written, &bounds);
        let section = written.section.value;
        let bounds = self.bound.real(section);
        if let PolicyProof::Fails { example, source, target } = told(
            &self.memo,
            section,
            &bounds,
            &self.layers(written, &RuleList::new(written, &PathAnchors::default())),
        ) {
            // The sides are swapped: what the harness does is on the left.
            let detail = format!("`{example}` is {target} in {} and {source} here", self.title);
            self.lose(written, plain(&detail));
        }
    }

    fn narrow(&self, written: &mut SectionRules, bounds: &[RuleList]) -> Result<(), String> {
        // Each step makes one rule stricter; there are two steps from allow to deny, three for other
        // spellings, and one more where what is inside the workspace is told apart from what is outside.
        for step in 0..=5 * (written.rules.len() + 4) {
            match self.wider(written, bounds) {
                None if step > 0 => {
                    tidy(written);
                    return Ok(());
                }
                None => return Ok(()),
                // Of so many rules, nobody can look at each: all of them are made as strict.
                Some((_, PolicyProof::Fails { source, .. })) if step >= MANY => {
                    raise_all(written, source);
                }
                Some((rules, PolicyProof::Fails { example, source, .. })) => {
                    if !spelled(written, &rules, &example, source) {
                        raise(written, &rules, &example, source);
                    }
                }
                Some((_, PolicyProof::Unknown(why))) => return Err(why),
                Some((_, PolicyProof::Holds)) => {}
            }
        }
        Err("it cannot be expressed: nothing is allowed".to_owned())
    }

    /// The rules that are not within their bounds, if any, and why: as they are written, and with the other
    /// ways to write a command that a question or a denial reaches.
    fn wider(
        &self,
        written: &SectionRules,
        bounds: &[RuleList],
    ) -> Option<(RuleList, PolicyProof)> {
        let rules = RuleList::new(written, &PathAnchors::default());
        [rules.as_written(), rules].into_iter().find_map(|rules| {
            let proof = within(&self.memo, &self.layers_of(written, &rules), bounds);
            (proof != PolicyProof::Holds).then_some((rules, proof))
        })
    }

    /// Leaves out that what is inside the workspace is told apart from what is outside, where the rules
    /// about places outside say that already.
    fn simplify(&self, written: &mut SectionRules, bounds: &[RuleList]) {
        let is_inside = |rule: &&Spanned<PatternRule>| {
            let [deep, itself] = inside(rule.value.action);
            rule.value == deep || rule.value == itself
        };
        let kept = written.rules.iter().rev().take_while(is_inside).count();
        let kept = written.rules.len() - kept;
        let Some(action) = written.rules.get(kept).map(|rule| rule.value.action) else { return };
        let mut plain = written.clone();
        plain.rules.truncate(kept);
        plain.intent = written.intent.map(|intent| Spanned::new(action, intent.span));
        let layers =
            |written| self.layers(written, &RuleList::new(written, &PathAnchors::default()));
        let fits = within(&self.memo, &layers(&plain), bounds) == PolicyProof::Holds;
        if fits && within(&self.memo, &layers(written), &layers(&plain)) == PolicyProof::Holds {
            *written = plain;
        }
    }

    /// The rules as they are written, and for files those about places outside the workspace.
    fn layers(&self, written: &SectionRules, rules: &RuleList) -> Vec<RuleList> {
        self.layers_of(written, &rules.as_written())
    }

    fn layers_of(&self, written: &SectionRules, rules: &RuleList) -> Vec<RuleList> {
        let section = written.section.value;
        let beyond = self.beyond.as_ref().filter(|_| is_files(section));
        let beyond = beyond.map(|rules| outside(section, rules));
        [rules.clone()].into_iter().chain(beyond).collect()
    }

    fn lose(&mut self, written: &SectionRules, detail: String) {
        let field = format!("permissions.{}", written.section.value);
        self.losses.insert(RenderLoss { field, kind: LossKind::Narrowed, detail });
    }
}

fn is_files(section: Section) -> bool {
    matches!(section, Section::Edit | Section::Read)
}

/// A rule about every call is the answer to all that comes after it.
fn settle(written: &mut SectionRules) {
    let section = written.section.value;
    let is_all = |pattern: &str| match section.kind() {
        PatternKind::Command => matches!(pattern, "*" | "**"),
        PatternKind::Path => false,
        PatternKind::Name | PatternKind::Web | PatternKind::Text => pattern == "**",
    };
    let all = written.rules.iter().position(|rule| is_all(&rule.value.pattern));
    if let Some(rule) = all.and_then(|at| written.rules.drain(at..).next()) {
        written.intent = Some(Spanned::new(rule.value.action, rule.span));
    }
}

/// The rule that decides about `example`.
fn deciding(rules: &RuleList, example: &ExampleSubject) -> Option<usize> {
    let decides =
        |rule: &agentry_policy::PolicyRule| example.with(|subject| rule.pattern.matches(subject));
    rules.rules.iter().position(decides)
}

/// The most rules that are looked through for one that says the same.
const MOST_LATER: usize = 50;

/// Where a question about `git commit` also reaches `./git commit` or `git -C x commit`, which gets a
/// stricter answer: says that before it.
fn spelled(
    written: &mut SectionRules,
    rules: &RuleList,
    example: &ExampleSubject,
    action: Action,
) -> bool {
    let Some(at) = deciding(rules, example) else { return false };
    if deciding(&rules.as_written(), example) == Some(at) {
        return false;
    }
    let Some(rule) = written.rules.get(at) else { return false };
    let is_new = |new: &PatternRule| {
        let pattern =
            Pattern::new(PatternKind::Command, &new.pattern, action, &PathAnchors::default());
        let known = written.rules.iter().take(at).any(|rule| rule.value == *new);
        !known && example.with(|subject| pattern.matches(subject))
    };
    // The rule that would decide about it otherwise comes first, which leaves more than any other.
    let later = written.rules.iter().skip(at + 1).map(|rule| &rule.value);
    let later = later.filter(|rule| rule.action == action).map(|rule| rule.pattern.clone());
    let patterns = later.take(MOST_LATER).chain(spellings(&rule.value.pattern));
    let mut rules = patterns.map(|pattern| PatternRule { pattern, action });
    let Some(new) = rules.find(is_new) else { return false };
    let new = Spanned::new(new, rule.span);
    written.rules.insert(at, new);
    true
}

/// The other ways to write a command that a question about it reaches: by the path of its program, and
/// with options before what it is told to do.
fn spellings(pattern: &str) -> Vec<String> {
    let pattern = pattern.trim_start();
    let mut found = vec![format!("**/{pattern}")];
    if let Some((program, rest)) = pattern.split_once(' ') {
        found.extend(
            ["-*", "+*"].map(|option| format!("{program} {option} ** {}", rest.trim_start())),
        );
    }
    found
}

/// Makes the rule that decides about `example` as strict as `action`. Where none does, it is the answer
/// to everything else; for a file outside the workspace only what is outside gets stricter.
fn raise(written: &mut SectionRules, rules: &RuleList, example: &ExampleSubject, action: Action) {
    if let Some(rule) = deciding(rules, example).and_then(|at| written.rules.get_mut(at)) {
        rule.value.action = action;
        return;
    }
    let place = written.intent.map_or(written.section.span, |intent| intent.span);
    let before = written.intent.map_or(Action::Ask, |intent| intent.value);
    if is_files(written.section.value) && !is_inside(example) {
        let inside = inside(before).map(|rule| Spanned::new(rule, place));
        written.rules.extend(inside);
    }
    written.intent = Some(Spanned::new(action, place));
}

/// Makes all rules at least as strict as `action`.
fn raise_all(written: &mut SectionRules, action: Action) {
    for rule in &mut written.rules {
        rule.value.action = rule.value.action.strictest(action);
    }
    let place = written.intent.map_or(written.section.span, |intent| intent.span);
    let before = written.intent.map_or(Action::Ask, |intent| intent.value);
    written.intent = Some(Spanned::new(before.strictest(action), place));
}

/// Leaves out the last rules that say what holds without them.
fn tidy(written: &mut SectionRules) {
    let is_said = |rule: &Spanned<PatternRule>, intent: Action| rule.value.action == intent;
    let Some(intent) = written.intent else { return };
    while written.rules.last().is_some_and(|rule| is_said(rule, intent.value)) {
        written.rules.pop();
    }
}

fn is_inside(example: &ExampleSubject) -> bool {
    let ExampleSubject::Text(text) = example else { return false };
    let below = text.strip_prefix(&PathAnchors::default().workspace);
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
