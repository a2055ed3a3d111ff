//! Processes that hold firings. Each locks a file of its own; the operating system releases the lock when the
//! process ends, however it ends. So no clock decides who lives.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// This process, as a holder of firings. The lock ends with it.
#[derive(Debug)]
pub struct FiringHolder {
    /// Its name in the ledger: unique, and with the number of the process.
    pub name: String,
    _lock: File,
}

impl FiringHolder {
    /// Registers this process in a directory. `now` and the number of the process make the name unique.
    pub fn register(directory: &Path, now: u64) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let name = format!("{}-{now}", std::process::id());
        let lock = OpenOptions::new().write(true).create_new(true).open(directory.join(&name))?;
        lock.try_lock()?;
        Ok(Self { name, _lock: lock })
    }
}

/// Returns whether the process of this name lives. The file of a dead one is removed.
pub fn is_alive(directory: &Path, name: &str) -> bool {
    let Some(path) = file(directory, name) else { return false };
    let Ok(lock) = File::open(&path) else { return false };
    if matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return true;
    }
    let _ = fs::remove_file(&path);
    false
}

/// Returns the number of the process of this name.
pub fn process_of(name: &str) -> Option<i32> {
    name.split_once('-')?.0.parse().ok()
}

/// The file of a holder. A name from a damaged ledger must not lead elsewhere.
fn file(directory: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    is_plain.then(|| directory.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_firing_holder_is_alive_while_it_holds_its_lock() {
        let directory = tempfile::tempdir().unwrap();
        let holder = FiringHolder::register(directory.path(), 7).unwrap();
        let name = holder.name.clone();
        assert!(is_alive(directory.path(), &name));
        assert_eq!(process_of(&name), i32::try_from(std::process::id()).ok());
        assert!(FiringHolder::register(directory.path(), 7).is_err());
        drop(holder);
        assert!(!is_alive(directory.path(), &name));
        assert!(!directory.path().join(&name).exists());
        for other in ["", "1-2", "../x", "/etc/passwd"] {
            assert!(!is_alive(directory.path(), other), "{other}");
        }
    }
}
