//! Control groups: limits for all processes of a run together. They also apply to root.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::ResourceLimits;

/// The mount point of control groups.
const ROOT: &str = "/sys/fs/cgroup";
/// The prefix of group names.
const PREFIX: &str = "agentry-";
/// A group younger than this is not swept: its process may be about to join it.
const FRESH: Duration = Duration::from_secs(2);
/// The helper and the process that waits for it are counted too.
const OWN: u32 = 2;

/// The groups of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct ControlGroups {
    /// The directories of the groups.
    pub(crate) directories: Vec<PathBuf>,
    /// Whether one of them limits the number of processes.
    pub(crate) counts_processes: bool,
}

/// A group that may be created.
#[derive(Debug, Clone)]
pub(crate) struct GroupCandidate {
    pub(crate) directory: PathBuf,
    kind: GroupKind,
}

/// What a group can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    /// Version 2: everything.
    Unified,
    Processes,
    Memory,
}

/// The groups that a sandbox gets.
pub(crate) enum WantedGroups {
    /// None: they take longer to join than all the rest.
    Nothing,
    /// New ones.
    New,
    /// Those that its helper is in already.
    Joined(ControlGroups),
}

impl ControlGroups {
    /// Removes the groups, which must be empty.
    pub(crate) fn remove(&self) {
        self.directories.iter().for_each(|directory| drop(remove(directory)));
    }
}

/// Creates those of `candidates` that this process is allowed to create. With version 2, the first one
/// is enough.
pub(crate) fn make(candidates: &[GroupCandidate], limits: &ResourceLimits) -> ControlGroups {
    made(candidates.to_vec(), limits).1
}

/// Creates groups like [`make`]; returns also those of the candidates that were created.
pub(crate) fn made(
    candidates: Vec<GroupCandidate>,
    limits: &ResourceLimits,
) -> (Vec<GroupCandidate>, ControlGroups) {
    sweep(&candidates);
    let mut groups = ControlGroups::default();
    let mut created = Vec::new();
    for candidate in candidates {
        // One group of version 2 limits everything.
        if candidate.kind == GroupKind::Unified && groups.counts_processes {
            continue;
        }
        let directory = &candidate.directory;
        if fs::create_dir(directory).and_then(|()| set(&candidate, limits)).is_err() {
            let _ = fs::remove_dir(directory);
            continue;
        }
        groups.directories.push(directory.clone());
        groups.counts_processes |= candidate.kind != GroupKind::Memory;
        created.push(candidate);
    }
    (created, groups)
}

/// Gives groups other limits.
pub(crate) fn limit(created: &[GroupCandidate], limits: &ResourceLimits) -> io::Result<()> {
    created.iter().try_for_each(|candidate| set(candidate, limits))
}

/// Moves this process, and all that it starts, into groups.
pub(crate) fn join(directories: &[PathBuf]) -> io::Result<()> {
    // A group of version 1 also takes one thread. Then the system need not wait for a moment in which no process is created,
    // which takes longer than all the rest of a set-up. Another thread would stay outside.
    let is_alone = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    directories.iter().try_for_each(|directory| {
        let thread = fs::OpenOptions::new().write(true).open(directory.join("tasks"));
        match thread.ok().filter(|_| is_alone) {
            Some(mut tasks) => tasks.write_all(b"0"),
            None => fs::write(directory.join("cgroup.procs"), "0"),
        }
    })
}

/// Stops new processes in the groups, so that the existing ones can be killed one by one.
pub(crate) fn close(directories: &[PathBuf]) {
    for directory in directories {
        let _ = fs::write(directory.join("pids.max"), "0");
        // Exists only in version 2; in version 1 the write fails and has no effect.
        let _ = fs::write(directory.join("cgroup.kill"), "1");
    }
}

/// Removes a group. Retries, because the system frees it only a moment after its last process ends.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    for _ in 0..200 {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Removes groups of processes that no longer exist, next to the candidates.
fn sweep(candidates: &[GroupCandidate]) {
    let parents = candidates.iter().filter_map(|candidate| candidate.directory.parent());
    let entries = parents.filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| is_forsaken(path)) {
        // A group that still has processes cannot be removed, and stays.
        let _ = fs::remove_dir(path);
    }
}

/// Whether a group belongs to a process that no longer exists. The process id of another namespace means
/// nothing here, so the age is checked too: such a group is not empty for long.
fn is_forsaken(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
    let Some((process, _)) = number.filter(|(process, _)| process.parse::<u32>().is_ok()) else {
        return false;
    };
    let is_old = || {
        let made = fs::metadata(path).and_then(|found| found.modified()).ok();
        made.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > FRESH)
    };
    !Path::new("/proc").join(process).exists() && is_old()
}

/// Whether this process can create a group that limits the number of processes.
pub(crate) fn supported() -> bool {
    let groups = make(&candidates(), &ResourceLimits::default());
    groups.remove();
    groups.counts_processes
}

fn set(candidate: &GroupCandidate, limits: &ResourceLimits) -> io::Result<()> {
    let write = |name: &str, value: String| fs::write(candidate.directory.join(name), value);
    let processes = limits.processes.saturating_add(OWN).to_string();
    match candidate.kind {
        GroupKind::Unified => {
            write("pids.max", processes)?;
            write("memory.max", limits.memory.to_string())
        }
        GroupKind::Processes => write("pids.max", processes),
        GroupKind::Memory => write("memory.limit_in_bytes", limits.memory.to_string()),
    }
}

/// The groups to try for a run: below the groups of this process. With version 2 also below their
/// parents, since a group with processes cannot have child groups with limits.
pub(crate) fn candidates() -> Vec<GroupCandidate> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{PREFIX}{}-{run}", std::process::id());
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    // This file exists only where version 2 is mounted at the root.
    let unified = Path::new(ROOT).join("cgroup.controllers").exists();
    let line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controller, path) = (fields.next()?, fields.next()?);
        let below = path.trim_start_matches('/');
        let (root, kind) = match controller {
            "" if unified => (PathBuf::from(ROOT), GroupKind::Unified),
            "pids" => (Path::new(ROOT).join("pids"), GroupKind::Processes),
            "memory" => (Path::new(ROOT).join("memory"), GroupKind::Memory),
            _ => return None,
        };
        let start = root.join(below);
        let levels = if kind == GroupKind::Unified { usize::MAX } else { 1 };
        let above = start.ancestors().take(levels).filter(|dir| dir.starts_with(&root));
        let each = above.map(|dir| GroupCandidate { directory: dir.join(&name), kind });
        Some(each.collect::<Vec<_>>())
    };
    own.lines().filter_map(line).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_control_groups_of_ended_processes_are_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let gone = 4_194_305;
        let cases = [
            (format!("agentry-{gone}-0"), true),
            (format!("agentry-{}-0", std::process::id()), false),
            ("agentry-x-0".to_owned(), false),
            ("agentry-1".to_owned(), false),
            (format!("other-{gone}-0"), false),
        ];
        for (name, expected) in cases {
            let path = dir.path().join(&name);
            fs::create_dir(&path).expect("a directory");
            assert!(!is_forsaken(&path), "{name} is new");
            let old = std::time::SystemTime::now() - 2 * FRESH;
            fs::File::open(&path).and_then(|it| it.set_modified(old)).expect("older");
            assert_eq!(is_forsaken(&path), expected, "{name}");
        }
    }
}
