//! The way of a worker to the engine: requests and answers may be late, lost or doubled.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use agentry_runtime::engine::{
    AppendFailure, ClaimFilter, ClaimedRun, EngineFailure, EngineFuture, EngineListing, EngineRow,
    FiringKey, LeaseFailure, LeaseNews, QueuedRun, RunLease, SharedEngine, SharedReceipt,
};
use agentry_runtime::tool::BoxedFuture;
use futures_util::FutureExt as _;

use super::SimulatedDefect;
use super::faults::FaultPlan;
use super::virtual_time::VirtualWorld;
use crate::memory::MemoryEngine;

/// How long a worker waits for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(15);
/// How long a message takes, and how long one that is late.
const USUAL: Duration = Duration::from_millis(5);
const LATE: Duration = Duration::from_secs(40);

const LOST: &str = "no answer came";

/// An engine, as one worker reaches it.
pub(super) struct EngineWire {
    world: Arc<VirtualWorld>,
    engine: Arc<MemoryEngine>,
    worker: usize,
    plan: FaultPlan,
    defect: Option<SimulatedDefect>,
}

/// The answer to a request, once it has come.
struct AnswerSlot<T>(Mutex<(Option<T>, Option<Waker>)>);

impl EngineWire {
    pub(super) fn new(
        world: &Arc<VirtualWorld>,
        engine: &Arc<MemoryEngine>,
        worker: usize,
        plan: FaultPlan,
        defect: Option<SimulatedDefect>,
    ) -> Self {
        Self { world: Arc::clone(world), engine: Arc::clone(engine), worker, plan, defect }
    }

    /// How long a message takes; `None` if it is lost.
    fn way(&self) -> Option<Duration> {
        let world = &self.world;
        if !FaultPlan::is_active(world.time()) {
            return Some(USUAL);
        }
        let is_lost = self.plan.is_cut_off(self.worker, world.time());
        if is_lost || world.chance(100) < self.plan.lost {
            return None;
        }
        let is_late = world.chance(100) < self.plan.late;
        Some(world.some_time(if is_late { LATE } else { USUAL }))
    }

    /// Sends a request, which the engine carries out when it arrives, and waits for the answer.
    fn ask<'a, T: Send + 'static, F: Send + 'static>(
        &'a self,
        act: impl Fn(&MemoryEngine) -> Option<Result<T, F>> + Send + Sync + 'static,
        unanswered: impl FnOnce(String) -> F + Send + 'a,
    ) -> EngineFuture<'a, T, F> {
        Box::pin(async move {
            let slot = Arc::new(AnswerSlot(Mutex::default()));
            let act = Arc::new(act);
            let is_doubled = FaultPlan::is_active(self.world.time())
                && self.world.chance(100) < self.plan.doubled;
            for _ in 0..=usize::from(is_doubled) {
                let Some(there) = self.way() else { continue };
                let back = self.way();
                let (world, engine, act) =
                    (Arc::clone(&self.world), Arc::clone(&self.engine), Arc::clone(&act));
                let (slot, sent) = (Arc::clone(&slot), self.world.time());
                self.world.spawn(Box::pin(async move {
                    world.until(sent + there).await;
                    let answer = act(&engine);
                    let Some(back) = back else { return };
                    world.until(sent + there + back).await;
                    slot.fill(answer);
                }));
            }
            let mut timer = self.world.until(self.world.time() + ANSWER_TIME);
            let answer = futures_util::future::poll_fn(|context| {
                if let Some(answer) = slot.take(context.waker()) {
                    return Poll::Ready(Some(answer));
                }
                timer.poll_unpin(context).map(|()| None)
            });
            answer.await.unwrap_or_else(|| Err(unanswered(LOST.to_owned())))
        })
    }
}

impl<T> AnswerSlot<T> {
    fn fill(&self, answer: Option<T>) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.0.is_none() {
            slot.0 = answer;
        }
        let waker = slot.1.take();
        drop(slot);
        waker.into_iter().for_each(Waker::wake);
    }

    fn take(&self, waker: &Waker) -> Option<T> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.1 = Some(waker.clone());
        slot.0.take()
    }
}

/// What the simulated workers do not use.
fn unused<'a, T: Send + 'a>() -> EngineFuture<'a, T> {
    Box::pin(std::future::ready(Err(EngineFailure::Unusable("it is not simulated".to_owned()))))
}

impl SharedEngine for EngineWire {
    fn create<'a>(&'a self, _run: &'a QueuedRun) -> EngineFuture<'a, ()> {
        unused()
    }

