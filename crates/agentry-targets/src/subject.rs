//! The agent that is rendered: what the model says of it, and what it may do, ready to be asked.

use std::sync::{Arc, OnceLock};

use agentry_model::Agent;
use agentry_policy::{
    Action, Judge, PathAnchors, PatternRule, Permissions, PolicyContext, PolicyRule, RuleList,
    Section, SectionRules, layers, to_permissions,
};
use agentry_text::{FileId, Span, Spanned};

use crate::memo::RenderMemo;
use crate::model::{HarnessTool, outside as outside_of};
use crate::original::OriginalGrant;
use crate::proof::{self, PolicyProof, told, within};

/// An agent on its way to a harness.
#[derive(Debug, Clone)]
pub struct RenderSubject {
    /// What it is called there: its name, or an alias.
    pub name: String,
    /// The agent with its bases and the defaults of its format.
    pub agent: Agent,
    /// Where its definition is, relative to the project, for people who find the rendered file.
    pub path: String,
    /// The digest of the definition, where the guard asks for it.
    pub digest: String,
    /// The texts of its prompt, in order.
    pub parts: Vec<PromptText>,
    /// The skills that it asks for or brings.
    pub skills: Vec<BundledSkill>,
    /// All its layers as ordered rules, every section among them: what encoders start from.
    pub permissions: Permissions,
    /// All its layers: what the result is compared with. Its places are stand-ins, so that the same
    /// definition renders to the same files everywhere.
    pub judge: Judge,
    /// All that is said of what it may do as one text, once somebody asked for it.
    pub policy: OnceLock<String>,
    /// The number of that text, once somebody asked for it.
    pub kind: OnceLock<u64>,
    /// What the session has found out so far. `kind` is a number of this memo.
    pub memo: Arc<RenderMemo>,
    /// The original grants of the harness that are given back to it.
    pub grants: Vec<OriginalGrant>,
}

/// How far a harness may go beyond what is said of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PolicySlack {
    /// Nowhere.
    None,
    /// It may ask where the source denies, because the guard denies.
    Denials,
    /// It may run what the source asks about, because the agent has its original grants back.
    Questions,
}

impl PolicySlack {
    /// What is left of an answer.
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
    /// What it is.
    pub kind: PromptTextKind,
    /// Where it comes from, relative to the project.
    pub origin: String,
    /// The text.
    pub text: String,
}

/// What a text of a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptTextKind {
    /// Who the agent is, and its hard rules: always in the prompt.
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
    /// Its files, relative to its directory, unless none was found.
    pub files: Option<Vec<(String, Vec<u8>)>>,
    /// Where its directory is, relative to the project, if it lies there.
    pub dir: Option<String>,
}

impl RenderSubject {
    /// An agent under its own name, with nothing but what its definition says of it. What it may do is seen
    /// from stand-in places, so that the same definition gives the same files everywhere.
    pub fn of(agent: Agent, place: &PolicyContext, memo: &Arc<RenderMemo>) -> Self {
        let places = PathAnchors::default();
        let permissions = to_permissions(&memo.policy, &agent.policy, place).unwrap_or_default();
        let judge = Judge::new(layers(&agent.policy, place, &places), places);
        let prompt = agent.instructions.system.as_ref().map(|system| PromptText {
            kind: PromptTextKind::Prompt,
            origin: String::new(),
            text: system.value.clone(),
        });
        let names = agent.skills.iter().flatten().map(|skill| skill.name.clone());
        let skills = names.map(|name| BundledSkill { name, files: Some(Vec::new()), dir: None });
        let skills: Vec<BundledSkill> = skills.collect();
        Self {
            name: agent.name().to_owned(),
            path: String::new(),
            digest: String::new(),
            parts: prompt.into_iter().collect(),
            skills,
            permissions: complete(permissions),
            judge,
            agent,
            policy: OnceLock::new(),
            kind: OnceLock::new(),
            memo: Arc::clone(memo),
            grants: Vec::new(),
        }
    }

    /// Where its definition is, on one line: what stands behind a mark must not be read as anything else.
    pub fn origin(&self) -> String {
        let ends_a_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        self.path.replace(ends_a_line, "?")
    }

