//! The directories in which a command may run, computed from text alone, without the file system.

use std::sync::Arc;

/// How many possible directories are tracked.
const MAX_BASES: usize = 8;
/// The longest path that is tracked, so that a chain of `cd` stays cheap.
pub(crate) const MAX_BYTES: usize = 1024;

/// The possible current directories: absolute, or relative to the start directory of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurrentDirs {
    /// One of these directories; the start directory is `.`.
    Known(Arc<[String]>),
    /// Any directory.
    Unknown,
}

impl Default for CurrentDirs {
    /// Returns the start directory of the line.
    fn default() -> Self {
        Self::one(".")
    }
}

impl CurrentDirs {
    /// Makes exactly this directory.
    pub fn one(directory: impl Into<String>) -> Self {
        Self::Known(Arc::from([directory.into()]))
    }

    /// Returns the only directory, or `None` if there are several.
    pub fn single(&self) -> Option<&str> {
        match self {
            Self::Known(all) => match &**all {
                [one] => Some(one),
                _ => None,
            },
            Self::Unknown => None,
        }
    }

    /// Returns the union of both.
    #[must_use]
    pub(super) fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Known(left), Self::Known(right)) if left == right => self.clone(),
            (Self::Known(left), Self::Known(right)) => {
                let mut all = left.to_vec();
                all.extend(right.iter().filter(|base| !left.contains(base)).cloned());
                Self::of(all)
            }
            _ => Self::Unknown,
        }
    }

    /// Returns the directories after `cd path`.
    #[must_use]
    pub(crate) fn enter(&self, path: &str) -> Self {
        if path.starts_with('/') {
            return Self::of(vec![join("/", path)]);
        }
        match self {
            Self::Known(all) => {
                let mut entered: Vec<String> = all.iter().map(|base| join(base, path)).collect();
                entered.sort();
                entered.dedup();
                Self::of(entered)
            }
            Self::Unknown => Self::Unknown,
        }
    }

    fn of(all: Vec<String>) -> Self {
        if all.len() > MAX_BASES || all.iter().any(|base| base.len() > MAX_BYTES) {
            return Self::Unknown;
        }
        Self::Known(Arc::from(all))
    }
}

/// Joins paths as `cd` does: `..` removes a component, even if that is a link.
fn join(base: &str, path: &str) -> String {
    let is_absolute = base.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    match (is_absolute, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entering_a_directory_normalises_the_path() {
        let cases = [
            (".", "src", "src"),
            ("src", "..", "."),
            (".", "../x", "../x"),
            ("..", "..", "../.."),
            ("src", "/etc/../usr/", "/usr"),
            ("/", "..", "/"),
            ("a/b", "./c//d", "a/b/c/d"),
        ];
        for (base, path, expected) in cases {
            assert_eq!(
                CurrentDirs::one(base).enter(path).single(),
                Some(expected),
                "{base} {path}"
            );
        }
    }

    #[test]
    fn too_many_directories_become_unknown() {
        let many =
            (0..20).fold(CurrentDirs::default(), |all, n| all.or(&CurrentDirs::one(n.to_string())));
        assert_eq!(many, CurrentDirs::Unknown);
        assert_eq!(CurrentDirs::default().enter(&"a/".repeat(1000)), CurrentDirs::Unknown);
    }
}
