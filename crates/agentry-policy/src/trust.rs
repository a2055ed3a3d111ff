//! Trust on three axes, each of them ordered.

use crate::{Declared, DeclaredList};

crate::words! {
    /// How much of the file system is allowed, from the least to the most.
    pub enum FilesystemTrust {
        /// Nothing.
        None = "none",
        /// Reading in the workspace.
        ReadOnly = "read-only",
        /// Reading in the workspace, writing inside the scope.
        Scoped = "scoped",
        /// Everything.
        Full = "full",
    }
}

crate::words! {
    /// How much of the network is allowed, from the least to the most.
    pub enum NetworkTrust {
        /// Nothing.
        None = "none",
        /// The named hosts.
        Scoped = "scoped",
        /// Every public host.
        Allowed = "allowed",
    }
}

crate::words! {
    /// Which programs may run, from the least to the most.
    pub enum ExecTrust {
        /// No program.
        None = "none",
        /// Any program, inside the sandbox.
        Sandboxed = "sandboxed",
        /// Any program.
        Full = "full",
    }
}

/// How far an agent is trusted. An axis that was not written is inherited, or else `none`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// The file system.
    pub filesystem: Declared<FilesystemTrust>,
    /// The network.
    pub network: Declared<NetworkTrust>,
    /// Running programs.
    pub exec: Declared<ExecTrust>,
    /// The paths of `filesystem: scoped`, relative to the declaring file.
    pub scope: DeclaredList<String>,
    /// The hosts of `network: scoped`.
    pub hosts: DeclaredList<String>,
}
