//! One set of rules for all agents of a project, since Claude Code has no rules per agent.
//!
//! What every agent allows is allowed, if there are no other agents in the project. What one agent asks about
//! or denies is asked or denied everywhere. So the files of one agent never depend on another agent.

use super::encode::SectionPlan;
use super::settings::ClaudeRuleLists;

/// Returns the rules of a section for all agents. Nothing is allowed unless they are `alone`.
pub(super) fn shared(alone: bool, plans: &[SectionPlan]) -> ClaudeRuleLists {
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
