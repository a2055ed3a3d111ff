//! Confines the commands of one run: which files, which network and how many resources they may use.
//!
//! ```text
//!  agentry ── Sandbox::start ──▶ helper (this program again) ── namespaces, mounts, Landlock, seccomp
//!     │  start, kill                 │ first process of the sandbox; starts every command of the run
//!     ◀────────── ended ─────────────┘ when it ends, all processes in it end
//! ```
//!
//! A [`Confinement`] is plain data and independent of agents. A back end refuses a confinement that it
//! cannot enforce. [`explain()`] lists what is enforced by which mechanism.
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
pub use linux::reserve::{HelperReserve, reserve};
#[cfg(target_os = "linux")]
pub use linux::sandbox::{CommandHandle, Sandbox};
#[cfg(target_os = "linux")]
pub use linux::seal::seal;
#[cfg(target_os = "linux")]
pub use linux::support::sweep;
#[cfg(not(target_os = "linux"))]
pub use no_sandbox::{
    UnsupportedHandle as CommandHandle, UnsupportedReserve as HelperReserve,
    UnsupportedSandbox as Sandbox, forget_code, reserve, seal, serve, sweep,
};
pub use placeholder::{PLACEHOLDER, is_placeholder};
pub use support::{SandboxSupport, support};

/// The argument with which a program starts itself as the helper. The program must then call
/// [`serve`] before anything else, while it has one thread.
pub const HELPER: &str = "__confined-helper";

/// Why a sandbox could not be started, or has ended.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This machine has no back end that can enforce the confinement.
    #[error("this machine cannot confine commands: {0}")]
    Unsupported(String),
    /// The helper could not set itself up.
    #[error("the sandbox could not be set up: {0}")]
    SetUp(String),
    /// A process outside replaced a protected file, which removed the mount that protects it. This
    /// sandbox has ended; another one can be started.
    #[error("`{}` was replaced from outside, so that nothing protected it; what comes next is confined anew", .0.display())]
    Replaced(std::path::PathBuf),
    /// The helper has ended.
    #[error("the sandbox has ended")]
    Gone,
    /// The operating system reported an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
