//! Import from the files of a harness to the model, never wider: the imported rules must stay within what
//! the harness surely permits.

use crate::memo::RenderMemo;
use std::collections::BTreeSet;
use std::sync::Arc;

use agentry_model::Agent;
use agentry_policy::compare::ExampleSubject;
use agentry_policy::{
    Action, PathAnchors, Pattern, PatternKind, PatternRule, PolicyContext, RuleList, Section,
    SectionRules,
};
use agentry_text::{Data, Spanned, TextPosition};

use crate::draft::{at, inside};
use crate::example::plain;
use crate::import_files::CheckedFiles;
use crate::import_loss::{ImportLoss, locate};
use crate::model::{always, outside};
use crate::original::{self, GrantReading};
use crate::proof::{PolicyProof, prove_with_example, within};
use crate::render_result::LossKind;
use crate::subject::RenderSubject;
use crate::{HarnessFiles, HarnessModel, Target, visible_texts};

/// How the agents of a harness are imported.
#[derive(Debug)]
pub struct HarnessImport {
    /// Where agent files are: directories below a project, and the suffixes of their file names.
    pub places: &'static [(&'static str, &'static str)],
    /// Whether a file is an agent, by its path and its text.
    pub is_one: fn(&str, &str) -> bool,
    /// Settings files that hold several agents by name.
    pub several: Option<SettingsAgents>,
    /// Reads the agent at a path, or at a path from [`SettingsAgents::path`], as leniently as the harness
    /// does. The result has the nearest equivalent of its policy, which is narrowed afterwards.
    pub read: fn(&dyn HarnessFiles, &str) -> Result<HarnessAgent, ImportError>,
    /// Whether an agent replaces a built-in agent of the same name.
    pub overrides: bool,
    /// How fields with grants are compared and completed.
    pub grants: GrantReading,
}

/// Why an agent cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The reason, for the user.
    pub message: String,
    /// The position in its file; the start if the whole file is wrong.
    pub at: TextPosition,
    /// Whether the harness itself does not use the agent, so that a project loses nothing without it.
    pub is_unused: bool,
}

impl ImportError {
    /// An error at a position.
    pub fn at(message: String, at: TextPosition) -> Self {
        Self { message, at, is_unused: false }
    }

    /// Says that the harness itself does not use the agent.
    pub(crate) fn unused(message: impl Into<String>) -> Self {
        Self { is_unused: true, ..message.into().into() }
    }
}

impl From<&str> for ImportError {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<String> for ImportError {
    fn from(message: String) -> Self {
        Self::at(message, TextPosition { line: 1, column: 1 })
    }
}

/// Settings files in which a harness defines agents by name.
#[derive(Debug, Clone, Copy)]
pub struct SettingsAgents {
    /// Their paths below a project or a home directory.
    pub files: &'static [&'static str],
    /// Returns the names in one of them, without agents that have their own file.
    pub names: fn(&dyn HarnessFiles, &str) -> Vec<String>,
}

impl SettingsAgents {
    /// Returns the names in a file, or an error if a relevant file exists and cannot be parsed.
    pub fn names_in(
        &self,
        files: &dyn HarnessFiles,
        file: &str,
    ) -> Result<Vec<String>, ImportError> {
        let checked = CheckedFiles::new(files, None);
        let names = (self.names)(&checked, file);
        Ok(checked.sound(names)?)
    }

    /// Builds the path under which one agent of a settings file is imported.
    pub fn path(file: &str, name: &str) -> String {
        format!("{file}#{name}")
    }

    /// Splits a path from [`SettingsAgents::path`] into its file and its name.
    pub fn split<'a>(&self, path: &'a str) -> (&'a str, Option<&'a str>) {
        let ends = |file: &str| self.files.iter().any(|known| file.ends_with(known));
        match path.split_once('#').filter(|(file, _)| ends(file)) {
            Some((file, name)) => (file, Some(name)),
            None => (path, None),
        }
    }
}

