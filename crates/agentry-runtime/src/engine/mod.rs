//! Where runs are queued and their journals are kept when several machines share them.
//!
//! An [`SharedEngine`] stores; it decides nothing about agents. What keeps effects from being lost or doubled is this
//! contract, together with [`HeldRun`], the only way by which a run writes to an engine:
//!
//! - A run has at most one holder: the lease with the highest epoch. A claim raises the epoch, and every write names
//!   its epoch, so a holder that was replaced writes nothing any more, however long it slept.
//! - An append names the number of its first row. It stores all of its rows or none, and never replaces a row.
//! - A lease ends by the clock of the engine. The holder counts from before its request by a clock of its own that is
//!   never set, so that clocks of machines may differ by any amount.
//! - An append without an answer may have been stored. The holder looks for its rows, which have unique ids, before
//!   it sends them again.
//! - An effect starts only after a durable append of its start, by a holder whose lease has enough time left. What
//!   was started and has no result is not started again by the next holder.
//!
//! The journal of one machine needs none of this: the operating system locks its file and takes the lock from a dead process.

mod held_run;

use std::time::Duration;

pub use held_run::{HeldRun, HoldFailure, HolderWorld};
use serde::{Deserialize, Serialize};

use crate::tool::BoxedFuture;

/// What an engine returns.
pub type EngineFuture<'a, T, F = EngineFailure> = BoxedFuture<'a, Result<T, F>>;

/// How long a lease lasts, unless the user says another time. It is renewed when a third of it is over.
pub const LEASE_TIME: Duration = Duration::from_secs(30);

/// A run that someone asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedRun {
    /// Its id.
    pub id: String,
    /// The digest of the agent: only a worker whose user agreed to it may take the run.
    pub digest: String,
    /// The workspace that it needs, as workers name theirs.
    pub label: String,
    /// The run that it works for. Such a run is continued by the worker that has its parent.
    pub parent: Option<String>,
    /// What a worker needs to start it, as JSON.
    pub request: String,
}

/// The runs that a worker can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimFilter {
    /// The oldest run that waits, or that has lost its holder, with one of these labels and digests.
    Waiting {
        /// The labels of the worker.
        labels: Vec<String>,
        /// The digests that its user agreed to.
        digests: Vec<String>,
    },
    /// This run, unless it has a holder.
    Run(String),
}

/// The right to write to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLease {
    /// The run.
    pub run: String,
    /// Grows with every claim.
    pub epoch: u64,
}

/// A claimed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRun {
    /// The lease.
    pub lease: RunLease,
    /// What was asked for.
    pub queued: QueuedRun,
    /// How many rows its journal has.
    pub rows: u64,
}

/// One row of a journal: row 0 says what the run is, every other row is an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRow {
    /// Unique, so that an append without an answer can be looked up.
    pub id: String,
    /// When it happened, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The kind of the event.
    pub kind: String,
    /// The event as JSON, without its secrets.
    pub data: String,
}

/// Where a run stands in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueStanding {
    /// It waits for a worker.
    Waiting,
    /// It has a holder, or had one that did not release it.
    Held,
    /// Its holder released it: it has ended, or is parked.
    Released,
    /// It was removed: nothing is left of it but its id, so that every home removes its copy.
    Removed,
}

/// A run as the engine lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineListing {
    /// What was asked for.
    pub queued: QueuedRun,
    /// Where it stands.
    pub standing: QueueStanding,
    /// How much longer its lease lasts; zero if it has none.
    pub lease_left: Duration,
    /// The last worker that claimed it.
    pub worker: Option<String>,
    /// How many rows its journal has.
    pub rows: u64,
    /// How it ended, as JSON, if no row came after that.
    pub ending: Option<String>,
    /// Grows with every change of this list, apart from rows.
    pub change: u64,
}

/// A receipt in a chain that several homes share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedReceipt {
    /// The chain.
    pub chain: String,
    /// Its number in the chain, from 1.
    pub number: u64,
    /// Its id.
    pub id: String,
    /// The run.
    pub run: String,
    /// The sealed text.
    pub text: String,
}

/// A planned time of a schedule, which starts one run on all machines together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FiringKey {
    /// The agent, as the ledger of schedules names it.
    pub agent: String,
    /// The schedule.
    pub schedule: String,
    /// The planned time, in seconds since the Unix epoch.
    pub planned: i64,
}

/// Why an engine did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineFailure {
    /// A run with this id exists.
    #[error("the engine has a run with this id already")]
    Exists,
    /// The engine does not know the run or the digest.
    #[error("the engine does not have `{0}`")]
    Missing(String),
    /// It is not known whether it was done.
    #[error("the engine does not answer: {0}")]
    Unavailable(String),
    /// It refuses, and will refuse again.
    #[error("the engine cannot be used: {0}")]
    Unusable(String),
}

/// Why a lease was not renewed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseFailure {
    /// The run has another holder, or was released.
    #[error("another worker has the run now")]
    Lost,
    /// It is not known whether it was renewed.
    #[error("the engine does not answer: {0}")]
    Unavailable(String),
}

/// Why rows were not stored, or perhaps not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendFailure {
    /// The journal has this many rows.
    #[error("the journal has {rows} rows")]
    Conflict {
        /// The number of its rows.
        rows: u64,
    },
    /// The lease is not the newest one.
    #[error("another worker has the run now")]
    Fenced,
    /// It is not known whether they were stored.
    #[error("the engine does not answer: {0}")]
    Unknown(String),
    /// They can never be stored.
    #[error("the engine refuses the events: {0}")]
    Refused(String),
}

