//! One source of a policy, compiled to rule lists. The verdict is the strictest one of all layers.
//!
//! Layers are kept apart, so that a reason can name the layer that decided.

use agentry_text::Spanned;

use crate::notations::{of_abilities, of_tools, of_trust, sections_of};
use crate::pattern::PatternKind;
use crate::{
    Abilities, Ability, Action, PathAnchors, Pattern, Permissions, Policy, PolicyContext,
    PolicyRule, RuleList, Section, SectionRules, Trust,
};

crate::words! {
    /// The source of a layer.
    pub enum LayerSource {
        /// Ordered rules per tool.
        Permissions = "permissions",
        /// Trust on three axes.
        Trust = "trust",
        /// Named abilities.
        Abilities = "abilities",
        /// Tools by name.
        ToolPermissions = "tool_permissions",
        /// The rules of a base of the agent.
        Base = "base",
        /// The user's default policy.
        User = "user",
        /// The rules of the agent that this one works for.
        Parent = "parent",
        /// The tools that a script or a skill may call.
        AllowedTools = "allowed_tools",
        /// The default where no layer has rules.
        Default = "default",
        /// Restrictions that no rule can remove: secrets, private addresses, text that is not understood.
        BuiltIn = "built-in",
    }
}

impl LayerSource {
    /// Whether the notation decides about every section: one that is not written has the default rules.
    pub(crate) fn decides_all(self) -> bool {
        matches!(self, Self::Permissions | Self::ToolPermissions)
    }
}

/// The compiled rules of one source, at most one list per section; it does not decide about other sections.
#[derive(Debug, Clone)]
pub struct PolicyLayer {
    /// The source of the layer.
    pub source: LayerSource,
    /// The sections that it decides about.
    pub sections: Vec<RuleList>,
}

impl PolicyLayer {
    /// Returns the source of a rule list of this layer; lists that were filled in count as `Default`.
    pub(crate) fn source_of(&self, rules: &RuleList) -> LayerSource {
        let is_silent = rules.intent.span.is_none() && rules.intent.text == silence(rules.section);
        if is_silent { LayerSource::Default } else { self.source }
    }

    /// Returns the rules of `section`, if the layer decides about it.
    pub fn rules(&self, section: Section) -> Option<&RuleList> {
        self.sections.iter().find(|rules| rules.section == section)
    }
}

/// Compiles all layers of a definition.
pub fn layers(policy: &Policy, place: &PolicyContext, places: &PathAnchors) -> Vec<PolicyLayer> {
    let Policy { permissions, trust, abilities, tool_permissions, bases, tests: _ } = policy;
    let compiled = [
        permissions.as_ref().map(|rules| layer(LayerSource::Permissions, rules, places)),
        trust.as_ref().map(|trust| {
            let words = |section, _| axis(trust, section);
            compile_layer(LayerSource::Trust, &of_trust(trust, place), &words, places)
        }),
        abilities.as_ref().map(|abilities| {
            let words = |section, action| ability(abilities, section, action);
            compile_layer(LayerSource::Abilities, &of_abilities(abilities), &words, places)
        }),
        tool_permissions.as_ref().map(|tools| {
            let words =
                |section, action: Action| format!("{section} is in the {} list", list_of(action));
            compile_layer(LayerSource::ToolPermissions, &of_tools(tools), &words, places)
        }),
    ];
    let bases = bases.iter().map(|rules| layer(LayerSource::Base, rules, places));
    compiled.into_iter().flatten().chain(bases).collect()
}

/// Returns all layers of a definition as ordered rules, each with its source. [`layer`] compiles them to the
/// same layers, apart from the explanations.
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

/// Compiles ordered rules into a layer with this source.
pub fn layer(source: LayerSource, permissions: &Permissions, places: &PathAnchors) -> PolicyLayer {
    let words = |section, action| format!("{section} = {action}");
    compile_layer(source, permissions, &words, places)
}

impl RuleList {
    /// Compiles the rules of a section.
    pub fn new(written: &SectionRules, places: &PathAnchors) -> Self {
        let words = |section, action| format!("{section} = {action}");
        compile(LayerSource::Permissions, written, &words, places)
    }
}

/// Explains the verdict of a whole section in the terms of its source.
type SectionWording<'a> = &'a dyn Fn(Section, Action) -> String;

fn compile_layer(
    source: LayerSource,
    permissions: &Permissions,
    words: SectionWording<'_>,
    places: &PathAnchors,
) -> PolicyLayer {
    let written = permissions.sections.iter();
    let mut sections: Vec<RuleList> =
        written.map(|rules| compile(source, rules, words, places)).collect();
    // Missing sections get the default rules.
    if source.decides_all() {
        let silent = |section: &&Section| permissions.get(**section).is_none();
        sections.extend(Section::ALL.iter().filter(silent).map(|of| default_rules(*of, places)));
    }
    PolicyLayer { source, sections }
}

/// Names the trust axes that decide about a section.
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

/// Names the ability that decides about a section.
fn ability(abilities: &Abilities, section: Section, action: Action) -> String {
    let about = |ability: &&Spanned<Ability>| {
        ability.command.is_none() && sections_of(ability.base).contains(&section)
    };
    let list = if action == Action::Allow { &abilities.allow } else { &abilities.deny };
    match list.iter().flatten().find(about) {
        Some(found) => format!("{action}: {}", found.value),
        None if action == Action::Ask => "not among the denied abilities: ask".to_owned(),
        None => "not among the abilities".to_owned(),
    }
}

fn list_of(action: Action) -> &'static str {
    if action == Action::Allow { "allowed" } else { "denied" }
}

/// Returns the compiled rules of a section that no layer mentions.
pub fn default_rules(section: Section, places: &PathAnchors) -> RuleList {
    let words = |section, _| silence(section);
    compile(LayerSource::Default, &section.unwritten(), &words, places)
}

/// Returns the explanation of such default rules; [`PolicyLayer::source_of`] recognises them by it.
fn silence(section: Section) -> String {
    format!("no rule about {section}: {}", section.unwritten_action())
}

fn compile(
    source: LayerSource,
    written: &SectionRules,
    words: SectionWording<'_>,
    places: &PathAnchors,
) -> RuleList {
    let section = written.section.value;
    let pattern = |text: &str, action| {
        // On a file system that ignores case, patterns are in lower case, and so are the subjects.
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

/// Explains a rule in the terms of its source.
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
