//! Creates files and directories that only this user may read.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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
    agentry_posix::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// Writes a file beside and renames it, so that another process never reads half of it.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let mut written = file(&new, fs::OpenOptions::new().write(true).create(true).truncate(true))?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(new, path)
}

/// Returns the files of a directory that have this extension.
pub(crate) fn with_extension(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect()
}

/// Flushes the entries of a directory to disk, so that a new name survives a crash.
pub(crate) fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

fn builder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    agentry_posix::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
