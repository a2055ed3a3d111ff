//! Examples with expected verdicts, which an author writes beside the rules as tests.

use crate::{Action, Section};

crate::words! {
    /// The verdict that an author expects.
    pub enum ExpectedVerdict {
        /// The call runs.
        Allow = "allow",
        /// The user is asked for an approval.
        Ask = "ask",
        /// The call does not run.
        Deny = "deny",
        /// The call does not run without an approval: `ask` or `deny`.
        NotAllow = "not_allow",
    }
}

/// One example: a call, and its expected verdict.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyTest {
    /// The section of the call.
    pub section: Section,
    /// The command line, the path, the address or the name.
    pub subject: String,
    /// The expected verdict.
    pub expected: ExpectedVerdict,
}

impl ExpectedVerdict {
    /// Whether a verdict is the expected one.
    pub fn holds(self, action: Action) -> bool {
        match self {
            Self::Allow => action == Action::Allow,
            Self::Ask => action == Action::Ask,
            Self::Deny => action == Action::Deny,
            Self::NotAllow => action != Action::Allow,
        }
    }
}
