//! Characters that no agent text may hold: they hide what a person would otherwise see.

use crate::diagnostic::Findings;
use crate::rule::Rule;
use crate::source::Source;

/// Every rule about characters, in code order.
pub const RULES: &[&Rule] = &[];

/// Reports bidi controls, tag characters, and zero-width characters outside emoji sequences.
pub fn check(source: &Source, findings: &mut Findings) {
    let _ = (source, findings);
}
