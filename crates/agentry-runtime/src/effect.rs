//! Effects: what [`crate::step()`] asks the driver of a run to do.

use crate::event::RunEnding;

/// One act of the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEffect {
    /// Send the conversation to this model.
    Ask {
        /// Its index in the plan.
        model: usize,
    },
    /// Ask the policy about a call.
    Judge {
        /// The call.
        id: String,
    },
    /// Ask the user.
    Put(PersonQuestion),
    /// Write the start of a call to the journal, then run it.
    Run {
        /// The call.
        id: String,
    },
    /// Wait before a retry.
    Wait {
        /// Milliseconds.
        time: u64,
    },
    /// Replace the first messages by a summary.
    Compact {
        /// How many messages.
        messages: usize,
    },
    /// Cancel everything that runs.
    Stop,
    /// Nothing is left to do until the next event of the user.
    Finish(RunEnding),
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonQuestion {
    /// Whether a call may run.
    Call {
        /// The call.
        id: String,
        /// The reason why approval is needed.
        reason: String,
    },
    /// Whether a call that was running when the run was killed is to be run again.
    Unfinished {
        /// The call.
        id: String,
    },
    /// Whether a call that failed is to be run again.
    Failed {
        /// The call.
        id: String,
        /// The failure.
        why: String,
    },
    /// Whether to continue although a limit is reached.
    Limit {
        /// The limit.
        limit: String,
    },
    /// Whether to try all models again.
    Models {
        /// Why none of them answers.
        why: String,
    },
}
