//! Moves a run into new namespaces, with a new file tree and a new first process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::code::forget_code;
use super::mounts::{self, MountTree};
use super::system::{self, ForkSide};
use crate::support::UNLIMITED;
use crate::{Confinement, NetworkAccess};

/// Moves this process and all that it starts into new namespaces. Returns the paths that must stay
/// mounts. Only the first process of the new namespace returns; the old one waits for it and ends.
pub(crate) fn enter(
    confinement: &Confinement,
    stand_ins: &[PathBuf],
    counted: bool,
) -> io::Result<Vec<PathBuf>> {
    step("namespaces", isolate(&confinement.network))?;
    step("mounts", system::make_private())?;
    let MountTree { root, mounted } = step("the file tree", mounts::build(confinement, stand_ins))?;
    // The new process namespace applies only to children, so a fork is needed.
    if let ForkSide::Parent(_) = system::fork()? {
        forget_code();
        wait();
    }
    system::die_with_parent(libc::SIGKILL)?;
    step("the process table", process_table(&root.join("proc"), confinement, counted))?;
    step("the root", system::enter(&root))?;
    if confinement.network != NetworkAccess::Full {
        step("the loopback device", system::loopback_up())?;
    }
    Ok(mounted)
}

/// Adds to an error what could not be created.
fn step<T>(what: &str, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{what}: {error}")))
}

/// Waits for the first process of the new namespace, and ends with its exit code.
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

/// Creates namespaces in which this user keeps its id and no other user exists.
fn isolate(network: &NetworkAccess) -> io::Result<()> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let mut flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    if *network != NetworkAccess::Full {
        flags |= libc::CLONE_NEWNET;
    }
    system::unshare(flags)?;
    let (user, group) = (user.as_raw(), group.as_raw());
    // Without this, only root may write `gid_map`.
    let _ = fs::write("/proc/self/setgroups", "deny");
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Mounts `/proc` for the new namespace, read-only.
fn process_table(proc: &Path, confinement: &Confinement, counted: bool) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    system::mount("proc", proc, flags, "")?;
    if !counted {
        count_processes(proc, confinement.limits.processes)?;
    }
    system::make_read_only(proc, flags)
}

/// Limits the number of processes without control groups: by the user's limit; for root, which has
/// no such limit, by the range of process ids.
fn count_processes(proc: &Path, most: u32) -> io::Result<()> {
    // The kernel assigns ids below 300 only once. Without this margin, the limit would later shrink.
    const RESERVED: u32 = 300;
    if !rustix::process::getuid().is_root() {
        return system::limit(libc::RLIMIT_NPROC, most.into());
    }
    if !numbers_are_own() {
        return Err(io::Error::other(UNLIMITED));
    }
    fs::write(proc.join("sys/kernel/pid_max"), most.saturating_add(RESERVED).to_string())
}

/// Whether a process namespace has its own range of process ids. Before Linux 6.14 there is one for the
/// whole machine.
pub(crate) fn numbers_are_own() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (major, minor) >= (6, 14)
}
