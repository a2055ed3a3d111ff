//! What really happened, and whether the journals tell it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use agentry_runtime::engine::{EngineRow, SharedEngine as _};
use futures_util::FutureExt as _;

use super::worker::{ENDED, STARTED, TAKEN, UNFINISHED};
use super::{STEPS, SimulationTally};
use crate::memory::MemoryEngine;

/// The effects that were carried out, and the rows that workers know to be stored.
#[derive(Default)]
pub(super) struct EffectLedger {
    effects: Mutex<BTreeMap<(String, u64), u64>>,
    durable: Mutex<BTreeMap<String, Vec<EngineRow>>>,
    replaced: AtomicU64,
}

impl EffectLedger {
    pub(super) fn carried_out(&self, run: &str, step: u64) {
        let mut effects = self.effects.lock().unwrap_or_else(PoisonError::into_inner);
        *effects.entry((run.to_owned(), step)).or_default() += 1;
    }

    pub(super) fn acknowledged(&self, run: &str, row: EngineRow, durable: bool) {
        if durable {
            let mut known = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(run.to_owned()).or_default().push(row);
        }
    }

    pub(super) fn replaced(&self) {
        self.replaced.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self, run: &str, step: u64) -> u64 {
        let effects = self.effects.lock().unwrap_or_else(PoisonError::into_inner);
        effects.get(&(run.to_owned(), step)).copied().unwrap_or(0)
    }

    /// Compares the journals with what happened.
    pub(super) fn judge(
        &self,
        engine: &MemoryEngine,
        runs: &[String],
    ) -> Result<SimulationTally, String> {
        let mut tally = SimulationTally {
            replaced: self.replaced.load(Ordering::Relaxed),
            ..Default::default()
        };
        for run in runs {
            let rows = engine.read_from(run, 0, usize::MAX).now_or_never();
            let rows = rows.and_then(Result::ok).unwrap_or_default();
            self.judge_rows(run, &rows)?;
            for step in 0..STEPS {
                tally.effects += self.count(run, step);
                tally.unfinished += u64::from(self.judge_step(run, &rows, step)?);
            }
            let taken = rows.iter().filter(|row| row.kind == TAKEN).count();
            tally.takeovers += u64::try_from(taken).unwrap_or(0).saturating_sub(1);
        }
        Ok(tally)
    }

    fn judge_rows(&self, run: &str, rows: &[EngineRow]) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        if let Some(row) = rows.iter().find(|row| !ids.insert(&row.id)) {
            return Err(format!("{run} has the row {} {} twice", row.kind, row.data));
        }
        let known = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = known.get(run).into_iter().flatten().find(|row| !rows.contains(row));
        match lost {
            Some(row) => Err(format!("{run} lost the durable row {} {}", row.kind, row.data)),
            None => Ok(()),
        }
    }

    /// Judges one step; returns whether it is unfinished.
    fn judge_step(&self, run: &str, rows: &[EngineRow], step: u64) -> Result<bool, String> {
        let count = self.count(run, step);
        let of = |kind: &str| {
            let is_meant = |row: &&EngineRow| row.kind == kind && row.data == step.to_string();
            rows.iter().filter(is_meant).count()
        };
        let (started, ended, unfinished) = (of(STARTED), of(ENDED), of(UNFINISHED));
        match (count, started, ended, unfinished) {
            (2.., ..) => Err(format!("the effect {step} of {run} was carried out {count} times")),
            (_, 2.., _, _) => Err(format!("the effect {step} of {run} was started twice")),
            (0, _, 1.., _) => Err(format!("the effect {step} of {run} has a result and was lost")),
            (1, 0, _, _) => Err(format!("the effect {step} of {run} was never written down")),
            (_, 1, 1, 0) => Ok(false),
            (_, 1, 0, 1) => Ok(true),
            seen => Err(format!("the effect {step} of {run} is recorded as {seen:?}")),
        }
    }
}
