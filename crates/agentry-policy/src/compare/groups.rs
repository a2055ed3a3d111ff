//! Rules about different commands do not meet, so each command is compared by itself: many small
//! machines cost less than a large one, and what both sides say alike costs nothing.

use std::collections::BTreeSet;

use agentry_commands::base_name;

use crate::pattern::{Pattern, Shape};
use crate::{Action, Rule, Rules};

/// The rules of both sides about one command, layer by layer.
pub(super) struct Group {
    pub(super) first: Vec<Rules>,
    pub(super) second: Vec<Rules>,
}

/// The commands about which the sides may differ. Nothing if they cannot be told apart: because a
/// rule is about several commands, or because what holds for all the others differs as well.
pub(super) fn split(first: &[&Rules], second: &[&Rules]) -> Option<Vec<Group>> {
    let mut commands = BTreeSet::new();
    for rule in first.iter().chain(second).flat_map(|rules| &rules.rules) {
        commands.insert(command(&rule.pattern)?);
    }
    if intent(first)? != intent(second)? {
        return None;
    }
    let only = |layers: &[&Rules], name: &str| -> Vec<Rules> {
        layers.iter().map(|rules| about(rules, name)).collect()
    };
    let groups = commands
        .into_iter()
        .map(|name| Group { first: only(first, name), second: only(second, name) });
    Some(groups.filter(|group| !is_same(&group.first, &group.second)).collect())
}

/// The base name of the one command that a pattern is about.
fn command(pattern: &Pattern) -> Option<&str> {
    if !matches!(pattern.shape, Shape::Command(_)) {
        return None;
    }
    let name = base_name(pattern.tokens().next()?);
    let is_literal = !pattern.tokens().next()?.contains('*') && !name.is_empty();
    is_literal.then_some(name)
}

/// The strictest answer to a command that no rule is about.
fn intent(layers: &[&Rules]) -> Option<Action> {
    layers.iter().map(|rules| rules.intent.action).max()
}

fn about(rules: &Rules, name: &str) -> Rules {
    let is_about = |rule: &&Rule| command(&rule.pattern) == Some(name);
    Rules {
        section: rules.section,
        rules: rules.rules.iter().filter(is_about).cloned().collect(),
        intent: rules.intent.clone(),
    }
}

fn is_same(first: &[Rules], second: &[Rules]) -> bool {
    let rule = |(a, b): (&Rule, &Rule)| a.action == b.action && a.pattern == b.pattern;
    let layer =
        |(a, b): (&Rules, &Rules)| a.rules.len() == b.rules.len() && a.all().zip(b.all()).all(rule);
    first.len() == second.len() && first.iter().zip(second).all(layer)
}
