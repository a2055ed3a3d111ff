//! Ends all processes of a run that has no process namespace. A process outside the confinement adopts
//! every orphan, and kills them all when the helper or the program ends.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::code::forget_code;
use super::groups;
use super::system::{self, ForkSide};

/// The time limit for killing processes that start new ones faster than they are killed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Forks: the child continues as the helper; the parent supervises it and ends after all other
/// processes.
pub(crate) fn split(socket: &UnixStream, directories: &[PathBuf]) -> io::Result<()> {
    system::adopt_orphans()?;
    let signals = system::child_signals()?;
    let ForkSide::Parent(helper) = system::fork()? else {
        system::unblock_signals();
        return system::die_with_parent(libc::SIGKILL);
    };
    forget_code();
    loop {
        // With empty flags, `poll` reports only that the other side has closed.
        let mut ready =
            [PollFd::new(socket, PollFlags::empty()), PollFd::new(&signals, PollFlags::IN)];
        let _ = poll(&mut ready, None);
        let [gone, ended] = ready.map(|it| !it.revents().is_empty());
        if ended {
            let _ = rustix::io::read(&signals, &mut [0; 1024]);
        }
        if gone || reaped(helper) {
            break;
        }
    }
    groups::close(directories);
    end_all();
    system::end(0)
}

/// Reaps ended children, and returns whether the helper is one of them.
fn reaped(helper: libc::pid_t) -> bool {
    let mut found = false;
    while let Ok(Some((pid, ..))) = system::reap(false) {
        found |= pid == helper;
    }
    found
}

/// Kills every process started from here. Orphans are children of this process by now.
pub(crate) fn end_all() {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        children().into_iter().for_each(|pid| system::kill(pid, libc::SIGKILL));
        loop {
            match system::reap(false) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

/// The children of this process.
fn children() -> Vec<libc::pid_t> {
    match fs::read_to_string("/proc/thread-self/children") {
        Ok(list) => list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        Err(_) => children_by_search(),
    }
}

/// The children of this process, for kernels without that list.
fn children_by_search() -> Vec<libc::pid_t> {
    let own = std::process::id().to_string();
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let is_child = |pid: &libc::pid_t| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name may contain spaces and parentheses, so the fields start after the last one.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after_name.split_whitespace().nth(1) == Some(&own)
    };
    let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(is_child).collect()
}
