//! An engine in memory: the shortest implementation of the contract.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentry_runtime::engine::{
    AppendFailure, ClaimFilter, ClaimedRun, EngineFailure, EngineFuture, EngineListing, EngineRow,
    FiringKey, LeaseFailure, LeaseNews, QueueStanding, QueuedRun, RunLease, SharedEngine,
    SharedReceipt,
};
use agentry_runtime::tool::BoxedFuture;
use agentry_text::digest;

/// The ending of a run that no worker has.
const CANCELLED: &str = "{\"state\":\"cancelled\"}";

/// The clock of the engine: the time since any moment.
pub type EngineClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Keeps everything in memory.
pub struct MemoryEngine {
    clock: EngineClock,
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    runs: BTreeMap<String, MemoryRun>,
    bytes: BTreeMap<String, Vec<u8>>,
    firings: BTreeMap<FiringKey, String>,
    chains: BTreeMap<String, Vec<SharedReceipt>>,
    changes: u64,
}

struct MemoryRun {
    queued: QueuedRun,
    standing: QueueStanding,
    order: u64,
    change: u64,
    epoch: u64,
    worker: Option<String>,
    until: Duration,
    is_cancelled: bool,
    rows: Vec<EngineRow>,
    /// How many rows a crash of the engine leaves.
    durable: usize,
    ending: Option<(String, u64)>,
    files: BTreeMap<String, String>,
    answers: BTreeMap<String, String>,
}

impl MemoryEngine {
    /// An engine without runs.
    pub fn new(clock: EngineClock) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// Crashes: the rows that were not durable are gone.
    pub fn crash(&self) {
        for run in self.state().runs.values_mut() {
            run.rows.truncate(run.durable);
        }
    }

    /// Whether every run was released.
    pub(crate) fn is_over(&self) -> bool {
        self.state().runs.values().all(|run| run.standing == QueueStanding::Released)
    }

    /// Stores rows whoever holds the run and whatever it has: what an engine must never do.
    pub(crate) fn append_without_fence(&self, run: &str, rows: &[EngineRow]) -> u64 {
        let mut state = self.state();
        let Ok(run) = state.run(run) else { return 0 };
        run.rows.extend_from_slice(rows);
        run.durable = run.rows.len();
        count(&run.rows)
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn act<'a, T: Send + 'a>(
        &'a self,
        act: impl FnOnce(&mut MemoryState) -> T + Send + 'a,
    ) -> BoxedFuture<'a, T> {
        Box::pin(async move { act(&mut self.state()) })
    }
}

impl MemoryState {
    fn run(&mut self, id: &str) -> Result<&mut MemoryRun, EngineFailure> {
        self.runs.get_mut(id).ok_or_else(|| EngineFailure::Missing(id.to_owned()))
    }

    fn held(&mut self, lease: &RunLease) -> Result<&mut MemoryRun, LeaseFailure> {
        let run = self.runs.get_mut(&lease.run).ok_or(LeaseFailure::Lost)?;
        let is_held = run.epoch == lease.epoch && run.standing == QueueStanding::Held;
        if is_held { Ok(run) } else { Err(LeaseFailure::Lost) }
    }

