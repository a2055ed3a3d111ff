//! When an agent runs by itself.

use agentry_policy::words;

use crate::Field;

/// A prompt that is run at set times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// What it is called.
    pub name: Field<String>,
    /// When: a cron expression.
    pub cron: Field<String>,
    /// Whether it is on; it is unless said otherwise.
    pub enabled: Field<bool>,
    /// In which time zone; UTC unless said otherwise.
    pub timezone: Field<String>,
    /// What happens when the last run is still going.
    pub overlap: Field<Overlap>,
    /// What happens to runs that were missed.
    pub misfire: Field<Misfire>,
    /// The most by which a run is delayed at random: `30s`.
    pub jitter: Field<String>,
    /// What the agent is told.
    pub prompt: Field<String>,
}

words! {
    /// What happens when the last run is still going.
    pub enum Overlap {
        /// The new one is left out.
        Skip = "skip",
        /// The new one waits.
        Queue = "queue",
        /// The old one is stopped.
        Replace = "replace",
    }
}

words! {
    /// What happens to runs that were missed.
    pub enum Misfire {
        /// Nothing.
        Skip = "skip",
        /// One run makes up for all.
        Once = "once",
        /// Each is made up for.
        All = "all",
    }
}
