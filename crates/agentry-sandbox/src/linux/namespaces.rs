//! A world of its own for a run: new namespaces, a new file tree, a first process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::code::forget_code;
use super::mounts::{self, MountTree};
use super::system::{self, ForkSide};
use crate::support::UNLIMITED;
use crate::{Confinement, NetworkAccess};

/// Moves this process and all that it starts into namespaces of their own, and gives the paths that
/// must stay mounts. Only the first process of the new world returns; the old one waits for it and ends.
pub(crate) fn enter(
    confinement: &Confinement,
    stand_ins: &[PathBuf],
    counted: bool,
) -> io::Result<Vec<PathBuf>> {
    step("namespaces", isolate(&confinement.network))?;
    step("mounts", system::make_private())?;
    let MountTree { root, mounted } = step("the file tree", mounts::build(confinement, stand_ins))?;
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

/// Says what could not be made.
fn step<T>(what: &str, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{what}: {error}")))
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
    // Without this nobody but the administrator may say which groups there are.
    let _ = fs::write("/proc/self/setgroups", "deny");
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// The processes of the new world, for everybody to see and nobody to set anything.
fn process_table(proc: &Path, confinement: &Confinement, counted: bool) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    system::mount("proc", proc, flags, "")?;
    if !counted {
        count_processes(proc, confinement.limits.processes)?;
    }
    system::make_read_only(proc, flags)
}

/// Bounds the number of processes where there are no control groups: by the user's limit, or, for the
/// administrator whom that does not bind, by the numbers that there are for processes.
fn count_processes(proc: &Path, most: u32) -> io::Result<()> {
    // Numbers that are given out once and not again, so that for a start there are as many more.
    const RESERVED: u32 = 300;
    if !rustix::process::getuid().is_root() {
        return system::limit(libc::RLIMIT_NPROC, most.into());
    }
    if !numbers_are_own() {
        return Err(io::Error::other(UNLIMITED));
    }
    fs::write(proc.join("sys/kernel/pid_max"), most.saturating_add(RESERVED).to_string())
}

/// Whether a process namespace has its own range of numbers; before Linux 6.14 there is one for the
/// whole machine.
pub(crate) fn numbers_are_own() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (major, minor) >= (6, 14)
}
