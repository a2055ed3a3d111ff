//! Patterns as machines, for questions about all possible subjects at once.
//!
//! A subject is encoded as one text ([`subject`]). A pattern becomes a nondeterministic automaton over
//! characters ([`language`], [`hazards`]) and then a small deterministic one ([`determinise`]). The rules of
//! a section are merged in a balanced tree into one machine whose output is the deciding rule ([`machine`],
//! [`minimise`]). All sizes are limited: beyond a limit there is no answer, and callers must treat that as
//! «no».

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

/// A machine exceeded a limit, so there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MachineTooLarge;
