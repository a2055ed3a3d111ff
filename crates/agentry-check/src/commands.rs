//! The command rules of an agent, and which of them a given command meets first.

use agentry_model::Agent;
use agentry_policy::{
    Action, PathAnchors, PatternRule, PatternSubject, RuleList, Section, SectionRules,
};
use agentry_text::Spanned;

/// The most rules that are weighed against each other.
pub(crate) const MOST_RULES: usize = 500;

/// The `bash` section, if one was written.
pub(crate) fn bash(agent: &Agent) -> Option<&SectionRules> {
    agent.policy.permissions.as_ref()?.get(Section::Bash)
}

/// The rules of the `bash` section.
pub(crate) fn rules(agent: &Agent) -> &[Spanned<PatternRule>] {
    bash(agent).map_or(&[], |section| &section.rules)
}

/// The words of a command pattern.
pub(crate) fn words(pattern: &str) -> Vec<&str> {
    pattern.split(' ').filter(|word| !word.is_empty()).collect()
}

/// A section ready to decide, at most [`MOST_RULES`] of its rules.
pub(crate) fn compiled(written: &SectionRules) -> RuleList {
    let mut rules = RuleList::new(written, &PathAnchors::default());
    rules.rules.truncate(MOST_RULES);
    rules
}

/// The answer that rules give to a plain command.
pub(crate) fn answer(rules: &RuleList, command: &[&str]) -> Action {
    rules.first(PatternSubject::Command(command)).action
}
