//! One set of rules for all agents of a project, since Claude Code has no rules per agent.
//!
//! What every agent allows is allowed, if there are no other agents in the project. What one agent asks about
//! is asked everywhere. A deny of one agent is written only if it takes nothing from another; otherwise that
//! agent loses the tool.

use std::collections::HashMap;

use agentry_policy::Section;

use super::encode::{SectionPlan, is_harmless};
use super::settings::ClaudeRuleLists;
use crate::subject::RenderSubject;

/// Returns the rules of a section for all agents. An agent whose denials would restrict another loses the
/// tool. Nothing is allowed unless they are `alone`.
pub(super) fn shared(
    subjects: &[RenderSubject],
    section: Section,
    alone: bool,
    plans: &mut [SectionPlan],
) -> ClaudeRuleLists {
    let kinds = kinds(subjects, plans);
    let firsts: Vec<usize> =
        (0..).zip(&kinds).filter(|(at, kind)| at == *kind).map(|it| it.0).collect();
    // Each round removes the tool from at least one agent, so this ends.
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

/// Maps each agent to the first one with the same policy and denials. These agents are treated alike, because
/// what restricts one restricts all.
fn kinds(subjects: &[RenderSubject], plans: &[SectionPlan]) -> Vec<usize> {
    let mut known: HashMap<(u64, &[String], bool), usize> = HashMap::new();
    let mut out = Vec::new();
    for (at, (subject, plan)) in subjects.iter().zip(plans).enumerate() {
        let kind = (subject.kind(), plan.rules.deny.as_slice(), plan.kept);
        out.push(*known.entry(kind).or_insert(at));
    }
    out
}

/// Returns the first of these agents with a deny that would restrict another one.
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
