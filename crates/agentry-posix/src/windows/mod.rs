//! Windows: what stands for the system calls. It compiles; no test has run there.
//!
//! A directory is held by a handle that does not share deletion. While it is open, neither it nor a directory above it can be
//! renamed or removed, so its path leads to the same directory.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub mod event;
pub mod fd;
pub mod fs;
pub mod io;
pub mod pipe;
pub mod process;
pub mod signal;
pub mod socket;
pub mod stdio;
pub mod terminal;
pub mod unix;

/// The file that is empty and takes everything.
pub const NULL_DEVICE: &str = "NUL";

/// The number of files that this process may have open: handles have no limit of their own.
pub fn raise_open_files(wanted: u64) -> u64 {
    wanted
}

/// The path of a held directory, which cannot be replaced while it is held.
pub fn held_path(held: &fd::OwnedFd) -> PathBuf {
    held.path.clone()
}

/// A path as policies write it: parts are separated by `/`, without the prefix of long paths.
pub fn slashed(path: &Path) -> Cow<'_, str> {
    let text = path.to_string_lossy();
    text.strip_prefix(r"\\?\").unwrap_or(&text).replace('\\', "/").into()
}
