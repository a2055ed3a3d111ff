//! What the commands of a run may touch, as plain data.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The limits of a run's commands. The default allows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Directories and files that may be read; `/` means everything.
    pub reads: Vec<PathBuf>,
    /// Directories that may be read and written.
    pub writes: Vec<PathBuf>,
    /// Paths that may not be changed, even inside a writable directory, and even if they do not exist yet.
    pub read_only: Vec<PathBuf>,
    /// Paths that may not be read, even if they do not exist yet.
    pub hidden: Vec<PathBuf>,
    /// Which protected paths are directories; needed for those that do not exist yet.
    pub directories: Vec<PathBuf>,
    /// Directories that start empty, may be written, and are deleted after the run, such as the home.
    /// The Landlock back end has them under other paths: see [`crate::Sandbox::private`].
    pub private: Vec<PathBuf>,
    /// Directories that exist for commands to start in, with nothing in them unless another list has it.
    pub empty: Vec<PathBuf>,
    /// The network access.
    pub network: NetworkAccess,
    /// The resource limits.
    pub limits: ResourceLimits,
}

/// The network access of commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkAccess {
    /// Nothing.
    #[default]
    Off,
    /// Only a proxy on this port of the loopback device. [`crate::Sandbox::listener`] returns its listener.
    Proxy(u16),
    /// Everything that the machine can reach.
    Full,
}

/// Resource limits, for all commands together where the system can count that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Processes at the same time.
    pub processes: u32,
    /// Bytes of memory: of each process, and of all together if there are control groups.
    pub memory: u64,
    /// Bytes of one file.
    pub file_size: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self { processes: 512, memory: 8 << 30, file_size: 4 << 30 }
    }
}

/// The mechanism that confines commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackEnd {
    /// Namespaces, with Landlock and seccomp inside.
    Namespaces,
    /// Only Landlock and seccomp.
    Landlock,
}

impl BackEnd {
    /// The name as shown to the user.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
        }
    }
}
