//! The approvals that a user has given: for the rest of a run, or for every run of an agent.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::driver::interfaces::CallDecision;
use crate::event::{ApprovalAnswer, CallJudgement};

/// The key of an approval for all edits in a run. A call is covered by it only if it offers that.
pub const ALL_EDITS: &str =
    "every change of a file in the workspace, except secrets and files of agents";

/// Stores standing approvals; returns why it could not.
pub type ApprovalKeeper = Box<dyn Fn(&[String]) -> Result<(), String> + Send + Sync>;

/// The wider approvals that a call can be given. They are decided without the rules of the agent, because a
/// rule that asks can hide that a secret asks too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApprovalOffer {
    /// Whether an approval of all edits covers the call.
    pub all_edits: bool,
    /// Whether a standing approval can cover the call.
    pub standing: bool,
}

/// The approvals that count in one run, by what they cover or by exact call. They turn `ask` into `allow`,
/// and never change `deny`.
#[derive(Default)]
pub struct Approvals {
    run: Mutex<BTreeSet<String>>,
    /// What the user approved for every run.
    standing: Mutex<BTreeSet<String>>,
    /// Stores more of them. Without it, neither they nor «all edits» are offered.
    keeper: Option<ApprovalKeeper>,
}

impl Approvals {
    /// Returns the approvals of a run that begins with these standing ones.
    pub fn with_standing(covered: Vec<String>, keeper: ApprovalKeeper) -> Self {
        let standing = Mutex::new(covered.into_iter().collect());
        Self { run: Mutex::default(), standing, keeper: Some(keeper) }
    }

    /// Records the approvals of an answer.
    pub fn note(&self, answer: &ApprovalAnswer) {
        if let ApprovalAnswer::Always(names) = answer {
            let mut known = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            known.extend(names.iter().cloned());
        }
    }

    /// Stores a standing approval of what these texts cover.
    pub fn keep(&self, covers: &[String]) -> Result<(), String> {
        let Some(keeper) = &self.keeper else {
            return Err("this run has no standing approvals".to_owned());
        };
        keeper(covers)?;
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        standing.extend(covers.iter().cloned());
        Ok(())
    }

    /// Returns the decision, with `ask` turned into `allow` if the user has approved of it.
    pub fn weighed(&self, mut decision: CallDecision) -> CallDecision {
        if self.keeper.is_none() {
            decision.offer = ApprovalOffer::default();
        }
        if decision.verdict != CallJudgement::Ask {
            return decision;
        }
        let Some(what) = self.approved(&decision) else { return decision };
        let reason = format!("{what}; {}", decision.reason);
        CallDecision { verdict: CallJudgement::Allow, reason, ..decision }
    }

    /// Returns which approval covers a call.
    fn approved(&self, decision: &CallDecision) -> Option<&'static str> {
        let CallDecision { rules, exact, offer, .. } = decision;
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        // A call without a key is a human gate: only the answer to it lets it pass.
        if !exact.is_empty() && run.contains(exact) {
            return Some("this exact call was allowed for this run");
        }
        // Every part that asks must be covered: a call of two commands needs both approvals.
        let is_covered =
            |is_known: &dyn Fn(&String) -> bool| !rules.is_empty() && rules.iter().all(is_known);
        if is_covered(&|rule| run.contains(rule)) {
            return Some("the like of it was allowed for this run");
        }
        if offer.all_edits && run.contains(ALL_EDITS) {
            return Some("all edits were allowed for this run");
        }
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |rule: &String| run.contains(rule) || standing.contains(rule);
        (offer.standing && is_covered(&is_known)).then_some("a standing approval covers it")
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, standing, keeper } = self;
        let mut shown = f.debug_struct("Approvals");
        shown.field("run", run).field("standing", standing);
        shown.field("keeps", &keeper.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CallClass;

    fn decision(verdict: CallJudgement, exact: &str, rules: &[&str]) -> CallDecision {
        CallDecision {
            verdict,
            reason: String::new(),
            class: CallClass::External,
            places: Vec::new(),
            rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
            exact: exact.to_owned(),
            offer: ApprovalOffer::default(),
        }
    }

    #[test]
    fn approvals_cover_only_matching_calls() {
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

    #[test]
    fn wider_approvals_cover_only_calls_that_offer_them() {
        let (ask, allow, deny) = (CallJudgement::Ask, CallJudgement::Allow, CallJudgement::Deny);
        let edits = ApprovalOffer { all_edits: true, standing: false };
        let standing = ApprovalOffer { all_edits: false, standing: true };
        let none = ApprovalOffer::default();
        let cases = [
            (ask, edits, "rule:z", allow),
            (ask, none, "rule:z", ask),
            (deny, edits, "rule:z", deny),
            (ask, standing, "rule:kept", allow),
            (ask, none, "rule:kept", ask),
            (deny, standing, "rule:kept", deny),
            (ask, standing, "rule:other", ask),
        ];
        let answer = ApprovalAnswer::Always(vec![ALL_EDITS.to_owned()]);
        for (verdict, offer, rule, expected) in cases {
            let made = CallDecision { offer, ..decision(verdict, "call", &[rule]) };
            let approvals =
                Approvals::with_standing(vec!["rule:kept".to_owned()], Box::new(|_| Ok(())));
            approvals.note(&answer);
            assert_eq!(approvals.weighed(made.clone()).verdict, expected, "{made:?}");
            // The run of a delegate and a recording have none.
            let other = Approvals::default();
            other.note(&answer);
            let expected = if expected == allow { ask } else { expected };
            assert_eq!(other.weighed(made.clone()).verdict, expected, "{made:?}");
        }
        let approvals = Approvals::with_standing(Vec::new(), Box::new(|_| Err("full".to_owned())));
        let made = CallDecision { offer: standing, ..decision(ask, "call", &["rule:x"]) };
        assert_eq!(approvals.keep(&made.rules), Err("full".to_owned()));
        assert_eq!(approvals.weighed(made).verdict, ask, "it was not stored");
    }
}
