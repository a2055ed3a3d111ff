//! AG9026: an environment variable that is required twice.

use std::collections::HashMap;

use agentry_text::{Findings, LintRule, Severity};

use crate::{CheckSubject, RuleCheck, examples};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = LintRule {
    code: "AG9026",
    name: "variable-required-twice",
    severity: Severity::Warning,
    why: "A variable that is required twice is looked for once; perhaps another one was meant.",
    bad: examples::agent_md!("required: {env: [SEARCH_KEY, SEARCH_KEY]}\n"),
    good: examples::agent_md!("required: {env: [SEARCH_KEY]}\n"),
};

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let mut seen = HashMap::new();
    for name in subject.agent.requirements.env.iter().flatten() {
        if let Some(first) = seen.get(&name.value) {
            findings
                .add(&RULE, name.span, format!("`{}` is required twice", name.value))
                .related(*first, "first required here")
                .hint("remove one of them");
        } else {
            seen.insert(&name.value, name.span);
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_model::Agent;

    use super::*;
    use crate::testing::{count, texts};

    #[test]
    fn each_repetition_counts() {
        for (names, expected) in [(&["A", "B"][..], 0), (&["A", "a"], 0), (&["A", "B", "A"], 1)] {
            let mut agent = Agent::default();
            agent.requirements.env = Some(texts(names));
            assert_eq!(count(&CHECK, &agent), expected, "{names:?}");
        }
    }
}
