//! The approvals that a user has given for the rest of a run.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::driver::interfaces::CallDecision;
use crate::event::{ApprovalAnswer, CallJudgement};

/// Approvals of one run, by what they cover or by exact call. They turn `ask` into `allow`, and never
/// change `deny`.
#[derive(Debug, Default)]
pub struct Approvals(Mutex<BTreeSet<String>>);

impl Approvals {
    /// Records the approvals of an answer.
    pub fn note(&self, answer: &ApprovalAnswer) {
        if let ApprovalAnswer::Always(names) = answer {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.extend(names.iter().cloned());
        }
    }

    /// Returns the decision, with `ask` turned into `allow` if the user has approved of it.
    pub fn weighed(&self, decision: CallDecision) -> CallDecision {
        if decision.verdict != CallJudgement::Ask {
            return decision;
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A call without a key is a human gate: only the answer to it lets it pass.
        let exact = !decision.exact.is_empty() && known.contains(&decision.exact);
        // Every part that asks must be covered: a call of two commands needs both approvals.
        let rules =
            !decision.rules.is_empty() && decision.rules.iter().all(|rule| known.contains(rule));
        if !exact && !rules {
            return decision;
        }
        let what = if exact { "this exact call" } else { "the like of it" };
        let reason = format!("{what} was allowed for this run; {}", decision.reason);
        CallDecision { verdict: CallJudgement::Allow, reason, ..decision }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CallClass;

    #[test]
    fn approvals_cover_their_like_and_nothing_else() {
        let decision = |verdict, exact: &str, rules: &[&str]| CallDecision {
            verdict,
            reason: String::new(),
            class: CallClass::External,
            places: Vec::new(),
            rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
            exact: exact.to_owned(),
        };
        let approvals = Approvals::default();
        approvals.note(&ApprovalAnswer::Yes);
        approvals.note(&ApprovalAnswer::Always(vec!["call:a".to_owned(), String::new()]));
        approvals.note(&ApprovalAnswer::Always(vec!["rule:x".to_owned(), "rule:y".to_owned()]));
        let (ask, allow, deny) = (CallJudgement::Ask, CallJudgement::Allow, CallJudgement::Deny);
        let cases = [
            (decision(ask, "call:a", &["rule:z"]), allow),
            (decision(ask, "call:b", &["rule:z"]), ask),
            (decision(ask, "call:b", &["rule:x"]), allow),
            (decision(ask, "call:b", &["rule:y", "rule:x"]), allow),
            (decision(ask, "call:b", &["rule:x", "rule:z"]), ask),
            (decision(ask, "call:b", &[]), ask),
            (decision(deny, "call:a", &["rule:x"]), deny),
            (decision(allow, "call:b", &[]), allow),
            (decision(ask, "", &[]), ask),
        ];
        for (decision, expected) in cases {
            assert_eq!(approvals.weighed(decision.clone()).verdict, expected, "{decision:?}");
        }
    }
}
