//! One set of rules for all agents of a project: Claude Code has no other.
//!
//! What every agent allows is allowed. What one asks about is asked everywhere. What one denies is
//! denied only where it takes nothing from another; else that agent loses the tool instead.

use agentry_policy::Section;

use super::encode::{Plan, is_harmless};
use super::settings::Lists;
use crate::subject::Subject;

/// The rules of a section for all agents; an agent whose denials would harm another loses the tool.
pub(super) fn shared(subjects: &[Subject], section: Section, plans: &mut [Plan]) -> Lists {
    while let Some(at) = harmful(subjects, section, plans) {
        if let Some(plan) = plans.get_mut(at) {
            *plan = Plan::default();
        }
    }
    let mut rules = Lists::default();
    for plan in plans.iter().filter(|plan| plan.kept) {
        let Lists { ask, deny, .. } = plan.rules.clone();
        rules.extend(&Lists { allow: Vec::new(), ask, deny });
    }
    if let Some((first, others)) = plans.split_first() {
        let everywhere =
            |text: &&String| others.iter().all(|plan| plan.rules.allow.contains(*text));
        rules.allow = first.rules.allow.iter().filter(everywhere).cloned().collect();
    }
    rules
}

/// An agent with a denial that would take something from another one.
fn harmful(subjects: &[Subject], section: Section, plans: &[Plan]) -> Option<usize> {
    plans.iter().position(|plan| {
        let mut others = subjects.iter().zip(plans).filter(|(_, other)| other.kept);
        plan.kept
            && others.any(|(subject, other)| {
                let mut new =
                    plan.rules.deny.iter().filter(|text| !other.rules.deny.contains(text));
                new.any(|text| !is_harmless(text, section, subject))
            })
    })
}
