//! One notation of one policy, compiled: a verdict is the strictest over all layers that speak.
//!
//! Layers are kept apart, so that a reason can say which of them decided.

use agentry_text::Spanned;

use crate::notations::{of_abilities, of_tools, of_trust, sections_of};
use crate::pattern::PatternKind;
use crate::{
    Abilities, Ability, Action, PathAnchors, Pattern, Permissions, Policy, PolicyContext,
    PolicyRule, RuleList, Section, SectionRules, Trust,
};

crate::words! {
    /// Where a layer comes from.
    pub enum LayerSource {
        /// Ordered rules per tool.
        Permissions = "permissions",
        /// Coarse axes.
        Trust = "trust",
        /// Named abilities.
        Abilities = "abilities",
        /// Tools by name.
        ToolPermissions = "tool_permissions",
        /// What a base of the agent says.
        Base = "base",
        /// The user's own default policy.
        User = "user",
        /// What a script or a skill may call.
        AllowedTools = "allowed_tools",
        /// What holds where nobody says anything.
        Default = "default",
        /// What holds whatever anybody says: secrets, private addresses, what is not understood.
        BuiltIn = "built-in",
    }
}

/// The compiled rules of one source, at most one list a section. It is silent about the rest.
#[derive(Debug, Clone)]
pub struct PolicyLayer {
    /// Where it comes from.
    pub source: LayerSource,
    /// The sections that it speaks about.
    pub sections: Vec<RuleList>,
}

impl PolicyLayer {
    /// Where rules of this layer come from: it is silent about what holds by default.
    pub(crate) fn source_of(&self, rules: &RuleList) -> LayerSource {
        let is_silent = rules.intent.span.is_none() && rules.intent.text == silence(rules.section);
        if is_silent { LayerSource::Default } else { self.source }
    }

    /// The rules of `section`, if the layer speaks about it.
    pub fn rules(&self, section: Section) -> Option<&RuleList> {
        self.sections.iter().find(|rules| rules.section == section)
    }
}

/// All layers of a definition, compiled.
pub fn layers(policy: &Policy, place: &PolicyContext, places: &PathAnchors) -> Vec<PolicyLayer> {
    let Policy { permissions, trust, abilities, tool_permissions, bases, tests: _ } = policy;
    let compiled = [
        permissions.as_ref().map(|rules| layer(LayerSource::Permissions, rules, places)),
        trust.as_ref().map(|trust| {
            let words = |section, _| axis(trust, section);
            said(LayerSource::Trust, &of_trust(trust, place), &words, places)
        }),
        abilities.as_ref().map(|abilities| {
            let words = |section, action| ability(abilities, section, action);
            said(LayerSource::Abilities, &of_abilities(abilities), &words, places)
        }),
        tool_permissions.as_ref().map(|tools| {
            let words =
                |section, action: Action| format!("{section} is in the {} list", list_of(action));
            said(LayerSource::ToolPermissions, &of_tools(tools), &words, places)
        }),
    ];
    let bases = bases.iter().map(|rules| layer(LayerSource::Base, rules, places));
    compiled.into_iter().flatten().chain(bases).collect()
}

/// All layers of a definition as ordered rules, each with its source: [`layer`] makes the same layers of
/// them again, but for the words in which they are explained.
pub fn written(policy: &Policy, place: &PolicyContext) -> Vec<(LayerSource, Permissions)> {
    let Policy { permissions, trust, abilities, tool_permissions, bases, tests: _ } = policy;
    let own = [
        permissions.as_ref().map(|rules| (LayerSource::Permissions, rules.clone())),
        trust.as_ref().map(|trust| (LayerSource::Trust, of_trust(trust, place))),
        abilities.as_ref().map(|abilities| (LayerSource::Abilities, of_abilities(abilities))),
        tool_permissions.as_ref().map(|tools| (LayerSource::ToolPermissions, of_tools(tools))),
    ];
    let bases = bases.iter().map(|rules| (LayerSource::Base, rules.clone()));
    own.into_iter().flatten().chain(bases).collect()
}

/// The layer of ordered rules that a source says.
pub fn layer(source: LayerSource, permissions: &Permissions, places: &PathAnchors) -> PolicyLayer {
    let words = |section, action| format!("{section} = {action}");
    said(source, permissions, &words, places)
}

impl RuleList {
    /// The rules of a section as they are written, compiled.
    pub fn new(written: &SectionRules, places: &PathAnchors) -> Self {
        let words = |section, action| format!("{section} = {action}");
        compile(LayerSource::Permissions, written, &words, places)
    }
}

/// The answer of a whole section, in the words of the source.
type SectionWording<'a> = &'a dyn Fn(Section, Action) -> String;

