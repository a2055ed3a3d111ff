//! Agents that their authors have put aside. Two rules, because a team may mind one and not the other.

use agentry_model::Status;
use agentry_text::{Findings, Rule, Severity, Span};

use crate::{Check, Subject, examples};

pub(super) const DEPRECATED: Check = Check { rule: &DEPRECATED_AGENT, check: deprecated };
pub(super) const DISABLED: Check = Check { rule: &DISABLED_AGENT, check: disabled };

static DEPRECATED_AGENT: Rule = Rule {
    code: "AG9007",
    name: "deprecated-agent",
    severity: Severity::Note,
    why: "A deprecated agent still works, but its author asks not to use it any more.",
    bad: examples::agent_md!("status: deprecated\n"),
    good: examples::agent_md!("status: active\n"),
};

static DISABLED_AGENT: Rule = Rule {
    code: "AG9008",
    name: "disabled-agent",
    severity: Severity::Note,
    why: "A disabled agent does not start, whoever calls it.",
    bad: examples::agent_md!("status: disabled\n"),
    good: examples::agent_md!("status: active\n"),
};

fn deprecated(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(place) = place(subject, Status::Deprecated) else { return };
    findings
        .add(&DEPRECATED_AGENT, place, format!("agent `{}` is deprecated", subject.agent.name()))
        .hint("look for the agent that takes its place");
}

fn disabled(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(place) = place(subject, Status::Disabled) else { return };
    let message = format!("agent `{}` is disabled and does not start", subject.agent.name());
    findings.add(&DISABLED_AGENT, place, message).hint("set `status: active` to use it again");
}

/// Where the agent says that it has this status.
fn place(subject: &Subject<'_>, status: Status) -> Option<Span> {
    let written = subject.agent.identity.status.as_ref();
    written.filter(|written| written.value == status).map(|written| written.span)
}

#[cfg(test)]
mod tests {
    use agentry_model::Agent;

    use super::*;
    use crate::testing::{at, count};

    #[test]
    fn each_has_its_status() {
        for (check, own) in [(DEPRECATED, Status::Deprecated), (DISABLED, Status::Disabled)] {
            for status in Status::ALL {
                let mut agent = Agent::default();
                agent.identity.status = Some(at(*status));
                let expected = usize::from(*status == own);
                assert_eq!(count(&check, &agent), expected, "{own}: {status}");
            }
        }
    }
}
