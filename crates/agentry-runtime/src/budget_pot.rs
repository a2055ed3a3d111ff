//! One budget for a run and the runs of its delegates: what a child spends, its ancestors have spent. A
//! child asks the pot before each request and each call, so that no ancestor's limit is passed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::budget::{NextAction, RunLimits, RunSpending};
use crate::conversation::TokenUsage;
use crate::state::StepState;

/// The place of one run in a pot that it shares with the runs above and below it.
#[derive(Debug, Clone)]
pub struct BudgetShare {
    pot: Arc<Mutex<Vec<PotEntry>>>,
    at: usize,
}

/// What a delegate has spent so far, for the journal of the run above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateCharge {
    /// The call that started the delegate.
    pub call: String,
    /// The run of the delegate.
    pub run: String,
    /// Everything that it has spent, with its own delegates.
    pub spent: RunSpending,
}

/// One run of the tree.
#[derive(Debug, Default)]
struct PotEntry {
    parent: Option<ParentEntry>,
    name: String,
    limits: RunLimits,
    /// Without its delegates.
    own: RunSpending,
    /// What its journal has about each delegate.
    journaled: BTreeMap<String, RunSpending>,
    /// The least usage of the request that is under way.
    asking: TokenUsage,
    is_cancelled: bool,
    /// The sum that was last sent to the run above it.
    charged: RunSpending,
    /// Sends charges of its delegates to its own driver.
    charges: Option<UnboundedSender<DelegateCharge>>,
}

/// The link of an entry to the run above it.
#[derive(Debug, Clone)]
struct ParentEntry {
    at: usize,
    call: String,
    run: String,
}

impl Default for BudgetShare {
    fn default() -> Self {
        Self::root("")
    }
}

impl BudgetShare {
    /// Creates the pot of a run that works for no other one.
    pub fn root(name: &str) -> Self {
        let entry = PotEntry { name: name.to_owned(), ..PotEntry::default() };
        Self { pot: Arc::new(Mutex::new(vec![entry])), at: 0 }
    }

    /// Adds the run of a delegate: its agent, its id, and the call that started it.
    #[must_use]
    pub fn delegate(&self, name: &str, run: &str, call: &str) -> Self {
        let mut pot = self.lock();
        let is_same = |entry: &PotEntry| {
            let parent = entry.parent.as_ref();
            parent.is_some_and(|parent| parent.at == self.at && parent.call == call)
        };
        let known = pot.iter().position(is_same);
        let parent = ParentEntry { at: self.at, call: call.to_owned(), run: run.to_owned() };
        let (name, parent) = (name.to_owned(), Some(parent));
        let entry = PotEntry { parent, name, ..PotEntry::default() };
        // A delegate that was parked continues in its own entry.
        let at = known.unwrap_or(pot.len());
        match pot.get_mut(at) {
            Some(old) => *old = entry,
            None => pot.push(entry),
        }
        Self { pot: Arc::clone(&self.pot), at }
    }

    /// Returns the channel on which the charges of its delegates arrive.
    pub(crate) fn listen(&self) -> UnboundedReceiver<DelegateCharge> {
        let (sender, receiver) = unbounded_channel();
        if let Some(entry) = self.lock().get_mut(self.at) {
            entry.charges = Some(sender);
        }
        receiver
    }

    /// Takes over the limits and the spending of its run, and charges the run above it.
    pub(crate) fn report(&self, state: &StepState) {
        let mut pot = self.lock();
        let Some(entry) = pot.get_mut(self.at) else { return };
        entry.limits = state.limits;
        entry.own = state.delegated.values().fold(state.spent, RunSpending::without);
        entry.journaled.clone_from(&state.delegated);
        entry.asking = state.asking.unwrap_or_default();
        let Some(parent) = entry.parent.clone() else { return };
        let spent = total(&pot, self.at);
        let is_new = pot.get(self.at).is_some_and(|entry| !entry.charged.is_same(&spent));
        if !is_new {
            return;
        }
        if let Some(entry) = pot.get_mut(self.at) {
            entry.charged = spent;
        }
        let ParentEntry { at, call, run } = parent;
        if let Some(charges) = pot.get(at).and_then(|above| above.charges.as_ref()) {
            // Its driver may be gone; then the charge is made when the run is resumed.
            let _ = charges.send(DelegateCharge { call, run, spent });
        }
    }

    /// Reserves the usage of a request, or returns the limit of a run above that it would pass.
    pub(crate) fn admit(&self, next: NextAction, usage: TokenUsage) -> Result<(), String> {
        let mut pot = self.lock();
        let mut above = parent_of(&pot, self.at);
        while let Some(at) = above {
            let Some(entry) = pot.get(at) else { break };
            let mut spent = total(&pot, at);
            spent.use_up(reserved(&pot, at));
            if next == NextAction::Call {
                // The step of this call is counted already.
                spent.steps = spent.steps.saturating_sub(1);
            }
            let limit = spent.exceeded(&entry.limits, next);
            if let Some(limit) = limit.or_else(|| spent.passed_by(usage, &entry.limits)) {
                return Err(format!("{limit} (`{}`)", entry.name));
            }
            above = parent_of(&pot, at);
        }
        if let Some(entry) = pot.get_mut(self.at) {
            entry.asking = usage;
        }
        Ok(())
    }