/// An agent as its harness defines it.
#[derive(Debug)]
pub struct HarnessAgent {
    /// The agent, with its policy as `permissions`.
    pub agent: Agent,
    /// What the harness surely permits.
    pub bound: PermittedBound,
    /// What the model cannot express, and where the parser was lenient.
    pub losses: BTreeSet<ImportLoss>,
    /// Everything in its file except the prompt.
    pub metadata: Data,
    /// The name in the harness, if it is not a valid agent name.
    pub called: Option<String>,
}

/// What a harness surely permits. A [`HarnessModel`] is the most that a harness' files may mean; a rendered
/// agent must stay within its source even then. This is the least; an imported agent must stay within it.
#[derive(Debug)]
pub struct PermittedBound {
    model: HarnessModel,
    /// Rules that deny names which no tool has: denying these loses nothing.
    unreal: Vec<RuleList>,
}

impl PermittedBound {
    /// From a model that was built with
    /// [`EncodingView::Strictest`](crate::encoding::EncodingView::Strictest).
    pub fn new(model: HarnessModel) -> Self {
        Self { model, unreal: Vec::new() }
    }

    /// Adds rules that deny names which no tool has.
    #[must_use]
    pub fn without(self, unreal: Vec<RuleList>) -> Self {
        Self { unreal, ..self }
    }

    /// The rules of a section, restricted to names that tools have.
    fn real(&self, section: Section) -> Vec<RuleList> {
        let unreal = self.unreal.iter().filter(|rules| rules.section == section);
        self.of(section).into_iter().chain(unreal.cloned()).collect()
    }

    /// The rules of a section: the layers of all its tools, of which the strictest counts. A section without
    /// a tool permits nothing.
    fn of(&self, section: Section) -> Vec<RuleList> {
        let ways = self.model.ways.iter().filter(|way| way.section == section);
        let layers: Vec<RuleList> = ways.flat_map(|way| way.layers.iter().cloned()).collect();
        if layers.is_empty() { vec![always(section, Action::Deny, "no such tool")] } else { layers }
    }
}

/// An imported agent with its losses.
#[derive(Debug)]
pub struct ImportedAgent {
    /// The agent.
    pub agent: Agent,
    /// What the model cannot express, or expresses more strictly.
    pub losses: BTreeSet<ImportLoss>,
    /// What the harness surely permits.
    bound: PermittedBound,
}

impl ImportedAgent {
    /// Proves that a definition written from this agent permits no more than the harness surely does, as a
    /// rendering is proved against its source. Returns a sentence about the first excess.
    pub fn excess(
        &self,
        definition: &Agent,
        place: &PolicyContext,
        memo: &Arc<RenderMemo>,
    ) -> Option<String> {
        let subject = RenderSubject::of(definition.clone(), place, memo);
        bounded().find_map(|section| {
            let written = subject.bounds(section);
            match prove_with_example(memo, section, &written, &self.bound.of(section)) {
                PolicyProof::Holds => None,
                PolicyProof::Unknown(why) => Some(format!("`permissions.{section}`: {why}")),
                PolicyProof::Fails { example, source, target } => {
                    let detail = format!("{section} `{example}` is {source} in the harness");
                    Some(plain(&format!("{detail} and {target} in the definition")))
                }
            }
        })
    }
}

/// Imports an agent with a new memo.
pub fn import(
    target: &Target,
    files: &dyn HarnessFiles,
    path: &str,
) -> Result<ImportedAgent, ImportError> {
    import_from(target, files, path, &Arc::default())
}

/// Imports an agent, or fails if a relevant file exists and cannot be parsed.
pub fn import_from(
    target: &Target,
    files: &dyn HarnessFiles,
    path: &str,
    memo: &Arc<RenderMemo>,
) -> Result<ImportedAgent, ImportError> {
    let import = target.import.as_ref().ok_or("its agents cannot be imported")?;
    let checked = CheckedFiles::new(files, Some(memo));
    let read = (import.read)(&checked, path);
    // A broken file takes precedence over an error of the agent itself.
    let mut read = checked.sound(read)??;
    let file = import.several.as_ref().map_or(path, |several| several.split(path).0);
    let text = files.text(file).unwrap_or_default();
    visible_texts::keep(&mut read, &text)?;
    describe(&mut read);
    let metadata = read.metadata.clone();
    let mut imported = narrowed(target, read, memo);
    original::keep(target, (&mut imported, memo), &metadata, files);
    imported.losses = locate(imported.losses, &text);
    Ok(imported)
}

