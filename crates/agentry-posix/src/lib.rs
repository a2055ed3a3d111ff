//! System calls on files, processes and terminals under one name for every operating system.
//!
//! On Unix these are `rustix`, the standard library and `tokio` themselves. On Windows the same names are implemented
//! with what the standard library has there. So the other crates are written once, and no `cfg` is needed in them.

use std::path::{Component, Path, PathBuf};

#[cfg(unix)]
mod posix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use posix::*;
#[cfg(windows)]
pub use windows::*;

/// A path without `.` and `..`, judged by its names alone. After a link, `..` leads elsewhere.
pub fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}
