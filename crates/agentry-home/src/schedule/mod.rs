//! Schedules: when an agent runs on its own, and that each planned time is handled exactly once.

mod heartbeat;
mod holder;
mod keeper;
mod ledger;
mod plan;
mod spending;
mod zone;

pub use heartbeat::has_tasks;
pub use holder::{FiringHolder, is_alive, process_of};
pub use keeper::{FiringStarter, KeeperReport, ScheduleChange, ScheduleKeeper, WatchedSchedule};
pub use ledger::{FiringRow, FiringState, LedgerError, ScheduleLedger};
pub use plan::{FiringPlan, PlanMemo, PlanProblem, PlannedTimes};
pub use zone::{ScheduleZone, read_instant};

use sha2::{Digest as _, Sha256};

/// What identifies a firing: it is run, skipped or failed once under this identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiringIdentity {
    /// The agent: its id, or its full path.
    pub agent: String,
    /// The name of the schedule.
    pub schedule: String,
    /// The planned time, in seconds since the Unix epoch.
    pub planned: i64,
}

impl FiringIdentity {
    /// Returns the delay of this firing, at most `most` seconds. It depends on the identity only, so that it
    /// is the same after a restart.
    pub fn jitter(&self, most: u32) -> i64 {
        let Self { agent, schedule, planned } = self;
        let hash = Sha256::digest(format!("{agent}\n{schedule}\n{planned}"));
        let number = hash.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        i64::try_from(number % (u64::from(most) + 1)).unwrap_or(0)
    }
}
