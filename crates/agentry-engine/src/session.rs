//! An engine for code that blocks: the journal of a run is written between two steps of its driver, in one thread.
//!
//! Everything asynchronous happens in a runtime of its own, so that leases are renewed while a driver blocks.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use agentry_runtime::engine::{
    ClaimFilter, ClaimedRun, EngineFailure, EngineRow, FiringKey, HeldRun, HoldFailure,
    HolderWorld, LEASE_TIME, LeaseFailure, LeaseNews, QueuedRun, RunLease, SharedEngine,
    SharedReceipt,
};
use agentry_runtime::journal::{FileUplink, JournalUplink};
use agentry_runtime::tool::BoxedFuture;
use agentry_text::digest;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc as queue;

use crate::postgres::{PostgresEngine, PostgresFailure};

/// The threads that talk to the engine.
const THREADS: usize = 1;

/// Called once when the run has to end: someone cancelled it, or another worker has it.
pub type EndSwitch = Box<dyn Fn() + Send>;

/// An engine with the runtime that talks to it.
pub struct EngineSession {
    runtime: Runtime,
    engine: Arc<dyn SharedEngine>,
    worker: String,
    lease_time: Duration,
}

/// The clock of this machine that is never set.
struct MachineTime(Instant);

impl HolderWorld for MachineTime {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) -> BoxedFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }
}

impl EngineSession {
    /// Connects to the engine of an address, as a worker of this name.
    pub fn open(
        url: &str,
        worker: String,
        lease_time: Option<Duration>,
    ) -> Result<Self, PostgresFailure> {
        let runtime = runtime()?;
        let engine = runtime.block_on(PostgresEngine::open(url))?;
        Ok(Self {
            runtime,
            engine: Arc::new(engine),
            worker,
            lease_time: lease_time.unwrap_or(LEASE_TIME),
        })
    }

    /// Makes the tables of an engine, or brings them to this version. Returns the version before and now.
    pub fn migrate(url: &str) -> Result<(i32, i32), PostgresFailure> {
        runtime()?.block_on(PostgresEngine::migrate(url))
    }

    /// The name of this worker.
    pub fn worker(&self) -> &str {
        &self.worker
    }

    /// How long a lease lasts.
    pub const fn lease_time(&self) -> Duration {
        self.lease_time
    }

