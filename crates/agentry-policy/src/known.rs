//! Answers that all threads remember: the same few questions are put again and again while the agents
//! of a workspace are rendered, and each takes long to answer.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{LazyLock, PoisonError, RwLock};

use foldhash::fast::RandomState;

/// Questions with their answers.
#[derive(Debug)]
pub struct Known<K, V> {
    answers: LazyLock<RwLock<HashMap<K, V, RandomState>>>,
    /// The most answers that are remembered.
    most: usize,
}

impl<K: Eq + Hash, V: Clone> Known<K, V> {
    /// Nothing is known.
    #[expect(clippy::new_without_default, reason = "a default cannot be made for a `static`")]
    pub const fn new() -> Self {
        Self::at_most(10_000)
    }

    /// Nothing is known, and so many answers will be: then it starts anew.
    pub const fn at_most(most: usize) -> Self {
        Self { answers: LazyLock::new(RwLock::default), most }
    }

    /// The answer to a question, which must be all that it depends on. Two threads that ask at once may
    /// both look for it.
    pub fn get(&self, question: K, answer: impl FnOnce() -> V) -> V {
        if let Some(known) =
            self.answers.read().unwrap_or_else(PoisonError::into_inner).get(&question)
        {
            return known.clone();
        }
        let answer = answer();
        let mut known = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.most {
            known.clear();
        }
        known.entry(question).or_insert(answer).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_looked_for_once() {
        static KNOWN: Known<&str, usize> = Known::new();
        for (question, answer, expected) in [("a", 1, 1), ("b", 2, 2), ("a", 3, 1)] {
            assert_eq!(KNOWN.get(question, || answer), expected, "{question}");
        }
    }
}
