//! A run and its lease, as the worker that runs it has them. The simulation runs exactly this code.

use std::sync::Arc;
use std::time::Duration;

use super::{
    AppendFailure, EngineFailure, EngineRow, LeaseFailure, LeaseNews, RunLease, SharedEngine,
};
use crate::tool::BoxedFuture;

/// How long an effect takes to start, at most. Twice this time must be left of the lease. Of a short lease it is a part.
const START_TIME: Duration = Duration::from_secs(2);
const START_PARTS: u32 = 6;
/// A lease is renewed when this part of it is over.
const RENEWAL_PARTS: u32 = 3;
/// How long an engine may be away before its runs are given up.
const PATIENCE: Duration = Duration::from_mins(10);
/// The pauses between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What a holder needs of its machine.
pub trait HolderWorld: Send + Sync {
    /// Returns the time since any moment, by a clock that is never set.
    fn now(&self) -> Duration;

    /// Waits.
    fn sleep(&self, time: Duration) -> BoxedFuture<'_, ()>;
}

/// Why a run cannot go on in this process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoldFailure {
    /// Another worker has it.
    #[error("another worker has the run now")]
    Lost,
    /// The engine was away for too long.
    #[error("the engine does not answer: {0}")]
    Unavailable(String),
    /// The engine refuses what the run writes.
    #[error("the engine refuses the events: {0}")]
    Refused(String),
}

/// A run that this process holds.
pub struct HeldRun {
    engine: Arc<dyn SharedEngine>,
    world: Arc<dyn HolderWorld>,
    lease: RunLease,
    rows: u64,
    /// How long the lease lasts after each renewal.
    time: Duration,
    /// When the lease ends, by the clock of this machine: never later than the engine thinks.
    until: Duration,
    renewed: Duration,
    is_lost: bool,
}

impl HeldRun {
    /// Holds a run for some time, whose claim was sent at `asked` by the clock of `world`.
    pub fn new(
        engine: Arc<dyn SharedEngine>,
        world: Arc<dyn HolderWorld>,
        lease: RunLease,
        rows: u64,
        (asked, time): (Duration, Duration),
    ) -> Self {
        let until = asked + time;
        Self { engine, world, lease, rows, time, until, renewed: asked, is_lost: false }
    }

    /// Returns the lease.
    pub fn lease(&self) -> &RunLease {
        &self.lease
    }

    /// Returns how many rows the journal has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns how long the lease needs no renewal.
    pub fn rest(&self) -> Duration {
        (self.renewed + self.time / RENEWAL_PARTS).saturating_sub(self.world.now())
    }

    /// Writes a row. When this returns, it is stored exactly once.
    pub async fn append(&mut self, row: EngineRow, durable: bool) -> Result<(), HoldFailure> {
        if self.is_lost {
            return Err(HoldFailure::Lost);
        }
        let rows = [row];
        let mut attempts = self.attempts();
        loop {
            let appended = self.engine.append(&self.lease, self.rows, &rows, durable).await;
            let why = match appended {
                Ok(count) => {
                    self.rows = count;
                    return Ok(());
                }
                Err(AppendFailure::Fenced) => return Err(self.lose()),
                Err(AppendFailure::Refused(why)) => return Err(HoldFailure::Refused(why)),
                // The engine lost rows in a crash; what they said may be acted on already.
                Err(AppendFailure::Conflict { rows }) if rows < self.rows => {
                    return Err(self.lose());
                }
                // A row is there that this holder does not know: perhaps its own, sent before.
                Err(AppendFailure::Conflict { rows }) => format!("its journal has {rows} rows"),
                Err(AppendFailure::Unknown(why)) => why,
            };
            match self.engine.read_from(&self.lease.run, self.rows, 1).await {
                Ok(found) => match found.first() {
                    Some(first) if first.id == rows[0].id => {
                        self.rows += 1;
                        // It is stored, but a holder that was replaced must not act on it.
                        return self.renew().await.map(drop);
                    }
                    Some(_) => return Err(self.lose()),
                    // It is not there. It may still arrive, and then one of the two is a conflict.
                    None => self.wait(&mut attempts, why).await?,
                },
                Err(error) => self.wait(&mut attempts, error.to_string()).await?,
            }
        }
    }

