//! AG9002: a description that harnesses truncate or reject.

use agentry_formats::ReaderReport;
use agentry_text::{Findings, LintRule, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// The most characters that harnesses accept.
const LONGEST: usize = 1024;

static RULE: LintRule = rule!("AG9002")
    .make_bad(|| RULE.good.replace("Answers questions", &"Answers questions. ".repeat(58)));

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(text) = &subject.agent.identity.description else { return };
    let length = text.chars().count();
    if length > LONGEST && !subject.format.reports(ReaderReport::LongDescription) {
        let message =
            format!("the description has {length} characters; at most {LONGEST} are shown");
        findings.add(&RULE, text.span, message).hint("say in one sentence when to use the agent");
    }
}

#[cfg(test)]
mod tests {
    use agentry_model::Agent;

    use super::*;
    use crate::testing::{count, text};

    #[test]
    fn characters_count_not_bytes() {
        for (length, expected) in [(1024, 0), (1025, 1)] {
            let mut agent = Agent::default();
            agent.identity.description = Some(text(&"é".repeat(length)));
            assert_eq!(count(&CHECK, &agent), expected, "{length}");
        }
    }
}