    fn changed(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    fn create(&mut self, queued: &QueuedRun) -> Result<(), EngineFailure> {
        if self.runs.contains_key(&queued.id) {
            return Err(EngineFailure::Exists);
        }
        let change = self.changed();
        let run = MemoryRun {
            queued: queued.clone(),
            standing: QueueStanding::Waiting,
            order: change,
            change,
            epoch: 0,
            worker: None,
            until: Duration::ZERO,
            is_cancelled: false,
            rows: Vec::new(),
            durable: 0,
            ending: None,
            files: BTreeMap::new(),
            answers: BTreeMap::new(),
        };
        self.runs.insert(queued.id.clone(), run);
        Ok(())
    }

    fn claim(
        &mut self,
        worker: &str,
        filter: &ClaimFilter,
        now: Duration,
        time: Duration,
    ) -> Option<ClaimedRun> {
        let change = self.changed();
        let can_be_claimed = |run: &&mut MemoryRun| {
            let has_ended = run.standing == QueueStanding::Held && run.until <= now;
            match filter {
                ClaimFilter::Run(id) => {
                    let is_free = match run.standing {
                        QueueStanding::Waiting | QueueStanding::Released => true,
                        QueueStanding::Held => has_ended,
                        QueueStanding::Removed => false,
                    };
                    run.queued.id == *id && is_free
                }
                ClaimFilter::Waiting { labels, digests } => {
                    (run.standing == QueueStanding::Waiting || has_ended)
                        && run.queued.parent.is_none()
                        && labels.contains(&run.queued.label)
                        && digests.contains(&run.queued.digest)
                }
            }
        };
        let found = self.runs.values_mut().filter(can_be_claimed).min_by_key(|run| run.order)?;
        found.standing = QueueStanding::Held;
        found.change = change;
        found.epoch += 1;
        found.worker = Some(worker.to_owned());
        found.until = now + time;
        found.is_cancelled = false;
        Some(ClaimedRun {
            lease: RunLease { run: found.queued.id.clone(), epoch: found.epoch },
            queued: found.queued.clone(),
            rows: count(&found.rows),
        })
    }

    fn append(
        &mut self,
        lease: &RunLease,
        expected: u64,
        rows: &[EngineRow],
        durable: bool,
    ) -> Result<u64, AppendFailure> {
        let run = self.held(lease).map_err(|_| AppendFailure::Fenced)?;
        let stored = count(&run.rows);
        if stored != expected {
            return Err(AppendFailure::Conflict { rows: stored });
        }
        run.rows.extend_from_slice(rows);
        if durable {
            run.durable = run.rows.len();
        }
        Ok(count(&run.rows))
    }

    fn release(
        &mut self,
        lease: &RunLease,
        rows: u64,
        ending: Option<&str>,
    ) -> Result<(), LeaseFailure> {
        let change = self.changed();
        let run = self.runs.get_mut(&lease.run).ok_or(LeaseFailure::Lost)?;
        let is_over = matches!(run.standing, QueueStanding::Waiting | QueueStanding::Removed);
        if run.epoch != lease.epoch || is_over {
            return Err(LeaseFailure::Lost);
        }
        // A release that is sent twice does the same twice.
        if run.standing == QueueStanding::Held {
            if count(&run.rows) != rows {
                return Err(LeaseFailure::Lost);
            }
            run.standing = QueueStanding::Released;
            run.change = change;
            run.durable = run.rows.len();
            run.ending = ending.map(|ending| (ending.to_owned(), count(&run.rows)));
        }
        Ok(())
    }

    /// Removes a released run with the runs that work for it.
    fn remove(&mut self, id: &str) -> bool {
        let Some(run) = self.runs.get(id) else { return true };
        match run.standing {
            QueueStanding::Waiting | QueueStanding::Held => return false,
            QueueStanding::Removed => return true,
            QueueStanding::Released => {}
        }
        let change = self.changed();
        let is_meant =
            |run: &&mut MemoryRun| run.queued.id == id || run.queued.parent.as_deref() == Some(id);
        for run in self.runs.values_mut().filter(is_meant) {
            run.standing = QueueStanding::Removed;
            run.change = change;
            run.ending = None;
            run.queued.request = String::new();
            run.rows.clear();
            run.files.clear();
            run.answers.clear();
        }
        let named: Vec<&String> = self.runs.values().flat_map(|run| run.files.values()).collect();
        self.bytes.retain(|digest, _| named.contains(&digest));
        true
    }

    fn add_receipt(&mut self, receipt: &SharedReceipt) -> bool {
        let chain = self.chains.entry(receipt.chain.clone()).or_default();
        let at = usize::try_from(receipt.number.saturating_sub(1)).unwrap_or(usize::MAX);
        match chain.get(at) {
            Some(stored) => stored == receipt,
            None if at == chain.len() && receipt.number > 0 => {
                chain.push(receipt.clone());
                true
            }
            None => false,
        }
    }

    fn list(&self, after: u64, now: Duration) -> Vec<EngineListing> {
        let is_open =
            |run: &MemoryRun| matches!(run.standing, QueueStanding::Waiting | QueueStanding::Held);
        let is_listed = |run: &&MemoryRun| is_open(run) || run.change > after;
        let listed = |run: &MemoryRun| EngineListing {
            queued: run.queued.clone(),
            standing: run.standing,
            lease_left: match run.standing {
                QueueStanding::Held => run.until.saturating_sub(now),
                _ => Duration::ZERO,
            },
            worker: run.worker.clone(),
            rows: count(&run.rows),
            ending: run.ending.clone().filter(|it| it.1 == count(&run.rows)).map(|it| it.0),
            change: run.change,
        };
        self.runs.values().filter(is_listed).map(listed).collect()
    }
}

fn count(rows: &[EngineRow]) -> u64 {
    u64::try_from(rows.len()).unwrap_or(u64::MAX)
}

impl SharedEngine for MemoryEngine {
    fn create<'a>(&'a self, run: &'a QueuedRun) -> EngineFuture<'a, ()> {
        self.act(|state| state.create(run))
    }

