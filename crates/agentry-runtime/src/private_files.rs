//! Creates files and directories that only this user may read.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Creates a directory, which must not exist.
pub(crate) fn directory(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Creates a directory and its missing parents.
pub fn directories(path: &Path) -> io::Result<()> {
    builder().recursive(true).create(path)
}

/// Opens a file. If it is created, only this user may read it.
pub(crate) fn file(path: &Path, options: &mut fs::OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// Flushes the entries of a directory to disk, so that a new name survives a crash.
pub(crate) fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

fn builder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
