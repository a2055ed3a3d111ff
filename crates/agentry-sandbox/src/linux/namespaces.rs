//! A world of its own for a run: new namespaces, a new file tree, a first process.

use std::fs;
use std::io;
use std::path::Path;

use super::system::{self, Fork};
use super::{groups, mounts};
use crate::{Confinement, Network};

/// Moves this process and all that it starts into namespaces of their own. Only the first process of
/// the new world returns; the old one waits for it and ends.
pub(crate) fn enter(confinement: &Confinement) -> io::Result<()> {
    let grouped = !groups::enter(&confinement.limits).is_empty();
    isolate(&confinement.network)?;
    system::make_private()?;
    let root = mounts::build(confinement)?;
    if let Fork::Parent = system::fork()? {
        wait();
    }
    system::die_with_parent(libc::SIGKILL)?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    system::mount("proc", &root.join("proc"), flags, "")?;
    if !grouped {
        count_processes(&root.join("proc"), confinement.limits.processes)?;
    }
    system::enter(&root)?;
    if matches!(confinement.network, Network::Proxy(_)) {
        system::loopback_up()?;
    }
    Ok(())
}

/// Waits until the first process of the new world has ended, and ends as it did.
fn wait() -> ! {
    loop {
        match system::reap(true) {
            Ok(Some((_, code, _))) => system::end(code.unwrap_or(1)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => system::end(1),
        }
    }
}

/// New namespaces in which this user is the same and nobody else is anybody.
fn isolate(network: &Network) -> io::Result<()> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let mut flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    if *network != Network::Full {
        flags |= libc::CLONE_NEWNET;
    }
    system::unshare(flags)?;
    let (user, group) = (user.as_raw(), group.as_raw());
    // Without this nobody but the administrator may say which groups there are.
    let _ = fs::write("/proc/self/setgroups", "deny");
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Bounds the number of processes where there are no control groups: by the user's limit, or, for the
/// administrator whom that does not bind, by the numbers that there are for processes.
fn count_processes(proc: &Path, most: u32) -> io::Result<()> {
    const LEAST: u32 = 301;
    if !rustix::process::getuid().is_root() {
        return system::limit(libc::RLIMIT_NPROC, most.into());
    }
    fs::write(proc.join("sys/kernel/pid_max"), most.max(LEAST).to_string())
}
