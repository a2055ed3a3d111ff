//! The contract, on the engine in memory.

use std::sync::Arc;
use std::time::Instant;

use agentry_engine::{MemoryEngine, contract};
use futures_util::FutureExt as _;

#[test]
fn the_engine_in_memory_holds_the_contract() {
    let start = Instant::now();
    let engine = MemoryEngine::new(Arc::new(move || start.elapsed()));
    let held = contract::check(&engine, "memory").now_or_never();
    held.expect("it never waits").unwrap_or_else(|broken| panic!("{broken:?}"));
}
