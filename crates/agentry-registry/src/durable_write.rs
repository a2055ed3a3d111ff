//! Writes that outlive a crash: a file is synced before it gets its name, and the directory after.
//!
//! Each step that changes the disk calls [`step`]; a test build can be told to die at any of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file that must not exist yet, and syncs it.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    step();
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    // In two pieces, so that a crash can be tried between them.
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    file.write_all(first)?;
    step();
    file.write_all(rest)?;
    file.sync_all()
}

/// Makes a directory and those above it, and syncs where they were made.
pub(crate) fn make_dirs(path: &Path) -> io::Result<()> {
    let missing: Vec<_> = path.ancestors().take_while(|dir| !dir.is_dir()).collect();
    for dir in missing.into_iter().rev() {
        step();
        match fs::create_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => dir.parent().map_or(Ok(()), sync_dir)?,
        }
    }
    Ok(())
}

/// Gives a file or directory its name, and syncs the directory that it lies in now.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step();
    fs::rename(from, to)?;
    step();
    to.parent().map_or(Ok(()), sync_dir)
}

/// Replaces `path` by `bytes` in one step, by way of a file in the directory `temporary`.
pub(crate) fn replace(path: &Path, bytes: &[u8], temporary: &Path) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        make_dirs(dir)?;
    }
    let stage = tempfile::Builder::new().prefix("write-").tempdir_in(temporary)?;
    let file = stage.path().join("file");
    write_new(&file, bytes)?;
    rename(&file, path)
}

/// Syncs the names in a directory.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    step();
    // An empty parent is the current directory. Windows cannot sync directories.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Counts what changes the disk. A debug build ends at once, as if killed, at the step whose number
/// the variable `AGENTRY_DIE_AT_STEP` has.
pub(crate) fn step() {
    #[cfg(debug_assertions)]
    {
        use std::sync::OnceLock;
        use std::sync::atomic::{AtomicU64, Ordering};
        static LAST: OnceLock<Option<u64>> = OnceLock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = || std::env::var("AGENTRY_DIE_AT_STEP").ok()?.parse().ok();
        if let Some(last) = *LAST.get_or_init(number)
            && COUNT.fetch_add(1, Ordering::Relaxed) + 1 == last
        {
            std::process::abort();
        }
    }
}
