//! Control groups: limits for all processes of a run together, which bind the administrator too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Limits;

/// Where control groups are.
const ROOT: &str = "/sys/fs/cgroup";
/// The helper and the process that waits for it count, too.
const OWN: u32 = 2;

/// Groups of one run.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Their directories.
    pub(crate) directories: Vec<PathBuf>,
    /// Whether one of them counts processes.
    pub(crate) counts_processes: bool,
}

/// A group that could be made.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) directory: PathBuf,
    kind: Kind,
}

/// What a group can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The second version: everything.
    Unified,
    Processes,
    Memory,
}

/// Makes the groups among `candidates` that this process may make. With the second version, the first
/// that can be made is enough.
pub(crate) fn make(candidates: &[Candidate], limits: &Limits) -> Groups {
    let mut groups = Groups::default();
    for candidate in candidates {
        if candidate.kind == Kind::Unified && groups.counts_processes {
            continue;
        }
        let directory = &candidate.directory;
        if fs::create_dir(directory).and_then(|()| set(candidate, limits)).is_err() {
            let _ = fs::remove_dir(directory);
            continue;
        }
        groups.directories.push(directory.clone());
        groups.counts_processes |= candidate.kind != Kind::Memory;
    }
    groups
}

/// Moves this process and all that it starts into groups.
pub(crate) fn join(directories: &[PathBuf]) -> io::Result<()> {
    directories.iter().try_for_each(|directory| fs::write(directory.join("cgroup.procs"), "0"))
}

/// Lets no more processes start in groups, so that the ones there can be ended one by one.
pub(crate) fn close(directories: &[PathBuf]) {
    for directory in directories {
        let _ = fs::write(directory.join("pids.max"), "0");
        let _ = fs::write(directory.join("cgroup.kill"), "1");
    }
}

/// A group can be removed a moment after its last process has ended.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    for _ in 0..50 {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            other => return other,
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Whether this process may make a group that counts processes.
pub(crate) fn supported() -> bool {
    let groups = make(&candidates(), &Limits::default());
    groups.directories.iter().for_each(|directory| drop(remove(directory)));
    groups.counts_processes
}

fn set(candidate: &Candidate, limits: &Limits) -> io::Result<()> {
    let write = |name: &str, value: String| fs::write(candidate.directory.join(name), value);
    let processes = limits.processes.saturating_add(OWN).to_string();
    match candidate.kind {
        Kind::Unified => {
            write("pids.max", processes)?;
            write("memory.max", limits.memory.to_string())
        }
        Kind::Processes => write("pids.max", processes),
        Kind::Memory => write("memory.limit_in_bytes", limits.memory.to_string()),
    }
}

/// The groups that a run of this process would get: below those that this one is in, and with the
/// second version also below those above, since a group with processes may have none inside.
pub(crate) fn candidates() -> Vec<Candidate> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let name = format!("agentry-{}-{run}", std::process::id());
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let unified = Path::new(ROOT).join("cgroup.controllers").exists();
    let line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controller, path) = (fields.next()?, fields.next()?);
        let below = path.trim_start_matches('/');
        let (root, kind) = match controller {
            "" if unified => (PathBuf::from(ROOT), Kind::Unified),
            "pids" => (Path::new(ROOT).join("pids"), Kind::Processes),
            "memory" => (Path::new(ROOT).join("memory"), Kind::Memory),
            _ => return None,
        };
        let start = root.join(below);
        let levels = if kind == Kind::Unified { usize::MAX } else { 1 };
        let above = start.ancestors().take(levels).filter(|dir| dir.starts_with(&root));
        let each = above.map(|dir| Candidate { directory: dir.join(&name), kind });
        Some(each.collect::<Vec<_>>())
    };
    own.lines().filter_map(line).flatten().collect()
}