/// What the holder of a run is told with each renewal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeaseNews {
    /// Whether someone asked for the end of the run.
    pub is_cancelled: bool,
}

/// Stores runs for several machines. The module says what every implementation must hold.
pub trait SharedEngine: Send + Sync {
    /// Queues a run. It is stored durably.
    fn create<'a>(&'a self, run: &'a QueuedRun) -> EngineFuture<'a, ()>;

    /// Gives a run to a worker for some time; `None` if none is left. Each claim has a higher epoch. A claim without
    /// an answer leaves a run without a process until its lease ends.
    fn claim<'a>(
        &'a self,
        worker: &'a str,
        filter: &'a ClaimFilter,
        time: Duration,
    ) -> EngineFuture<'a, Option<ClaimedRun>>;

    /// Lets the lease last this long from now on. A lease that has ended is renewed if no one has claimed the run.
    fn renew<'a>(
        &'a self,
        lease: &'a RunLease,
        time: Duration,
    ) -> EngineFuture<'a, LeaseNews, LeaseFailure>;

    /// Stores rows behind the `expected` first ones, and returns how many there are then. `durable` rows survive a
    /// power cut with all rows before them; others survive the end of the worker.
    fn append<'a>(
        &'a self,
        lease: &'a RunLease,
        expected: u64,
        rows: &'a [EngineRow],
        durable: bool,
    ) -> EngineFuture<'a, u64, AppendFailure>;

    /// Gives a run back, with how it ended, if its journal has this many rows: a crash may have taken the last ones.
    /// Nobody claims it until it is queued again. What is released is durable.
    fn release<'a>(
        &'a self,
        lease: &'a RunLease,
        rows: u64,
        ending: Option<&'a str>,
    ) -> EngineFuture<'a, (), LeaseFailure>;

    /// Queues a released run again. Returns whether it was released.
    fn queue_again<'a>(&'a self, run: &'a str) -> EngineFuture<'a, bool>;

    /// Asks the holder to end the run. One that only waits is released.
    fn cancel<'a>(&'a self, run: &'a str) -> EngineFuture<'a, ()>;

    /// Returns some rows from a number on.
    fn read_from<'a>(
        &'a self,
        run: &'a str,
        first: u64,
        most: usize,
    ) -> EngineFuture<'a, Vec<EngineRow>>;

    /// Returns the runs that are not released, and those that changed after the change of that number.
    fn list(&self, after: u64) -> EngineFuture<'_, Vec<EngineListing>>;

    /// Returns when something may have changed, or after this time. Only a hint: readers look again anyway.
    fn watch(&self, most: Duration) -> BoxedFuture<'_, ()>;

    /// Stores bytes by their digest, once.
    fn put<'a>(&'a self, bytes: &'a [u8]) -> EngineFuture<'a, String>;

    /// Returns the bytes of a digest.
    fn get<'a>(&'a self, digest: &'a str) -> EngineFuture<'a, Vec<u8>>;

    /// Names stored bytes as a file of a run; a second file of that name replaces the first.
    fn attach<'a>(
        &'a self,
        lease: &'a RunLease,
        name: &'a str,
        digest: &'a str,
    ) -> EngineFuture<'a, (), LeaseFailure>;

    /// Returns the files of a run with their digests.
    fn attached<'a>(&'a self, run: &'a str) -> EngineFuture<'a, Vec<(String, String)>>;

    /// Binds a run to a label, so that only workers with it continue the run.
    fn bind<'a>(
        &'a self,
        lease: &'a RunLease,
        label: &'a str,
    ) -> EngineFuture<'a, (), LeaseFailure>;

    /// Removes everything of a released run and of the runs that work for it, apart from receipts. Bytes that another
    /// run has as well stay. Returns false if a worker has it or it waits for one.
    fn remove<'a>(&'a self, run: &'a str) -> EngineFuture<'a, bool>;

    /// Stores a receipt behind those of its chain, if it has the next number. Returns false if the chain goes on in
    /// another way; sent twice, it does the same twice. Receipts are durable, and never change.
    fn add_receipt<'a>(&'a self, receipt: &'a SharedReceipt) -> EngineFuture<'a, bool>;

    /// Returns how many receipts each chain has.
    fn chains(&self) -> EngineFuture<'_, Vec<(String, u64)>>;

    /// Returns some receipts of a chain from a number on, in order.
    fn receipts<'a>(
        &'a self,
        chain: &'a str,
        first: u64,
        most: usize,
    ) -> EngineFuture<'a, Vec<SharedReceipt>>;

    /// Notes that a planned time starts a run. Returns whether this worker noted it first; asked again after a lost
    /// answer, it returns the same.
    fn fire<'a>(&'a self, firing: &'a FiringKey, worker: &'a str) -> EngineFuture<'a, bool>;

    /// Stores an answer to an approval, and returns the first that was given to it.
    fn answer<'a>(
        &'a self,
        run: &'a str,
        approval: &'a str,
        answer: &'a str,
    ) -> EngineFuture<'a, String>;

    /// Returns the answers to the approvals of a run.
    fn answers<'a>(&'a self, run: &'a str) -> EngineFuture<'a, Vec<(String, String)>>;
}
