//! Examples that an author writes beside the rules, to keep them true.

use crate::{Action, Section};

crate::words! {
    /// What an author expects of a call.
    pub enum ExpectedVerdict {
        /// It runs.
        Allow = "allow",
        /// A person is asked.
        Ask = "ask",
        /// It does not run.
        Deny = "deny",
        /// It does not run without a person.
        NotAllow = "not_allow",
    }
}

/// One example: a call, and what should become of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyTest {
    /// What kind of call it is.
    pub section: Section,
    /// The command line, the path, the address, the name.
    pub subject: String,
    /// What should become of it.
    pub expected: ExpectedVerdict,
}

impl ExpectedVerdict {
    /// Whether an answer is the expected one.
    pub fn holds(self, action: Action) -> bool {
        match self {
            Self::Allow => action == Action::Allow,
            Self::Ask => action == Action::Ask,
            Self::Deny => action == Action::Deny,
            Self::NotAllow => action != Action::Allow,
        }
    }
}