    /// Notes whether its run was cancelled by the user.
    pub(crate) fn set_cancelled(&self, is_cancelled: bool) {
        if let Some(entry) = self.lock().get_mut(self.at) {
            entry.is_cancelled = is_cancelled;
        }
    }

    /// Returns whether a run above it was cancelled by the user.
    pub(crate) fn is_cancelled_above(&self) -> bool {
        let pot = self.lock();
        let mut above = parent_of(&pot, self.at);
        while let Some(at) = above {
            if pot.get(at).is_some_and(|entry| entry.is_cancelled) {
                return true;
            }
            above = parent_of(&pot, at);
        }
        false
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PotEntry>> {
        self.pot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parent_of(pot: &[PotEntry], at: usize) -> Option<usize> {
    pot.get(at)?.parent.as_ref().map(|parent| parent.at)
}

/// Returns whether an entry is `above` or below it. A parent is always added before its children.
fn is_below(pot: &[PotEntry], at: usize, above: usize) -> bool {
    let mut at = Some(at);
    while let Some(now) = at.filter(|now| *now > above) {
        at = parent_of(pot, now);
    }
    at == Some(above)
}

/// Returns what a run and all runs below it have spent.
fn total(pot: &[PotEntry], of: usize) -> RunSpending {
    let mut sum = RunSpending::default();
    for (at, entry) in pot.iter().enumerate().filter(|(at, _)| is_below(pot, *at, of)) {
        sum = sum.with(&entry.own);
        let is_here = |call: &str| {
            let mut parents = pot.iter().filter_map(|entry| entry.parent.as_ref());
            parents.any(|parent| parent.at == at && parent.call == call)
        };
        // A delegate of an earlier process is known from the journal alone.
        let earlier = entry.journaled.iter().filter(|(call, _)| !is_here(call));
        sum = earlier.fold(sum, |sum, (_, spent)| sum.with(spent));
    }
    sum
}

/// Returns the least usage of all requests under way in a run and below it.
fn reserved(pot: &[PotEntry], of: usize) -> TokenUsage {
    let mut sum = RunSpending::default();
    let below = pot.iter().enumerate().filter(|(at, _)| is_below(pot, *at, of));
    below.for_each(|(_, entry)| sum.use_up(entry.asking));
    sum.usage
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(turns: u64, input: u64) -> RunSpending {
        let usage = TokenUsage { input, ..TokenUsage::default() };
        RunSpending { turns, usage, ..RunSpending::default() }
    }

    fn state(limits: RunLimits, spent: RunSpending) -> StepState {
        StepState { limits, spent, ..StepState::default() }
    }

    #[test]
    fn a_grandchild_spends_the_budget_of_its_ancestors() {
        let root = BudgetShare::root("lead");
        let mut charges = root.listen();
        let limits = RunLimits { tokens: Some(100), ..RunLimits::default() };
        root.report(&state(limits, spent(1, 40)));
        let child = root.delegate("helper", "run-2", "call-1");
        let grandchild = child.delegate("writer", "run-3", "call-1");
        grandchild.report(&state(RunLimits::default(), spent(2, 30)));
        child.report(&state(RunLimits::default(), spent(1, 10)));
        let charge = charges.try_recv().unwrap();
        assert_eq!((charge.call.as_str(), charge.spent.tokens()), ("call-1", 40));
        // 80 are spent, with a request of 15 under way: only 5 are left.
        let usage = |input| TokenUsage { input, ..TokenUsage::default() };
        assert_eq!(child.admit(NextAction::Turn, usage(15)), Ok(()));
        let refused = grandchild.admit(NextAction::Turn, usage(6)).unwrap_err();
        assert_eq!(refused, "100 tokens, which the next question would pass (`lead`)");
        assert_eq!(grandchild.admit(NextAction::Turn, usage(5)), Ok(()));
        // Its own limits are the business of its own run.
        assert_eq!(root.admit(NextAction::Turn, usage(1_000)), Ok(()));
    }

    #[test]
    fn spending_of_earlier_delegates_is_restored() {
        let root = BudgetShare::root("lead");
        let limits = RunLimits { turns: Some(10), ..RunLimits::default() };
        let mut journaled = state(limits, spent(9, 0));
        journaled.delegated.insert("old".to_owned(), spent(4, 0));
        journaled.delegated.insert("call-2".to_owned(), spent(2, 0));
        root.report(&journaled);
        let child = root.delegate("helper", "run-2", "call-2");
        child.report(&state(RunLimits::default(), spent(3, 0)));
        // 3 of its own, 4 of the old one and 3 of the resumed one.
        let refused = child.admit(NextAction::Turn, TokenUsage::default()).unwrap_err();
        assert_eq!(refused, "10 turns (`lead`)");
    }

    #[test]
    fn cancelling_a_run_cancels_its_delegates() {
        let root = BudgetShare::root("lead");
        let child = root.delegate("helper", "run-2", "call-1");
        assert!(!child.is_cancelled_above());
        root.set_cancelled(true);
        assert!(child.is_cancelled_above() && !root.is_cancelled_above());
    }
}
