use agentry_model::Status;
use agentry_text::{Findings, Rule, Severity};

use crate::{Check, Subject, examples};

pub(super) const CHECK: Check = Check { rule: &RULE, check };

static RULE: Rule = Rule {
    code: "AG9008",
    name: "disabled-agent",
    severity: Severity::Note,
    why: "A disabled agent does not start, whoever calls it.",
    bad: examples::agent_md!("status: disabled\n"),
    good: examples::agent_md!("status: active\n"),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(status) = &subject.agent.identity.status else { return };
    if status.value == Status::Disabled {
        let message = format!("agent `{}` is disabled and does not start", subject.agent.name());
        findings.add(&RULE, status.span, message).hint("set `status: active` to use it again");
    }
}

#[cfg(test)]
mod tests {
    use agentry_model::Agent;

    use super::*;
    use crate::testing::{at, count};

    #[test]
    fn only_this_status() {
        for status in Status::ALL {
            let mut agent = Agent::default();
            agent.identity.status = Some(at(*status));
            let expected = usize::from(*status == Status::Disabled);
            assert_eq!(count(&CHECK, &agent), expected, "{status}");
        }
    }
}