    /// The whole prompt with what the harness has no place for: each part after an empty line, every
    /// line ended by LF.
    pub fn prompt(&self, kinds: &[PromptTextKind]) -> String {
        let texts = self.parts.iter().filter(|part| kinds.contains(&part.kind));
        let whole = texts.map(|part| part.text.trim()).collect::<Vec<_>>().join("\n\n");
        whole.replace("\r\n", "\n")
    }

    /// What a rendered section must stay within: the rules as they are written, layer by layer. For
    /// files, what is said of places outside the workspace is a layer as well.
    pub fn bounds(&self, section: Section) -> Arc<[RuleList]> {
        self.memo.bounds.get((self.kind(), section), || {
            let own = self.judge.rules(section).map(|(_, rules)| rules.as_written());
            let files = matches!(section, Section::Edit | Section::Read);
            let outside = self.judge.rules(Section::ExternalDirectory).filter(|_| files);
            own.chain(outside.map(|(_, rules)| outside_of(section, rules))).collect()
        })
    }

    /// All that is said of what it may do, as one text: agents with the same text get the same answers,
    /// since the places of all subjects are the same.
    pub fn policy(&self) -> &String {
        self.policy.get_or_init(|| {
            let mut text = String::new();
            for section in Section::ALL {
                let layers = self.judge.rules(*section).map(|(_, rules)| rules);
                proof::part(&mut text, &proof::key(layers));
            }
            for section in &self.permissions.sections {
                let intent = section.intent.map_or("", |intent| intent.value.as_str());
                text.extend(["\n\n", section.section.as_str(), " ", intent]);
                for rule in &section.rules {
                    text.extend(["\n", rule.action.as_str(), " "]);
                    proof::part(&mut text, &rule.pattern);
                }
            }
            // What nobody wrote is not reported as a loss.
            let layers = Section::ALL.iter().flat_map(|section| self.judge.rules(*section));
            let is_written = |rule: &PolicyRule| rule.span.is_some_and(Span::is_written);
            let written = layers.flat_map(|(_, rules)| rules.all()).map(is_written);
            text.extend(written.map(|it| if it { "w" } else { "-" }));
            text
        })
    }

    /// The number of that text in this session.
    pub fn kind(&self) -> u64 {
        *self.kind.get_or_init(|| self.memo.kind(self.policy()))
    }

    /// Whether the rules of a tool stay within what the agent may do, or within so much more.
    pub(crate) fn within(&self, way: &HarnessTool, slack: PolicySlack) -> PolicyProof {
        let HarnessTool { section, layers, .. } = way;
        self.memo.ways.get((self.kind(), slack, *section, way.key()), || {
            let bounds = self.bounds(*section);
            if slack == PolicySlack::None {
                return told(&self.memo, *section, layers, &bounds);
            }
            let mut bounds = bounds.to_vec();
            for rule in bounds.iter_mut().flat_map(RuleList::all_mut) {
                rule.action = slack.of(rule.action);
            }
            told(&self.memo, *section, layers, &bounds)
        })
    }

    /// What it is for; its name, if nobody says.
    pub fn description(&self) -> &str {
        let identity = &self.agent.identity;
        let said = identity.description.as_ref().or(identity.display_name.as_ref());
        said.map(|text| text.value.trim()).filter(|text| !text.is_empty()).unwrap_or(&self.name)
    }

    /// Whether rules about a section stay within what the agent may do.
    pub fn permits(&self, section: Section, layers: &[RuleList]) -> bool {
        within(&self.memo, layers, &self.bounds(section)) == PolicyProof::Holds
    }
}

/// The same with every section: what nobody speaks about is asked, reading in the workspace is free.
fn complete(mut permissions: Permissions) -> Permissions {
    let nowhere = Span::start_of(FileId::BUILT_IN);
    for section in Section::ALL {
        if permissions.get(*section).is_some() {
            continue;
        }
        let inside = PatternRule { pattern: "**/*".to_owned(), action: Action::Allow };
        let rules =
            if *section == Section::Read { vec![Spanned::new(inside, nowhere)] } else { vec![] };
        permissions.sections.push(SectionRules {
            section: Spanned::new(*section, nowhere),
            intent: Some(Spanned::new(Action::Ask, nowhere)),
            rules,
        });
    }
    permissions
}
