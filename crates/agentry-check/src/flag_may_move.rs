use agentry_policy::{Action, PatternRule, SectionRules};
use agentry_text::{Findings, Rule, Severity, Spanned};

use crate::commands::{MOST_RULES, answer, bash, words};
use crate::{Check, Subject, examples};

pub(super) const CHECK: Check = Check { rule: &RULE, check };

static RULE: Rule = Rule {
    code: "AG9014",
    name: "flag-may-move",
    severity: Severity::Warning,
    why: "Options are matched where they stand. A rule against `git push --force*` does not hold for \
          `git push origin --force`; one with `**` before the option holds for both.",
    bad: examples::bash!("intent = \"ask\"\nrules = [\"git push --force*:deny\"]\n"),
    good: examples::bash!("intent = \"ask\"\nrules = [\"git push ** --force*:deny\"]\n"),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(section) = bash(subject.agent) else { return };
    let rules = section.rules.iter().take(MOST_RULES);
    rules.filter(|rule| rule.action != Action::Allow).for_each(|rule| {
        report(rule, section, findings);
    });
}

fn report(rule: &Spanned<PatternRule>, section: &SectionRules, findings: &mut Findings) {
    let words = words(&rule.pattern);
    let Some(flag) = words.iter().position(|word| word.starts_with('-')) else { return };
    let (before, after) = words.split_at(flag);
    let plain = before.iter().all(|word| !word.contains('*'));
    let (true, true, Some(option)) = (flag >= 2, plain, after.first()) else { return };
    let option = option.trim_end_matches('*');
    // An argument of the kind that the command has.
    let argument = if before.first() == Some(&"git") { "origin" } else { "x" };
    let as_written = [before, &[option]].concat();
    let moved = [before, &[argument, option]].concat();
    let got = answer(section, &moved);
    // A rule that an earlier one covers has another problem.
    if answer(section, &as_written) != rule.action || got >= rule.action || option.len() < 2 {
        return;
    }
    let becomes = if got == Action::Allow { "allowed" } else { "asked about" };
    let message = format!(
        "rule `{}` does not hold for `{}`, which is {becomes}",
        rule.value,
        moved.join(" ")
    );
    let better = format!("{} ** {}:{}", before.join(" "), after.join(" "), rule.action);
    findings.add(&RULE, rule.span, message).hint(format!("write `{better}`"));
}

#[cfg(test)]
mod tests {
    use agentry_policy::Section;

    use super::*;
    use crate::testing::{count, permissions};

    #[test]
    fn rules_with_options() {
        let cases: &[(&[&str], usize)] = &[
            (&["allow", "git push --force*:deny"], 1),
            (&["ask", "git push -f *:deny"], 1),
            (&["ask", "git push --force*:ask"], 0),
            (&["allow", "git reset --hard*:ask"], 1),
            (&["deny", "git push --force*:deny"], 0),
            (&["allow", "git push ** --force*:deny"], 0),
            (&["allow", "git push ** --force*:deny", "git push --force*:deny"], 0),
            (&["allow", "git push --force*:deny", "git push*:deny"], 0),
            (&["allow", "git push*:ask", "git push --force*:deny"], 0),
            (&["allow", "rm -rf *:deny"], 0),
            (&["ask", "git log --oneline*:allow"], 0),
            (&["allow", "git * --force:deny"], 0),
        ];
        for (rules, expected) in cases {
            let agent = permissions(Section::Bash, rules);
            assert_eq!(count(&CHECK, &agent), *expected, "{rules:?}");
        }
    }
}
