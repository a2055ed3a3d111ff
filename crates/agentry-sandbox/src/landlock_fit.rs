//! Narrows a confinement to what Landlock alone can enforce.
//!
//! Landlock grants whole directories. A directory with a protected path in it is replaced by its other
//! entries, so that no new file can be created in it. The result is narrower, never wider.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Confinement;

/// The limit for paths that are granted one by one.
const MOST: usize = 5_000;

impl Confinement {
    /// The same confinement or a narrower one, without protected paths inside granted ones. `None` if
    /// that takes too many paths.
    pub fn plain(&self) -> Option<Self> {
        // A directory to start in needs no grant here: it is the machine's own.
        let Self {
            reads,
            writes,
            read_only,
            hidden,
            directories: _,
            private,
            empty: _,
            network,
            limits,
        } = self;
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
        // Writable paths are readable too, and so are those that are only protected from changes.
        for root in reads.iter().chain(writes) {
            // A readable root may be a link, such as `/bin`. Its target is compared with the hidden paths.
            let real = fs::canonicalize(root).unwrap_or_else(|_| root.clone());
            open(&real, &hidden, &mut out.reads)?;
        }
        Some(out)
    }
}

/// The paths, followed by their canonical targets.
pub(crate) fn with_targets(paths: &[PathBuf]) -> Vec<PathBuf> {
    let targets = paths.iter().filter_map(|path| fs::canonicalize(path).ok());
    paths.iter().cloned().chain(targets).collect()
}

/// Adds `path` to `out`, or its granted entries if a protected path lies below it.
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
        // A link is skipped: its target is granted if it lies in a granted directory. Names that are
        // not UTF-8 are skipped because the message to the helper is JSON.
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
    fn entries_beside_protected_paths_stay_writable() {
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
