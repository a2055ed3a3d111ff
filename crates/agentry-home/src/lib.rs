//! The home of agents that live for months: where they lie, and what runs them on their own.
//!
//! ```text
//! HomeLayout: the directories of `$AGENTRY_HOME`
//! Schedule ─▶ FiringPlan (pure: which instants) ─▶ ScheduleKeeper ─▶ ScheduleLedger (SQLite: once each)
//!                                                        └─▶ FiringStarter: a process that runs the agent
//! MemoryStore: files with front matter ◀─▶ MemoryIndex (SQLite, full-text search) ─▶ quotation for a prompt
//! ```

mod database;
pub mod layout;
pub mod memory;
pub mod schedule;
pub mod user;

pub use layout::HomeLayout;
