//! A confinement without exceptions: what Landlock alone can enforce.
//!
//! Landlock grants whole directories. A directory with something protected in it is replaced by what is
//! there beside that, so that nothing new can be made in it: narrower, and never wider.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Confinement;

/// The most paths that are granted one by one.
const MOST: usize = 5_000;

impl Confinement {
    /// The same or less, with nothing protected inside of what is open; nothing if that would take too
    /// many paths.
    pub fn plain(&self) -> Option<Self> {
        let Self { reads, writes, read_only, hidden, directories: _, private, network, limits } =
            self;
        let (read_only, hidden) = (with_targets(read_only), with_targets(hidden));
        let mut out = Self {
            private: private.clone(),
            network: network.clone(),
            limits: *limits,
            ..Self::default()
        };
        for root in writes {
            let closed: Vec<&PathBuf> = read_only.iter().chain(&hidden).collect();
            open(root, &closed, &mut out.writes)?;
        }
        let hidden: Vec<&PathBuf> = hidden.iter().collect();
        // What may be written may be read, what is only protected from changes as well.
        for root in reads.iter().chain(writes) {
            let real = fs::canonicalize(root).unwrap_or_else(|_| root.clone());
            open(&real, &hidden, &mut out.reads)?;
        }
        Some(out)
    }
}

/// Paths, and where they lead.
pub(crate) fn with_targets(paths: &[PathBuf]) -> Vec<PathBuf> {
    let targets = paths.iter().filter_map(|path| fs::canonicalize(path).ok());
    paths.iter().cloned().chain(targets).collect()
}

/// Adds `path`, or what is in it and open, to `out`.
fn open(path: &Path, closed: &[&PathBuf], out: &mut Vec<PathBuf>) -> Option<()> {
    if closed.iter().any(|closed| path.starts_with(closed)) {
        return Some(());
    }
    if !closed.iter().any(|closed| closed.starts_with(path)) {
        out.push(path.to_owned());
        return (out.len() <= MOST).then_some(());
    }
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    for entry in entries {
        // Where a link leads is open if it lies in something that is. What is no text cannot be said.
        let is_text = entry.file_name().to_str().is_some();
        if is_text && entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            open(&entry.path(), closed, out)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_the_protected_stays_open() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        for name in ["w/src/deep", "w/agents", "w/vault"] {
            fs::create_dir_all(root.join(name)).expect("a directory");
        }
        for name in ["w/agentry.toml", "w/agents/own.md", "w/agents/other.md", "w/notes"] {
            fs::write(root.join(name), "").expect("a file");
        }
        let all = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        let confinement = Confinement {
            writes: all(&["w"]),
            read_only: all(&["w/agentry.toml", "w/agentry.lock", "w/agents/own.md"]),
            hidden: all(&["w/vault"]),
            ..Confinement::default()
        };
        let mut plain = confinement.plain().expect("few paths");
        plain.reads.sort();
        plain.writes.sort();
        assert_eq!(plain.writes, all(&["w/agents/other.md", "w/notes", "w/src"]));
        assert_eq!(plain.reads, all(&["w/agentry.toml", "w/agents", "w/notes", "w/src"]));
    }
}
