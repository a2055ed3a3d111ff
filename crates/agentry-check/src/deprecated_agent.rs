use agentry_model::Status;
use agentry_text::{Findings, Rule, Severity};

use crate::{Check, Subject, examples};

pub(super) const CHECK: Check = Check { rule: &RULE, check };

static RULE: Rule = Rule {
    code: "AG9007",
    name: "deprecated-agent",
    severity: Severity::Note,
    why: "A deprecated agent still works, but its author asks not to use it any more.",
    bad: examples::agent_md!("status: deprecated\n"),
    good: examples::agent_md!("status: active\n"),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(status) = &subject.agent.identity.status else { return };
    if status.value == Status::Deprecated {
        let message = format!("agent `{}` is deprecated", subject.agent.name());
        findings.add(&RULE, status.span, message).hint("look for the agent that takes its place");
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
            let expected = usize::from(*status == Status::Deprecated);
            assert_eq!(count(&CHECK, &agent), expected, "{status}");
        }
    }
}
