//! The agent that is rendered: its model, and its policy ready for proofs.

use std::sync::{Arc, OnceLock};

use agentry_model::Agent;
use agentry_policy::{
    Action, Judge, PathAnchors, Permissions, PolicyContext, PolicyLayer, PolicyRule, RuleList,
    Section, layers, to_permissions,
};
use agentry_text::Span;

use crate::front_matter::with_lf;
use crate::memo::RenderMemo;
use crate::model::{HarnessTool, outside as outside_of};
use crate::original::OriginalGrant;
use crate::proof::{self, PolicyProof, prove_with_example, within};

/// An agent that is rendered for a harness.
#[derive(Debug, Clone)]
pub struct RenderSubject {
    /// The name in the harness: the agent's name, or an alias.
    pub name: String,
    /// The agent with its bases and the defaults of its format.
    pub agent: Agent,
    /// The path of its definition relative to the project, for the mark in rendered files.
    pub path: String,
    /// The path of its definition relative to the root that files are written below, for the guard; empty if
    /// that is the project.
    pub guarded_path: String,
    /// The digest of the definition, where the guard needs it.
    pub digest: String,
    /// The texts of its prompt, in order.
    pub parts: Vec<PromptText>,
    /// The places of text that its format does not send to a model.
    pub unsent: Vec<String>,
    /// The skills that it requires or brings along.
    pub skills: Vec<BundledSkill>,
    /// All layers merged into ordered rules for every section: the input of encoders.
    pub permissions: Permissions,
    /// All layers, against which the result is proved. Its workspace and home are placeholders, so that a
    /// definition renders to the same files on every machine.
    pub judge: Judge,
    /// The number of its rules in the memo, computed on demand.
    pub rules_kind: OnceLock<u64>,
    /// The number of its whole policy in the memo, computed on demand.
    pub kind: OnceLock<u64>,
    /// The memo of the session, which `kind` belongs to.
    pub memo: Arc<RenderMemo>,
    /// The restored grants.
    pub grants: Vec<OriginalGrant>,
    /// The facts of the definition that its policy depends on.
    pub context: PolicyContext,
    /// The sections in which the target may run what the source asks about. Each is reported as a gap.
    pub eased: Vec<Section>,
    /// Whether commands that may only run in the sandbox were removed.
    pub without_sandbox: bool,
}

/// How far a harness may exceed the policy of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PolicySlack {
    /// It may not exceed the policy.
    None,
    /// It may ask where the source denies, because the guard denies.
    Denials,
    /// It may run what the source asks about, because original grants were restored.
    Questions,
}

impl PolicySlack {
    /// Returns the verdict that remains required.
    fn of(self, action: Action) -> Action {
        match (self, action) {
            (Self::Denials, Action::Deny) => Action::Ask,
            (Self::Questions, Action::Ask) => Action::Allow,
            _ => action,
        }
    }
}

/// One text of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// The source of the text.
    pub kind: PromptTextKind,
    /// The path that it was read from, relative to the project.
    pub origin: String,
    /// The text.
    pub text: String,
    /// Where a secret in it was replaced by `***`: `path:line`.
    pub masked: Vec<String>,
}

/// The source of a text of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptTextKind {
    /// The instructions: always in the prompt.
    Prompt,
    /// A file of `context`.
    Context,
    /// A file of `rules`.
    Rules,
}

/// A skill of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledSkill {
    /// Its name.
    pub name: String,
    /// Its files, relative to its directory; `None` if the skill was not found.
    pub files: Option<Vec<(String, Vec<u8>)>>,
    /// Its directory relative to the project, if it is inside.
    pub dir: Option<String>,
}

