//! AG9027: an allow rule that comes before a deny rule and overlaps it.

use agentry_policy::memo::PolicyMemo;
use agentry_policy::{Action, PolicyRule, RuleList, Section, overlap};
use agentry_text::{Findings, LintRule, rule};

use crate::commands::{MOST_RULES, compiled, words};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// The most pairs of rules of one agent that are compared exactly, which is expensive.
const MOST_PAIRS: usize = 100;

static RULE: LintRule = rule!("AG9027");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(permissions) = &subject.agent.policy.permissions else { return };
    let mut pairs_left = MOST_PAIRS;
    for section in &permissions.sections {
        let rules = compiled(section);
        for (at, deny) in rules.rules.iter().enumerate().take(MOST_RULES) {
            let earlier = rules.rules.get(..at).unwrap_or_default();
            let wider = (deny.action == Action::Deny)
                .then(|| {
                    let memo = subject.memo;
                    earlier
                        .iter()
                        .find_map(|allow| wider((memo, &rules), allow, deny, &mut pairs_left))
                })
                .flatten();
            if let Some((allow, example)) = wider {
                report(allow, deny, &example, findings);
            }
        }
    }
}

/// Finds an earlier allow that lets through a part of what `deny` matches, without being its exception.
fn wider<'r>(
    (memo, rules): (&PolicyMemo, &RuleList),
    allow: &'r PolicyRule,
    deny: &PolicyRule,
    pairs_left: &mut usize,
) -> Option<(&'r PolicyRule, String)> {
    // This cheap test saves pairs: most command rules start with different programs.
    let apart =
        rules.section == Section::Bash && start_apart(&allow.pattern.text, &deny.pattern.text);
    if allow.action != Action::Allow || apart || *pairs_left == 0 {
        return None;
    }
    *pairs_left -= 1;
    let example = overlap::overlap(memo, rules.section, &allow.pattern, &deny.pattern)?;
    // A third rule before both may already decide the example; then this pair is not at fault.
    let decides = example.with(|subject| std::ptr::eq(rules.first(subject), allow));
    // If one covers the other, it is an exception or a rule that never decides, not an overlap.
    let nested = overlap::covers(memo, rules.section, &deny.pattern, &allow.pattern)
        || overlap::covers(memo, rules.section, &allow.pattern, &deny.pattern);
    (decides && !nested).then(|| (allow, example.to_string()))
}

/// Reports whether two command patterns start with different literal words.
fn start_apart(first: &str, second: &str) -> bool {
    match (words(first).first(), words(second).first()) {
        (Some(a), Some(b)) => {
            // One may be the path of the other, as in `/usr/bin/git` and `git`.
            !a.contains('*') && !b.contains('*') && !a.ends_with(b) && !b.ends_with(a)
        }
        _ => true,
    }
}

fn report(allow: &PolicyRule, deny: &PolicyRule, example: &str, findings: &mut Findings) {
    let (Some(place), Some(earlier)) = (deny.span, allow.span) else { return };
    let message =
        format!("rule `{}` does not hold for `{example}`: `{}` comes first", deny.text, allow.text);
    findings
        .add(&RULE, place, message)
        .related(earlier, "this one allows it")
        .hint("put the deny before the allow");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{count, permissions};

    #[test]
    fn an_allow_before_an_overlapping_deny_is_reported() {
        let cases: &[(&[&str], usize)] = &[
            (&["ask", "git push *:allow", "git ** --force:deny"], 1),
            (&["ask", "git ** --force:deny", "git push *:allow"], 0),
            (&["ask", "git push origin dev:allow", "git push *:deny"], 0),
            (&["ask", "git log *:allow", "git push *:deny"], 0),
            (&["ask", "git push *:ask", "git ** --force:deny"], 0),
            (&["ask", "ls *:allow", "rm *:deny"], 0),
            (&["ask", "**:allow", "rm *:deny"], 0),
        ];
        for (rules, expected) in cases {
            let agent = permissions(Section::Bash, rules);
            assert_eq!(count(&CHECK, &agent), *expected, "{rules:?}");
        }
        let paths: &[(&[&str], usize)] = &[
            (&["ask", "src/**:allow", "**/*.key:deny"], 1),
            (&["ask", "**/*.key:deny", "src/**:allow"], 0),
            (&["ask", "src/a:allow", "src/**:deny"], 0),
        ];
        for (rules, expected) in paths {
            let agent = permissions(Section::Edit, rules);
            assert_eq!(count(&CHECK, &agent), *expected, "{rules:?}");
        }
    }
}
