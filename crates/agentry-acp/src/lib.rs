//! The agent side of the Agent Client Protocol (ACP), version 1. Knows no agents and runs nothing.
//!
//! ```text
//!  editor ─▶ EditorService ─▶ SessionHost (the program that has the agent)
//!         ◀─ EditorPort ◀──── updates, questions for a permission
//! ```
//!
//! The messages are built and read here by hand. The protocol has a dozen messages that an agent needs, and
//! the crate of the protocol would add 23 packages for them. Its official client drives this side in the
//! conformance suite.
//!
//! An editor is not trusted to widen anything: its servers and further directories are not used, and its files and
//! terminals are asked for only what the policy of the agent permits.

mod editor;
mod prompt;
mod service;
mod update;

pub use editor::{EditorPort, PermissionChoice, PermissionOutcome, PermissionQuestion};
pub use prompt::{fenced, read_prompt};
pub use service::{EditorService, ListedSession, SessionHost, SessionPlace, TurnStop};
pub use update::{SessionUpdate, ToolCallKind, ToolCallReport, ToolCallStatus, ToolContent};
