//! Finds rules that never decide.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::{decider, index};
use crate::automata::fold::MachineFolder;
use crate::automata::machine::StateMachine;
use crate::automata::subject::ExampleSubject;
use crate::automata::{MachineTooLarge, search};
use crate::memo::PolicyMemo;
use crate::pattern::{HazardProtection, Pattern, PatternKind};
use crate::{PathAnchors, PolicyRule, RuleList};

/// A rule that never decides about the subjects that its pattern spells out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadRule {
    /// The index of the rule.
    pub rule: usize,
    /// The earlier rules that decide instead; empty if the pattern matches nothing.
    pub covered_by: Vec<usize>,
    /// A subject that it matches.
    pub example: Option<ExampleSubject>,
    /// A subject that it does decide about, because a deny or ask rule also matches other spellings of
    /// a command: `/bin/rm` for `rm`.
    pub still: Option<ExampleSubject>,
}

/// Lists the rules that never decide about the subjects that they spell out; the additional spellings of
/// a deny or ask rule do not count. Returns `None` if a size limit was reached.
pub fn dead(
    memo: &PolicyMemo,
    rules: &RuleList,
    protections: HazardProtection,
) -> Option<Vec<DeadRule>> {
    // Almost always, every rule decides about a subject made from its own text; then no machine is needed.
    let doubtful = (0..rules.rules.len()).filter(|at| !decides_plainly(rules, *at, protections));
    let doubtful: Vec<usize> = doubtful.collect();
    if doubtful.is_empty() {
        return Some(Vec::new());
    }
    let folder = MachineFolder::new(memo, rules.section.kind(), protections).ok()?;
    let found = doubtful.into_iter().map(|at| find_dead(&folder, rules, at));
    found.filter_map(Result::transpose).collect::<Result<_, MachineTooLarge>>().ok()
}

/// Returns the indices of the rules before `at` that may match a subject of the rule at `at`. Machines of rules
/// about other programs would only add states.
fn rivals(rules: &RuleList, at: usize) -> Vec<usize> {
    let Some(own) = rules.rules.get(at).map(|rule| rule.pattern.program()) else {
        return Vec::new();
    };
    let may_meet = |(index, rule): (usize, &PolicyRule)| {
        let is_other = own.zip(rule.pattern.program()).is_some_and(|(own, other)| own != other);
        (!is_other).then_some(index)
    };
    rules.rules.iter().take(at).enumerate().filter_map(may_meet).collect()
}

/// Whether a rule decides about a subject made from its own text, with a short text or nothing in place of
/// each wildcard.
fn decides_plainly(rules: &RuleList, at: usize, protections: HazardProtection) -> bool {
    let Some(pattern) = rules.rules.get(at).map(|rule| &rule.pattern) else { return false };
    // Three fillings, because an earlier rule may match one of them by chance.
    ["x", "qq7", ""].iter().any(|fill| {
        let subject = plain(pattern, fill);
        subject.with(|subject| {
            let as_written = pattern.as_written();
            as_written.as_ref().unwrap_or(pattern).matches_under(subject, protections)
                && decider(rules, subject, protections).0 == at
        })
    })
}

fn plain(pattern: &Pattern, fill: &str) -> ExampleSubject {
    let text = pattern.text.trim_start_matches("**/").replace("**", "*").replace('*', fill);
    match pattern.kind() {
        PatternKind::Command => ExampleSubject::Command(
            text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
        ),
        PatternKind::Path if !text.starts_with(['/', '~']) => {
            ExampleSubject::Text(format!("{}/{text}", PathAnchors::default().workspace))
        }
        PatternKind::Web => {
            let (scheme, rest) = text.split_once("://").unwrap_or(("https", &text));
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let port = if host.contains(':') {
                ""
            } else if scheme == "http" {
                ":80"
            } else {
                ":443"
            };
            ExampleSubject::Text(format!("{scheme}://{host}{port}/{path}"))
        }
        PatternKind::Path | PatternKind::Name | PatternKind::Text => ExampleSubject::Text(text),
    }
}

/// Returns why the rule at `at` never decides, or `None` if it does.
fn find_dead(
    folder: &MachineFolder<'_>,
    rules: &RuleList,
    at: usize,
) -> Result<Option<DeadRule>, MachineTooLarge> {
    let mut chosen = rivals(rules, at);
    let own = chosen.len();
    chosen.push(at);
    let few = RuleList {
        rules: chosen.iter().filter_map(|index| rules.rules.get(*index)).cloned().collect(),
        ..rules.clone()
    };
    let Some(rule) = few.rules.get(own) else { return Ok(None) };
    let all = folder.rules(&few, index)?;
    let decides = all.outputs.contains(&index(own));
    let words = rule.pattern.as_written();
    // It decides, and has no additional spellings that could be the only reason.
    if decides && words.is_none() {
        return Ok(None);
    }
    let words = folder.leaf(&words.unwrap_or_else(|| rule.pattern.clone()))?;
    let Some(mut dead) = coverage(own, rules.section.kind(), &words, &all)? else {
        return Ok(None);
    };
    if decides {
        dead.still = decided(own, rules.section.kind(), &folder.leaf(&rule.pattern)?, &all)?;
    }
    // The indices of the short list become those of the whole one.
    dead.rule = at;
    for index in &mut dead.covered_by {
        *index = chosen.get(*index).copied().unwrap_or(rules.rules.len());
    }
    Ok(Some(dead))
}

/// Returns the rules that decide about the subjects of `own`, or `None` if the rule itself is among them.
fn coverage(
    rule: usize,
    kind: PatternKind,
    own: &StateMachine,
    all: &StateMachine,
) -> Result<Option<DeadRule>, MachineTooLarge> {
    let mut covered_by = BTreeSet::new();
    let mut example = None;
    search::outputs_within(own, all, |decides, text| {
        example.get_or_insert_with(|| ExampleSubject::decode(kind, &text()));
        covered_by.insert(decides as usize);
        if decides == index(rule) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let dead = !covered_by.contains(&rule);
    let covered_by = covered_by.into_iter().collect();
    Ok(dead.then_some(DeadRule { rule, covered_by, example, still: None }))
}

/// Finds a shortest subject of `own` that the rule decides about.
fn decided(
    rule: usize,
    kind: PatternKind,
    own: &StateMachine,
    all: &StateMachine,
) -> Result<Option<ExampleSubject>, MachineTooLarge> {
    let mut found = None;
    search::outputs_within(own, all, |decides, text| {
        if decides != index(rule) {
            return ControlFlow::Continue(());
        }
        found = Some(ExampleSubject::decode(kind, &text()));
        ControlFlow::Break(())
    })?;
    Ok(found)
}
