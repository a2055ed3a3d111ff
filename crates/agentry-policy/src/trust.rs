//! Coarse trust: three axes, each with an order.

use crate::{Declared, DeclaredList};

crate::words! {
    /// What of the file system is open. Ordered from the least to the most.
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
    /// What of the network is open. Ordered from the least to the most.
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
    /// What may be run. Ordered from the least to the most.
    pub enum ExecTrust {
        /// Nothing.
        None = "none",
        /// Anything, inside the sandbox.
        Sandboxed = "sandboxed",
        /// Anything.
        Full = "full",
    }
}

/// How far an agent is trusted. An axis that was not written is inherited, or none.
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
