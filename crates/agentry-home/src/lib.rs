//! The home of long-lived agents: where they are stored, and what runs them on a schedule.
//!
//! ```text
//! HomeLayout: the directories of `$AGENTRY_HOME`
//! AgentRecord ─▶ InstalledAgent: which agents are installed, under which id
//! AgentHome ─▶ AgentRepository: install, change, roll back; every change is a commit
//! Schedule ─▶ FiringPlan (pure: which instants) ─▶ ScheduleKeeper ─▶ ScheduleLedger (SQLite: once each)
//!                                                        └─▶ FiringStarter: a process that runs the agent
//! MemoryStore: files with front matter ◀─▶ MemoryIndex (SQLite, full-text search) ─▶ quotation for a prompt
//! ```

pub mod agent_home;
mod database;
pub mod evolution;
pub mod layout;
pub mod memory;
pub mod receipt;
pub mod record;
pub mod repository;
pub mod revision;
pub mod schedule;
pub mod user;

pub use agent_home::{AgentHome, AgentInstallation, AgentUnderLock, HomeError, InstallOutcome};
pub use layout::HomeLayout;
pub use record::{AgentRecord, InstalledAgent, RecordError};
