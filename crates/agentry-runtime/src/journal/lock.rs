//! The lock of a run: only the process that holds it may continue the run.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{JournalError, existing};

/// The file that is locked.
pub(super) const NAME: &str = "lock";

/// How often a held lock is retried: a process that only checks it holds it for a moment.
const TRIES: u32 = 20;
/// How often those are repeated where a copy may be long.
const LONG_TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(5);

/// A held lock. The operating system releases it when the process ends.
#[derive(Debug)]
pub(super) struct JournalLock {
    _file: File,
}

impl JournalLock {
    /// Takes a lock that another process holds while it brings a copy up to date.
    pub(super) fn take_patiently(directory: &Path, id: &str) -> Result<Self, JournalError> {
        for _ in 1..LONG_TRIES {
            match Self::take(directory, id) {
                Err(JournalError::Busy { .. }) => {}
                taken => return taken,
            }
        }
        Self::take(directory, id)
    }

    pub(super) fn take(directory: &Path, id: &str) -> Result<Self, JournalError> {
        let path = directory.join(NAME);
        let options =
            || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options().map_err(JournalError::io("locked", &path))?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => {
                    let pid = std::process::id().to_string();
                    let noted = file
                        .set_len(0)
                        .and_then(|()| file.rewind())
                        .and_then(|()| file.write_all(pid.as_bytes()));
                    noted.map_err(JournalError::io("written", &path))?;
                    return Ok(Self { _file: file });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(error)) => {
                    return Err(JournalError::io("locked", &path)(error));
                }
            }
        }
        let mut pid = String::new();
        let _ = file.read_to_string(&mut pid);
        Err(JournalError::Busy { id: id.to_owned(), pid: pid.trim().parse().ok() })
    }
}

/// A run that no other process can continue while this lives.
#[derive(Debug)]
pub struct RunHold {
    _lock: JournalLock,
    /// The directory of the run.
    pub directory: PathBuf,
}

/// Locks a run, so that no other process can continue it.
pub fn hold(home: &Path, id: &str) -> Result<RunHold, JournalError> {
    let directory = existing(home, id)?;
    Ok(RunHold { _lock: JournalLock::take(&directory, id)?, directory })
}

/// Returns whether a process holds the run now.
pub(super) fn is_held(directory: &Path) -> bool {
    let Ok(file) = File::open(directory.join(NAME)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}
