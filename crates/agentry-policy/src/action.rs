//! The three verdicts of a policy, from the mildest to the strictest.

crate::words! {
    /// The verdict about a call; a later variant is stricter.
    pub enum Action {
        /// The call runs.
        Allow = "allow",
        /// The user is asked for an approval.
        Ask = "ask",
        /// The call does not run.
        Deny = "deny",
    }
}

impl Action {
    /// Returns the stricter of two verdicts.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        self.max(other)
    }
}
