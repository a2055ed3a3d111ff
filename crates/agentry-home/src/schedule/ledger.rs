//! The ledger of firings: one row per planned time, in a database, so that several processes and restarts handle
//! each exactly once.
//!
//! ```text
//! waiting ─claim─▶ claimed ─begin─▶ running ─end─▶ done | failed
//!    │                │                └─ its process died ─▶ killed
//!    │                └─ not started yet ─▶ waiting
//!    └─▶ skipped
//! ```
//!
//! Every claim has a new epoch. The process that runs the agent begins and ends its firing under the epoch
//! that it was started with; if the firing was claimed again in between, both have no effect.

use std::path::Path;

use agentry_compile::policy::words;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use super::FiringIdentity;
use crate::database;

/// The tables. Times are seconds since the Unix epoch.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS schedules (
        agent TEXT NOT NULL, name TEXT NOT NULL,
        seen INTEGER NOT NULL, paused INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (agent, name)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS firings (
        agent TEXT NOT NULL, schedule TEXT NOT NULL, planned INTEGER NOT NULL,
        due INTEGER NOT NULL, catches_up INTEGER NOT NULL DEFAULT 0,
        state TEXT NOT NULL, reason TEXT,
        epoch INTEGER NOT NULL DEFAULT 0, holder TEXT,
        run TEXT, started INTEGER, ended INTEGER,
        PRIMARY KEY (agent, schedule, planned)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS spending (
        agent TEXT NOT NULL, schedule TEXT NOT NULL, planned INTEGER NOT NULL,
        day INTEGER NOT NULL, reserved INTEGER NOT NULL, spent INTEGER,
        PRIMARY KEY (agent, schedule, planned)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS open_firings ON firings (agent, schedule, planned)
        WHERE state IN ('waiting', 'claimed', 'running');
";

const COLUMNS: &str = "agent, schedule, planned, due, catches_up, state, reason, epoch, holder, run, \
    started, ended";

words! {
    /// What became of a planned time.
    pub enum FiringState {
        /// It is to be started.
        Waiting = "waiting",
        /// A process starts it.
        Claimed = "claimed",
        /// The agent runs.
        Running = "running",
        /// The run ended well.
        Done = "done",
        /// The run failed.
        Failed = "failed",
        /// The process of the run died.
        Killed = "killed",
        /// It was not run.
        Skipped = "skipped",
    }
}

/// A planned time, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiringRow {
    /// What identifies it.
    pub identity: FiringIdentity,
    /// When it may start: the planned time and its jitter.
    pub due: i64,
    /// Whether it was missed and is caught up with. Such firings wait for each other.
    pub catches_up: bool,
    /// What became of it.
    pub state: FiringState,
    /// Why it was skipped, failed or killed.
    pub reason: Option<String>,
    /// The number of its last claim.
    pub epoch: i64,
    /// The process that claimed it, or runs it.
    pub holder: Option<String>,
    /// The id of its run.
    pub run: Option<String>,
    /// When the run began.
    pub started: Option<i64>,
    /// When it ended.
    pub ended: Option<i64>,
}

impl FiringRow {
    /// Creates a row that waits.
    pub fn waiting(identity: FiringIdentity, due: i64, catches_up: bool) -> Self {
        Self {
            identity,
            due,
            catches_up,
            state: FiringState::Waiting,
            reason: None,
            epoch: 0,
            holder: None,
            run: None,
            started: None,
            ended: None,
        }
    }

    /// Creates a row that is not run.
    pub fn skipped(identity: FiringIdentity, reason: &str) -> Self {
        let due = identity.planned;
        let row = Self::waiting(identity, due, false);
        Self { state: FiringState::Skipped, reason: Some(reason.to_owned()), ..row }
    }
}

/// Adds a schedule that is not known yet.
const ADD: &str = "INSERT OR IGNORE INTO schedules (agent, name, seen) VALUES (?1, ?2, ?3)";

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the ledger of schedules cannot be used: {0}")]
pub struct LedgerError(#[from] rusqlite::Error);

/// The ledger.
#[derive(Debug)]
pub struct ScheduleLedger {
    pub(super) database: Connection,
}

impl ScheduleLedger {
    /// Opens the ledger; creates it if there is none.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        Ok(Self { database: database::open(path, TABLES)? })
    }

    /// Returns the time up to which all planned times of a schedule are in the ledger, and whether it is
    /// paused. A new schedule begins now: earlier times are not caught up with.
    pub fn seen(&self, agent: &str, name: &str, now: i64) -> Result<(i64, bool), LedgerError> {
        let select = "SELECT seen, paused FROM schedules WHERE agent = ?1 AND name = ?2";
        let mut select = self.database.prepare_cached(select)?;
        let mut read =
            || select.query_row(params![agent, name], |row| Ok((row.get(0)?, row.get(1)?)));
        if let Some(known) = read().optional()? {
            return Ok(known);
        }
        self.database.prepare_cached(ADD)?.execute(params![agent, name, now])?;
        // Another process may have added it meanwhile.
        Ok(read()?)
    }

    /// Adds the schedules of agents that are not known yet, in one transaction.
    pub fn add_new<'a>(
        &mut self,
        schedules: impl IntoIterator<Item = (&'a str, &'a str)>,
        now: i64,
    ) -> Result<(), LedgerError> {
        let change = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (agent, name) in schedules {
            change.prepare_cached(ADD)?.execute(params![agent, name, now])?;
        }
        Ok(change.commit()?)
    }

    /// Returns whether a schedule is paused.
    pub fn is_paused(&self, agent: &str, name: &str) -> Result<bool, LedgerError> {
        let select = "SELECT paused FROM schedules WHERE agent = ?1 AND name = ?2";
        let mut select = self.database.prepare_cached(select)?;
        let paused = select.query_row(params![agent, name], |row| row.get(0)).optional()?;
        Ok(paused.unwrap_or(false))
    }

    /// Adds a firing that no schedule planned. Returns false if there is one with the same identity.
    pub fn add(&self, firing: &FiringRow) -> Result<bool, LedgerError> {
        Ok(insert(&self.database, std::slice::from_ref(firing))? == 1)
    }

    /// Writes the planned times up to `until`, unless another process did: `seen` is what this one saw.
    pub fn settle(
        &mut self,
        agent: &str,
        name: &str,
        (seen, until): (i64, i64),
        rows: &[FiringRow],
    ) -> Result<bool, LedgerError> {
        let change = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let update = "UPDATE schedules SET seen = ?4 WHERE agent = ?1 AND name = ?2 AND seen = ?3";
        if change.prepare_cached(update)?.execute(params![agent, name, seen, until])? == 0 {
            return Ok(false);
        }
        insert(&change, rows)?;
        change.commit()?;
        Ok(true)
    }

    /// Returns all firings that have no end yet, by agent, schedule and planned time.
    pub fn open_firings(&self) -> Result<Vec<FiringRow>, LedgerError> {
        let select = format!(
            "SELECT {COLUMNS} FROM firings WHERE state IN ('waiting', 'claimed', 'running')
             ORDER BY agent, schedule, planned"
        );
        let mut select = self.database.prepare_cached(&select)?;
        let rows = select.query_map(params![], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the last firings, newest first.
    pub fn last_firings(&self, most: u32) -> Result<Vec<FiringRow>, LedgerError> {
        let select = format!("SELECT {COLUMNS} FROM firings ORDER BY planned DESC LIMIT ?1");
        let mut select = self.database.prepare_cached(&select)?;
        let rows = select.query_map(params![most], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns one firing.
    pub fn firing(&self, identity: &FiringIdentity) -> Result<Option<FiringRow>, LedgerError> {
        let FiringIdentity { agent, schedule, planned } = identity;
        let select = format!(
            "SELECT {COLUMNS} FROM firings WHERE agent = ?1 AND schedule = ?2 AND planned = ?3"
        );
        let mut select = self.database.prepare_cached(&select)?;
        Ok(select.query_row(params![agent, schedule, planned], read).optional()?)
    }

    /// Claims a waiting firing for a process. Returns the epoch, or `None` if another process was faster.
    pub fn claim(&self, firing: &FiringRow, holder: &str) -> Result<Option<i64>, LedgerError> {
        let epoch = firing.epoch + 1;
        let set = "state = 'claimed', epoch = ?5, holder = ?6";
        let is_ours = self.change(firing, FiringState::Waiting, set, params![epoch, holder])?;
        Ok(is_ours.then_some(epoch))
    }

    /// Begins the run of a claimed firing. Returns false if it was claimed again since.
    pub fn begin(
        &self,
        firing: &FiringRow,
        (holder, now): (&str, i64),
    ) -> Result<bool, LedgerError> {
        let set = "state = 'running', holder = ?5, started = ?6";
        self.change(firing, FiringState::Claimed, set, params![holder, now])
    }

    /// Notes the run of a firing, so that its state can be looked up.
    pub fn note_run(&self, firing: &FiringRow, run: &str) -> Result<bool, LedgerError> {
        self.change(firing, FiringState::Running, "run = ?5", params![run])
    }

    /// Ends a firing that is in this state. Returns false if another process was faster.
    pub fn end(
        &self,
        firing: &FiringRow,
        state: FiringState,
        reason: Option<&str>,
        now: i64,
    ) -> Result<bool, LedgerError> {
        let set = "state = ?5, reason = ?6, ended = ?7";
        self.change(firing, firing.state, set, params![state.as_str(), reason, now])
    }

    /// Makes a claimed firing wait again, after its process died before it began.
    pub fn release(&self, firing: &FiringRow) -> Result<bool, LedgerError> {
        let set = "state = 'waiting', holder = NULL";
        self.change(firing, FiringState::Claimed, set, params![])
    }

    /// Lets times pass without a firing: those of a schedule that is new or was changed, up to now.
    pub fn pass(&self, agent: &str, name: &str, now: i64) -> Result<(), LedgerError> {
        self.seen(agent, name, now)?;
        let update = "UPDATE schedules SET seen = max(seen, ?3) WHERE agent = ?1 AND name = ?2";
        self.database.execute(update, params![agent, name, now])?;
        Ok(())
    }

    /// Pauses or resumes a schedule. Times that pass while it is paused are not caught up with.
    pub fn pause(
        &self,
        agent: &str,
        name: &str,
        (is_paused, now): (bool, i64),
    ) -> Result<(), LedgerError> {
        self.seen(agent, name, now)?;
        let update = "UPDATE schedules SET paused = ?3, seen = max(seen, ?4)
            WHERE agent = ?1 AND name = ?2";
        self.database.execute(update, params![agent, name, is_paused, now])?;
        Ok(())
    }

    /// Forgets the schedules of an agent that was removed: what waits is skipped, and an agent that comes to the same place
    /// later begins anew. Firings of the past stay.
    pub fn forget(&mut self, agent: &str, now: i64) -> Result<(), LedgerError> {
        let change = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute("DELETE FROM schedules WHERE agent = ?1", [agent])?;
        let update =
            "UPDATE firings SET state = 'skipped', reason = 'the agent was removed', ended = ?2
            WHERE agent = ?1 AND state = 'waiting'";
        change.execute(update, params![agent, now])?;
        Ok(change.commit()?)
    }

    /// Changes a firing if it is still in this state, under this epoch.
    fn change(
        &self,
        firing: &FiringRow,
        state: FiringState,
        set: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<bool, LedgerError> {
        let FiringRow { identity: FiringIdentity { agent, schedule, planned }, epoch, .. } = firing;
        // The values of `set` are numbered from 5 on.
        let update = format!(
            "UPDATE firings SET {set} WHERE agent = ?1 AND schedule = ?2 AND planned = ?3
             AND epoch = ?4 AND state = '{}'",
            state.as_str()
        );
        let key: [&dyn rusqlite::ToSql; 4] = [agent, schedule, planned, epoch];
        let all: Vec<&dyn rusqlite::ToSql> = key.iter().chain(values).copied().collect();
        Ok(self.database.prepare_cached(&update)?.execute(all.as_slice())? == 1)
    }
}

/// Inserts rows that are not there yet; returns their number.
fn insert(database: &Connection, rows: &[FiringRow]) -> Result<usize, LedgerError> {
    let mut count = 0;
    let insert = "INSERT OR IGNORE INTO firings
        (agent, schedule, planned, due, catches_up, state, reason)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = database.prepare_cached(insert)?;
    for FiringRow { identity, due, catches_up, state, reason, .. } in rows {
        let FiringIdentity { agent, schedule, planned } = identity;
        let state = state.as_str();
        count +=
            insert.execute(params![agent, schedule, planned, due, catches_up, state, reason])?;
    }
    Ok(count)
}

fn read(row: &Row<'_>) -> rusqlite::Result<FiringRow> {
    let state: String = row.get(5)?;
    Ok(FiringRow {
        identity: FiringIdentity {
            agent: row.get(0)?,
            schedule: row.get(1)?,
            planned: row.get(2)?,
        },
        due: row.get(3)?,
        catches_up: row.get(4)?,
        // A state of a newer version is over for this one: nothing is started again.
        state: state.parse().unwrap_or(FiringState::Failed),
        reason: row.get(6)?,
        epoch: row.get(7)?,
        holder: row.get(8)?,
        run: row.get(9)?,
        started: row.get(10)?,
        ended: row.get(11)?,
    })
}
