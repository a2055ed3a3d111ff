//! Runs a resolved agent: asks a model, judges and runs its tool calls, enforces the budget, and writes
//! each event to the journal before it acts.
//!
//! ```text
//!                ┌──────────────── RunEvent ◀────────────────┐
//!                ▼                                           │
//!  StepState ── step ──▶ StepState + RunEffects ──▶ driver ──┘  model, policy, tools, user, clock
//!                │
//!                └─▶ journal: one row per event, before its effects
//! ```
//!
//! [`step()`] is a pure function: the same events give the same state and the same effects. A killed run
//! is therefore resumed by replaying its journal through it.

pub mod approval;
mod approval_scope;
mod bare_policy;
pub mod budget;
pub mod budget_pot;
pub mod cassette;
pub mod commands;
pub mod confine;
pub mod consent;
mod context_window;
pub mod conversation;
pub mod driver;
pub mod effect;
pub mod engine;
pub mod event;
mod file_diff;
pub mod function;
pub mod guard_look;
mod inner_call;
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
mod running_commands;
pub mod skill;
pub mod standing_approval;
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
pub use file_diff::file_diff;
pub use private_files::{
    directories as create_private_directories, replace as replace_private_file,
};
pub use skill::progress::{SkillNote, SkillProgress, StepCounts};
pub use state::{CallState, ErrorStrategy, RunPhase, StepState};
pub use step::step;
pub use tool::files::open as open_without_links;
