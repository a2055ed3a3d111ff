//! AG9001: an agent without a description.

use agentry_formats::ReaderReport;
use agentry_text::{Findings, LintRule, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9001");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let identity = &subject.agent.identity;
    // Some formats take the first paragraph of the instructions as description.
    // If those are missing, the reader has reported it already.
    let has_instructions = subject.agent.instructions.system.is_some();
    let is_reported = subject.format.reports(ReaderReport::NoDescription)
        || (!has_instructions && subject.format.reports(ReaderReport::NoInstructions));
    if identity.description.is_some() || is_reported {
        return;
    }
    if let Some(name) = &identity.name {
        findings
            .add(&RULE, name.span, format!("agent `{}` has no description", name.value))
            .hint("say in one sentence when to use it");
    }
}
