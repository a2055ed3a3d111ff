//! Rules over a whole agent, for problems that no single field shows. Each rule has its own file;
//! closely related ones share a file.
//! [`CHECKS`] is the table of all rules. The compile crate runs them after a definition is read.
#![warn(clippy::disallowed_methods)]

use agentry_formats::FormatInfo;
use agentry_model::Agent;
use agentry_policy::memo::PolicyMemo;
use agentry_text::{Findings, LintRule, SourceFile, Span};

mod commands;
pub mod harness;
mod packages;
#[cfg(test)]
mod testing;
mod text_spans;

mod agent_status;
mod allow_before_deny;
mod allow_without_effect;
mod allows_any_program;
mod allows_every_command;
mod allows_root;
mod credentials_in_url;
mod description_too_long;
mod directory_pattern;
mod flag_may_move;
mod frequent_schedule;
mod instruction_override;
mod instructions_too_long;
mod machine_path;
mod mcp_through_shell;
mod name_not_portable;
mod no_description;
mod open_ended_command;
mod pattern_never_matches;
mod plain_http_mcp;
mod remote_script;
mod rule_with_operators;
mod script_may_run_shell;
mod secret_in_text;
mod skill_asked_for_twice;
mod trusts_everything;
mod unfinished_text;
mod unpinned_mcp_package;
mod variable_required_twice;
mod wide_trust;

/// Every check, in code order.
pub const CHECKS: &[RuleCheck] = &[
    no_description::CHECK,
    description_too_long::CHECK,
    instructions_too_long::CHECK,
    name_not_portable::CHECK,
    secret_in_text::CHECK,
    skill_asked_for_twice::CHECK,
    agent_status::DEPRECATED,
    agent_status::DISABLED,
    trusts_everything::CHECK,
    allows_every_command::CHECK,
    allows_any_program::CHECK,
    allows_root::CHECK,
    open_ended_command::CHECK,
    flag_may_move::CHECK,
    rule_with_operators::CHECK,
    directory_pattern::CHECK,
    unpinned_mcp_package::CHECK,
    plain_http_mcp::CHECK,
    credentials_in_url::CHECK,
    mcp_through_shell::CHECK,
    machine_path::CHECK,
    frequent_schedule::CHECK,
    script_may_run_shell::CHECK,
    instruction_override::CHECK,
    unfinished_text::CHECK,
    variable_required_twice::CHECK,
    allow_before_deny::CHECK,
    allow_without_effect::CHECK,
    pattern_never_matches::CHECK,
    wide_trust::SCOPE,
    wide_trust::HOSTS,
    remote_script::CHECK,
];

/// A rule with the function that checks it.
#[derive(Debug)]
pub struct RuleCheck {
    /// The rule that the findings refer to.
    pub rule: &'static LintRule,
    /// Adds a finding for each violation.
    pub check: fn(&CheckSubject<'_>, &mut Findings),
}

/// The agent that is checked.
#[derive(Debug, Clone, Copy)]
pub struct CheckSubject<'a> {
    /// The agent as declared.
    pub agent: &'a Agent,
    /// The format it was read from.
    pub format: &'static FormatInfo,
    /// Memoised comparisons of rules, shared by all agents of the session.
    pub memo: &'a PolicyMemo,
}

/// The checks that find secrets. Each check that marks a finding as secret must be here.
const FOR_SECRETS: &[RuleCheck] = &[secret_in_text::CHECK, credentials_in_url::CHECK];

/// Runs every check over one agent.
pub fn run(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for check in CHECKS {
        // The assertion keeps `FOR_SECRETS` complete; `secrets` would miss a check that is not listed.
        let known = findings.secrets().count();
        (check.check)(subject, findings);
        let is_listed = FOR_SECRETS.iter().any(|other| other.rule.code == check.rule.code);
        debug_assert!(
            is_listed || findings.secrets().count() == known,
            "`{}` finds secrets and is not among the checks that do",
            check.rule.name
        );
    }
}

/// Reports texts that attack the agent that reads them, anywhere in a file.
pub fn hostile_texts(source: &SourceFile, findings: &mut Findings) {
    instruction_override::check_file(source, findings);
    remote_script::check_file(source, findings);
}

/// Returns the spans of the agent's secrets, without running the other checks.
pub fn secrets(subject: &CheckSubject<'_>) -> Vec<Span> {
    let mut findings = Findings::default();
    FOR_SECRETS.iter().for_each(|check| (check.check)(subject, &mut findings));
    findings.secrets().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order() {
        let codes: Vec<_> = CHECKS.iter().map(|check| check.rule.code).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
        assert!(codes.iter().all(|code| code.starts_with("AG9")), "{codes:?}");
    }
}
