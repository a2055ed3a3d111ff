//! The command rules of an agent, compiled so that the checks can ask what they decide.

use agentry_model::Agent;
use agentry_policy::{
    Action, Judge, LayerSource, PathAnchors, PatternRule, PatternSubject, Permissions, RuleList,
    Section, SectionRules, layer,
};
use agentry_text::Spanned;

/// The most rules of one section that are compared, because each is matched against the others.
pub(crate) const MOST_RULES: usize = 500;

/// Returns the `bash` section, if the agent has one.
pub(crate) fn bash(agent: &Agent) -> Option<&SectionRules> {
    agent.policy.permissions.as_ref()?.get(Section::Bash)
}

/// Returns the rules of the `bash` section.
pub(crate) fn rules(agent: &Agent) -> &[Spanned<PatternRule>] {
    bash(agent).map_or(&[], |section| &section.rules)
}

/// Splits a command pattern into words.
pub(crate) fn words(pattern: &str) -> Vec<&str> {
    pattern.split(' ').filter(|word| !word.is_empty()).collect()
}

/// Compiles a section, at most [`MOST_RULES`] of its rules.
pub(crate) fn compiled(written: &SectionRules) -> RuleList {
    let mut rules = RuleList::new(written, &PathAnchors::default());
    rules.rules.truncate(MOST_RULES);
    rules
}

/// Makes a judge with the `bash` rules of an agent, which decides as `policy why` does.
pub(crate) fn judge(agent: &Agent) -> Option<Judge> {
    let mut section = bash(agent)?.clone();
    section.rules.truncate(MOST_RULES);
    let places = PathAnchors::default();
    let permissions = Permissions { sections: vec![section] };
    Some(Judge::new(vec![layer(LayerSource::Permissions, &permissions, &places)], places))
}

/// Returns the verdict of the rules for a simple command.
pub(crate) fn answer(rules: &RuleList, command: &[&str]) -> Action {
    rules.first(PatternSubject::Command(command)).action
}
