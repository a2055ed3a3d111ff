//! What goes wrong, and when.

use std::sync::Arc;
use std::time::Duration;

use super::WORKERS;
use super::virtual_time::VirtualWorld;
use crate::memory::MemoryEngine;

/// After this time nothing goes wrong any more, so that every run can end.
const FAULTS_END: Duration = Duration::from_mins(4);
/// The longest pause of a worker, and the longest partition.
const LONGEST_PAUSE: Duration = Duration::from_mins(2);
/// How soon a killed worker is started again, at the latest.
const RESTART: Duration = Duration::from_secs(20);

/// The faults of one simulation.
#[derive(Clone)]
pub(super) struct FaultPlan {
    /// When a worker does not reach the engine.
    partitions: Arc<[(usize, Duration, Duration)]>,
    /// Of a hundred messages, how many are lost, doubled or late.
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) late: u64,
}

impl FaultPlan {
    pub(super) fn new(world: &VirtualWorld) -> Self {
        let partitions = (0..world.chance(4)).map(|_| {
            let from = world.some_time(FAULTS_END);
            (some_worker(world), from, from + world.some_time(LONGEST_PAUSE))
        });
        Self {
            partitions: partitions.collect(),
            lost: world.chance(10),
            doubled: world.chance(10),
            late: world.chance(20),
        }
    }

    /// Whether messages of a worker are lost now.
    pub(super) fn is_cut_off(&self, worker: usize, now: Duration) -> bool {
        self.partitions.iter().any(|(it, from, to)| *it == worker && (*from..*to).contains(&now))
    }

    /// Whether anything can still go wrong.
    pub(super) fn is_active(now: Duration) -> bool {
        now < FAULTS_END
    }

    /// Starts what kills and pauses workers, and crashes the engine.
    pub(super) fn schedule(world: &Arc<VirtualWorld>, engine: &Arc<MemoryEngine>) {
        for _ in 0..world.chance(6) {
            let (at, worker) = (world.some_time(FAULTS_END), some_worker(world));
            let rest = world.some_time(RESTART);
            kill(world, worker, (at, at + rest));
        }
        for _ in 0..world.chance(4) {
            let (at, worker) = (world.some_time(FAULTS_END), some_worker(world));
            let rest = world.some_time(LONGEST_PAUSE);
            pause(world, worker, (at, at + rest));
        }
        for _ in 0..world.chance(3) {
            let (at, engine, on) =
                (world.some_time(FAULTS_END), Arc::clone(engine), Arc::clone(world));
            world.spawn(Box::pin(async move {
                on.until(at).await;
                on.note(|| "the engine crashes".to_owned());
                engine.crash();
            }));
        }
    }
}

fn some_worker(world: &VirtualWorld) -> usize {
    let workers = u64::try_from(WORKERS).unwrap_or(1);
    usize::try_from(world.chance(workers)).unwrap_or(0)
}

fn kill(world: &Arc<VirtualWorld>, worker: usize, (at, again): (Duration, Duration)) {
    let on = Arc::clone(world);
    world.spawn(Box::pin(async move {
        on.until(at).await;
        on.note(|| format!("w{worker} is killed"));
        on.kill(worker);
        on.until(again).await;
        on.note(|| format!("w{worker} starts again"));
        on.start_again(worker);
    }));
}

fn pause(world: &Arc<VirtualWorld>, worker: usize, (at, again): (Duration, Duration)) {
    let on = Arc::clone(world);
    world.spawn(Box::pin(async move {
        on.until(at).await;
        on.note(|| format!("w{worker} is paused"));
        on.set_paused(worker, true);
        on.until(again).await;
        on.note(|| format!("w{worker} goes on"));
        on.set_paused(worker, false);
    }));
}
