//! Runs a resolved agent: asks a model, judges and runs the calls it makes, keeps to the budget, and
//! writes down everything before it acts.
//!
//! ```text
//!            ┌────────────── Event ◀──────────────┐
//!            ▼                                    │
//!  State ── step ──▶ State + Effects ──▶ driver ──┘  model, judge, tools, person, clock
//!            │
//!            └─▶ journal: one row an event, before its effects
//! ```
//!
//! [`step()`] is a function: the same events give the same state and the same effects, so a run that was
//! killed is resumed by stepping through its journal again.

mod again;
pub mod approval;
mod approval_scope;
pub mod budget;
pub mod cassette;
pub mod commands;
pub mod confine;
pub mod consent;
mod context;
pub mod conversation;
pub mod driver;
pub mod effect;
pub mod event;
pub mod gate;
pub mod journal;
mod private;
pub mod prompt;
pub mod protected;
pub mod provider;
pub mod quarantine;
pub mod redact;
pub mod rulebook;
pub mod state;
pub mod step;
pub mod tool;
pub mod undo;
pub mod written;

pub use budget::{Limits, Spent};
pub use conversation::{Block, Call, Message, Role, Usage};
pub use effect::{Effect, Question};
pub use event::{Answer, Class, Ending, Event, Failure, FailureKind, Happened, Judgement, Turn};
pub use state::{CallState, OnError, Phase, State};
pub use step::step;