    fn claim<'a>(
        &'a self,
        worker: &'a str,
        filter: &'a ClaimFilter,
        time: Duration,
    ) -> EngineFuture<'a, Option<ClaimedRun>> {
        self.act(move |state| Ok(state.claim(worker, filter, (self.clock)(), time)))
    }

    fn renew<'a>(
        &'a self,
        lease: &'a RunLease,
        time: Duration,
    ) -> EngineFuture<'a, LeaseNews, LeaseFailure> {
        self.act(move |state| {
            let run = state.held(lease)?;
            run.until = (self.clock)() + time;
            Ok(LeaseNews { is_cancelled: run.is_cancelled })
        })
    }

    fn append<'a>(
        &'a self,
        lease: &'a RunLease,
        expected: u64,
        rows: &'a [EngineRow],
        durable: bool,
    ) -> EngineFuture<'a, u64, AppendFailure> {
        self.act(move |state| state.append(lease, expected, rows, durable))
    }

    fn release<'a>(
        &'a self,
        lease: &'a RunLease,
        rows: u64,
        ending: Option<&'a str>,
    ) -> EngineFuture<'a, (), LeaseFailure> {
        self.act(move |state| state.release(lease, rows, ending))
    }

    fn queue_again<'a>(&'a self, run: &'a str) -> EngineFuture<'a, bool> {
        self.act(move |state| {
            let change = state.changed();
            let run = state.run(run)?;
            let is_released = run.standing == QueueStanding::Released;
            if is_released {
                (run.standing, run.order, run.change) = (QueueStanding::Waiting, change, change);
            }
            Ok(is_released)
        })
    }

    fn cancel<'a>(&'a self, run: &'a str) -> EngineFuture<'a, ()> {
        self.act(move |state| {
            let change = state.changed();
            let run = state.run(run)?;
            run.change = change;
            run.is_cancelled = run.standing == QueueStanding::Held;
            if run.standing == QueueStanding::Waiting {
                run.ending = Some((CANCELLED.to_owned(), count(&run.rows)));
                run.standing = QueueStanding::Released;
            }
            Ok(())
        })
    }

    fn read_from<'a>(
        &'a self,
        run: &'a str,
        first: u64,
        most: usize,
    ) -> EngineFuture<'a, Vec<EngineRow>> {
        self.act(move |state| {
            let first = usize::try_from(first).unwrap_or(usize::MAX);
            Ok(state.run(run)?.rows.iter().skip(first).take(most).cloned().collect())
        })
    }

    fn list(&self, after: u64) -> EngineFuture<'_, Vec<EngineListing>> {
        self.act(move |state| Ok(state.list(after, (self.clock)())))
    }

    fn watch(&self, _most: Duration) -> BoxedFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn put<'a>(&'a self, bytes: &'a [u8]) -> EngineFuture<'a, String> {
        self.act(move |state| {
            let digest = digest::of(bytes);
            state.bytes.insert(digest.clone(), bytes.to_vec());
            Ok(digest)
        })
    }

    fn get<'a>(&'a self, digest: &'a str) -> EngineFuture<'a, Vec<u8>> {
        self.act(|state| {
            let found = state.bytes.get(digest).cloned();
            found.ok_or_else(|| EngineFailure::Missing(digest.to_owned()))
        })
    }

    fn attach<'a>(
        &'a self,
        lease: &'a RunLease,
        name: &'a str,
        digest: &'a str,
    ) -> EngineFuture<'a, (), LeaseFailure> {
        self.act(|state| {
            state.held(lease)?.files.insert(name.to_owned(), digest.to_owned());
            Ok(())
        })
    }

    fn attached<'a>(&'a self, run: &'a str) -> EngineFuture<'a, Vec<(String, String)>> {
        self.act(|state| Ok(state.run(run)?.files.clone().into_iter().collect()))
    }

    fn bind<'a>(
        &'a self,
        lease: &'a RunLease,
        label: &'a str,
    ) -> EngineFuture<'a, (), LeaseFailure> {
        self.act(|state| {
            label.clone_into(&mut state.held(lease)?.queued.label);
            Ok(())
        })
    }

    fn remove<'a>(&'a self, run: &'a str) -> EngineFuture<'a, bool> {
        self.act(|state| Ok(state.remove(run)))
    }

    fn add_receipt<'a>(&'a self, receipt: &'a SharedReceipt) -> EngineFuture<'a, bool> {
        self.act(|state| Ok(state.add_receipt(receipt)))
    }

    fn chains(&self) -> EngineFuture<'_, Vec<(String, u64)>> {
        self.act(|state| {
            let count = |(chain, receipts): (&String, &Vec<_>)| {
                (chain.clone(), u64::try_from(receipts.len()).unwrap_or(u64::MAX))
            };
            Ok(state.chains.iter().map(count).filter(|(_, count)| *count > 0).collect())
        })
    }

    fn receipts<'a>(
        &'a self,
        chain: &'a str,
        first: u64,
        most: usize,
    ) -> EngineFuture<'a, Vec<SharedReceipt>> {
        self.act(move |state| {
            let receipts = state.chains.get(chain).into_iter().flatten();
            Ok(receipts.filter(|it| it.number >= first).take(most).cloned().collect())
        })
    }

    fn fire<'a>(&'a self, firing: &'a FiringKey, worker: &'a str) -> EngineFuture<'a, bool> {
        self.act(move |state| {
            let first = state.firings.entry(firing.clone()).or_insert_with(|| worker.to_owned());
            Ok(first == worker)
        })
    }

    fn answer<'a>(
        &'a self,
        run: &'a str,
        approval: &'a str,
        answer: &'a str,
    ) -> EngineFuture<'a, String> {
        self.act(|state| {
            let answers = &mut state.run(run)?.answers;
            Ok(answers.entry(approval.to_owned()).or_insert_with(|| answer.to_owned()).clone())
        })
    }

    fn answers<'a>(&'a self, run: &'a str) -> EngineFuture<'a, Vec<(String, String)>> {
        self.act(|state| Ok(state.run(run)?.answers.clone().into_iter().collect()))
    }
}
