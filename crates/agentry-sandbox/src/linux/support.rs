//! What this machine can enforce, found out by trying.

use std::path::Path;

use super::{groups, system};
use crate::{BackEnd, Confinement, Limits, Network, Sandbox, Support};

pub(crate) fn support(program: &Path) -> Support {
    Support {
        landlock: system::landlock_version(),
        namespaces: namespaces(program),
        seccomp: Path::new("/proc/sys/kernel/seccomp/actions_avail").exists(),
        control_groups: groups::supported(),
    }
}

/// Tries a sandbox that may do nothing.
fn namespaces(program: &Path) -> Result<(), String> {
    let nothing = Confinement {
        reads: vec!["/".into()],
        writes: Vec::new(),
        read_only: Vec::new(),
        hidden: Vec::new(),
        network: Network::Off,
        limits: Limits::default(),
    };
    let started = Sandbox::start(program, BackEnd::Namespaces, nothing);
    started.map(drop).map_err(|error| error.to_string())
}
