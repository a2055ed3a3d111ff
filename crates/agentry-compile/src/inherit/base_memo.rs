//! Memoises bases. A base of a thousand agents is read and merged once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::chain::BaseLink;
use crate::world::World;

/// The first file number of a base. The files of agents themselves have smaller numbers.
pub(super) const FIRST: u32 = 1 << 20;
/// The file numbers reserved for one base; more than an agent may have files.
pub(super) const BLOCK: u32 = 1 << 15;

/// The bases that a world has read, valid while its files do not change. A base that cannot be used is
/// not kept: its problem is reported each time, with the chain of bases.
#[derive(Debug)]
pub struct BaseMemo {
    links: Mutex<HashMap<String, Arc<BaseLink>>>,
    next: AtomicU32,
}

impl Default for BaseMemo {
    fn default() -> Self {
        // A chain without a memo assigns its own numbers, starting at `FIRST`.
        let next = AtomicU32::new(FIRST + 64 * BLOCK);
        Self { links: Mutex::default(), next }
    }
}

impl BaseMemo {
    pub(super) fn get(&self, key: &str) -> Option<Arc<BaseLink>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// The first file number for a base, or `None` if none is left.
    pub(super) fn number(&self) -> Option<u32> {
        let next = |first: u32| first.checked_add(2 * BLOCK).map(|_| first + BLOCK);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }
}

/// Memoises a base for other agents that are built on it.
pub(super) fn remember(world: &dyn World, key: &str, link: &Arc<BaseLink>) {
    if let Some(bases) = world.bases() {
        let mut links = bases.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.entry(key.to_owned()).or_insert_with(|| Arc::clone(link));
    }
}
