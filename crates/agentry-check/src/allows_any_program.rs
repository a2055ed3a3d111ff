//! AG9011: an allow rule for a shell or interpreter with free arguments.

use agentry_policy::Action;
use agentry_text::{Findings, LintRule, rule};

use crate::commands::{rules, words};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// Programs that run code from their arguments.
const RUNNERS: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "eval",
    "exec",
    "env",
    "xargs",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "osascript",
    "powershell",
    "pwsh",
];
/// Options whose value is code to run.
const CODE_FLAGS: &[&str] = &["-c", "-lc", "-e", "-E", "--eval", "-Command"];

static RULE: LintRule = rule!("AG9011");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for rule in rules(subject.agent).iter().filter(|rule| rule.action == Action::Allow) {
        let words = words(&rule.pattern);
        let runner = match words.as_slice() {
            [runner, last] if matches!(*last, "*" | "**") => runner,
            // After other options, as in `python3 -m pytest *`, the arguments are not code.
            [runner, flag, last] if matches!(*last, "*" | "**") && CODE_FLAGS.contains(flag) => {
                runner
            }
            _ => continue,
        };
        if RUNNERS.contains(runner) {
            let message = format!("rule `{}` allows any program", rule.value);
            let hint = format!("name what `{runner}` may run, as in `{runner} scripts/check *`");
            findings.add(&RULE, rule.span, message).hint(hint);
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_policy::Section;

    use super::*;
    use crate::testing::{count, permissions};

    #[test]
    fn allow_rules_for_interpreters_are_reported() {
        let cases = [
            ("bash *:allow", 1),
            ("sh -c *:allow", 1),
            ("python -c **:allow", 1),
            ("xargs *:allow", 1),
            ("bash *:ask", 0),
            ("bash scripts/check.sh *:allow", 0),
            ("bash:allow", 0),
            ("python3 -m pytest *:allow", 0),
            ("node --version:allow", 0),
            ("git *:allow", 0),
        ];
        for (rule, expected) in cases {
            let agent = permissions(Section::Bash, &["ask", rule]);
            assert_eq!(count(&CHECK, &agent), expected, "{rule}");
        }
    }
}
