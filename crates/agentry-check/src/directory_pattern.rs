//! AG9016: a path pattern that ends with `/` and therefore matches no file.

use agentry_policy::{PatternRule, Section};
use agentry_text::{Findings, Fix, LintRule, Spanned, rule};

use crate::text_spans::within;
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9016");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(permissions) = &subject.agent.policy.permissions else { return };
    let paths = [Section::Edit, Section::Read, Section::ExternalDirectory];
    for section in paths.iter().filter_map(|section| permissions.get(*section)) {
        section.rules.iter().for_each(|rule| report(rule, findings));
    }
}

fn report(rule: &Spanned<PatternRule>, findings: &mut Findings) {
    if !rule.pattern.ends_with('/') {
        return;
    }
    let found = findings.add(&RULE, rule.span, format!("rule `{}` matches no file", rule.value));
    found.hint(format!("write `{}**:{}`", rule.pattern, rule.action));
    let end = within(rule.span, rule.to_string().len(), rule.pattern.len(), 0);
    // `within` returns the whole span if the text has escapes; then there is no exact place to edit.
    if end != rule.span {
        found.fix(Fix::unsafe_("add `**`", end, "**"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{count, permissions};

    #[test]
    fn path_patterns_ending_with_a_slash_are_reported() {
        let cases = [
            (Section::Edit, "src/:allow", 1),
            (Section::Read, "/etc/:deny", 1),
            (Section::ExternalDirectory, "~/p/:allow", 1),
            (Section::Edit, "src/**:allow", 0),
            (Section::Edit, "src:allow", 0),
            (Section::Bash, "cat src/:allow", 0),
        ];
        for (section, rule, expected) in cases {
            assert_eq!(count(&CHECK, &permissions(section, &["ask", rule])), expected, "{rule}");
        }
    }
}
