//! Schedules: the times at which an agent runs on its own.

use agentry_policy::words;

use crate::Declared;

/// A prompt with the times at which it is due.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Its name.
    pub name: Declared<String>,
    /// The times, as a cron expression.
    pub cron: Declared<String>,
    /// Whether it is on; true by default.
    pub enabled: Declared<bool>,
    /// The time zone; UTC by default.
    pub timezone: Declared<String>,
    /// The reaction if the previous run has not finished.
    pub overlap: Declared<OverlapPolicy>,
    /// The reaction to runs that were missed.
    pub misfire: Declared<MisfirePolicy>,
    /// The longest random delay of a run: `30s`.
    pub jitter: Declared<String>,
    /// The prompt.
    pub prompt: Declared<String>,
}

words! {
    /// The reaction if the previous run has not finished.
    pub enum OverlapPolicy {
        /// The new run is skipped.
        Skip = "skip",
        /// The new run waits.
        Queue = "queue",
        /// The previous run is stopped.
        Replace = "replace",
    }
}

words! {
    /// The reaction to runs that were missed.
    pub enum MisfirePolicy {
        /// They are skipped.
        Skip = "skip",
        /// One run replaces all of them.
        Once = "once",
        /// Each of them is run.
        All = "all",
    }
}
