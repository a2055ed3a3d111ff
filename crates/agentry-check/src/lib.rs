//! Rules over an agent that was read: what no single field can show. A rule is a file; [`CHECKS`] is
//! the one table.
#![warn(clippy::disallowed_methods)]

use agentry_model::{Agent, Format};
use agentry_text::{Findings, Rule};

mod no_description;

/// Every check, in code order.
pub const CHECKS: &[Check] = &[no_description::CHECK];

/// A rule with the function that looks for it.
#[derive(Debug)]
pub struct Check {
    /// What is looked for.
    pub rule: &'static Rule,
    /// Looks for it.
    pub check: fn(&Subject<'_>, &mut Findings),
}

/// The agent under examination.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The agent as declared.
    pub agent: &'a Agent,
    /// The format it was read from.
    pub format: Format,
}

/// Runs every check over one agent.
pub fn run(subject: &Subject<'_>, findings: &mut Findings) {
    for check in CHECKS {
        (check.check)(subject, findings);
    }
}
