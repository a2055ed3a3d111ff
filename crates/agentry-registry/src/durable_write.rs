//! Writes that survive a crash: a file is synced before the rename to its final name, and its directory
//! after.
//!
//! Each step that changes the disk calls [`step`], so that tests can stop a debug build at any of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file that must not exist yet, and syncs it.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    step();
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    // In two pieces, so that a test can crash between them.
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    file.write_all(first)?;
    step();
    file.write_all(rest)?;
    file.sync_all()
}

/// Creates a directory and its missing parents, and syncs the parent of each.
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

/// Renames a file or directory, and syncs its new parent.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step();
    fs::rename(from, to)?;
    step();
    to.parent().map_or(Ok(()), sync_dir)
}

/// Replaces the content of `path` in one rename, through a file in the directory `temporary`.
pub(crate) fn replace(path: &Path, bytes: &[u8], temporary: &Path) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        make_dirs(dir)?;
    }
    let stage = tempfile::Builder::new().prefix("write-").tempdir_in(temporary)?;
    let file = stage.path().join("file");
    write_new(&file, bytes)?;
    rename(&file, path)
}

/// Syncs the entries of a directory.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    step();
    // An empty parent is the current directory. Windows cannot sync directories.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Counts the steps that change the disk. A debug build aborts, as if killed, at the step whose number
/// is in the variable `AGENTRY_DIE_AT_STEP`.
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
