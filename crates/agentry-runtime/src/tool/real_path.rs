//! Resolves the real path of a path. The policy judges it instead of the path that the model wrote.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// More links than this on the way count as a loop.
const MOST_LINKS: usize = 40;

/// Returns the real path of an absolute one: follows links before it applies `..`, as the operating system
/// does. If the file does not exist, its existing parents are resolved. `None` if the path is ambiguous.
pub fn real(path: &Path) -> Option<PathBuf> {
    let mut rest: VecDeque<OsString> = parts(path);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            at.pop();
            continue;
        }
        at.push(&part);
        match fs::symlink_metadata(&at) {
            // The target of a link in `/proc` depends on the process that reads it.
            Ok(found) if found.is_symlink() && at.starts_with("/proc") => return None,
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                let target = fs::read_link(&at).ok()?;
                at.pop();
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for part in parts(&target).into_iter().rev() {
                    rest.push_front(part);
                }
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A `..` after a missing directory has no defined meaning.
                let climbs = rest.iter().any(|part| part == "..");
                at.extend(&rest);
                return (!climbs).then_some(at);
            }
            Err(_) => return None,
        }
    }
    Some(at)
}

/// Returns the parts of a path without `.`, but with `..`.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use agentry_posix::unix::fs::symlink;

    use super::*;

    #[test]
    fn symlinks_are_resolved_before_parent_components() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        symlink(root.join("a/b"), root.join("link")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("b/../..", root.join("a/up")).unwrap();
        symlink("/proc/self/cwd", root.join("process")).unwrap();
        let cases = [
            ("a/b", Some("a/b")),
            ("./a//b/.", Some("a/b")),
            ("link/x", Some("a/b/x")),
            ("link/../x", Some("a/x")),
            ("dangling", Some("nowhere")),
            ("new/deep/file", Some("new/deep/file")),
            ("new/../a", None),
            ("a/up/a/b", Some("a/b")),
            ("loop", None),
            ("loop/x", None),
            ("process/x", None),
        ];
        for (path, expected) in cases {
            let expected = expected.map(|path| root.join(path));
            assert_eq!(real(&root.join(path)), expected, "{path}");
        }
        assert_eq!(real(Path::new("/proc/self/cwd/x")), None);
    }
}
