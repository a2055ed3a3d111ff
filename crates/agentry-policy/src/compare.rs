//! Exact comparisons of policies: whether one is at most as permissive as another, which rules never decide,
//! and what a change gained and lost.
//!
//! A side is the list of layers of one section; the strictest of them decides. Beyond a size limit there is
//! no answer, and callers must treat that as «no».

mod changes;
mod dead_rules;
mod groups;
mod section_diff;

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::automata::fold::MachineFolder;
use crate::automata::machine::{NONE, StateMachine};
pub use crate::automata::subject::ExampleSubject;
use crate::automata::{MachineTooLarge, search};
use crate::memo::PolicyMemo;
use crate::pattern::{HazardProtection, Pattern, PatternKind, PatternSubject};
use crate::{Action, PolicyRule, RuleList};

pub use changes::{DecisionChange, RulesDiff, diff};
pub use dead_rules::{DeadRule, dead};
pub use section_diff::{SectionDiff, milder_sections, section_diffs};

/// The rule that decides, and its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DecidingRule {
    /// The index of its layer.
    pub layer: usize,
    /// Its index in the layer; the number of rules for the intent.
    pub rule: usize,
    /// Its verdict.
    pub action: Action,
}

/// The result of [`refines`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefinementAnswer {
    /// The first side is at most as permissive.
    Yes,
    /// It is more permissive for this subject.
    No(Witness),
    /// The sides could not be compared, for this reason; counts as «no».
    Unknown(String),
}

/// A subject for which the first side is milder than the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// One of the shortest such subjects.
    pub subject: ExampleSubject,
    /// The deciding rule of the first side; `None` if it has no layer.
    pub first: Option<DecidingRule>,
    /// The deciding rule of the second side.
    pub second: Option<DecidingRule>,
}

impl From<MachineTooLarge> for RefinementAnswer {
    fn from(_: MachineTooLarge) -> Self {
        Self::Unknown(TOO_LARGE.to_owned())
    }
}

const TOO_LARGE: &str = "the rules are too many or too tangled to compare";
const KINDS: &str = "the two sides are about different kinds of subjects";

/// Returns the rule that decides about `subject`: the strictest one of all layers, and the first of those
/// that are equally strict. Returns `None` without layers.
pub fn decide(
    layers: &[&RuleList],
    subject: PatternSubject<'_>,
    protections: HazardProtection,
) -> Option<DecidingRule> {
    let mut strictest: Option<DecidingRule> = None;
    for (layer, rules) in layers.iter().enumerate() {
        let (rule, action) = decider(rules, subject, protections);
        if strictest.is_none_or(|before| action > before.action) {
            strictest = Some(DecidingRule { layer, rule, action });
        }
    }
    strictest
}

/// Returns the index of the rule that decides about `subject`, and its verdict.
pub(crate) fn decider(
    rules: &RuleList,
    subject: PatternSubject<'_>,
    protections: HazardProtection,
) -> (usize, Action) {
    let encoded = OnceCell::new();
    let holds = |(_, rule): &(usize, &PolicyRule)| {
        rule.pattern.matches_encoded(subject, protections, &encoded)
    };
    let found = rules.rules.iter().enumerate().find(holds);
    found.map_or((rules.rules.len(), rules.intent.action), |(index, rule)| (index, rule.action))
}

/// Whether `first` is at most as permissive as `second`.
pub fn refines(
    memo: &PolicyMemo,
    first: &[&RuleList],
    second: &[&RuleList],
    protections: HazardProtection,
) -> RefinementAnswer {
    let Some(kind) = kind(first, second) else {
        return RefinementAnswer::Unknown(KINDS.to_owned());
    };
    // Cheap tests first: most comparisons need no machine.
    if second.is_empty() || holds_all(first, second) || is_plainly_stricter(first, second) {
        return RefinementAnswer::Yes;
    }
    let milder = MachineFolder::new(memo, kind, protections)
        .and_then(|folder| milder(&folder, kind, first, second));
    match milder {
        Ok(None) => RefinementAnswer::Yes,
        Ok(Some(subject)) => {
            let both = |subject: PatternSubject<'_>| {
                (decide(first, subject, protections), decide(second, subject, protections))
            };
            let subject = subject.filled(both);
            let (first, second) = subject.with(both);
            RefinementAnswer::No(Witness { subject, first, second })
        }
        Err(too_large) => too_large.into(),
    }
}

/// Finds a shortest subject for which `first` is milder.
fn milder(
    folder: &MachineFolder<'_>,
    kind: PatternKind,
    first: &[&RuleList],
    second: &[&RuleList],
) -> Result<Option<ExampleSubject>, MachineTooLarge> {
    // Separate commands are cheaper to compare, if the rules allow it.
    let Some(groups) = groups::split(first, second) else {
        let text = milder_text(folder, first, second)?;
        return Ok(text.map(|text| ExampleSubject::decode(kind, &text)));
    };
    let mut shortest: Option<String> = None;
    for group in &groups {
        let [first, second] =
            [&group.first, &group.second].map(|side| side.iter().collect::<Vec<_>>());
        let text = milder_text(folder, &first, &second)?;
        let size = |text: &String| text.chars().count();
        shortest = match (shortest, text) {
            (Some(before), Some(text)) if size(&before) <= size(&text) => Some(before),
            (before, text) => text.or(before),
        };
    }
    Ok(shortest.map(|text| ExampleSubject::decode(kind, &text)))
}