impl RenderSubject {
    /// An agent under its own name, with nothing but its definition. Its workspace and home are placeholders,
    /// so that a definition gives the same files on every machine.
    pub fn of(agent: Agent, place: &PolicyContext, memo: &Arc<RenderMemo>) -> Self {
        let places = PathAnchors::default();
        let permissions = to_permissions(&memo.policy, &agent.policy, place).unwrap_or_default();
        let judge = Judge::new(layers(&agent.policy, place, &places), places);
        let prompt = agent.instructions.system.as_ref().map(|system| PromptText {
            kind: PromptTextKind::Prompt,
            origin: String::new(),
            text: system.value.clone(),
            masked: Vec::new(),
        });
        let names = agent.skills.iter().flatten().map(|skill| skill.name.clone());
        // An empty list of files, because a skill without files would be reported as lost.
        let skills = names.map(|name| BundledSkill { name, files: Some(Vec::new()), dir: None });
        let skills: Vec<BundledSkill> = skills.collect();
        Self {
            name: agent.name().to_owned(),
            path: String::new(),
            guarded_path: String::new(),
            digest: String::new(),
            parts: prompt.into_iter().collect(),
            unsent: Vec::new(),
            skills,
            permissions: complete(permissions),
            judge,
            agent,
            rules_kind: OnceLock::new(),
            kind: OnceLock::new(),
            memo: Arc::clone(memo),
            grants: Vec::new(),
            context: place.clone(),
            eased: Vec::new(),
            without_sandbox: false,
        }
    }

    /// Removes everything that the agent may do only inside the sandbox.
    pub(crate) fn leave_sandbox(&mut self) {
        let mut policy = self.agent.policy.clone();
        policy.leave_sandbox();
        let places = self.judge.places().clone();
        let permissions = to_permissions(&self.memo.policy, &policy, &self.context);
        self.permissions = complete(permissions.unwrap_or_default());
        self.judge = Judge::new(layers(&policy, &self.context, &places), places);
        self.without_sandbox = true;
        (self.rules_kind, self.kind) = (OnceLock::new(), OnceLock::new());
    }

    /// Denies what the source asks about, because no person answers.
    pub(crate) fn deny_questions(&mut self) {
        let deny = |action: Action| if action == Action::Ask { Action::Deny } else { action };
        for section in &mut self.permissions.sections {
            section.intent.iter_mut().for_each(|intent| intent.value = deny(intent.value));
            section.rules.iter_mut().for_each(|rule| rule.value.action = deny(rule.value.action));
        }
        let mut layers = Vec::new();
        for (source, rules) in Section::ALL.iter().flat_map(|section| self.judge.rules(*section)) {
            let mut rules = rules.clone();
            rules.all_mut().for_each(|rule| rule.action = deny(rule.action));
            layers.push(PolicyLayer { source, sections: vec![rules] });
        }
        self.judge = Judge::new(layers, self.judge.places().clone());
        (self.rules_kind, self.kind) = (OnceLock::new(), OnceLock::new());
    }

    /// Lets the target skip the questions of some sections.
    pub(crate) fn ease(&mut self, sections: Vec<Section>) {
        if self.eased == sections {
            return;
        }
        // The policy stays as it is, but its bounds are others.
        let kind = self.memo.kind(&format!("{} eased {sections:?}", self.kind()));
        self.eased = sections;
        self.kind = OnceLock::from(kind);
    }

    /// The path of its definition, as the guard finds it from the directory of the rendered files.
    pub(crate) fn guarded_path(&self) -> &str {
        if self.guarded_path.is_empty() { &self.path } else { &self.guarded_path }
    }

    /// The path of its definition on one line, so that a line break in it cannot end the mark.
    pub fn origin(&self) -> String {
        let ends_a_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        self.path.replace(ends_a_line, "?")
    }

    /// Joins all parts to a prompt, with an empty line between parts and LF line ends.
    pub fn prompt(&self) -> String {
        let whole = self.parts.iter().map(|part| part.text.trim()).collect::<Vec<_>>().join("\n\n");
        with_lf(&whole).into_owned()
    }

    /// The rules that a rendered section must stay within: each layer as it is written. For files, rules
    /// about paths outside the workspace are a layer as well.
    /// Questions that the target may skip count as allowed.
    pub fn bounds(&self, section: Section) -> Arc<[RuleList]> {
        self.memo.bounds.get((self.kind(), section), || {
            let mut bounds = self.written_bounds(section);
            if self.eased.contains(&section) {
                for rule in bounds.iter_mut().flat_map(RuleList::all_mut) {
                    rule.action = PolicySlack::Questions.of(rule.action);
                }
            }
            bounds.into()
        })
    }

    /// The rules of the source about a section, with every question.
    pub(crate) fn written_bounds(&self, section: Section) -> Vec<RuleList> {
        let own = self.judge.rules(section).map(|(_, rules)| rules.as_written());
        let files = matches!(section, Section::Edit | Section::Read);
        let outside = self.judge.rules(Section::ExternalDirectory).filter(|_| files);
        own.chain(outside.map(|(_, rules)| outside_of(section, rules))).collect()
    }

