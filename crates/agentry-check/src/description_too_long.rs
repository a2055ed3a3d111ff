//! AG9002: a description that harnesses truncate or reject.

use agentry_formats::ReaderReport;
use agentry_text::{Findings, LintRule, RuleExample, Severity};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// The most characters that harnesses accept.
const LONGEST: usize = 1024;

static RULE: LintRule = LintRule {
    code: "AG9002",
    name: "description-too-long",
    severity: Severity::Warning,
    why: "Descriptions stand in the context of the model that picks an agent. Harnesses cut or \
          refuse one of more than 1024 characters; what an agent does in detail belongs into its \
          instructions.",
    bad: RuleExample::Made("a manifest whose description has 1100 characters", || {
        let long = "Answers questions. ".repeat(58);
        vec![(
            "helper.agent".to_owned(),
            format!("name: helper\ndescription: {long}\nsoul: You answer.\n").into_bytes(),
        )]
    }),
    good: RuleExample::File("helper.agent", "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n"),
};

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