/// Finds the encoded text of a shortest subject for which `first` is milder.
fn milder_text(
    folder: &MachineFolder<'_>,
    first: &[&RuleList],
    second: &[&RuleList],
) -> Result<Option<String>, MachineTooLarge> {
    let first = actions(folder, first)?;
    let second = actions(folder, second)?;
    let mut found = None;
    search::outputs(&first, &second, |a, b, text| {
        // Outputs are verdicts in their order, so a smaller one is milder.
        if a != NONE && b != NONE && a < b {
            found = Some(text());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// The rule lists of a side, as patterns and verdicts: the key under which its machine is cached.
pub(crate) type SideRules = Vec<Vec<(Pattern, Action)>>;

/// Returns the machine of a side, whose outputs are verdicts.
pub(crate) fn actions(
    folder: &MachineFolder<'_>,
    layers: &[&RuleList],
) -> Result<Arc<StateMachine>, MachineTooLarge> {
    let list = |rules: &&RuleList| {
        rules.all().map(|rule| (rule.pattern.clone(), rule.action)).collect::<Vec<_>>()
    };
    // Without a layer the key would not contain the kind of subject, so the result is not cached.
    if layers.is_empty() {
        return make_actions(folder, layers).map(Arc::new);
    }
    let question = (folder.protections, layers.iter().map(list).collect());
    folder.memo.sides.get(question, || make_actions(folder, layers).map(Arc::new))
}

fn make_actions(
    folder: &MachineFolder<'_>,
    layers: &[&RuleList],
) -> Result<StateMachine, MachineTooLarge> {
    if let [first, rest @ ..] = layers
        && !rest.is_empty()
    {
        // The sides of a workspace have most of their layers in common, so each layer is memoised too.
        let alone = |rules: &&RuleList| actions(folder, std::slice::from_ref(rules));
        let mut strictest = alone(first)?;
        for rules in rest {
            strictest = Arc::new(folder.strictest(&strictest, alone(rules)?.as_ref(), action)?);
        }
        return Ok(Arc::unwrap_or_clone(strictest));
    }
    side(
        folder,
        layers,
        |layer, rule| {
            let action = |rules: &&RuleList| rules.rules.get(rule).unwrap_or(&rules.intent).action;
            number(layers.get(layer).map_or(Action::Allow, action))
        },
        action,
    )
}

fn number(action: Action) -> u32 {
    match action {
        Action::Allow => 0,
        Action::Ask => 1,
        Action::Deny => 2,
    }
}

fn action(number: u32) -> Action {
    match number {
        0 => Action::Allow,
        1 => Action::Ask,
        _ => Action::Deny,
    }
}

/// Builds the machine of a side, in which the strictest layer decides.
fn side(
    folder: &MachineFolder<'_>,
    layers: &[&RuleList],
    label: impl Fn(usize, usize) -> u32,
    action: impl Fn(u32) -> Action,
) -> Result<StateMachine, MachineTooLarge> {
    let mut strictest: Option<StateMachine> = None;
    for (layer, rules) in layers.iter().enumerate() {
        let machine = folder.rules(rules, |rule| label(layer, rule))?;
        strictest = Some(match strictest {
            None => machine,
            Some(before) => folder.strictest(&before, &machine, &action)?,
        });
    }
    // Without layers nothing is restricted.
    Ok(strictest.unwrap_or_else(|| folder.universe.as_ref().clone().relabel(|_| label(0, 0))))
}

fn index(rule: usize) -> u32 {
    u32::try_from(rule).unwrap_or(NONE - 1)
}

/// Returns the kind of subject that all layers have, or `None` if they differ.
fn kind(first: &[&RuleList], second: &[&RuleList]) -> Option<PatternKind> {
    let mut kinds = first.iter().chain(second).map(|rules| rules.section.kind());
    let kind = kinds.next().unwrap_or(PatternKind::Name);
    kinds.all(|other| other == kind).then_some(kind)
}

/// Whether both sides have the same rules.
fn same(first: &[&RuleList], second: &[&RuleList]) -> bool {
    holds_all(first, second) && holds_all(second, first)
}

/// Whether `first` has every layer of `second`; further layers only make it stricter.
fn holds_all(first: &[&RuleList], second: &[&RuleList]) -> bool {
    let rule = |(a, b): (&PolicyRule, &PolicyRule)| a.action == b.action && a.pattern == b.pattern;
    let equal = |a: &RuleList, b: &RuleList| {
        a.rules.len() == b.rules.len() && a.all().zip(b.all()).all(rule)
    };
    second.iter().all(|b| first.iter().any(|a| equal(a, b)))
}

/// Whether the mildest verdict of some layer of `first` is at least as strict as any verdict of `second`.
fn is_plainly_stricter(first: &[&RuleList], second: &[&RuleList]) -> bool {
    let mildest = |rules: &&RuleList| rules.all().map(|rule| rule.action).min();
    let strictest = second.iter().flat_map(|rules| rules.all()).map(|rule| rule.action).max();
    first.iter().filter_map(mildest).max().is_some_and(|least| strictest <= Some(least))
}

#[cfg(test)]
pub(crate) mod tests;
