//! What the runs of schedules spend on one day. A run reserves what it may spend before it starts, so that runs at
//! the same time stay within the limit together. A run that dies keeps its reservation for the day.

use rusqlite::{TransactionBehavior, params};

use super::FiringIdentity;
use super::ledger::{LedgerError, ScheduleLedger};

const SECONDS_PER_DAY: i64 = 86_400;

impl ScheduleLedger {
    /// Reserves what a firing may spend, in millionths of a US dollar: `wanted`, or what is left of `limit` on the
    /// day of `now`. Returns `None` if nothing is left.
    pub fn reserve(
        &mut self,
        firing: &FiringIdentity,
        (wanted, limit): (Option<u64>, u64),
        now: i64,
    ) -> Result<Option<u64>, LedgerError> {
        let FiringIdentity { agent, schedule, planned } = firing;
        let day = now.div_euclid(SECONDS_PER_DAY);
        let change = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sum = "SELECT coalesce(sum(coalesce(spent, reserved)), 0) FROM spending WHERE day = ?1
            AND NOT (agent = ?2 AND schedule = ?3 AND planned = ?4)";
        let sum = change
            .query_row(sum, params![day, agent, schedule, planned], |row| row.get::<_, i64>(0))?;
        let left = limit.saturating_sub(u64::try_from(sum).unwrap_or(0));
        if left == 0 {
            return Ok(None);
        }
        let reserved = wanted.map_or(left, |wanted| wanted.min(left));
        let insert = "INSERT OR REPLACE INTO spending (agent, schedule, planned, day, reserved)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        let amount = i64::try_from(reserved).unwrap_or(i64::MAX);
        change.execute(insert, params![agent, schedule, planned, day, amount])?;
        change.commit()?;
        Ok(Some(reserved))
    }

    /// Notes what a firing has spent; the rest of its reservation is free again.
    pub fn note_spent(&self, firing: &FiringIdentity, spent: u64) -> Result<(), LedgerError> {
        let FiringIdentity { agent, schedule, planned } = firing;
        let update =
            "UPDATE spending SET spent = ?4 WHERE agent = ?1 AND schedule = ?2 AND planned = ?3";
        let spent = i64::try_from(spent).unwrap_or(i64::MAX);
        self.database.execute(update, params![agent, schedule, planned, spent])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_runs_share_the_daily_limit() {
        let directory = tempfile::tempdir().unwrap();
        let mut ledger = ScheduleLedger::open(&directory.path().join("ledger.db")).unwrap();
        let firing = |planned| FiringIdentity { agent: "a".into(), schedule: "s".into(), planned };
        let mut reserve =
            |planned, wanted| ledger.reserve(&firing(planned), (wanted, 1_000), planned).unwrap();
        assert_eq!(reserve(10, Some(600)), Some(600));
        // What another run reserved is gone, although it is not spent.
        assert_eq!(reserve(20, Some(600)), Some(400));
        assert_eq!(reserve(30, Some(1)), None);
        // The same firing again, after a restart, reserves once.
        assert_eq!(reserve(20, None), Some(400));
        // Another day has its own limit.
        assert_eq!(reserve(SECONDS_PER_DAY, None), Some(1_000));
        ledger.note_spent(&firing(10), 100).unwrap();
        let left = ledger.reserve(&firing(40), (None, 1_000), 40).unwrap();
        assert_eq!(left, Some(500));
        assert_eq!(ledger.reserve(&firing(50), (None, 0), 50).unwrap(), None);
    }
}
