//! Lists what a change of rules gained and lost, rule by rule.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::{DecidingRule, KINDS, TOO_LARGE, decide, index, kind, same, side};
use crate::automata::fold::MachineFolder;
use crate::automata::machine::NONE;
use crate::automata::subject::ExampleSubject;
use crate::automata::{MachineTooLarge, search};
use crate::memo::PolicyMemo;
use crate::pattern::{HazardProtection, PatternKind, PatternSubject};
use crate::{Action, PolicyRule, RuleList};

/// The differences between two versions of a section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RulesDiff {
    /// Subjects with a milder verdict than before.
    pub gained: Vec<DecisionChange>,
    /// Subjects with a stricter verdict than before.
    pub lost: Vec<DecisionChange>,
    /// Why the lists are incomplete, if they are; callers must then assume a gain.
    pub unknown: Option<String>,
}

/// Subjects that one rule decided about before, and another one now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionChange {
    /// The narrower pattern of the two.
    pub pattern: String,
    /// The old verdict.
    pub from: Action,
    /// The new verdict.
    pub to: Action,
    /// One of the shortest subjects.
    pub example: String,
    /// The old deciding rule; `None` if there was no layer.
    pub old: Option<DecidingRule>,
    /// The new deciding rule.
    pub new: Option<DecidingRule>,
}

/// Returns what `new` gained and lost compared with `old`.
pub fn diff(
    memo: &PolicyMemo,
    old: &[&RuleList],
    new: &[&RuleList],
    protections: HazardProtection,
) -> RulesDiff {
    let unknown = |why: &str| RulesDiff { unknown: Some(why.to_owned()), ..RulesDiff::default() };
    let Some(kind) = kind(old, new) else { return unknown(KINDS) };
    if same(old, new) {
        return RulesDiff::default();
    }
    let changes = MachineFolder::new(memo, kind, protections)
        .and_then(|folder| find_changes(&folder, kind, old, new));
    changes.unwrap_or_else(|_| unknown(TOO_LARGE))
}

fn find_changes(
    folder: &MachineFolder<'_>,
    kind: PatternKind,
    old: &[&RuleList],
    new: &[&RuleList],
) -> Result<RulesDiff, MachineTooLarge> {
    let (before, after) = (RuleLabels::new(old), RuleLabels::new(new));
    let left = side(folder, old, |layer, rule| before.of(layer, rule), |l| before.action(l))?;
    let right = side(folder, new, |layer, rule| after.of(layer, rule), |l| after.action(l))?;
    let mut found: Vec<((u32, u32), String)> = Vec::new();
    let mut seen = BTreeSet::new();
    search::outputs(&left, &right, |a, b, text| {
        let differ = a != NONE && b != NONE && before.action(a) != after.action(b);
        if differ && seen.insert((b, a)) {
            let both = |subject: PatternSubject<'_>| {
                (decide(old, subject, folder.protections), decide(new, subject, folder.protections))
            };
            let example = ExampleSubject::decode(kind, &text()).filled(both).usual(kind, both);
            found.push(((b, a), example.to_string()));
        }
        ControlFlow::Continue(())
    })?;
    // Ordered by the new deciding rule, then by the old one.
    found.sort_by_key(|(labels, _)| *labels);
    let mut diff = RulesDiff::default();
    for ((b, a), example) in found {
        let (from, to) = (before.action(a), after.action(b));
        let pattern = narrower(folder, before.rule(a), after.rule(b))?;
        let change = DecisionChange {
            pattern,
            from,
            to,
            example,
            old: before.decision(a),
            new: after.decision(b),
        };
        let side = if to < from { &mut diff.gained } else { &mut diff.lost };
        let same = |other: &&mut DecisionChange| {
            (&other.pattern, other.from, other.to) == (&change.pattern, from, to)
        };
        // Changes with the same pattern and verdicts are reported once, with the shortest example.
        match side.iter_mut().find(same) {
            Some(other) if other.example.chars().count() <= change.example.chars().count() => {}
            Some(other) => *other = change,
            None => side.push(change),
        }
    }
    Ok(diff)
}

/// Returns the narrower pattern of two rules; the intent, or a missing rule, counts as everything.
fn narrower(
    folder: &MachineFolder<'_>,
    old: Option<&PolicyRule>,
    new: Option<&PolicyRule>,
) -> Result<String, MachineTooLarge> {
    let written =
        |rule: Option<&PolicyRule>| rule.cloned().filter(|rule| !rule.pattern.is_everything());
    let (old, new) = match (written(old), written(new)) {
        (None, None) => return Ok("*".to_owned()),
        (Some(rule), None) | (None, Some(rule)) => return Ok(rule.pattern.text),
        (Some(old), Some(new)) => (old.pattern, new.pattern),
    };
    let (mut only_old, mut only_new) = (false, false);
    search::outputs(&folder.leaf(&old)?, &folder.leaf(&new)?, |a, b, _| {
        only_old |= b == NONE;
        only_new |= a == NONE;
        if only_old && only_new { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    // If neither contains the other, the pattern with more literal text is taken as the narrower one.
    let literal = |text: &str| text.chars().filter(|c| *c != '*').count();
    Ok(match (only_old, only_new) {
        (false, true) => old.text,
        (true, true) if literal(&old.text) > literal(&new.text) => old.text,
        _ => new.text,
    })
}

/// The rules of a side, numbered across all its layers.
struct RuleLabels<'a> {
    layers: &'a [&'a RuleList],
    firsts: Vec<usize>,
}

impl<'a> RuleLabels<'a> {
    fn new(layers: &'a [&'a RuleList]) -> Self {
        let mut firsts = vec![];
        let mut next = 0;
        for rules in layers {
            firsts.push(next);
            next += rules.rules.len() + 1;
        }
        Self { layers, firsts }
    }

    fn of(&self, layer: usize, rule: usize) -> u32 {
        index(self.firsts.get(layer).map_or(0, |first| first + rule))
    }

    fn place(&self, label: u32) -> Option<(usize, usize)> {
        let after = self.firsts.partition_point(|first| *first <= label as usize);
        let layer = after.checked_sub(1)?;
        Some((layer, label as usize - self.firsts[layer]))
    }

    fn rule(&self, label: u32) -> Option<&'a PolicyRule> {
        let (layer, rule) = self.place(label)?;
        let rules = self.layers.get(layer)?;
        Some(rules.rules.get(rule).unwrap_or(&rules.intent))
    }

    fn action(&self, label: u32) -> Action {
        self.rule(label).map_or(Action::Allow, |rule| rule.action)
    }

    fn decision(&self, label: u32) -> Option<DecidingRule> {
        let (layer, rule) = self.place(label)?;
        Some(DecidingRule { layer, rule, action: self.action(label) })
    }
}