    /// Waits until an effect may start: its start is stored, and the lease lasts long enough.
    pub async fn admit_effect(&mut self) -> Result<(), HoldFailure> {
        let start = START_TIME.min(self.time / START_PARTS);
        let has_time = |it: &Self| it.until.saturating_sub(it.world.now()) >= start * 2;
        while self.is_lost || !has_time(self) {
            self.renew().await?;
        }
        Ok(())
    }

    /// Renews the lease. Without an answer it is tried again for as long as the engine may be away.
    pub async fn renew(&mut self) -> Result<LeaseNews, HoldFailure> {
        if self.is_lost {
            return Err(HoldFailure::Lost);
        }
        let mut attempts = self.attempts();
        loop {
            let asked = self.world.now();
            match self.engine.renew(&self.lease, self.time).await {
                Ok(news) => {
                    self.renewed = asked;
                    self.until = asked + self.time;
                    return Ok(news);
                }
                Err(LeaseFailure::Lost) => return Err(self.lose()),
                Err(LeaseFailure::Unavailable(why)) => self.wait(&mut attempts, why).await?,
            }
        }
    }

    /// Stores bytes as a file of the run. When this returns, every machine finds them.
    pub async fn attach(&mut self, name: &str, bytes: &[u8]) -> Result<(), HoldFailure> {
        if self.is_lost {
            return Err(HoldFailure::Lost);
        }
        let mut attempts = self.attempts();
        loop {
            // Both again after each failure: bytes that no file names yet may be removed in between.
            let attached = match self.engine.put(bytes).await {
                Ok(digest) => self.engine.attach(&self.lease, name, &digest).await,
                Err(EngineFailure::Unavailable(why)) => Err(LeaseFailure::Unavailable(why)),
                Err(failure) => return Err(HoldFailure::Refused(failure.to_string())),
            };
            if self.is_settled(attached, &mut attempts).await? {
                return Ok(());
            }
        }
    }

    /// Binds the run to a label, so that only workers with it continue the run.
    pub async fn bind(&mut self, label: &str) -> Result<(), HoldFailure> {
        if self.is_lost {
            return Err(HoldFailure::Lost);
        }
        let mut attempts = self.attempts();
        loop {
            let bound = self.engine.bind(&self.lease, label).await;
            if self.is_settled(bound, &mut attempts).await? {
                return Ok(());
            }
        }
    }

    /// Gives the run back. A release without an answer is sent again; it does the same twice.
    pub async fn release(&mut self, ending: Option<&str>) -> Result<(), HoldFailure> {
        if self.is_lost {
            return Err(HoldFailure::Lost);
        }
        let mut attempts = self.attempts();
        loop {
            let released = self.engine.release(&self.lease, self.rows, ending).await;
            if self.is_settled(released, &mut attempts).await? {
                return Ok(());
            }
        }
    }

    /// Returns whether a request was answered. One that was not is to be sent again, and the pause before that is over.
    async fn is_settled(
        &mut self,
        outcome: Result<(), LeaseFailure>,
        attempts: &mut (Duration, Duration),
    ) -> Result<bool, HoldFailure> {
        match outcome {
            Ok(()) => Ok(true),
            Err(LeaseFailure::Lost) => Err(self.lose()),
            Err(LeaseFailure::Unavailable(why)) => self.wait(attempts, why).await.map(|()| false),
        }
    }

    fn lose(&mut self) -> HoldFailure {
        self.is_lost = true;
        HoldFailure::Lost
    }

    fn attempts(&self) -> (Duration, Duration) {
        (self.world.now() + PATIENCE, FIRST_PAUSE)
    }

    /// Waits before the next attempt, longer each time, unless the engine was away for too long.
    async fn wait(
        &self,
        (last, pause): &mut (Duration, Duration),
        why: String,
    ) -> Result<(), HoldFailure> {
        if self.world.now() >= *last {
            return Err(HoldFailure::Unavailable(why));
        }
        self.world.sleep(*pause).await;
        *pause = LONGEST_PAUSE.min(*pause * 2);
        Ok(())
    }
}
