//! Decides which paths become mounts of their own, so that protected paths cannot be moved.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentry_posix::lexical;

/// The limit of links on the way to one protected path.
const MOST_LINKS: usize = 16;

/// A path that becomes a mount, so that it cannot be renamed, removed or replaced.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MountPin {
    pub(crate) path: PathBuf,
    pub(crate) read_only: bool,
}

/// The pins of a confinement, shorter paths first.
pub(crate) fn pins(
    writes: &[PathBuf],
    read_only: &[PathBuf],
    hidden: &[PathBuf],
) -> io::Result<Vec<MountPin>> {
    let mut pins = Vec::new();
    let read_only = read_only.iter().map(|path| (path, PinKind::ReadOnly));
    let hidden = hidden.iter().map(|path| (path, PinKind::Covered));
    for (path, last) in read_only.chain(hidden) {
        pin(path, writes, last, MOST_LINKS, &mut pins)?;
        if let Ok(real) = fs::canonicalize(path) {
            pin(&real, writes, last, MOST_LINKS, &mut pins)?;
        }
    }
    // Of two pins for one path the stricter one stays. No pin makes a path below a read-only one
    // writable again.
    pins.sort_by(|a, b| a.path.cmp(&b.path).then(b.read_only.cmp(&a.read_only)));
    pins.dedup_by(|later, first| later.path == first.path);
    let closed: Vec<PathBuf> =
        pins.iter().filter(|pin| pin.read_only).map(|pin| pin.path.clone()).collect();
    pins.retain(|pin| !closed.iter().any(|path| pin.path != *path && pin.path.starts_with(path)));
    Ok(pins)
}

/// How the protected path itself is protected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PinKind {
    ReadOnly,
    /// It is covered by an empty mount later.
    Covered,
}

/// Pins every part of `path` inside a writable directory, and follows links.
fn pin(
    path: &Path,
    writes: &[PathBuf],
    last: PinKind,
    links: usize,
    pins: &mut Vec<MountPin>,
) -> io::Result<()> {
    let mut ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.reverse();
    for part in ancestors {
        let Ok(found) = fs::symlink_metadata(part) else { return Ok(()) };
        let writable = writes.iter().any(|root| part.starts_with(root));
        let is_root = writes.iter().any(|root| part == root);
        if found.is_symlink() {
            if writable {
                pins.push(MountPin { path: part.to_owned(), read_only: true });
            }
            // Links may form a cycle.
            let left = links.checked_sub(1);
            let left = left.ok_or_else(|| io::Error::other("too many links"))?;
            let rest = path.strip_prefix(part).unwrap_or(Path::new(""));
            // Another program may have removed it meanwhile: then nothing is left to pin.
            let Ok(link) = fs::read_link(part) else { return Ok(()) };
            let mut target = part.parent().unwrap_or(part).join(link);
            if !rest.as_os_str().is_empty() {
                target.push(rest);
            }
            // After a link, `..` may lead elsewhere; the caller therefore pins the canonical path as well.
            return pin(&lexical(&target), writes, last, left, pins);
        }
        let is_last = part == path;
        if is_last && last == PinKind::ReadOnly && writable {
            pins.push(MountPin { path: part.to_owned(), read_only: true });
        } else if writable && !is_root && !is_last {
            pins.push(MountPin { path: part.to_owned(), read_only: false });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Read-only paths, hidden paths, and the expected pins.
    type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [(&'a str, bool)]);

    #[test]
    fn all_parents_of_protected_paths_are_mounts() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        fs::create_dir_all(root.join("w/a/b")).expect("directories");
        fs::create_dir_all(root.join("w/real")).expect("directories");
        fs::write(root.join("w/a/b/file"), "").expect("a file");
        fs::write(root.join("w/real/file"), "").expect("a file");
        symlink("real", root.join("w/link")).expect("a link");
        let cases: [Case<'_>; 6] = [
            (&["w/a/b/file"], &[], &[("w/a", false), ("w/a/b", false), ("w/a/b/file", true)]),
            (&[], &["w/a/b/file"], &[("w/a", false), ("w/a/b", false)]),
            (&["w/a", "w/a/b/file"], &[], &[("w/a", true)]),
            (&["w/link/file"], &[], &[("w/link", true), ("w/real", false), ("w/real/file", true)]),
            (&["w/missing"], &[], &[]),
            (&["w"], &[], &[("w", true)]),
        ];
        let all = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        for (read_only, hidden, expected) in cases {
            let found = pins(&all(&["w"]), &all(read_only), &all(hidden)).expect("pins");
            let expected: Vec<MountPin> = expected
                .iter()
                .map(|(path, read_only)| MountPin { path: root.join(path), read_only: *read_only })
                .collect();
            assert_eq!(found, expected, "{read_only:?} {hidden:?}");
        }
    }
}
