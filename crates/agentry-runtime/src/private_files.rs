//! Files and directories that only this user may look into.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes a directory; it must not exist yet.
pub(crate) fn directory(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Makes a directory and those above it, as far as they do not exist.
pub(crate) fn directories(path: &Path) -> io::Result<()> {
    builder().recursive(true).create(path)
}

/// Opens a file; if it is made, only this user may read it.
pub(crate) fn file(path: &Path, options: &mut fs::OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// Forces the names in a directory to the disk.
pub(crate) fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

fn builder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
