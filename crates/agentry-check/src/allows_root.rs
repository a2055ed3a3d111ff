//! AG9012: an allow rule for any command as another user, such as `sudo *`.

use agentry_policy::Action;
use agentry_policy::commands::{ProgramTrait, has_trait};
use agentry_text::{Findings, LintRule, rule};

use crate::commands::{rules, words};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9012");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for rule in rules(subject.agent).iter().filter(|rule| rule.action == Action::Allow) {
        let words = words(&rule.pattern);
        let open = match words.as_slice() {
            // `sudo*` also matches `sudo` with any arguments.
            [first] => first.strip_suffix('*').is_some_and(raises),
            [first, second, ..] => raises(first) && second.starts_with('*'),
            [] => false,
        };
        if open {
            let message = format!("rule `{}` allows any command as another user", rule.value);
            let hint = "name the commands: `sudo systemctl status *`";
            findings.add(&RULE, rule.span, message).hint(hint);
        }
    }
}

/// Reports whether a program runs others as another user.
fn raises(name: &str) -> bool {
    has_trait(name, ProgramTrait::Raises)
}

#[cfg(test)]
mod tests {
    use agentry_policy::Section;

    use super::*;
    use crate::testing::{count, permissions};

    #[test]
    fn allow_rules_for_root_are_reported() {
        let cases = [
            ("sudo *:allow", 1),
            ("sudo*:allow", 1),
            ("doas **:allow", 1),
            ("sudo *:ask", 0),
            ("sudo apt-get *:allow", 0),
            ("sudo:allow", 0),
            ("sudoku *:allow", 0),
        ];
        for (rule, expected) in cases {
            let agent = permissions(Section::Bash, &["ask", rule]);
            assert_eq!(count(&CHECK, &agent), expected, "{rule}");
        }
    }
}
