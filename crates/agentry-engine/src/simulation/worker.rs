//! A worker: claims runs, and carries out their effects as a driver does, each between its start and its result.

use std::sync::Arc;
use std::time::Duration;

use agentry_runtime::engine::{
    AppendFailure, ClaimFilter, ClaimedRun, EngineRow, HeldRun, HoldFailure, HolderWorld,
    LEASE_TIME, SharedEngine as _,
};
use agentry_runtime::tool::BoxedFuture;

use super::judge::EffectLedger;
use super::virtual_time::VirtualWorld;
use super::wire::EngineWire;
use super::{STEPS, SimulatedDefect};

/// The pause of a worker without a run.
const IDLE: Duration = Duration::from_secs(1);
/// How long an effect may take to start, and to end.
const START: Duration = Duration::from_secs(2);
const EFFECT: Duration = Duration::from_secs(25);

/// The kinds of rows.
pub(super) const TAKEN: &str = "taken";
pub(super) const STARTED: &str = "started";
pub(super) const ENDED: &str = "ended";
pub(super) const UNFINISHED: &str = "unfinished";

/// One worker, as often as it is started.
#[derive(Clone)]
pub(super) struct SimulatedWorker {
    pub(super) number: usize,
    pub(super) world: Arc<VirtualWorld>,
    pub(super) wire: Arc<EngineWire>,
    pub(super) ledger: Arc<EffectLedger>,
    pub(super) defect: Option<SimulatedDefect>,
}

/// The clock of one machine, which is hours away from that of another.
struct MachineClock {
    world: Arc<VirtualWorld>,
    ahead: Duration,
}

impl HolderWorld for MachineClock {
    fn now(&self) -> Duration {
        self.world.time() + self.ahead
    }

    fn sleep(&self, time: Duration) -> BoxedFuture<'_, ()> {
        Box::pin(self.world.until(self.world.time() + time))
    }
}

impl SimulatedWorker {
    /// Works until it is killed.
    pub(super) async fn work(self) {
        let hours = u32::try_from(self.number).unwrap_or(0);
        let ahead = Duration::from_hours(1) * hours;
        let clock = Arc::new(MachineClock { world: Arc::clone(&self.world), ahead });
        let name = format!("w{}", self.number);
        let filter =
            ClaimFilter::Waiting { labels: vec![String::new()], digests: vec![String::new()] };
        loop {
            let asked = clock.now();
            match self.wire.claim(&name, &filter, LEASE_TIME).await {
                Ok(Some(claimed)) => {
                    let ClaimedRun { lease, rows, .. } = claimed;
                    self.world.note(|| format!("{name} claims {} {}", lease.run, lease.epoch));
                    let wire = Arc::clone(&self.wire) as Arc<_>;
                    let held = HeldRun::new(wire, clock.clone(), lease, rows, (asked, LEASE_TIME));
                    if self.carry_out(held).await == Err(HoldFailure::Lost) {
                        self.world.note(|| format!("{name} was replaced"));
                        self.ledger.replaced();
                    }
                }
                Ok(None) | Err(_) => clock.sleep(IDLE).await,
            }
        }
    }

    /// Carries a run to its end.
    async fn carry_out(&self, mut held: HeldRun) -> Result<(), HoldFailure> {
        let run = held.lease().run.clone();
        let Ok(rows) = self.wire.read_from(&run, 0, usize::MAX).await else { return Ok(()) };
        // The takeover is an event: from now on, an earlier holder meets a row that it does not know.
        self.write(&mut held, TAKEN, 0, true).await?;
        let has = |kind: &str, step: u64| {
            rows.iter().any(|row| row.kind == kind && row.data == step.to_string())
        };
        for step in 0..STEPS {
            if has(ENDED, step) || has(UNFINISHED, step) {
                continue;
            }
            if has(STARTED, step) && self.defect != Some(SimulatedDefect::StartsAgain) {
                // A person is asked, and says that it should not run again.
                self.write(&mut held, UNFINISHED, step, true).await?;
                continue;
            }
            self.carry_out_step(&mut held, step).await?;
        }
        held.release(None).await
    }

    async fn carry_out_step(&self, held: &mut HeldRun, step: u64) -> Result<(), HoldFailure> {
        if held.rest().is_zero() {
            held.renew().await?;
        }
        let acts_first = self.defect == Some(SimulatedDefect::ActsFirst);
        if acts_first {
            self.effect(held, step).await;
        }
        self.write(held, STARTED, step, true).await?;
        held.admit_effect().await?;
        if !acts_first {
            self.effect(held, step).await;
        }
        self.write(held, ENDED, step, false).await
    }

    /// An effect on the world, which starts after a moment and takes its time.
    async fn effect(&self, held: &HeldRun, step: u64) {
        let world = &self.world;
        world.until(world.time() + world.some_time(START)).await;
        let run = &held.lease().run;
        world.note(|| format!("w{} carries out {run} {step}", self.number));
        self.ledger.carried_out(run, step);
        world.until(world.time() + world.some_time(EFFECT)).await;
    }

    async fn write(
        &self,
        held: &mut HeldRun,
        kind: &str,
        step: u64,
        durable: bool,
    ) -> Result<(), HoldFailure> {
        let id = format!("{:x}", self.world.chance(u64::MAX));
        let row = EngineRow { id, at: 0, kind: kind.to_owned(), data: step.to_string() };
        if self.defect == Some(SimulatedDefect::BlindResend) {
            return self.write_blindly(held, row).await;
        }
        held.append(row.clone(), durable).await?;
        self.world.note(|| format!("w{} wrote {} {kind} {step}", self.number, held.lease().run));
        self.ledger.acknowledged(&held.lease().run, row, durable);
        Ok(())
    }

    /// Sends a row until it is told that it is stored, behind whatever is there.
    async fn write_blindly(&self, held: &HeldRun, row: EngineRow) -> Result<(), HoldFailure> {
        let mut expected = held.rows();
        loop {
            let rows = [row.clone()];
            match self.wire.append(held.lease(), expected, &rows, true).await {
                Ok(_) => return Ok(()),
                Err(AppendFailure::Conflict { rows }) => expected = rows,
                Err(AppendFailure::Unknown(_)) => {}
                Err(AppendFailure::Fenced | AppendFailure::Refused(_)) => {
                    return Err(HoldFailure::Lost);
                }
            }
        }
    }
}
