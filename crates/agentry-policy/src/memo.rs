//! Memoised answers. While the agents of a workspace are checked or rendered, the same few expensive
//! questions come up many times.
//!
//! A [`MemoTable`] belongs to one session and is dropped with it. All threads of the session share it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;

use crate::automata::MachineTooLarge;
use crate::automata::machine::StateMachine;
use crate::compare::{ExampleSubject, SideRules};
use crate::overlap::PatternPair;
use crate::pattern::{HazardProtection, Pattern};

/// A memo of questions and their answers.
#[derive(Debug)]
pub struct MemoTable<K, V> {
    answers: RwLock<HashMap<K, V, RandomState>>,
    /// The most answers that are stored.
    most: usize,
}

impl<K, V> Default for MemoTable<K, V> {
    fn default() -> Self {
        Self::at_most(10_000)
    }
}

impl<K, V> MemoTable<K, V> {
    /// Makes an empty table for this many answers; when it is full, it is cleared.
    pub fn at_most(most: usize) -> Self {
        Self { answers: RwLock::default(), most }
    }
}

impl<K: Eq + Hash, V: Clone> MemoTable<K, V> {
    /// Returns the answer to a question, computing it if necessary. The answer must depend on the question
    /// alone. Two threads may compute the same answer at the same time.
    pub fn get(&self, question: K, answer: impl FnOnce() -> V) -> V {
        let known = self.answers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&question) {
            return known.clone();
        }
        drop(known);
        let answer = answer();
        let mut known = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.most {
            known.clear();
        }
        known.entry(question).or_insert(answer).clone()
    }
}

/// The memo of a session about patterns and rules. Answers depend on the rules alone, so one memo may serve
/// any number of agents.
#[derive(Debug)]
pub struct PolicyMemo {
    /// The machines of patterns, which most comparisons share.
    pub(crate) leaves:
        MemoTable<(HazardProtection, Pattern), Result<StateMachine, MachineTooLarge>>,
    /// The machines of whole sides, because one policy is compared with many lists.
    pub(crate) sides:
        MemoTable<(HazardProtection, SideRules), Result<Arc<StateMachine>, MachineTooLarge>>,
    pub(crate) overlaps: MemoTable<PatternPair, Option<ExampleSubject>>,
    pub(crate) covers: MemoTable<PatternPair, bool>,
}

impl Default for PolicyMemo {
    fn default() -> Self {
        Self {
            leaves: MemoTable::at_most(2_000),
            // One side may have thousands of states, so few are stored.
            sides: MemoTable::at_most(300),
            overlaps: MemoTable::default(),
            covers: MemoTable::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memoised_answer_is_computed_once() {
        let memo = MemoTable::default();
        for (question, answer, expected) in [("a", 1, 1), ("b", 2, 2), ("a", 3, 1)] {
            assert_eq!(memo.get(question, || answer), expected, "{question}");
        }
    }

    #[test]
    fn a_full_memo_table_is_cleared() {
        let memo = MemoTable::at_most(2);
        for (question, answer, expected) in [("a", 1, 1), ("b", 2, 2), ("c", 3, 3), ("a", 4, 4)] {
            assert_eq!(memo.get(question, || answer), expected, "{question}");
        }
    }
}
