//! The one decision procedure: what becomes of a call, under all layers.

mod command;
mod files;
mod line;
mod nested_commands;
mod operands;
mod simplify;
mod spelling;
mod web;

use std::sync::Arc;

use crate::memo::PolicyMemo;
use crate::path::LinkResolver;
use crate::pattern::PatternSubject;
use crate::verdict::{LayerDecision, Verdict};
use crate::{Action, LayerSource, PathAnchors, PolicyLayer, RuleList, Section, default_rules};

/// Everything that decides about the calls of one agent.
#[derive(Debug, Clone)]
pub struct Judge {
    layers: Vec<PolicyLayer>,
    places: PathAnchors,
    /// What holds in a section that no layer speaks about, by section.
    silence: Vec<RuleList>,
    /// Comparisons with its rules; clones share them.
    memo: Arc<PolicyMemo>,
}

/// A call of a tool: the section that it belongs to, and what it touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionCall<'a> {
    /// What kind of call it is.
    pub section: Section,
    /// The command line, the path, the address, the name.
    pub subject: &'a str,
    /// The directory that it starts in, from the root of the file system.
    pub directory: &'a str,
}

impl Judge {
    /// A judge over these layers; the strictest answer counts.
    pub fn new(layers: Vec<PolicyLayer>, places: PathAnchors) -> Self {
        let spoken = |section: &Section| layers.iter().any(|layer| layer.rules(*section).is_some());
        let silent = Section::ALL.iter().filter(|section| !spoken(section));
        let silence = silent.map(|section| default_rules(*section, &places)).collect();
        Self { layers, places, silence, memo: Arc::default() }
    }

    /// What was found out about its rules so far.
    pub fn memo(&self) -> &PolicyMemo {
        &self.memo
    }

    /// The directories that patterns are anchored at.
    pub fn places(&self) -> &PathAnchors {
        &self.places
    }

    /// The same judge with one more layer, for the calls inside a script or a skill.
    #[must_use]
    pub fn narrowed(&self, layer: PolicyLayer) -> Self {
        let mut layers = self.layers.clone();
        layers.push(layer);
        Self { memo: Arc::clone(&self.memo), ..Self::new(layers, self.places.clone()) }
    }

    /// The answer to a call, with the reason of each of its parts.
    pub fn judge(&self, call: SectionCall<'_>, resolver: &dyn LinkResolver) -> Verdict {
        match call.section {
            Section::Bash => self.line(call, resolver),
            Section::Edit | Section::Read | Section::ExternalDirectory => {
                let reason = self.file(call, resolver).about(call.subject);
                Verdict::of(vec![reason])
            }
            Section::Webfetch => Verdict::of(vec![self.address(call.subject).about(call.subject)]),
            Section::Websearch
            | Section::Question
            | Section::Mcp
            | Section::Tool
            | Section::Skill
            | Section::Delegate
            | Section::Env => {
                let decision = self.text(call.section, call.subject);
                Verdict::of(vec![decision.about(call.subject)])
            }
        }
    }

    /// Every list of rules about `section`, with its layer; at least one.
    pub fn rules(&self, section: Section) -> impl Iterator<Item = (LayerSource, &RuleList)> {
        let spoken = self.layers.iter().filter_map(move |layer| {
            layer.rules(section).map(|rules| (layer.source_of(rules), rules))
        });
        let silence = self.silence.iter().filter(move |rules| rules.section == section);
        spoken.chain(silence.map(|rules| (LayerSource::Default, rules)))
    }

    /// The strictest decision over all layers about one text.
    fn text(&self, section: Section, text: &str) -> LayerDecision {
        let subject = PatternSubject::Text(text);
        self.strictest(section, |source, rules| LayerDecision::by(rules.first(subject), source))
    }

    /// The strictest over all layers.
    fn strictest(
        &self,
        section: Section,
        decide: impl Fn(LayerSource, &RuleList) -> LayerDecision,
    ) -> LayerDecision {
        let decisions = self.rules(section).map(|(source, rules)| decide(source, rules));
        decisions
            .reduce(LayerDecision::strictest)
            .unwrap_or_else(|| LayerDecision::built_in(Action::Ask, "no rule: ask"))
    }

    /// The strictest answer that a section can give to anything.
    fn worst(&self, section: Section) -> LayerDecision {
        self.strictest(section, |source, rules| {
            let worst = rules.all().map(|rule| LayerDecision::by(rule, source));
            let first = LayerDecision::by(&rules.intent, source);
            worst.fold(first, LayerDecision::strictest)
        })
    }

    /// Whether no layer asks about or denies anything in `section`.
    fn is_open(&self, section: Section) -> bool {
        self.rules(section).all(|(_, rules)| rules.all().all(|rule| rule.action == Action::Allow))
    }
}
