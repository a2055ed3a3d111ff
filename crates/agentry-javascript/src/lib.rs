//! Runs the JavaScript of agents in confined worker processes. Knows no agents and no policy.
//!
//! ```text
//!  WorkerPool ── starts ──▶ sandbox helper ── starts ──▶ worker (this program again), sealed
//!     │  job ───────────────────────────────────────────▶ │ a new QuickJS runtime per job
//!     ◀── request, log line ───────────────────────────── │ fetch, read, call
//!     │  answer of the `JobBroker` ─────────────────────▶ │
//!     ◀── outcome ─────────────────────────────────────── │
//! ```
//!
//! A worker is treated as compromised: it holds no descriptor but its three streams, can make no system
//! call that opens one, and everything that it asks for is decided by the broker in this process. Only
//! SIGKILL bounds a job in time, because native loops of the engine cannot be interrupted.

mod job;
mod place;
mod pool;
mod protocol;
mod talk;
mod worker;

pub use job::{
    BrokerFuture, DescribedTool, FetchHead, FetchRequest, InnerOutput, JobBroker, JobFailure,
    JobLimits, LogLevel, ModuleFile, ScriptBlock, ToolJob,
};
pub use place::CodePlace;
pub use pool::WorkerPool;
pub use worker::serve;

/// The argument with which a program starts itself as a worker. The program must then call [`serve`]
/// before anything else, while it has one thread.
pub const WORKER: &str = "__javascript-worker";
