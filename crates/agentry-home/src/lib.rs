//! The home of agents that live for months: where they lie, and what runs them on their own.
//!
//! ```text
//! HomeLayout: the directories of `$AGENTRY_HOME`
//! Schedule ─▶ FiringPlan (pure: which instants) ─▶ ScheduleKeeper ─▶ ScheduleLedger (SQLite: once each)
//!                                                        └─▶ FiringStarter: a process that runs the agent
//! ```

mod database;
pub mod layout;
pub mod receipt;
pub mod schedule;

pub use layout::HomeLayout;
