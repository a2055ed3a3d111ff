//! Where a path really leads: what a policy must judge instead of the name that a tool was given.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// More links than this on the way are a loop.
const MAX_LINKS: usize = 40;

/// The real path of an absolute one: links are followed before `..` is applied, as the system does.
/// Of what does not exist yet, the parent is real. Nothing if it cannot be told.
pub(crate) fn path(path: &Path) -> Option<PathBuf> {
    let mut todo: VecDeque<OsString> = parts(path);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            at.pop();
            continue;
        }
        at.push(&part);
        match fs::symlink_metadata(&at) {
            // What a link of the process table leads to depends on who asks.
            Ok(found) if found.is_symlink() && at.starts_with("/proc") => return None,
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                let target = fs::read_link(&at).ok()?;
                at.pop();
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for part in parts(&target).into_iter().rev() {
                    todo.push_front(part);
                }
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // What comes back out of a directory that does not exist leads nowhere.
                let climbs = todo.iter().any(|part| part == "..");
                at.extend(&todo);
                return (!climbs).then_some(at);
            }
            Err(_) => return None,
        }
    }
    Some(at)
}

/// The parts of a path without `.`; `..` is kept.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
        })
        .collect()
}

/// Whether the name of the directory `path` in the other case leads to the same directory.
pub(crate) fn ignores_case(path: &Path) -> bool {
    let Ok(real) = fs::canonicalize(path) else { return false };
    let flipped: Option<PathBuf> = real.to_str().map(|text| {
        let flip = |c: char| {
            if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
        };
        PathBuf::from(text.chars().map(flip).collect::<String>())
    });
    flipped
        .filter(|other| *other != real)
        .is_some_and(|other| fs::canonicalize(other).is_ok_and(|other| other == real))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_before_going_up() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("c")).unwrap();
        symlink(root.join("a/b"), root.join("c/link")).unwrap();
        symlink("../a", root.join("c/up")).unwrap();
        symlink("loop", root.join("c/loop")).unwrap();
        symlink(root.join("new"), root.join("c/dangling")).unwrap();
        let cases = [
            ("c/link/x", Some("a/b/x")),
            ("c/link/../x", Some("a/x")),
            ("c/up/b", Some("a/b")),
            ("c/../a/./b", Some("a/b")),
            ("c/dangling", Some("new")),
            ("c/missing/x", Some("c/missing/x")),
            ("c/missing/../x", None),
            ("c/loop/x", None),
        ];
        symlink("/proc/self/cwd", root.join("c/process")).unwrap();
        for (written, expected) in [("c/process/x", None)].into_iter().chain(cases) {
            let found = path(&root.join(written));
            assert_eq!(found, expected.map(|path| root.join(path)), "{written}");
        }
    }
}
