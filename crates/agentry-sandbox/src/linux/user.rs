//! What the user of this process already runs.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// The number of processes and threads that the user has, which a limit on them counts.
pub(crate) fn tasks() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let Ok(all) = fs::read_dir("/proc") else { return 0 };
    let of = |entry: fs::DirEntry| {
        let is_process = entry.file_name().to_str()?.parse::<u32>().is_ok();
        let is_own = is_process && entry.metadata().ok()?.uid() == own;
        is_own.then(|| fs::read_dir(entry.path().join("task")).map_or(1, Iterator::count) as u64)
    };
    all.filter_map(|entry| of(entry.ok()?)).sum()
}