    /// The rules of the whole policy as one text. Agents with the same text get the same verdicts, since all
    /// subjects have the same workspace and home.
    fn verdicts(&self) -> String {
        let mut text = String::new();
        for section in Section::ALL {
            let layers = self.judge.rules(*section).map(|(_, rules)| rules);
            proof::part(&mut text, &proof::key(layers));
        }
        text + &permissions_key(&self.permissions)
    }

    /// The number of its rules in this session.
    fn rules_kind(&self) -> u64 {
        *self.rules_kind.get_or_init(|| self.memo.kind(&self.verdicts()))
    }

    /// The number of the whole policy in this session. Agents with the same number get the same verdicts and the
    /// same losses.
    pub fn kind(&self) -> u64 {
        *self.kind.get_or_init(|| {
            // Losses are only reported for rules that the author wrote, so this is part of the policy.
            let layers = Section::ALL.iter().flat_map(|section| self.judge.rules(*section));
            let is_written = |rule: &PolicyRule| rule.span.is_some_and(Span::is_written);
            let written = layers.flat_map(|(_, rules)| rules.all()).map(is_written);
            let written: String = written.map(|it| if it { 'w' } else { '-' }).collect();
            self.memo.kind(&format!("{} written {written}", self.rules_kind()))
        })
    }

    /// The number of the verdicts in this session, wherever their rules were written.
    pub(crate) fn verdict_kind(&self) -> u64 {
        if self.eased.is_empty() {
            return self.rules_kind();
        }
        self.memo.kind(&format!("{} eased {:?}", self.rules_kind(), self.eased))
    }

    /// Proves that the rules of a tool stay within the policy, extended by `slack`.
    pub(crate) fn within(&self, way: &HarnessTool, slack: PolicySlack) -> PolicyProof {
        let HarnessTool { section, layers, .. } = way;
        self.memo.ways.get((self.kind(), slack, *section, way.key()), || {
            let bounds = self.bounds(*section);
            if slack == PolicySlack::None {
                return prove_with_example(&self.memo, *section, layers, &bounds);
            }
            let mut bounds = bounds.to_vec();
            for rule in bounds.iter_mut().flat_map(RuleList::all_mut) {
                rule.action = slack.of(rule.action);
            }
            prove_with_example(&self.memo, *section, layers, &bounds)
        })
    }

    /// Returns the description, else the display name, else the name.
    pub fn description(&self) -> &str {
        let identity = &self.agent.identity;
        let declared = identity.description.as_ref().or(identity.display_name.as_ref());
        declared.map(|text| text.value.trim()).filter(|text| !text.is_empty()).unwrap_or(&self.name)
    }

    /// Whether its author wrote a section that allows something. Losses are reported only for what was written.
    pub(crate) fn grants(&self, section: Section) -> bool {
        let rules = self.permissions.get(section);
        rules.is_some_and(|rules| {
            rules.section.span.is_written() && rules.mildest() == Action::Allow
        })
    }

    /// Whether rules about a section stay within the policy, with every question.
    pub(crate) fn permits_unasked(&self, section: Section, layers: &[RuleList]) -> bool {
        within(&self.memo, layers, &self.written_bounds(section)) == PolicyProof::Holds
    }

    /// Whether rules about a section stay within the policy.
    pub fn permits(&self, section: Section, layers: &[RuleList]) -> bool {
        within(&self.memo, layers, &self.bounds(section)) == PolicyProof::Holds
    }
}

/// A text of everything that permissions say, for the memo.
pub(crate) fn permissions_key(permissions: &Permissions) -> String {
    let mut text = String::new();
    for section in &permissions.sections {
        let intent = section.intent.map_or("", |intent| intent.value.as_str());
        text.extend(["\n\n", section.section.as_str(), " ", intent]);
        for rule in &section.rules {
            text.extend(["\n", rule.action.as_str(), " "]);
            proof::part(&mut text, &rule.pattern);
        }
    }
    text
}

/// Adds the missing sections.
fn complete(mut permissions: Permissions) -> Permissions {
    for section in Section::ALL {
        if permissions.get(*section).is_none() {
            permissions.sections.push(section.unwritten());
        }
    }
    permissions
}
