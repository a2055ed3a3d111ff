//! The decision procedure: the verdict about a call, under all layers.

mod command;
mod files;
mod line;
mod meet;
mod nested_commands;
mod operands;
mod patches;
mod simplify;
mod spelling;
mod web;

use std::sync::Arc;

use crate::memo::PolicyMemo;
use crate::path::LinkResolver;
use crate::pattern::PatternSubject;
use crate::verdict::{LayerDecision, Verdict};
use crate::{Action, LayerSource, PathAnchors, PolicyLayer, RuleList, Section, default_rules};

/// All layers that decide about the calls of one agent.
#[derive(Debug, Clone)]
pub struct Judge {
    layers: Vec<PolicyLayer>,
    places: PathAnchors,
    /// The default rules of each section that no layer mentions.
    silence: Vec<RuleList>,
    /// Cached comparisons of its rules; clones share them.
    memo: Arc<PolicyMemo>,
}

/// A call of a tool: its section and its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionCall<'a> {
    /// The section that the call belongs to.
    pub section: Section,
    /// The command line, the path, the address or the name.
    pub subject: &'a str,
    /// The directory in which the call starts, as an absolute path.
    pub directory: &'a str,
}

impl Judge {
    /// Makes a judge with these layers; the strictest verdict counts.
    pub fn new(layers: Vec<PolicyLayer>, places: PathAnchors) -> Self {
        let spoken = |section: &Section| layers.iter().any(|layer| layer.rules(*section).is_some());
        let silent = Section::ALL.iter().filter(|section| !spoken(section));
        let silence = silent.map(|section| default_rules(*section, &places)).collect();
        Self { layers, places, silence, memo: Arc::default() }
    }

    /// Returns the cached comparisons of its rules.
    pub fn memo(&self) -> &PolicyMemo {
        &self.memo
    }

    /// Returns the directories to which patterns refer.
    pub fn places(&self) -> &PathAnchors {
        &self.places
    }

    /// Returns the same judge with one more layer, for the calls inside a script or a skill.
    #[must_use]
    pub fn narrowed(&self, layer: PolicyLayer) -> Self {
        let mut layers = self.layers.clone();
        layers.push(layer);
        // A section without rules keeps its default: the new layer alone must not decide about it.
        let (places, silence) = (self.places.clone(), self.silence.clone());
        // Memoised answers depend on the rules alone, so both judges share them.
        Self { layers, places, silence, memo: Arc::clone(&self.memo) }
    }

    /// Returns the verdict about a call, with a reason for each of its parts.
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

    /// Lists the rules about `section` with their layers; there is always at least one list.
    pub fn rules(&self, section: Section) -> impl Iterator<Item = (LayerSource, &RuleList)> {
        let spoken = self.layers.iter().filter_map(move |layer| {
            layer.rules(section).map(|rules| (layer.source_of(rules), rules))
        });
        let silence = self.silence.iter().filter(move |rules| rules.section == section);
        spoken.chain(silence.map(|rules| (LayerSource::Default, rules)))
    }

    /// Returns the strictest decision of all layers about one text.
    fn text(&self, section: Section, text: &str) -> LayerDecision {
        let subject = PatternSubject::Text(text);
        self.strictest(section, |source, rules| LayerDecision::by(rules.first(subject), source))
    }

    /// Returns the strictest decision of all layers.
    fn strictest(
        &self,
        section: Section,
        decide: impl Fn(LayerSource, &RuleList) -> LayerDecision,
    ) -> LayerDecision {
        let decisions = self.rules(section).map(|(source, rules)| decide(source, rules));
        decisions
            .reduce(LayerDecision::strictest)
            // Cannot happen: `rules` always yields at least one list.
            .unwrap_or_else(|| LayerDecision::built_in(Action::Ask, "no rule: ask"))
    }

    /// Returns the strictest verdict that a section can give to any subject.
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
