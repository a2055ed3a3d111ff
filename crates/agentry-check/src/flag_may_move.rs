//! AG9014: a deny or ask rule that the same command evades with another order of its options.

use agentry_policy::{Action, PatternRule, RuleList};
use agentry_text::{Findings, LintRule, Spanned, rule};

use crate::commands::{MOST_RULES, answer, bash, compiled, words};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9014");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(section) = bash(subject.agent) else { return };
    let rules = compiled(section);
    let written = section.rules.iter().take(MOST_RULES);
    written.filter(|rule| rule.action != Action::Allow).for_each(|rule| {
        report(rule, &rules, findings);
    });
}

/// A command with the same effect as the one of a rule, and a pattern that matches both.
struct EquivalentCommand {
    command: Vec<String>,
    better: String,
}

fn report(rule: &Spanned<PatternRule>, rules: &RuleList, findings: &mut Findings) {
    let words = words(&rule.pattern);
    let Some(flag) = words.iter().position(|word| word.starts_with('-')) else { return };
    let (before, after) = words.split_at(flag);
    let Some(option) = after.first().map(|option| option.trim_end_matches('*')) else { return };
    // Only literal words before the option make a command that can be tried against the rules.
    if before.is_empty() || before.iter().any(|word| word.contains('*')) || option.len() < 2 {
        return;
    }
    // A rule that never decides, because an earlier one matches, is reported by another check.
    if answer(rules, &[before, &[option]].concat()) != rule.action {
        return;
    }
    for EquivalentCommand { command, better } in
        [moved(before, after), reordered(before, after)].into_iter().flatten()
    {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let got = answer(rules, &command);
        // The other spelling gets a verdict at least as strict, so nothing is evaded.
        if got >= rule.action {
            continue;
        }
        let becomes = if got == Action::Allow { "allowed" } else { "asked about" };
        let line = command.join(" ");
        let message =
            format!("rule `{}` does not hold for `{line}`, which is {becomes}", rule.value);
        findings.add(&RULE, rule.span, message).hint(format!("write `{better}:{}`", rule.action));
        return;
    }
}

/// Moves the option behind an argument of a subcommand.
fn moved(before: &[&str], after: &[&str]) -> Option<EquivalentCommand> {
    let option = after.first()?.trim_end_matches('*');
    // The example should look real: `git push origin --force`.
    let argument = if before.first() == Some(&"git") { "origin" } else { "x" };
    let command = before.iter().chain([&argument, &option]).map(|word| (*word).to_owned());
    let better = format!("{} ** {}", before.join(" "), after.join(" "));
    // Without a subcommand the words before the option are only the program, as in `rm -rf`.
    (before.len() >= 2).then(|| EquivalentCommand { command: command.collect(), better })
}

/// Reorders the letters of an option: `-fr` instead of `-rf`.
fn reordered(before: &[&str], after: &[&str]) -> Option<EquivalentCommand> {
    let letters = after.first()?.trim_end_matches('*').strip_prefix('-')?;
    let cluster = letters.len() > 1 && letters.chars().all(|c| c.is_ascii_alphabetic());
    let turned: String = letters.chars().rev().collect();
    let option = format!("-{turned}");
    let command = before.iter().map(|word| (*word).to_owned()).chain([option, "x".to_owned()]);
    let better = format!("{} *", before.join(" "));
    (cluster && turned != letters).then(|| EquivalentCommand { command: command.collect(), better })
}

#[cfg(test)]
mod tests {
    use agentry_policy::Section;

    use super::*;
    use crate::testing::{count, permissions};

    #[test]
    fn deny_rules_evaded_by_option_order_are_reported() {
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
            (&["allow", "rm -rf *:deny"], 1),
            (&["ask", "rm -rf *:deny", "rm -fr *:deny"], 0),
            (&["deny", "rm -rf *:deny"], 0),
            (&["ask", "rm -r *:deny"], 0),
            (&["ask", "git log --oneline*:allow"], 0),
            (&["allow", "git * --force:deny"], 0),
        ];
        for (rules, expected) in cases {
            let agent = permissions(Section::Bash, rules);
            assert_eq!(count(&CHECK, &agent), *expected, "{rules:?}");
        }
    }
}
