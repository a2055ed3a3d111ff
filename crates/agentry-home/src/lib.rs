//! The home of agents that live for months: what runs them on their own.
//!
//! ```text
//! Schedule ─▶ FiringPlan (pure: which instants) ─▶ ScheduleKeeper ─▶ ScheduleLedger (SQLite: once each)
//!                                                        └─▶ FiringStarter: a process that runs the agent
//! ```

pub mod schedule;