    fn claim<'a>(
        &'a self,
        worker: &'a str,
        filter: &'a ClaimFilter,
        time: Duration,
    ) -> EngineFuture<'a, Option<ClaimedRun>> {
        let (worker, filter) = (worker.to_owned(), filter.clone());
        self.ask(
            move |engine| engine.claim(&worker, &filter, time).now_or_never(),
            EngineFailure::Unavailable,
        )
    }

    fn renew<'a>(
        &'a self,
        lease: &'a RunLease,
        time: Duration,
    ) -> EngineFuture<'a, LeaseNews, LeaseFailure> {
        let lease = lease.clone();
        self.ask(move |engine| engine.renew(&lease, time).now_or_never(), LeaseFailure::Unavailable)
    }

    fn append<'a>(
        &'a self,
        lease: &'a RunLease,
        expected: u64,
        rows: &'a [EngineRow],
        durable: bool,
    ) -> EngineFuture<'a, u64, AppendFailure> {
        let (lease, rows) = (lease.clone(), rows.to_vec());
        let has_fence = self.defect != Some(SimulatedDefect::NoFence);
        let act = move |engine: &MemoryEngine| {
            if has_fence {
                return engine.append(&lease, expected, &rows, durable).now_or_never();
            }
            Some(Ok(engine.append_without_fence(&lease.run, &rows)))
        };
        self.ask(act, AppendFailure::Unknown)
    }

    fn release<'a>(
        &'a self,
        lease: &'a RunLease,
        rows: u64,
        ending: Option<&'a str>,
    ) -> EngineFuture<'a, (), LeaseFailure> {
        let (lease, ending) = (lease.clone(), ending.map(str::to_owned));
        self.ask(
            move |engine| engine.release(&lease, rows, ending.as_deref()).now_or_never(),
            LeaseFailure::Unavailable,
        )
    }

    fn queue_again<'a>(&'a self, _run: &'a str) -> EngineFuture<'a, bool> {
        unused()
    }

    fn cancel<'a>(&'a self, _run: &'a str) -> EngineFuture<'a, ()> {
        unused()
    }

    fn read_from<'a>(
        &'a self,
        run: &'a str,
        first: u64,
        most: usize,
    ) -> EngineFuture<'a, Vec<EngineRow>> {
        let run = run.to_owned();
        self.ask(
            move |engine| engine.read_from(&run, first, most).now_or_never(),
            EngineFailure::Unavailable,
        )
    }

    fn list(&self, _after: u64) -> EngineFuture<'_, Vec<EngineListing>> {
        unused()
    }

    fn watch(&self, _most: Duration) -> BoxedFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn put<'a>(&'a self, _bytes: &'a [u8]) -> EngineFuture<'a, String> {
        unused()
    }

    fn get<'a>(&'a self, _digest: &'a str) -> EngineFuture<'a, Vec<u8>> {
        unused()
    }

    fn attach<'a>(
        &'a self,
        _lease: &'a RunLease,
        _name: &'a str,
        _digest: &'a str,
    ) -> EngineFuture<'a, (), LeaseFailure> {
        Box::pin(std::future::ready(Err(LeaseFailure::Lost)))
    }

    fn attached<'a>(&'a self, _run: &'a str) -> EngineFuture<'a, Vec<(String, String)>> {
        unused()
    }

    fn bind<'a>(
        &'a self,
        _lease: &'a RunLease,
        _label: &'a str,
    ) -> EngineFuture<'a, (), LeaseFailure> {
        Box::pin(std::future::ready(Err(LeaseFailure::Lost)))
    }

    fn remove<'a>(&'a self, _run: &'a str) -> EngineFuture<'a, bool> {
        unused()
    }

    fn add_receipt<'a>(&'a self, _receipt: &'a SharedReceipt) -> EngineFuture<'a, bool> {
        unused()
    }

    fn chains(&self) -> EngineFuture<'_, Vec<(String, u64)>> {
        unused()
    }

    fn receipts<'a>(
        &'a self,
        _chain: &'a str,
        _first: u64,
        _most: usize,
    ) -> EngineFuture<'a, Vec<SharedReceipt>> {
        unused()
    }

    fn fire<'a>(&'a self, _firing: &'a FiringKey, _worker: &'a str) -> EngineFuture<'a, bool> {
        unused()
    }

    fn answer<'a>(
        &'a self,
        _run: &'a str,
        _approval: &'a str,
        _answer: &'a str,
    ) -> EngineFuture<'a, String> {
        unused()
    }

    fn answers<'a>(&'a self, _run: &'a str) -> EngineFuture<'a, Vec<(String, String)>> {
        unused()
    }
}
