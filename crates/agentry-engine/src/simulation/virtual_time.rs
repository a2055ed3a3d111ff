//! A clock that jumps from one timer to the next, and the tasks that wait for it. There is one thread, and every
//! choice comes from the seed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A task of the simulation.
pub(super) type SimulatedTask = Pin<Box<dyn Future<Output = ()> + Send>>;
/// Starts a worker, again after each crash.
pub(super) type WorkerStart = Box<dyn Fn() -> SimulatedTask + Send + Sync>;

/// The most lines of a history that are kept.
const HISTORY: usize = 400;

/// The world of one simulation.
pub(super) struct VirtualWorld {
    micros: AtomicU64,
    chance: Mutex<u64>,
    timers: Mutex<TimerQueue>,
    tasks: Mutex<TaskTable>,
    /// What happened, if it is to be told.
    history: Option<Mutex<Vec<String>>>,
}

#[derive(Default)]
struct TimerQueue {
    heap: BinaryHeap<Reverse<(Duration, u64)>>,
    wakers: BTreeMap<u64, Waker>,
    next: u64,
}

#[derive(Default)]
struct TaskTable {
    tasks: Vec<TaskSlot>,
    workers: BTreeMap<usize, WorkerSlot>,
}

struct TaskSlot {
    task: SimulatedTask,
    flag: Arc<WakeFlag>,
    /// The worker whose crashes and pauses it shares.
    worker: Option<usize>,
}

struct WorkerSlot {
    start: WorkerStart,
    paused: bool,
}

struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VirtualWorld {
    pub(super) fn new(seed: u64, keeps_history: bool) -> Arc<Self> {
        Arc::new(Self {
            micros: AtomicU64::new(0),
            chance: Mutex::new(seed),
            timers: Mutex::default(),
            tasks: Mutex::default(),
            history: keeps_history.then(Mutex::default),
        })
    }

    pub(super) fn time(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    /// A number below `below`.
    pub(super) fn chance(&self, below: u64) -> u64 {
        let mut state = locked(&self.chance);
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }

    /// A time below this one.
    pub(super) fn some_time(&self, below: Duration) -> Duration {
        Duration::from_micros(self.chance(u64::try_from(below.as_micros()).unwrap_or(u64::MAX)))
    }

    pub(super) fn note(&self, what: impl FnOnce() -> String) {
        let Some(history) = &self.history else { return };
        let mut history = locked(history);
        if history.len() < HISTORY {
            history.push(format!("{:10.3} {}", self.time().as_secs_f64(), what()));
        }
    }

    pub(super) fn history(&self) -> Vec<String> {
        self.history.as_ref().map(|it| locked(it).clone()).unwrap_or_default()
    }

    /// Waits until this moment.
    pub(super) fn until(self: &Arc<Self>, moment: Duration) -> VirtualSleep {
        VirtualSleep { world: Arc::clone(self), moment, timer: None }
    }

    /// Starts a task that no fault stops.
    pub(super) fn spawn(&self, task: SimulatedTask) {
        self.add(task, None);
    }

    fn add(&self, task: SimulatedTask, worker: Option<usize>) {
        let flag = Arc::new(WakeFlag(AtomicBool::new(true)));
        locked(&self.tasks).tasks.push(TaskSlot { task, flag, worker });
    }

    /// Starts a worker.
    pub(super) fn start(&self, worker: usize, start: WorkerStart) {
        let task = start();
        locked(&self.tasks).workers.insert(worker, WorkerSlot { start, paused: false });
        self.add(task, Some(worker));
    }

    /// Kills a worker.
    pub(super) fn kill(&self, worker: usize) {
        let mut tasks = locked(&self.tasks);
        let (dead, left) =
            std::mem::take(&mut tasks.tasks).into_iter().partition(|it| it.worker == Some(worker));
        tasks.tasks = left;
        drop(tasks);
        // Outside the lock: what ends may wake something.
        let dead: Vec<TaskSlot> = dead;
        drop(dead);
    }

    /// Starts a worker that was killed.
    pub(super) fn start_again(&self, worker: usize) {
        self.kill(worker);
        let mut tasks = locked(&self.tasks);
        let Some(slot) = tasks.workers.get_mut(&worker) else { return };
        slot.paused = false;
        let task = (slot.start)();
        drop(tasks);
        self.add(task, Some(worker));
    }

    /// Stops a worker without its knowledge, or lets it go on.
    pub(super) fn set_paused(&self, worker: usize, paused: bool) {
        if let Some(slot) = locked(&self.tasks).workers.get_mut(&worker) {
            slot.paused = paused;
        }
    }

    /// Runs all tasks until it is over; returns false if it is not at this time.
    pub(super) fn run(&self, longest: Duration, is_over: impl Fn() -> bool) -> bool {
        loop {
            while self.poll_one() {}
            if is_over() {
                break;
            }
            let Some(Reverse((moment, timer))) = locked(&self.timers).heap.pop() else { break };
            if moment > longest {
                break;
            }
            let micros = u64::try_from(moment.as_micros()).unwrap_or(u64::MAX);
            self.micros.fetch_max(micros, Ordering::Relaxed);
            let waker = locked(&self.timers).wakers.remove(&timer);
            waker.into_iter().for_each(Waker::wake);
        }
        let left = std::mem::take(&mut *locked(&self.tasks));
        drop(left);
        is_over()
    }

    /// Lets one task go on; returns whether one could.
    fn poll_one(&self) -> bool {
        let mut tasks = locked(&self.tasks);
        let TaskTable { tasks: all, workers } = &mut *tasks;
        let is_paused = |worker: Option<usize>| {
            worker.and_then(|it| workers.get(&it)).is_some_and(|it| it.paused)
        };
        let can_go = |it: &TaskSlot| it.flag.0.load(Ordering::Relaxed) && !is_paused(it.worker);
        let Some(place) = all.iter().position(can_go) else { return false };
        // Taken out while it works: it may start and kill others, but not itself.
        let mut slot = all.remove(place);
        drop(tasks);
        slot.flag.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&slot.flag));
        if slot.task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            let mut tasks = locked(&self.tasks);
            let place = place.min(tasks.tasks.len());
            tasks.tasks.insert(place, slot);
        }
        true
    }
}

/// A wait for a moment.
pub(super) struct VirtualSleep {
    world: Arc<VirtualWorld>,
    moment: Duration,
    timer: Option<u64>,
}

impl Future for VirtualSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.world.time() >= self.moment {
            return Poll::Ready(());
        }
        let mut timers = locked(&self.world.timers);
        let timer = self.timer.unwrap_or(timers.next);
        if self.timer.is_none() {
            timers.next += 1;
            timers.heap.push(Reverse((self.moment, timer)));
        }
        timers.wakers.insert(timer, context.waker().clone());
        drop(timers);
        self.timer = Some(timer);
        Poll::Pending
    }
}

impl Drop for VirtualSleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            locked(&self.world.timers).wakers.remove(&timer);
        }
    }
}
