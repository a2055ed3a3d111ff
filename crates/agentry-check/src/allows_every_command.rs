//! AG9010: a `bash` section that allows every command.

use agentry_policy::Action;
use agentry_text::{Findings, LintRule, rule};

use crate::commands::bash;
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9010");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(section) = bash(subject.agent) else { return };
    for rule in &section.rules {
        match rule.action {
            Action::Allow if matches!(rule.pattern.as_str(), "*" | "**") => {
                let message = format!("rule `{}` allows every command", rule.value);
                findings.add(&RULE, rule.span, message).hint(HINT);
                return;
            }
            Action::Allow => {}
            // A restriction before the open rule shows that the author made a choice.
            Action::Ask | Action::Deny => return,
        }
    }
    if let Some(intent) = section.intent.filter(|intent| intent.value == Action::Allow) {
        findings.add(&RULE, intent.span, "every command is allowed").hint(HINT);
    }
}

const HINT: &str = "use `ask`, and allow the commands that the agent needs";

#[cfg(test)]
mod tests {
    use agentry_policy::Section;

    use super::*;
    use crate::testing::{count, permissions};

    #[test]
    fn a_bash_section_that_allows_everything_is_reported() {
        let cases: &[(Section, &[&str], usize)] = &[
            (Section::Bash, &["allow"], 1),
            (Section::Bash, &["allow", "ls *:allow"], 1),
            (Section::Bash, &["allow", "rm *:ask"], 0),
            (Section::Bash, &["ask", "*:allow"], 1),
            (Section::Bash, &["deny", "**:allow", "rm *:deny"], 1),
            (Section::Bash, &["deny", "rm *:deny", "**:allow"], 0),
            (Section::Bash, &["ask", "git *:allow"], 0),
            (Section::Edit, &["allow"], 0),
        ];
        for (section, rules, expected) in cases {
            let agent = permissions(*section, rules);
            assert_eq!(count(&CHECK, &agent), *expected, "{rules:?}");
        }
    }
}
