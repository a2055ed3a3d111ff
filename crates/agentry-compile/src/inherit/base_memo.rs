//! Bases that were read already. A base that a thousand agents are built on is read and merged once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::chain::BaseLink;
use crate::world::World;

/// The number of the first file of a base; those of agents themselves are smaller.
pub(super) const FIRST: u32 = 1 << 20;
/// So many numbers are kept free for the files of one base; more than an agent may have.
pub(super) const BLOCK: u32 = 1 << 15;

/// The bases that a world has read, for as long as its files do not change. Only bases that can be used
/// are kept: why another cannot is reported each time, with the chain that leads to it.
#[derive(Debug)]
pub struct BaseMemo {
    links: Mutex<HashMap<String, Arc<BaseLink>>>,
    next: AtomicU32,
}

impl Default for BaseMemo {
    fn default() -> Self {
        // A chain without a memo counts by itself, from the start.
        let next = AtomicU32::new(FIRST + 64 * BLOCK);
        Self { links: Mutex::default(), next }
    }
}

impl BaseMemo {
    pub(super) fn get(&self, key: &str) -> Option<Arc<BaseLink>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// The number of the first file of a base; nothing when there is none left.
    pub(super) fn number(&self) -> Option<u32> {
        let next = |first: u32| first.checked_add(2 * BLOCK).map(|_| first + BLOCK);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }
}

/// Keeps a base for those that are built on it as well.
pub(super) fn remember(world: &dyn World, key: &str, link: &Arc<BaseLink>) {
    if let Some(bases) = world.bases() {
        let mut links = bases.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.entry(key.to_owned()).or_insert_with(|| Arc::clone(link));
    }
}