/// Reports that an agent has no description. Definition formats that require one make it from the prompt.
fn describe(read: &mut HarnessAgent) {
    let is_blank = |text: &Spanned<String>| text.value.trim().is_empty();
    if read.agent.identity.description.as_ref().is_none_or(is_blank) {
        read.agent.identity.description = None;
        let detail = "there is none: the start of the prompt stands for it where one is needed";
        read.lose("description", LossKind::Changed, detail, None);
    }
}

impl HarnessAgent {
    /// Records a loss.
    pub(crate) fn lose(
        &mut self,
        field: &str,
        kind: LossKind,
        detail: impl Into<String>,
        at: Option<TextPosition>,
    ) {
        let (field, detail) = (field.to_owned(), detail.into());
        self.losses.insert(ImportLoss { field, kind, detail, at });
    }
}

/// Makes rules stricter that would permit more than the harness does.
pub(crate) fn narrowed(
    target: &Target,
    read: HarnessAgent,
    memo: &Arc<RenderMemo>,
) -> ImportedAgent {
    let HarnessAgent { mut agent, bound, losses, metadata: _, called } = read;
    original::keep_name(&mut agent, target, called);
    let permissions = agent.policy.permissions.get_or_insert_default();
    // A section that the harness' files do not mention is denied, since a default here might be wider.
    for section in bounded() {
        if permissions.get(section).is_some() {
            continue;
        }
        let intent = Some(at(Action::Deny));
        permissions.sections.push(SectionRules { section: at(section), intent, rules: vec![] });
    }
    // Rules about paths outside the workspace also bound reads and edits, so they are narrowed first.
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
    // Sections were removed and added above: restore the fixed order.
    permissions.sections.sort_by_key(|written| written.section.value);
    let RuleNarrowing { bound, losses, .. } = narrowing;
    ImportedAgent { agent, losses, bound }
}

/// The sections in which a harness must permit what the rules permit. Rules about paths outside the
/// workspace are bounded through reads and edits, unless the harness has its own rules about them. No
/// harness has rules about environment variables.
fn bounded() -> impl Iterator<Item = Section> {
    let free = [Section::ExternalDirectory, Section::Env];
    Section::ALL.iter().copied().filter(move |section| !free.contains(section))
}

/// The most steps that raise one rule at a time; later steps raise all rules.
const MANY: usize = 100;

/// The state while rules are narrowed to their bound.
struct RuleNarrowing {
    title: &'static str,
    bound: PermittedBound,
    /// The rules about paths outside the workspace.
    beyond: Option<RuleList>,
    losses: BTreeSet<ImportLoss>,
    memo: Arc<RenderMemo>,
}

impl RuleNarrowing {
    fn knows(&self, section: Section) -> bool {
        self.bound.model.ways.iter().any(|way| way.section == section)
    }

    /// Makes the rules of a section stricter until they are within every tool of the harness, then reports
    /// where they are stricter than the harness.
    fn section(&mut self, written: &mut SectionRules) {
        settle(written);
        let bounds = self.bound.of(written.section.value);
        if let Err(why) = self.narrow(written, &bounds) {
            // If narrowing fails, denying the whole section is the only safe answer.
            self.lose(written, why);
            written.rules.clear();
            written.intent = Some(Spanned::new(Action::Deny, written.section.span));
        }
        self.simplify(written, &bounds);
        let section = written.section.value;
        let bounds = self.bound.real(section);
        if let PolicyProof::Fails { example, source, target } = prove_with_example(
            &self.memo,
            section,
            &bounds,
            &self.layers(written, &RuleList::new(written, &PathAnchors::default())),
        ) {
            // The sides are swapped: the harness is on the left, so `target` is its verdict.
            let detail = format!("`{example}` is {target} in {} and {source} here", self.title);
            self.lose(written, plain(&detail));
        }
    }

