//! One set of rules for all agents of a project: Claude Code has no other.
//!
//! What every agent allows is allowed, as long as no agent is there that nobody rendered. What one asks
//! about is asked everywhere. What one denies is denied only where it takes nothing from another; else
//! that agent loses the tool instead.

use std::collections::HashMap;

use agentry_policy::Section;

use super::encode::{SectionPlan, is_harmless};
use super::settings::ClaudeRuleLists;
use crate::subject::RenderSubject;

/// The rules of a section for all agents; an agent whose denials would harm another loses the tool.
/// Nothing is allowed unless they are `alone`.
pub(super) fn shared(
    subjects: &[RenderSubject],
    section: Section,
    alone: bool,
    plans: &mut [SectionPlan],
) -> ClaudeRuleLists {
    let kinds = kinds(subjects, plans);
    let firsts: Vec<usize> =
        (0..).zip(&kinds).filter(|(at, kind)| at == *kind).map(|it| it.0).collect();
    while let Some(kind) = harmful(subjects, section, plans, &firsts) {
        for (plan, of) in plans.iter_mut().zip(&kinds) {
            if *of == kind {
                *plan = SectionPlan::default();
            }
        }
    }
    let mut rules = ClaudeRuleLists::default();
    for plan in plans.iter().filter(|plan| plan.kept) {
        let ClaudeRuleLists { ask, deny, .. } = plan.rules.clone();
        rules.extend(&ClaudeRuleLists { allow: Vec::new(), ask, deny });
    }
    if let Some((first, others)) = plans.split_first().filter(|_| alone) {
        let everywhere =
            |text: &&String| others.iter().all(|plan| plan.rules.allow.contains(*text));
        rules.allow = first.rules.allow.iter().filter(everywhere).cloned().collect();
    }
    rules
}

/// For each agent the first one that may do the same and denies the same: what harms one of them harms
/// all, and they are treated alike.
fn kinds(subjects: &[RenderSubject], plans: &[SectionPlan]) -> Vec<usize> {
    let mut known: HashMap<(u64, &[String], bool), usize> = HashMap::new();
    let mut out = Vec::new();
    for (at, (subject, plan)) in subjects.iter().zip(plans).enumerate() {
        let kind = (subject.kind(), plan.rules.deny.as_slice(), plan.kept);
        out.push(*known.entry(kind).or_insert(at));
    }
    out
}

/// The first of these agents with a denial that would take something from another one.
fn harmful(
    subjects: &[RenderSubject],
    section: Section,
    plans: &[SectionPlan],
    firsts: &[usize],
) -> Option<usize> {
    let kept = |at: &usize| {
        let plan = plans.get(*at).filter(|plan| plan.kept)?;
        Some((*at, subjects.get(*at)?, plan))
    };
    let all: Vec<(usize, &RenderSubject, &SectionPlan)> = firsts.iter().filter_map(kept).collect();
    let harms = |plan: &SectionPlan,
                 (_, subject, other): &(usize, &RenderSubject, &SectionPlan)| {
        let mut new = plan.rules.deny.iter().filter(|text| !other.rules.deny.contains(text));
        new.any(|text| !is_harmless(text, section, subject))
    };
    let harmful = all.iter().find(|(_, _, plan)| all.iter().any(|other| harms(plan, other)));
    harmful.map(|(at, ..)| *at)
}
