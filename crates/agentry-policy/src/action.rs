//! The three answers of a policy, from the mildest to the strictest.

crate::words! {
    /// What becomes of a call. Ordered: a later variant is stricter.
    pub enum Action {
        /// It runs.
        Allow = "allow",
        /// A person is asked.
        Ask = "ask",
        /// It does not run.
        Deny = "deny",
    }
}

impl Action {
    /// The stricter of two answers.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        self.max(other)
    }
}