    /// Does something with the engine, and blocks until it is done.
    pub fn ask<T: Send + 'static, F>(
        &self,
        act: impl FnOnce(Arc<dyn SharedEngine>) -> F,
    ) -> Result<T, EngineFailure>
    where
        F: Future<Output = Result<T, EngineFailure>> + Send + 'static,
    {
        let (reply, replied) = mpsc::channel();
        let asked = act(Arc::clone(&self.engine));
        self.runtime.spawn(async move {
            let _ = reply.send(asked.await);
        });
        replied.recv().unwrap_or_else(|_| Err(gone()))
    }

    /// Queues a run.
    pub fn create(&self, run: QueuedRun) -> Result<(), EngineFailure> {
        self.ask(|engine| async move { engine.create(&run).await })
    }

    /// Claims a run for a process of this worker.
    pub fn claim(&self, filter: ClaimFilter) -> Result<Option<ClaimedRun>, EngineFailure> {
        let (worker, time) = (self.worker.clone(), self.lease_time);
        self.ask(|engine| async move { engine.claim(&worker, &filter, time).await })
    }

    /// Returns some rows of a run.
    pub fn rows(&self, run: &str, first: u64) -> Result<Vec<EngineRow>, EngineFailure> {
        const MOST: usize = 1_000;
        let run = run.to_owned();
        self.ask(|engine| async move { engine.read_from(&run, first, MOST).await })
    }

    /// Gives a claimed run back that no process of this worker could begin, with its ending.
    pub fn give_back(&self, claimed: &ClaimedRun, ending: Option<String>) {
        let (lease, rows) = (claimed.lease.clone(), claimed.rows);
        // Without an answer its lease ends by itself.
        let _ = self.ask(|engine| async move {
            let _ = engine.release(&lease, rows, ending.as_deref()).await;
            Ok(())
        });
    }

    /// Queues a run again that was given back. Returns whether it was.
    pub fn queue_again(&self, run: &str) -> Result<bool, EngineFailure> {
        let run = run.to_owned();
        self.ask(|engine| async move { engine.queue_again(&run).await })
    }

    /// Asks for the end of a run, wherever it is.
    pub fn cancel(&self, run: &str) -> Result<(), EngineFailure> {
        let run = run.to_owned();
        self.ask(|engine| async move { engine.cancel(&run).await })
    }

    /// Stores an answer to an approval, and returns the first that was given.
    pub fn answer(&self, run: &str, key: String, answer: String) -> Result<String, EngineFailure> {
        let run = run.to_owned();
        self.ask(|engine| async move { engine.answer(&run, &key, &answer).await })
    }

    /// Returns the answers to the approvals of a run.
    pub fn answers(&self, run: &str) -> Result<Vec<(String, String)>, EngineFailure> {
        let run = run.to_owned();
        self.ask(|engine| async move { engine.answers(&run).await })
    }

    /// Returns the bytes of a digest, which they have.
    pub fn get(&self, digest: &str) -> Result<Vec<u8>, EngineFailure> {
        let wanted = digest.to_owned();
        let bytes = self.ask(|engine| async move { engine.get(&wanted).await })?;
        let is_whole = digest::of(&bytes) == digest;
        is_whole.then_some(bytes).ok_or_else(|| {
            EngineFailure::Unusable(format!("the bytes of `{digest}` are others now"))
        })
    }

    /// Returns the files of a run with their digests.
    pub fn attached(&self, run: &str) -> Result<Vec<(String, String)>, EngineFailure> {
        let run = run.to_owned();
        self.ask(|engine| async move { engine.attached(&run).await })
    }

    /// Stores bytes as a file of a claimed run that has no process yet. Returns false if another worker has it.
    pub fn attach(
        &self,
        lease: &RunLease,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<bool, EngineFailure> {
        let (lease, name) = (lease.clone(), name.to_owned());
        self.ask(|engine| async move {
            let digest = engine.put(&bytes).await?;
            match engine.attach(&lease, &name, &digest).await {
                Ok(()) => Ok(true),
                Err(LeaseFailure::Lost) => Ok(false),
                Err(LeaseFailure::Unavailable(why)) => Err(EngineFailure::Unavailable(why)),
            }
        })
    }

    /// Binds a claimed run to a label. Returns false if another worker has it.
    pub fn bind(&self, lease: &RunLease, label: &str) -> Result<bool, EngineFailure> {
        let (lease, label) = (lease.clone(), label.to_owned());
        self.ask(|engine| async move {
            match engine.bind(&lease, &label).await {
                Ok(()) => Ok(true),
                Err(LeaseFailure::Lost) => Ok(false),
                Err(LeaseFailure::Unavailable(why)) => Err(EngineFailure::Unavailable(why)),
            }
        })
    }

    /// Removes a run from the engine. Returns false if it is not over.
    pub fn remove(&self, run: &str) -> Result<bool, EngineFailure> {
        let run = run.to_owned();
        self.ask(|engine| async move { engine.remove(&run).await })
    }

    /// Stores a receipt behind those of its chain. Returns false if the chain has another one there.
    pub fn add_receipt(&self, receipt: SharedReceipt) -> Result<bool, EngineFailure> {
        self.ask(|engine| async move { engine.add_receipt(&receipt).await })
    }

    /// Returns how many receipts each chain has.
    pub fn chains(&self) -> Result<Vec<(String, u64)>, EngineFailure> {
        self.ask(|engine| async move { engine.chains().await })
    }

    /// Returns some receipts of a chain from a number on.
    pub fn receipts(&self, chain: &str, first: u64) -> Result<Vec<SharedReceipt>, EngineFailure> {
        const MOST: usize = 500;
        let chain = chain.to_owned();
        self.ask(|engine| async move { engine.receipts(&chain, first, MOST).await })
    }

    /// Notes that this worker starts a run for a planned time. Returns whether no other one did.
    pub fn fire(&self, firing: FiringKey) -> Result<bool, EngineFailure> {
        let worker = self.worker.clone();
        self.ask(|engine| async move { engine.fire(&firing, &worker).await })
    }

    /// Blocks until something may have changed, or for this time.
    pub fn watch(&self, most: Duration) {
        let _ = self.ask(|engine| async move {
            engine.watch(most).await;
            Ok(())
        });
    }

    /// Holds a claimed run until it is released, or this process ends. The lease is renewed first, because it may be
    /// as old as the process that claimed it.
    pub fn hold(
        &self,
        lease: RunLease,
        rows: u64,
        end: EndSwitch,
    ) -> Result<Box<dyn JournalUplink>, String> {
        let world = Arc::new(MachineTime(Instant::now()));
        let asked = world.now();
        let engine = Arc::clone(&self.engine);
        let mut held = HeldRun::new(engine, world, lease, rows, (asked, self.lease_time));
        let (commands, inbox) = queue::unbounded_channel();
        let (reply, replied) = mpsc::channel();
        self.runtime.spawn(async move {
            let renewed = held.renew().await;
            let is_held = renewed.is_ok();
            let _ = reply.send(renewed.map(drop));
            if is_held {
                hold(held, inbox, end).await;
            }
        });
        match replied.recv() {
            Ok(Ok(())) => Ok(Box::new(HeldUplink { commands })),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(_) => Err(gone().to_string()),
        }
    }
}

