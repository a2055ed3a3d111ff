//! Confines the commands of one run: what they may read, write, reach and use up.
//!
//! ```text
//!  agentry ── Sandbox::start ──▶ helper (this program again) ── namespaces, mounts, Landlock, seccomp
//!     │  start, kill                 │ first process of its own world; starts every command of the run
//!     ◀────────── ended ─────────────┘ when it goes, everything in it goes
//! ```
//!
//! A [`Confinement`] is plain data and knows nothing of agents. What a back end cannot enforce it
//! refuses; [`explain()`] says what is enforced by what.
#![cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has a back end"))]

mod command;
mod confinement;
mod explain;
mod landlock_fit;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod no_sandbox;
mod placeholder;
mod protocol;
pub mod proxy;
mod support;

pub use command::{CommandExit, ConfinedCommand, PrivateDirectories};
pub use confinement::{BackEnd, Confinement, NetworkAccess, ResourceLimits};
pub use explain::{EnforcedRule, explain};
#[cfg(target_os = "linux")]
pub use linux::code::forget_code;
#[cfg(target_os = "linux")]
pub use linux::helper::serve;
#[cfg(target_os = "linux")]
pub use linux::sandbox::{CommandHandle, Sandbox};
#[cfg(target_os = "linux")]
pub use linux::support::sweep;
#[cfg(not(target_os = "linux"))]
pub use no_sandbox::{
    UnsupportedHandle as CommandHandle, UnsupportedSandbox as Sandbox, forget_code, serve, sweep,
};
pub use placeholder::{PLACEHOLDER, is_placeholder};
pub use support::{SandboxSupport, support};

/// The argument with which a program that uses this room starts itself as the helper: it must call
/// [`serve`] before it does anything else, while it has one thread.
pub const HELPER: &str = "__confined-helper";

/// Why nothing was confined.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This machine has no back end that can enforce the confinement.
    #[error("this machine cannot confine commands: {0}")]
    Unsupported(String),
    /// The helper could not set itself up.
    #[error("the sandbox could not be set up: {0}")]
    SetUp(String),
    /// Somebody outside replaced something protected, and with it the mount that protects it. Nothing
    /// runs in this sandbox any more; another one can be started.
    #[error("`{}` was replaced from outside, so that nothing protected it; what comes next is confined anew", .0.display())]
    Replaced(std::path::PathBuf),
    /// The helper is gone.
    #[error("the sandbox has ended")]
    Gone,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
