//! When an agent runs by itself.

use agentry_policy::words;

use crate::Declared;

/// A prompt that is run at set times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// What it is called.
    pub name: Declared<String>,
    /// When: a cron expression.
    pub cron: Declared<String>,
    /// Whether it is on; it is unless said otherwise.
    pub enabled: Declared<bool>,
    /// In which time zone; UTC unless said otherwise.
    pub timezone: Declared<String>,
    /// What happens when the last run is still going.
    pub overlap: Declared<OverlapPolicy>,
    /// What happens to runs that were missed.
    pub misfire: Declared<MisfirePolicy>,
    /// The most by which a run is delayed at random: `30s`.
    pub jitter: Declared<String>,
    /// What the agent is told.
    pub prompt: Declared<String>,
}

words! {
    /// What happens when the last run is still going.
    pub enum OverlapPolicy {
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
    pub enum MisfirePolicy {
        /// Nothing.
        Skip = "skip",
        /// One run makes up for all.
        Once = "once",
        /// Each is made up for.
        All = "all",
    }
}
