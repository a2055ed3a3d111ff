//! Paths in the form in which rules are applied: absolute, without links, `.` and `..`.
//!
//! A [`LinkResolver`] reads the disk; this crate does no IO.

use agentry_commands::HiddenExceptions;
pub use agentry_text::path::is_inside;

use crate::PathAnchors;

/// Resolves the links of a path.
pub trait LinkResolver {
    /// Returns the real path of an absolute one; links are followed before `..` is applied. A path that does
    /// not exist yet is resolved up to its existing parent. Returns `None` if the result is unknown.
    fn resolve(&self, path: &str) -> Option<String>;

    /// Returns the text of the file at a real path, to see what a patch names. `None` if it cannot be read, or
    /// if this resolver reads no files.
    fn text(&self, _path: &str) -> Option<String> {
        None
    }

    /// Returns patterns of the hidden names that a search through a directory reads although it leaves out hidden
    /// files: `.env.example` for a line `!.env.example` of an ignore file. `None` if it may read any of them.
    fn admitted(&self, _directory: &str, _exceptions: HiddenExceptions) -> Option<Vec<String>> {
        None
    }
}

/// The links of another resolver, without the hidden names that ignore files admit: a line may change these files before
/// it searches.
pub struct LinksOnly<'a>(pub &'a dyn LinkResolver);

impl LinkResolver for LinksOnly<'_> {
    fn resolve(&self, path: &str) -> Option<String> {
        self.0.resolve(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        self.0.text(path)
    }
}

/// A resolver for a file system without links.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLinks;

impl LinkResolver for NoLinks {
    fn resolve(&self, path: &str) -> Option<String> {
        Some(agentry_text::path::absolute(&format!("/{path}")))
    }
}

/// Returns the absolute form of `path`, relative to the directory `base`; `None` for the files of another
/// process.
pub fn absolute(path: &str, base: &str, places: &PathAnchors) -> Option<String> {
    let joined = if path.starts_with('/') { path.to_owned() } else { format!("{base}/{path}") };
    through_proc(&joined, base, places)
}

/// Replaces `~` and `~/x` by the home directory; `None` for another user's home.
pub fn with_home(path: &str, places: &PathAnchors) -> Option<String> {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            places.home.as_ref().map(|home| format!("{home}{rest}"))
        }
        // Another user's home.
        Some(_) => None,
        None => Some(path.to_owned()),
    }
}

/// Resolves `/proc/self/cwd`, the directory of the calling process, and `/proc/self/root`, the root. What
/// another process sees there is unknown.
fn through_proc(path: &str, base: &str, places: &PathAnchors) -> Option<String> {
    let mut passed: Vec<&str> = Vec::new();
    let mut rest = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    while let Some(part) = rest.next() {
        match part {
            ".." => drop(passed.pop()),
            part => passed.push(part),
        }
        let below = || rest.clone().collect::<Vec<_>>().join("/");
        match passed.as_slice() {
            ["proc", "self" | "thread-self", "cwd"] => return Some(format!("{base}/{}", below())),
            ["proc", "self" | "thread-self", "root"] => {
                let inside = format!("/{}", below());
                let is_proc = inside.starts_with("/proc/");
                return if is_proc { None } else { absolute(&inside, base, places) };
            }
            ["proc", process, "cwd" | "root" | "fd" | "task" | "map_files"]
                if is_process(process) =>
            {
                return None;
            }
            ["dev", "fd"] => return None,
            _ => {}
        }
    }
    Some(path.to_owned())
}

/// Whether a directory in `/proc` is that of a process.
fn is_process(name: &str) -> bool {
    matches!(name, "self" | "thread-self") || name.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_resolve_from_their_directory() {
        let places = PathAnchors::default();
        let cases = [
            ("a/b", Some("/workspace/x/a/b")),
            ("../b", Some("/workspace/b")),
            ("../../../b", Some("/b")),
            ("/etc/passwd", Some("/etc/passwd")),
            ("/proc/self/cwd/a", Some("/workspace/x/a")),
            ("//proc/./self/cwd/../b", Some("/workspace/b")),
            ("/proc/self/root/etc/passwd", Some("/etc/passwd")),
            ("/proc/self/root/proc/self/cwd/a", None),
            ("/proc/1/root/etc", None),
            ("/proc/../proc/self/cwd/a", Some("/workspace/x/a")),
            ("../../dev/../proc/thread-self/root/etc", Some("/etc")),
            ("/proc/self/../1/cwd/a", None),
            ("/dev/fd/../cwd/a", None),
            ("/proc/self/fd/3", None),
            ("/proc/cpuinfo", Some("/proc/cpuinfo")),
        ];
        for (path, expected) in cases {
            let found = absolute(path, "/workspace/x", &places);
            let found = found.and_then(|path| NoLinks.resolve(&path));
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn only_a_lone_tilde_is_the_home_directory() {
        let places = PathAnchors::default();
        let cases = [
            ("~", Some("/home/user")),
            ("~/x", Some("/home/user/x")),
            ("~root/x", None),
            ("a~", Some("a~")),
        ];
        for (path, expected) in cases {
            assert_eq!(with_home(path, &places).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_sibling_with_the_same_prefix_is_outside() {
        let cases = [("/w", true), ("/w/a", true), ("/wx", false), ("/", false)];
        for (path, expected) in cases {
            assert_eq!(is_inside(path, "/w"), expected, "{path}");
        }
    }
}
