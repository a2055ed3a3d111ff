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

/// Writes a file under another name and renames it, so that another process never reads half of it.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    // A file that is left of a killed process may have other permissions.
    let _ = fs::remove_file(&part);
    let mut written = file(&part, fs::OpenOptions::new().write(true).create_new(true))?;
    written.write_all(bytes.as_ref())?;
    written.sync_all()?;
    fs::rename(part, path)
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