fn said(
    source: LayerSource,
    permissions: &Permissions,
    words: SectionWording<'_>,
    places: &PathAnchors,
) -> PolicyLayer {
    let written = permissions.sections.iter();
    let mut sections: Vec<RuleList> =
        written.map(|rules| compile(source, rules, words, places)).collect();
    if matches!(source, LayerSource::Permissions | LayerSource::ToolPermissions) {
        let silent = |section: &&Section| permissions.get(**section).is_none();
        sections.extend(Section::ALL.iter().filter(silent).map(|of| default_rules(*of, places)));
    }
    PolicyLayer { source, sections }
}

/// The axes of trust that decide about a section.
fn axis(trust: &Trust, section: Section) -> String {
    let Trust { filesystem, network, exec, scope: _, hosts: _ } = trust;
    let filesystem = || filesystem.map_or("none", |axis| axis.value.as_str());
    let network = || network.map_or("none", |axis| axis.value.as_str());
    let exec = || exec.map_or("none", |axis| axis.value.as_str());
    match section {
        Section::Bash => format!("exec: {}", exec()),
        Section::Edit | Section::Read | Section::ExternalDirectory => {
            format!("filesystem: {}", filesystem())
        }
        Section::Mcp => format!("network: {}, exec: {}", network(), exec()),
        _ => format!("network: {}", network()),
    }
}

/// The ability that decides about a section.
fn ability(abilities: &Abilities, section: Section, action: Action) -> String {
    let about = |ability: &&Spanned<Ability>| {
        ability.command.is_none() && sections_of(ability.base).contains(&section)
    };
    let list = if action == Action::Allow { &abilities.allow } else { &abilities.deny };
    match list.iter().flatten().find(about) {
        Some(found) => format!("{action}: {}", found.value),
        None => "not among the abilities".to_owned(),
    }
}

fn list_of(action: Action) -> &'static str {
    if action == Action::Allow { "allowed" } else { "denied" }
}

/// What holds in a section that nobody speaks about: ask, but reading in the workspace is free.
pub fn default_rules(section: Section, places: &PathAnchors) -> RuleList {
    let mut rules = every(section, Action::Ask, &silence(section), places);
    if section == Section::Read {
        let inside = ["**/*", "."];
        rules.rules = inside
            .map(|text| PolicyRule {
                pattern: Pattern::new(PatternKind::Path, text, Action::Allow, places),
                action: Action::Allow,
                text: "no rule about read: allowed in the workspace".to_owned(),
                span: None,
            })
            .into();
    }
    rules
}

/// Says that nobody speaks about a section.
fn silence(section: Section) -> String {
    format!("no rule about {section}: ask")
}

/// One answer for a whole section.
fn every(section: Section, action: Action, text: &str, places: &PathAnchors) -> RuleList {
    let pattern = Pattern::new(section.kind(), "**", action, places);
    let intent = PolicyRule { pattern, action, text: text.to_owned(), span: None };
    RuleList { section, rules: Vec::new(), intent }
}

fn compile(
    source: LayerSource,
    written: &SectionRules,
    words: SectionWording<'_>,
    places: &PathAnchors,
) -> RuleList {
    let section = written.section.value;
    let pattern = |text: &str, action| {
        // On a file system that ignores case, so do the patterns; the subject is folded too.
        let folded = (places.ignores_case && section.kind() == PatternKind::Path)
            .then(|| text.to_lowercase());
        Pattern::new(section.kind(), folded.as_deref().unwrap_or(text), action, places)
    };
    let rules = written.rules.iter().map(|rule| PolicyRule {
        pattern: pattern(&rule.pattern, rule.action),
        action: rule.action,
        text: rule_text(source, section, &rule.value),
        span: rule.span.is_written().then_some(rule.span),
    });
    let action = written.intent.map_or(Action::Ask, |intent| intent.value);
    let place = written.intent.map_or(written.section.span, |intent| intent.span);
    let intent = PolicyRule {
        pattern: pattern("**", action),
        action,
        text: words(section, action),
        span: place.is_written().then_some(place),
    };
    RuleList { section, rules: rules.collect(), intent }
}

/// A rule in the words of its source.
fn rule_text(source: LayerSource, section: Section, rule: &crate::PatternRule) -> String {
    match source {
        LayerSource::Abilities => {
            let command = rule.pattern.trim_end_matches(" *");
            format!("{}: sh:{command}", rule.action)
        }
        LayerSource::Trust if section == Section::Edit => format!("scope: {}", rule.pattern),
        LayerSource::Trust if section == Section::Webfetch => format!("hosts: {}", rule.pattern),
        LayerSource::ToolPermissions => format!("{}: {}", rule.action, rule.pattern),
        _ => rule.to_string(),
    }
}
