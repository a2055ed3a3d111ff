//! The home of agents that live for months: where they lie, and what runs them on their own.
//!
//! ```text
//! HomeLayout: the directories of `$AGENTRY_HOME`
//! AgentRecord ─▶ InstalledAgent: which agents are installed, under which id
//! AgentHome ─▶ AgentRepository: install, change, roll back; every change is a commit
//! Schedule ─▶ FiringPlan (pure: which instants) ─▶ ScheduleKeeper ─▶ ScheduleLedger (SQLite: once each)
//!                                                        └─▶ FiringStarter: a process that runs the agent
//! ```

pub mod agent_home;
mod database;
pub mod layout;
pub mod record;
pub mod repository;
pub mod schedule;

pub use agent_home::{AgentHome, AgentInstallation, HomeError, InstallOutcome, LockedAgent};
pub use layout::HomeLayout;
pub use record::{AgentRecord, InstalledAgent, RecordError};