    fn narrow(&self, written: &mut SectionRules, bounds: &[RuleList]) -> Result<(), String> {
        // Each step makes one rule stricter. A rule takes two steps from allow to deny, three for other
        // spellings, and one more to separate files inside and outside the workspace.
        for step in 0..=5 * (written.rules.len() + 4) {
            match self.wider(written, bounds) {
                // Raised rules may now repeat the intent.
                None if step > 0 => {
                    tidy(written);
                    return Ok(());
                }
                None => return Ok(()),
                // With this many rules, raising them one by one takes too long.
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

    /// Returns the first rule list that is wider than its bounds, with its failed proof. The rules are tried
    /// as written, and with the other spellings of a command that an ask or a deny reaches.
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

    /// Removes the rules for files inside the workspace where the rules about paths outside it already make
    /// the same difference.
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
        // The shorter rules must stay within the bound and must not be stricter than the longer ones.
        let fits = within(&self.memo, &layers(&plain), bounds) == PolicyProof::Holds;
        if fits && within(&self.memo, &layers(written), &layers(&plain)) == PolicyProof::Holds {
            *written = plain;
        }
    }

    /// The rules as written; for files, also the rules about paths outside the workspace.
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
        self.losses.insert(ImportLoss { field, kind: LossKind::Narrowed, detail, at: None });
    }
}

fn is_files(section: Section) -> bool {
    matches!(section, Section::Edit | Section::Read)
}

/// Turns a rule that matches every call into the intent, and drops the rules after it.
fn settle(written: &mut SectionRules) {
    let section = written.section.value;
    let is_all = |pattern: &str| match section.kind() {
        PatternKind::Command => matches!(pattern, "*" | "**"),
        // A path pattern never matches every path: `**` is only what is inside the workspace.
        PatternKind::Path => false,
        PatternKind::Name | PatternKind::Web | PatternKind::Text => pattern == "**",
    };
    let all = written.rules.iter().position(|rule| is_all(&rule.value.pattern));
    if let Some(rule) = all.and_then(|at| written.rules.drain(at..).next()) {
        written.intent = Some(Spanned::new(rule.value.action, rule.span));
    }
}

/// Returns the index of the rule that decides about `example`.
fn deciding(rules: &RuleList, example: &ExampleSubject) -> Option<usize> {
    let decides =
        |rule: &agentry_policy::PolicyRule| example.with(|subject| rule.pattern.matches(subject));
    rules.rules.iter().position(decides)
}

/// The most later rules that are searched for a suitable pattern.
const MOST_LATER: usize = 50;

/// Inserts a rule before an ask that reaches too far: an ask about `git commit` also reaches
/// `./git commit` and `git -C x commit`, which may need a stricter verdict.
fn spelled(
    written: &mut SectionRules,
    rules: &RuleList,
    example: &ExampleSubject,
    action: Action,
) -> bool {
    let Some(at) = deciding(rules, example) else { return false };
    // The rule itself decides, and not one of its other spellings.
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
    // A later rule that would decide otherwise is tried first: it restricts less than a new spelling.
    let later = written.rules.iter().skip(at + 1).map(|rule| &rule.value);
    let later = later.filter(|rule| rule.action == action).map(|rule| rule.pattern.clone());
    let patterns = later.take(MOST_LATER).chain(spellings(&rule.value.pattern));
    let mut rules = patterns.map(|pattern| PatternRule { pattern, action });
    let Some(new) = rules.find(is_new) else { return false };
    let new = Spanned::new(new, rule.span);
    written.rules.insert(at, new);
    true
}

/// Returns the other spellings of a command that an ask or a deny reaches: by the path of the program, and
/// with options before the subcommand.
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

/// Makes the rule that decides about `example` as strict as `action`. Where no rule decides, the intent
/// becomes stricter; for a file outside the workspace, the files inside keep the old intent.
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

/// Removes the last rules whose verdict equals the intent.
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
