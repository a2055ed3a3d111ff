//! Patterns as machines, for questions about all subjects at once.
//!
//! A subject is written as one text ([`subject`]), a pattern becomes a nondeterministic automaton
//! over characters ([`language`], [`hazards`]), that a small deterministic one ([`determinise`]), and
//! the rules of a section are merged in a balanced tree into one machine whose output is the rule
//! that decides ([`machine`], [`minimise`]). Everything is bounded: what grows too large is not
//! answered, and no answer counts as «no».

pub(crate) mod determinise;
pub(crate) mod fast_map;
pub(crate) mod fold;
pub(crate) mod hazards;
pub(crate) mod language;
pub(crate) mod leaf;
pub(crate) mod machine;
pub(crate) mod minimise;
pub(crate) mod nfa;
pub(crate) mod options;
pub(crate) mod regex;
pub(crate) mod search;
pub(crate) mod set;
pub(crate) mod subject;
#[cfg(test)]
pub(crate) mod tests;

/// The most states that a machine may have.
pub(crate) const MOST_STATES: usize = 100_000;

/// The most entries that the table of a machine may have.
pub(crate) const MOST_ENTRIES: usize = 8_000_000;

/// Some machine grew over its bound, so there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MachineTooLarge;
