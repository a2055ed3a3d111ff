//! Where runs are kept when several machines share them: implementations of [`Engine`].
//!
//! ```text
//!   HeldRun (agentry-runtime) ──▶ Engine ──┬── MemoryEngine     tests and the simulation
//!                                          └── PostgresEngine   any number of machines
//! ```
//!
//! [`contract`] tests any of them; [`simulation`] lets workers crash, pause and lose answers by a seed.
//!
//! [`Engine`]: agentry_runtime::engine::Engine

pub mod contract;
mod memory;
mod postgres;
mod session;
pub mod simulation;

pub use memory::{EngineClock, MemoryEngine};
pub use postgres::{PostgresEngine, PostgresFailure};
pub use session::{EndSwitch, EngineSession};
