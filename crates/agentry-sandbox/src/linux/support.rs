//! Finds out by trying what this machine can enforce.

use std::path::Path;
use std::sync::OnceLock;

use super::{groups, leftovers, namespaces, system};
use crate::{BackEnd, Confinement, Sandbox, SandboxSupport};

/// The result of the attempt. It cannot change while this program runs.
static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
/// Whether control groups can be created.
static GROUPS: OnceLock<bool> = OnceLock::new();

pub(crate) fn support(program: &Path) -> SandboxSupport {
    let mut trial = None;
    let namespaces = TRIED.get_or_init(|| tried(program).map(|sandbox| trial = Some(sandbox)));
    // Other threads have the answer already, and need not wait for the end of its processes.
    drop(trial);
    let control_groups = *GROUPS.get_or_init(groups::supported);
    SandboxSupport {
        landlock: system::landlock_version(),
        namespaces: namespaces.clone(),
        seccomp: Path::new("/proc/sys/kernel/seccomp/actions_avail").exists(),
        control_groups,
        administrator: rustix::process::getuid().is_root(),
        own_numbers: namespaces::numbers_are_own(),
    }
}

/// Removes what killed runs left, as recorded in `directory`.
pub fn sweep(directory: &Path) -> std::io::Result<()> {
    leftovers::sweep(directory)
}

/// Tries to start a sandbox.
fn tried(program: &Path) -> Result<Sandbox, String> {
    let nothing = Confinement { reads: vec!["/".into()], ..Confinement::default() };
    Sandbox::tried(program, BackEnd::Namespaces, nothing).map_err(|error| error.to_string())
}
