//! What a run leaves on the machine while it lasts, written down before it is made, so that it goes even
//! if the run is killed: placeholders, a private directory, control groups.
//!
//! One directory holds a file for every run, locked as long as the run lives. A file that nobody locks
//! belongs to a run that was killed; whoever starts next takes away what it lists.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use super::groups;
use crate::{PLACEHOLDER, is_placeholder};

/// Something that goes with the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunLeftover {
    /// A file that stands where something protected does not exist yet: a mount needs something to
    /// lie on.
    File(PathBuf),
    /// A directory that does the same.
    Directory(PathBuf),
    /// A directory that the run has for itself, with all that is in it.
    Private(PathBuf),
    /// A control group.
    Group(PathBuf),
}

impl RunLeftover {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Directory(path) | Self::Private(path) | Self::Group(path) => {
                path
            }
        }
    }
}

/// The file of one run.
#[derive(Debug)]
pub(crate) struct LeftoverList {
    directory: PathBuf,
    path: PathBuf,
    /// Locked as long as it is open.
    file: File,
    all: Vec<RunLeftover>,
}

impl LeftoverList {
    /// Starts the file of a run in `directory`, after what killed runs left was taken away.
    pub(crate) fn new(directory: &Path) -> io::Result<Self> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(directory)?;
        let _lock = lock(directory)?;
        sweep_locked(directory)?;
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("{}-{run}.json", std::process::id()));
        let file = File::create(&path)?;
        file.lock()?;
        Ok(Self { directory: directory.to_owned(), path, file, all: Vec::new() })
    }

    /// Writes down what is about to be made. It is on the disk when this returns, unless it is only
    /// about what is of no consequence after a restart of the machine.
    pub(crate) fn record(
        &mut self,
        leavings: impl IntoIterator<Item = RunLeftover>,
    ) -> io::Result<()> {
        let _lock = lock(&self.directory)?;
        let mut lasting = false;
        for leaving in leavings {
            lasting |= matches!(leaving, RunLeftover::File(_) | RunLeftover::Directory(_));
            serde_json::to_writer(&self.file, &leaving)?;
            self.file.write_all(b"\n")?;
            self.all.push(leaving);
        }
        if lasting { self.file.sync_data() } else { Ok(()) }
    }

    /// What other runs that live hold.
    pub(crate) fn held_by_others(&self) -> Vec<RunLeftover> {
        living(&self.directory, &self.path).unwrap_or_default()
    }

    /// Where a directory of the run's own would be.
    pub(crate) fn own_directory(&self) -> PathBuf {
        self.path.with_extension("private")
    }

    /// Makes a placeholder that was written down. If somebody else's is there, it serves both.
    pub(crate) fn place(&self, leaving: &RunLeftover) -> io::Result<()> {
        let _lock = lock(&self.directory)?;
        let made = match leaving {
            RunLeftover::File(path) => {
                File::create_new(path).and_then(|mut file| file.write_all(PLACEHOLDER.as_bytes()))
            }
            RunLeftover::Directory(path) | RunLeftover::Private(path) => fs::create_dir(path),
            RunLeftover::Group(_) => Ok(()),
        };
        match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }
}

impl Drop for LeftoverList {
    fn drop(&mut self) {
        let Ok(_lock) = lock(&self.directory) else { return };
        let others = living(&self.directory, &self.path).unwrap_or_default();
        take_away(&self.all, &others);
        let _ = fs::remove_file(&self.path);
    }
}

/// Takes away what killed runs left. While somebody else is at work there, that is left to them: nobody
/// waits for a run that was stopped.
pub(crate) fn sweep(directory: &Path) -> io::Result<()> {
    if !directory.is_dir() {
        return Ok(());
    }
    let lock = lock_file(directory)?;
    if lock.try_lock().is_err() {
        return Ok(());
    }
    sweep_locked(directory)
}

/// Lets one process at a time make or take away anything.
fn lock(directory: &Path) -> io::Result<File> {
    let file = lock_file(directory)?;
    file.lock()?;
    Ok(file)
}

fn lock_file(directory: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(directory.join("lock"))
}

fn sweep_locked(directory: &Path) -> io::Result<()> {
    for path in files(directory)? {
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() {
            let others = living(directory, &path)?;
            take_away(&read(&path), &others);
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.filter_map(Result::ok).map(|entry| entry.path());
    Ok(entries.filter(|path| path.extension().is_some_and(|it| it == "json")).collect())
}

/// What the runs that live hold, but for the one with the file `but`.
fn living(directory: &Path, but: &Path) -> io::Result<Vec<RunLeftover>> {
    let mut held = Vec::new();
    for path in files(directory)?.into_iter().filter(|path| path != but) {
        let lives = File::open(&path).is_ok_and(|file| file.try_lock().is_err());
        if lives {
            held.extend(read(&path));
        }
    }
    Ok(held)
}

/// The lines of a file; one that was cut off stands for nothing that was made.
fn read(path: &Path) -> Vec<RunLeftover> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Takes things away, the last first, unless another run holds them or they are no longer ours.
fn take_away(all: &[RunLeftover], others: &[RunLeftover]) {
    for leaving in all.iter().rev().filter(|leaving| !others.contains(leaving)) {
        let _ = match leaving {
            RunLeftover::File(path) if is_placeholder(path) => fs::remove_file(path),
            RunLeftover::File(_) => Ok(()),
            // Only an empty one goes.
            RunLeftover::Directory(path) => fs::remove_dir(path),
            RunLeftover::Private(path) => fs::remove_dir_all(path),
            RunLeftover::Group(path) => groups::remove(path),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(directory: &Path, path: &Path) -> LeftoverList {
        let mut leavings = LeftoverList::new(directory).expect("a file");
        let leaving = RunLeftover::File(path.to_owned());
        leavings.record([leaving.clone()]).expect("written");
        leavings.place(&leaving).expect("placed");
        leavings
    }

    #[test]
    fn a_placeholder_goes_with_the_last_run_that_holds_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let (ledger, path) = (dir.path().join("ledger"), dir.path().join("agentry.lock"));
        let first = placed(&ledger, &path);
        let second = placed(&ledger, &path);
        drop(first);
        assert!(is_placeholder(&path), "the second run still holds it");
        drop(second);
        assert!(!path.exists());
        assert_eq!(files(&ledger).expect("a list"), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_somebody_wrote_into_a_placeholder_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("agentry.toml");
        let run = placed(&dir.path().join("ledger"), &path);
        fs::write(&path, "[check]\n").expect("written");
        drop(run);
        assert_eq!(fs::read_to_string(&path).expect("text"), "[check]\n");
    }

    #[test]
    fn what_a_killed_run_left_goes_at_the_next_start() {
        let dir = tempfile::tempdir().expect("a directory");
        let (ledger, path) = (dir.path().join("ledger"), dir.path().join("agentry.lock"));
        let run = placed(&ledger, &path);
        // A killed process drops nothing, but its locks.
        run.file.unlock().expect("unlocked");
        std::mem::forget(run);
        let held = lock(&ledger).expect("a lock");
        sweep(&ledger).expect("nobody waits");
        assert!(is_placeholder(&path));
        drop(held);
        sweep(&ledger).expect("swept");
        assert!(!path.exists());
    }
}
