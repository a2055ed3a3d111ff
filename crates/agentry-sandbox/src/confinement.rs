//! What a run may touch, as plain data.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How commands are confined. By default, nothing may be touched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Directories and files that may be read; `/` is everything.
    pub reads: Vec<PathBuf>,
    /// Directories that may be written, and read.
    pub writes: Vec<PathBuf>,
    /// What nobody may change, inside directories that may be written too, even where it does not
    /// exist yet.
    pub read_only: Vec<PathBuf>,
    /// What nobody may see, even where it does not exist yet.
    pub hidden: Vec<PathBuf>,
    /// Which of those that are protected are directories, for where they do not exist yet.
    pub directories: Vec<PathBuf>,
    /// Directories that are empty at first, may be written, and go with the run: the home. Where a back
    /// end has none of its own under that name, [`crate::Sandbox::private`] says what stands for it.
    pub private: Vec<PathBuf>,
    /// What may be reached.
    pub network: NetworkAccess,
    /// What may be used up.
    pub limits: ResourceLimits,
}

/// What may be reached over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkAccess {
    /// Nothing.
    #[default]
    Off,
    /// What a proxy on this port of the loopback device lets through; its listener is handed out by
    /// the sandbox.
    Proxy(u16),
    /// Everything that the machine reaches.
    Full,
}

/// What commands may use up, all of them together where the system can count that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Processes at a time.
    pub processes: u32,
    /// Bytes of memory: of each process, and of all together where there are control groups.
    pub memory: u64,
    /// Bytes of one file.
    pub file_size: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self { processes: 512, memory: 8 << 30, file_size: 4 << 30 }
    }
}

/// What does the confining.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackEnd {
    /// Namespaces with Landlock and seccomp inside.
    Namespaces,
    /// Landlock and seccomp alone.
    Landlock,
}

impl BackEnd {
    /// What a person calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
        }
    }
}
