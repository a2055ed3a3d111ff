//! Lists for the user what is enforced, and by which mechanism.

use crate::{BackEnd, Confinement, NetworkAccess};

/// One enforced rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnforcedRule {
    /// The rule.
    pub what: String,
    /// The mechanism.
    pub by: &'static str,
}

/// Lists how `back_end` enforces a confinement, one rule a line.
pub fn explain(confinement: &Confinement, back_end: BackEnd) -> Vec<EnforcedRule> {
    let Confinement {
        reads,
        writes,
        read_only,
        hidden,
        directories: _,
        private,
        empty: _,
        network,
        limits,
    } = confinement;
    let namespaces = back_end == BackEnd::Namespaces;
    let files = if namespaces { "mounts, Landlock" } else { "Landlock" };
    let mut out = Vec::new();
    let mut add = |what: String, by| out.push(EnforcedRule { what, by });
    let mut each = |verb: &str, paths: &[std::path::PathBuf], by| {
        for path in paths {
            add(format!("{verb} {}", path.display()), by);
        }
    };
    each("may read", reads, files);
    each("may write", writes, files);
    let own = if namespaces { "mounts" } else { "a directory that stands for it" };
    each("has for itself", private, own);
    each("may not change", read_only, "mounts");
    each("may not see", hidden, "mounts");
    let (what, by) = match network {
        NetworkAccess::Off if namespaces => {
            ("no network but a loopback device of its own", NETWORK)
        }
        NetworkAccess::Off => ("no network", "seccomp"),
        NetworkAccess::Proxy(_) => ("network only through the proxy", NETWORK),
        NetworkAccess::Full => ("the whole network", "nothing"),
    };
    add(what.to_owned(), by);
    add("no sockets of the file system".to_owned(), "seccomp");
    add(format!("at most {} processes", limits.processes), "control group or limit");
    add(format!("at most {} MiB of memory", limits.memory >> 20), "control group or limit");
    add(format!("files of at most {} MiB", limits.file_size >> 20), "limit");
    add("no new privileges, no capabilities".to_owned(), "the kernel");
    add("no dangerous system calls".to_owned(), "seccomp");
    if !namespaces {
        add("no changes of owners, modes and attributes of files".to_owned(), "seccomp");
    }
    let by = if namespaces { "process namespace" } else { "Landlock" };
    add("no signals to other processes".to_owned(), by);
    let by = if namespaces { "process namespace" } else { "a supervisor" };
    add("every process ends with the run".to_owned(), by);
    out
}

const NETWORK: &str = "network namespace, seccomp";
