//! AG9007 and AG9008: agents whose authors deprecated or disabled them.
//! There are two rules, so that a team can silence one and keep the other.

use agentry_model::AgentStatus;
use agentry_text::{Findings, LintRule, Span, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const DEPRECATED: RuleCheck = RuleCheck { rule: &DEPRECATED_AGENT, check: deprecated };
pub(super) const DISABLED: RuleCheck = RuleCheck { rule: &DISABLED_AGENT, check: disabled };

static DEPRECATED_AGENT: LintRule = rule!("AG9007");

static DISABLED_AGENT: LintRule = rule!("AG9008");

fn deprecated(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(place) = place(subject, AgentStatus::Deprecated) else { return };
    findings
        .add(&DEPRECATED_AGENT, place, format!("agent `{}` is deprecated", subject.agent.name()))
        .hint("look for the agent that takes its place");
}

fn disabled(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(place) = place(subject, AgentStatus::Disabled) else { return };
    let message = format!("agent `{}` is disabled and does not start", subject.agent.name());
    findings.add(&DISABLED_AGENT, place, message).hint("set `status: active` to use it again");
}

/// Returns where the agent declares this status.
fn place(subject: &CheckSubject<'_>, status: AgentStatus) -> Option<Span> {
    let written = subject.agent.identity.status.as_ref();
    written.filter(|written| written.value == status).map(|written| written.span)
}

#[cfg(test)]
mod tests {
    use agentry_model::Agent;

    use super::*;
    use crate::testing::{at, count};

    #[test]
    fn deprecated_and_disabled_agents_are_reported() {
        for (check, own) in
            [(DEPRECATED, AgentStatus::Deprecated), (DISABLED, AgentStatus::Disabled)]
        {
            for status in AgentStatus::ALL {
                let mut agent = Agent::default();
                agent.identity.status = Some(at(*status));
                let expected = usize::from(*status == own);
                assert_eq!(count(&check, &agent), expected, "{own}: {status}");
            }
        }
    }
}
