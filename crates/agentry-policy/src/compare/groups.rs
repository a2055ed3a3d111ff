//! Compares the rules of each command separately. Rules about different commands do not interact, many small
//! machines cost less than a large one, and groups with equal rules are skipped.

use std::collections::BTreeSet;

use agentry_commands::base_name;

use crate::pattern::{Pattern, PatternShape};
use crate::{Action, PolicyRule, RuleList};

/// The rules of both sides about one command, by layer.
pub(super) struct CommandGroup {
    pub(super) first: Vec<RuleList>,
    pub(super) second: Vec<RuleList>,
}

/// Returns the commands for which the sides may differ, or `None` if they cannot be separated: a rule matches
/// several commands, or the intents differ.
pub(super) fn split(first: &[&RuleList], second: &[&RuleList]) -> Option<Vec<CommandGroup>> {
    let mut commands = BTreeSet::new();
    for rule in first.iter().chain(second).flat_map(|rules| &rules.rules) {
        commands.insert(command(&rule.pattern)?);
    }
    if intent(first)? != intent(second)? {
        return None;
    }
    let only = |layers: &[&RuleList], name: &str| -> Vec<RuleList> {
        layers.iter().map(|rules| about(rules, name)).collect()
    };
    let groups = commands
        .into_iter()
        .map(|name| CommandGroup { first: only(first, name), second: only(second, name) });
    Some(groups.filter(|group| !is_same(&group.first, &group.second)).collect())
}

/// Returns the base name of the only command that a pattern matches.
fn command(pattern: &Pattern) -> Option<&str> {
    if !matches!(pattern.shape, PatternShape::Command(_)) {
        return None;
    }
    let name = base_name(pattern.tokens().next()?);
    let is_literal = !pattern.tokens().next()?.contains('*') && !name.is_empty();
    is_literal.then_some(name)
}

/// Returns the strictest verdict about a command without a rule.
fn intent(layers: &[&RuleList]) -> Option<Action> {
    layers.iter().map(|rules| rules.intent.action).max()
}

fn about(rules: &RuleList, name: &str) -> RuleList {
    let is_about = |rule: &&PolicyRule| command(&rule.pattern) == Some(name);
    RuleList {
        section: rules.section,
        rules: rules.rules.iter().filter(is_about).cloned().collect(),
        intent: rules.intent.clone(),
    }
}

fn is_same(first: &[RuleList], second: &[RuleList]) -> bool {
    let rule = |(a, b): (&PolicyRule, &PolicyRule)| a.action == b.action && a.pattern == b.pattern;
    let layer = |(a, b): (&RuleList, &RuleList)| {
        a.rules.len() == b.rules.len() && a.all().zip(b.all()).all(rule)
    };
    first.len() == second.len() && first.iter().zip(second).all(layer)
}
