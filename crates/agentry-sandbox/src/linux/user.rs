//! Limits the number of processes by user, where there are no control groups.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use super::system;
use crate::support::UNLIMITED;

/// Limits the processes of the user to `most` more than there are now. This limit does not apply to root.
pub(crate) fn limit_processes(most: u32) -> io::Result<()> {
    if rustix::process::getuid().is_root() {
        return Err(io::Error::other(UNLIMITED));
    }
    system::limit(libc::RLIMIT_NPROC, u64::from(most).saturating_add(tasks()))
}

/// The number of processes and threads of the user, as the limit counts them.
fn tasks() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let Ok(all) = fs::read_dir("/proc") else { return 0 };
    let of = |entry: fs::DirEntry| {
        let is_process = entry.file_name().to_str()?.parse::<u32>().is_ok();
        let is_own = is_process && entry.metadata().ok()?.uid() == own;
        is_own.then(|| fs::read_dir(entry.path().join("task")).map_or(1, Iterator::count) as u64)
    };
    all.filter_map(|entry| of(entry.ok()?)).sum()
}
