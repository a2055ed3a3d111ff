//! What is enforced, and by what, for people.

use crate::{BackEnd, Confinement, Network};

/// One thing that is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enforced {
    /// What.
    pub what: String,
    /// By what.
    pub by: &'static str,
}

/// What `back_end` makes of a confinement, line by line.
pub fn explain(confinement: &Confinement, back_end: BackEnd) -> Vec<Enforced> {
    let Confinement { reads, writes, read_only, hidden, private, network, limits } = confinement;
    let namespaces = back_end == BackEnd::Namespaces;
    let files = if namespaces { "mounts, Landlock" } else { "Landlock" };
    let mut out = Vec::new();
    let mut add = |what: String, by| out.push(Enforced { what, by });
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
        Network::Off if namespaces => ("no network".to_owned(), "network namespace, seccomp"),
        Network::Off => ("no network".to_owned(), "seccomp"),
        Network::Proxy(port) => {
            (format!("network through a proxy on port {port}"), "network namespace")
        }
        Network::Full => ("the whole network".to_owned(), "nothing"),
    };
    add(what, by);
    add(format!("at most {} processes", limits.processes), "control group or limit");
    add(format!("at most {} MiB of memory", limits.memory >> 20), "control group or limit");
    add(format!("files of at most {} MiB", limits.file_size >> 20), "limit");
    add("no new privileges, no dangerous system calls".to_owned(), "seccomp");
    let gone = if namespaces { "process namespace" } else { "the helper" };
    add("every process ends with the run".to_owned(), gone);
    out
}
