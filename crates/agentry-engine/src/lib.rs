//! Where runs are kept when several machines share them: implementations of [`SharedEngine`].
//!
//! ```text
//!   HeldRun (agentry-runtime) ──▶ SharedEngine ──┬── MemoryEngine     tests and the simulation
//!                                          └── PostgresEngine   any number of machines
//! ```
//!
//! [`contract`] tests any of them; [`simulation`] lets workers crash, pause and lose answers by a seed.
//!
//! [`SharedEngine`]: agentry_runtime::engine::SharedEngine

pub mod contract;
mod memory;
mod postgres;
mod session;
pub mod simulation;

pub use memory::{EngineClock, MemoryEngine};
pub use postgres::{PostgresEngine, PostgresFailure};
pub use session::{EndSwitch, EngineSession};
