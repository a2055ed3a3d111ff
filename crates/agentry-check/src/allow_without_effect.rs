//! AG9028: an allow rule in one layer of the policy, while another layer denies the whole section.

use agentry_policy::{Action, PathAnchors, PolicyContext, PolicyLayer, RuleList, Section, layers};
use agentry_text::{Findings, LintRule, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9028");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let layers = layers(&subject.agent.policy, &PolicyContext::default(), &PathAnchors::default());
    for layer in &layers {
        for rules in &layer.sections {
            let Some(allow) = rules.all().find(|rule| rule.action == Action::Allow) else {
                continue;
            };
            let Some(place) = allow.span else { continue };
            let Some((other, closed)) = closed(&layers, rules.section) else { continue };
            let message = format!(
                "`{}` has no effect: `{}` denies every call of `{}`",
                allow.text, closed.intent.text, rules.section
            );
            let found = findings.add(&RULE, place, message);
            found.hint(format!("remove it, or open `{}`", other.source));
            if let Some(place) = closed.intent.span {
                found.related(place, "this denies it");
            }
        }
    }
}

/// Finds the layer that denies everything in a section.
fn closed(layers: &[PolicyLayer], section: Section) -> Option<(&PolicyLayer, &RuleList)> {
    layers.iter().find_map(|layer| {
        let rules = layer.rules(section)?;
        let all_deny = rules.all().all(|rule| rule.action == Action::Deny);
        all_deny.then_some((layer, rules))
    })
}

#[cfg(test)]
mod tests {
    use agentry_policy::{ExecTrust, Trust};

    use super::*;
    use crate::testing::{at, count, permissions};

    #[test]
    fn an_allow_denied_by_trust_is_reported() {
        let cases: &[(ExecTrust, &[&str], usize)] = &[
            (ExecTrust::None, &["ask", "git log *:allow"], 1),
            (ExecTrust::None, &["allow"], 1),
            (ExecTrust::None, &["ask", "git log *:deny"], 0),
            (ExecTrust::Sandboxed, &["ask", "git log *:allow"], 0),
        ];
        for (exec, rules, expected) in cases {
            let mut agent = permissions(Section::Bash, rules);
            agent.policy.trust = Some(Trust { exec: Some(at(*exec)), ..Trust::default() });
            assert_eq!(count(&CHECK, &agent), *expected, "{exec} {rules:?}");
        }
    }
}
