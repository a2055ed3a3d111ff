//! What the driver of a run is to do.

use crate::event::RunEnding;

/// Something that the driver is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEffect {
    /// Ask this model of the plan.
    Ask {
        /// Its place.
        model: usize,
    },
    /// Ask the policy about a call.
    Judge {
        /// The call.
        id: String,
    },
    /// Ask the person.
    Put(PersonQuestion),
    /// Write down that a call starts, then run it.
    Run {
        /// The call.
        id: String,
    },
    /// Let time go by.
    Wait {
        /// Milliseconds.
        time: u64,
    },
    /// Put the first messages into fewer words.
    Compact {
        /// How many.
        messages: usize,
    },
    /// End whatever runs.
    Stop,
    /// Nothing is left to do for now.
    Finish(RunEnding),
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonQuestion {
    /// Whether a call may run.
    Call {
        /// The call.
        id: String,
        /// Why it is asked.
        reason: String,
    },
    /// Whether a call that was started before the run was killed is to be run again.
    Unfinished {
        /// The call.
        id: String,
    },
    /// Whether a call that failed is to be run again.
    Failed {
        /// The call.
        id: String,
        /// How.
        why: String,
    },
    /// Whether to go on although a limit is reached.
    Limit {
        /// Which.
        limit: String,
    },
    /// Whether to try all models again.
    Models {
        /// Why none of them answers.
        why: String,
    },
}