fn runtime() -> Result<Runtime, PostgresFailure> {
    let built = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    built.map_err(|error| PostgresFailure::Query(error.to_string()))
}

fn gone() -> EngineFailure {
    EngineFailure::Unavailable("its connection has ended".to_owned())
}

/// What a journal asks of the task that holds its run.
enum HoldCommand {
    Store { row: EngineRow, durable: bool, reply: mpsc::Sender<Result<(), HoldFailure>> },
    Attach { name: String, bytes: Vec<u8>, reply: mpsc::Sender<Result<(), HoldFailure>> },
    Bind { label: String, reply: mpsc::Sender<Result<(), HoldFailure>> },
    Release { ending: Option<String>, reply: mpsc::Sender<Result<(), HoldFailure>> },
}

/// Renews the lease and carries out commands.
async fn hold(mut held: HeldRun, mut inbox: queue::UnboundedReceiver<HoldCommand>, end: EndSwitch) {
    let mut end = Some(end);
    let mut stop = || {
        if let Some(end) = end.take() {
            end();
        }
    };
    loop {
        tokio::select! {
            biased;
            command = inbox.recv() => match command {
                // The run is over, or its process ends: then the lease ends by itself.
                None => return,
                Some(HoldCommand::Store { row, durable, reply }) => {
                    let stored = store(&mut held, row, durable).await;
                    let is_lost = stored.is_err();
                    let _ = reply.send(stored);
                    if is_lost {
                        stop();
                    }
                }
                Some(HoldCommand::Attach { name, bytes, reply }) => {
                    let attached = held.attach(&name, &bytes).await;
                    let is_lost = attached.is_err();
                    let _ = reply.send(attached);
                    if is_lost {
                        stop();
                    }
                }
                Some(HoldCommand::Bind { label, reply }) => {
                    let _ = reply.send(held.bind(&label).await);
                }
                Some(HoldCommand::Release { ending, reply }) => {
                    let _ = reply.send(held.release(ending.as_deref()).await);
                    return;
                }
            },
            () = tokio::time::sleep(held.rest()) => match held.renew().await {
                Ok(LeaseNews { is_cancelled: false }) => {}
                Ok(LeaseNews { is_cancelled: true }) => stop(),
                Err(_) => {
                    stop();
                    // What the run still writes is refused.
                    while let Some(command) = inbox.recv().await {
                        refuse(command);
                    }
                    return;
                }
            },
        }
    }
}

async fn store(held: &mut HeldRun, row: EngineRow, durable: bool) -> Result<(), HoldFailure> {
    held.append(row, durable).await?;
    if durable { held.admit_effect().await } else { Ok(()) }
}

fn refuse(command: HoldCommand) {
    let (HoldCommand::Store { reply, .. }
    | HoldCommand::Attach { reply, .. }
    | HoldCommand::Bind { reply, .. }
    | HoldCommand::Release { reply, .. }) = command;
    let _ = reply.send(Err(HoldFailure::Lost));
}

/// The way from a journal to the task that holds its run.
#[derive(Debug, Clone)]
struct HeldUplink {
    commands: queue::UnboundedSender<HoldCommand>,
}

impl HeldUplink {
    fn ask(
        &self,
        command: impl FnOnce(mpsc::Sender<Result<(), HoldFailure>>) -> HoldCommand,
    ) -> Result<(), String> {
        let (reply, replied) = mpsc::channel();
        let _ = self.commands.send(command(reply));
        let replied = replied.recv().unwrap_or(Err(HoldFailure::Lost));
        replied.map_err(|failure| failure.to_string())
    }
}

impl FileUplink for HeldUplink {
    fn attach(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let (name, bytes) = (name.to_owned(), bytes.to_vec());
        self.ask(|reply| HoldCommand::Attach { name, bytes, reply })
    }

    fn bind(&self, label: &str) -> Result<(), String> {
        let label = label.to_owned();
        self.ask(|reply| HoldCommand::Bind { label, reply })
    }
}

impl JournalUplink for HeldUplink {
    fn files(&self) -> Arc<dyn FileUplink> {
        Arc::new(self.clone())
    }

    fn store(&mut self, at: u64, kind: &str, data: &str, durable: bool) -> Result<(), String> {
        let (kind, data) = (kind.to_owned(), data.to_owned());
        let row = EngineRow { id: row_id()?, at, kind, data };
        self.ask(|reply| HoldCommand::Store { row, durable, reply })
    }

    fn release(&mut self, ending: Option<&str>) -> Result<(), String> {
        let ending = ending.map(str::to_owned);
        self.ask(|reply| HoldCommand::Release { ending, reply })
    }
}

/// An id that no other row has.
fn row_id() -> Result<String, String> {
    let mut chance = [0; 16];
    getrandom::fill(&mut chance).map_err(|error| error.to_string())?;
    Ok(format!("{:032x}", u128::from_le_bytes(chance)))
}
