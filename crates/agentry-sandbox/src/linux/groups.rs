//! Control groups: limits for all processes of a run together, which bind the administrator too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Limits;

/// Where control groups are.
const ROOT: &str = "/sys/fs/cgroup";

/// Puts this process into a new group with these limits; what was made is given back. Nothing if this
/// process may not make one.
pub(crate) fn enter(limits: &Limits) -> Vec<PathBuf> {
    let made = candidates(std::process::id()).into_iter().filter(|(dir, kind)| {
        let entered = fs::create_dir(dir).and_then(|()| set(dir, *kind, limits));
        let entered = entered.and_then(|()| fs::write(dir.join("cgroup.procs"), "0"));
        if entered.is_err() {
            let _ = fs::remove_dir(dir);
        }
        entered.is_ok()
    });
    made.map(|(dir, _)| dir).collect()
}

/// Takes the groups of a process that has ended away.
pub(crate) fn remove(process: u32) {
    for (dir, _) in candidates(process) {
        let _ = fs::remove_dir(dir);
    }
}

/// Whether this process may make groups.
pub(crate) fn supported() -> bool {
    candidates(std::process::id()).into_iter().any(|(dir, kind)| {
        let made = fs::create_dir(&dir).and_then(|()| set(&dir, kind, &Limits::default()));
        let _ = fs::remove_dir(&dir);
        made.is_ok()
    })
}

/// What a group can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The second version: everything.
    Unified,
    Processes,
    Memory,
}

fn set(dir: &Path, kind: Kind, limits: &Limits) -> io::Result<()> {
    let write = |name: &str, value: String| fs::write(dir.join(name), value);
    match kind {
        Kind::Unified => {
            write("pids.max", limits.processes.to_string())?;
            write("memory.max", limits.memory.to_string())
        }
        Kind::Processes => write("pids.max", limits.processes.to_string()),
        Kind::Memory => write("memory.limit_in_bytes", limits.memory.to_string()),
    }
}

/// The groups that a process would get, below those that this one is in.
fn candidates(process: u32) -> Vec<(PathBuf, Kind)> {
    let name = format!("agentry-{process}");
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controller, path) = (fields.next()?, fields.next()?);
        let below = path.trim_start_matches('/');
        let (root, kind) = match controller {
            "" if Path::new(ROOT).join("cgroup.controllers").exists() => ("", Kind::Unified),
            "pids" => ("pids", Kind::Processes),
            "memory" => ("memory", Kind::Memory),
            _ => return None,
        };
        Some((Path::new(ROOT).join(root).join(below).join(&name), kind))
    };
    own.lines().filter_map(line).collect()
}
