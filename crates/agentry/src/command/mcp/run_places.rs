//! The places for runs that clients start by calling tools, and the runs that have one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::command::steered_run::RunSteering;

/// The most parallel runs.
pub(super) const RUNS: usize = 16;

/// One place for each run that may go on at once.
pub(crate) struct RunPlaces {
    pub(super) places: Semaphore,
    under_way: Mutex<BTreeMap<String, RunSteering>>,
}

impl RunPlaces {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { places: Semaphore::new(RUNS), under_way: Mutex::default() })
    }

    /// Takes a place, if one is free.
    pub(super) fn take(&self) -> Option<SemaphorePermit<'_>> {
        self.places.try_acquire().ok()
    }

    /// Lists a run until the result is dropped.
    pub(super) fn list(self: &Arc<Self>, run: &str, steering: RunSteering) -> ListedCall {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.insert(run.to_owned(), steering);
        ListedCall { places: Arc::clone(self), run: run.to_owned() }
    }

    /// Stops a run, if it is one of these.
    pub(crate) fn stop(&self, run: &str) -> bool {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.get(run).map(|steering| steering.command("stop")).is_some()
    }
}

/// A run that can be stopped by its id.
pub(super) struct ListedCall {
    places: Arc<RunPlaces>,
    run: String,
}

impl Drop for ListedCall {
    fn drop(&mut self) {
        let mut under_way = self.places.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.remove(&self.run);
    }
}
