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

pub mod approval;
mod approval_scope;
pub mod budget;
pub mod cassette;
pub mod commands;
pub mod confine;
pub mod consent;
mod context_window;
pub mod conversation;
pub mod driver;
pub mod effect;
pub mod event;
pub mod gate;
pub mod journal;
mod private_files;
pub mod prompt;
pub mod protected_paths;
pub mod provider;
pub mod quarantine;
pub mod redact;
mod reopen;
pub mod rule_lines;
pub mod rulebook;
pub mod state;
pub mod step;
pub mod tool;
pub mod undo;

pub use budget::{RunLimits, RunSpending};
pub use conversation::{Message, MessageBlock, MessageRole, TokenUsage, ToolCall};
pub use effect::{PersonQuestion, RunEffect};
pub use event::{
    ApprovalAnswer, CallClass, CallJudgement, ModelFailure, ModelFailureKind, ModelTurn, RunEnding,
    RunEvent, TimedEvent,
};
pub use state::{CallState, ErrorStrategy, RunPhase, StepState};
pub use step::step;
