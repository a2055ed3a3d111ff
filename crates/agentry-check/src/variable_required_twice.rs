//! AG9026: an environment variable that is required twice.

use std::collections::HashMap;

use agentry_text::{Findings, LintRule, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9026");

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
    fn each_repeated_variable_is_reported() {
        for (names, expected) in [(&["A", "B"][..], 0), (&["A", "a"], 0), (&["A", "B", "A"], 1)] {
            let mut agent = Agent::default();
            agent.requirements.env = Some(texts(names));
            assert_eq!(count(&CHECK, &agent), expected, "{names:?}");
        }
    }
}
