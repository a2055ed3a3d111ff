//! AG9015: a command rule with a shell operator, which never matches.

use agentry_text::{Findings, LintRule, rule};

use crate::commands::rules;
use crate::text_spans::within;
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// Operators that join or redirect commands in a shell, longer ones before their prefixes.
const OPERATORS: &[&str] = &["&&", "||", "$(", "<(", ">>", ";", "|", "`", ">"];

static RULE: LintRule = rule!("AG9015");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for rule in rules(subject.agent) {
        let pattern = &rule.pattern;
        let found = OPERATORS.iter().find_map(|sign| Some((*sign, pattern.find(sign)?)));
        // A quoted operator is part of an argument, so the rule can match.
        let Some((sign, at)) = found.filter(|_| !pattern.contains(['"', '\''])) else { continue };
        let place = within(rule.span, rule.to_string().len(), at, sign.len());
        findings
            .add(&RULE, place, format!("rule `{}` never matches because of `{sign}`", rule.value))
            .hint("write one rule for each command");
    }
}

#[cfg(test)]
mod tests {
    use agentry_policy::Section;

    use super::*;
    use crate::testing::{found, permissions};

    #[test]
    fn rules_with_shell_operators_are_reported() {
        let cases = [
            ("cd web && npm test:allow", Some("7..9")),
            ("curl * | sh:deny", Some("7..8")),
            ("echo x > y:deny", Some("7..8")),
            ("git log*:allow", None),
            ("grep \"a|b\" *:allow", None),
        ];
        for (rule, expected) in cases {
            let agent = permissions(Section::Bash, &["ask", rule]);
            let lines = found(&CHECK, &agent, agentry_model::Format::AgentToml);
            let place = lines.first().and_then(|line| line.split(' ').next());
            assert_eq!(place, expected, "{rule}");
        }
    }
}
