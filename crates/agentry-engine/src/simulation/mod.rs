//! Workers on one engine under a virtual clock, with faults that a seed decides: crashes of workers and of the
//! engine, pauses, partitions, late, lost and doubled messages, clocks that differ by an hour.
//!
//! The workers write through [`HeldRun`], the code of real runs. Whatever happens, no effect is carried out twice,
//! no result is noted for an effect that did not happen, no durable row is lost, and every run ends. The same seed
//! gives the same history.
//!
//! [`HeldRun`]: agentry_runtime::engine::HeldRun

mod faults;
mod judge;
mod virtual_time;
mod wire;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentry_runtime::engine::{QueuedRun, SharedEngine as _};
use futures_util::FutureExt as _;

use crate::memory::MemoryEngine;
use faults::FaultPlan;
use judge::EffectLedger;
use virtual_time::VirtualWorld;
use wire::EngineWire;
use worker::SimulatedWorker;

/// The workers, the runs, and the effects of each run.
const WORKERS: usize = 3;
const RUNS: usize = 2;
const STEPS: u64 = 3;
/// When a simulation that is still at work has failed.
const LONGEST: Duration = Duration::from_hours(2);

/// A defect that the simulation has to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimulatedDefect {
    /// The engine looks neither at epochs nor at the expected number of rows.
    NoFence,
    /// An append without an answer is sent again without a look.
    BlindResend,
    /// An effect is carried out before its start is written.
    ActsFirst,
    /// What was started and has no result is started again.
    StartsAgain,
}

/// What happened in a simulation that held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimulationTally {
    /// Effects that were carried out.
    pub effects: u64,
    /// Effects that were started and have no result.
    pub unfinished: u64,
    /// Runs that a second worker took over.
    pub takeovers: u64,
    /// Holders that noticed that they were replaced.
    pub replaced: u64,
}

/// A history that breaks the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulationFailure {
    /// The seed that gives this history again.
    pub seed: u64,
    /// What is wrong.
    pub what: String,
    /// What happened before.
    pub history: Vec<String>,
}

impl fmt::Display for SimulationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, what, history } = self;
        writeln!(f, "seed {seed}: {what}")?;
        history.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        write!(f, "`AGENTRY_SEED={seed}` plays it again")
    }
}

/// Plays the history of a seed.
pub fn simulate(
    seed: u64,
    defect: Option<SimulatedDefect>,
) -> Result<SimulationTally, SimulationFailure> {
    // Only a history that fails is written down, when it is played again.
    play(seed, defect, false).or_else(|_| play(seed, defect, true))
}

fn play(
    seed: u64,
    defect: Option<SimulatedDefect>,
    keeps_history: bool,
) -> Result<SimulationTally, SimulationFailure> {
    let world = VirtualWorld::new(seed, keeps_history);
    let engine = {
        let world = Arc::clone(&world);
        Arc::new(MemoryEngine::new(Arc::new(move || world.time())))
    };
    let ledger = Arc::new(EffectLedger::default());
    let runs: Vec<String> = (0..RUNS).map(|run| format!("run-{run}")).collect();
    for id in &runs {
        let queued = QueuedRun { id: id.clone(), ..QueuedRun::default() };
        let _ = engine.create(&queued).now_or_never();
    }
    let plan = FaultPlan::new(&world);
    for number in 0..WORKERS {
        let wire = EngineWire::new(&world, &engine, number, plan.clone(), defect);
        let worker = SimulatedWorker {
            number,
            world: Arc::clone(&world),
            wire: Arc::new(wire),
            ledger: Arc::clone(&ledger),
            defect,
        };
        world.start(number, Box::new(move || Box::pin(worker.clone().work())));
    }
    FaultPlan::schedule(&world, &engine);
    let in_time = world.run(LONGEST, || engine.is_over());
    let judged =
        if in_time { ledger.judge(&engine, &runs) } else { Err("a run has not ended".to_owned()) };
    judged.map_err(|what| SimulationFailure { seed, what, history: world.history() })
}
