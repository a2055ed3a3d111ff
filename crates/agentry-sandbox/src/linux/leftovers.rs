//! Records what a run creates on the machine before it is created: placeholders, a private directory,
//! control groups. So it can be removed even if the run is killed.
//!
//! One directory holds a file for each run, which is locked while the run lives. A file without a lock
//! belongs to a killed run; the next start removes what it lists.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD};
use serde::{Deserialize, Serialize};

use super::groups;
use crate::{PLACEHOLDER, is_placeholder};

/// Something to remove after the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunLeftover {
    /// A placeholder file for a protected file that does not exist yet. A mount needs a mount point.
    File(PathBuf),
    /// A placeholder directory.
    Directory(PathBuf),
    /// The private directory of a run, with its content.
    Private(PathBuf),
    /// A control group.
    Group(PathBuf),
}

impl RunLeftover {
    /// The path of the leftover.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Directory(path) | Self::Private(path) | Self::Group(path) => {
                path
            }
        }
    }
}

/// The record file of one run.
#[derive(Debug)]
pub(crate) struct LeftoverList {
    directory: PathBuf,
    path: PathBuf,
    /// Locked while it is open.
    file: File,
    all: Vec<RunLeftover>,
    /// The placeholders, locked while the run lasts: a run of another home, whose records are elsewhere, leaves them.
    held: Vec<File>,
}

impl LeftoverList {
    /// Creates the record file of a run in `directory`. Removes the leftovers of killed runs first.
    pub(crate) fn new(directory: &Path) -> io::Result<Self> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(directory)?;
        let _lock = lock(directory)?;
        sweep_locked(directory)?;
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("{}-{run}.json", std::process::id()));
        let file = File::create(&path)?;
        file.lock()?;
        Ok(Self { directory: directory.to_owned(), path, file, all: Vec::new(), held: Vec::new() })
    }

    /// Records leftovers before they are created. Placeholders are on the disk when this returns; the
    /// others do not matter after a restart of the machine.
    pub(crate) fn record(
        &mut self,
        leavings: impl IntoIterator<Item = RunLeftover>,
    ) -> io::Result<()> {
        let _lock = lock(&self.directory)?;
        let mut lasting = false;
        for leaving in leavings {
            lasting |= matches!(leaving, RunLeftover::File(_) | RunLeftover::Directory(_));
            // One write, so that a killed process leaves no half of a line.
            let line = serde_json::to_string(&leaving)? + "\n";
            self.file.write_all(line.as_bytes())?;
            self.all.push(leaving);
        }
        if lasting { self.file.sync_data() } else { Ok(()) }
    }

    /// The leftovers of other living runs.
    pub(crate) fn held_by_others(&self) -> Vec<RunLeftover> {
        living(&self.directory, &self.path).unwrap_or_default()
    }

    /// The path for the run's private directory.
    pub(crate) fn own_directory(&self) -> PathBuf {
        self.path.with_extension("private")
    }

    /// Creates a recorded leftover. A placeholder of another run is shared.
    pub(crate) fn place(&mut self, leaving: &RunLeftover) -> io::Result<()> {
        let _lock = lock(&self.directory)?;
        let made = match leaving {
            RunLeftover::File(path) => return self.place_held(path),
            RunLeftover::Directory(path) | RunLeftover::Private(path) => fs::create_dir(path),
            RunLeftover::Group(_) => Ok(()),
        };
        unless_there(made)
    }

    /// Creates a placeholder, or takes the one that is there, and locks it.
    fn place_held(&mut self, path: &Path) -> io::Result<()> {
        /// A placeholder that a run of another home removes more often than this refuses the run.
        const MOST_TRIES: usize = 100;
        for _ in 0..MOST_TRIES {
            unless_there(place_file(path))?;
            if !is_placeholder(path) {
                // Another program has created the file meanwhile, or removed it.
                match fs::symlink_metadata(path) {
                    Ok(_) => return Ok(()),
                    Err(_) => continue,
                }
            }
            let Ok(file) = File::open(path) else { continue };
            // Waits while another run removes it. Where files cannot be locked, all is as without a lock.
            let _ = file.lock_shared();
            if is_at(&file, path) {
                self.held.push(file);
                return Ok(());
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

fn unless_there(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Whether an open file is still the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    let there = fs::symlink_metadata(path).map(id).ok();
    there.is_some() && there == file.metadata().map(id).ok()
}

/// Removes a placeholder, unless another run has locked it.
fn remove_placeholder(path: &Path) -> io::Result<()> {
    if !is_placeholder(path) {
        return Ok(());
    }
    let file = File::open(path)?;
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !is_at(&file, path) {
        return Ok(());
    }
    fs::remove_file(path)
}

/// Creates a placeholder. It gets its name when it is whole: an empty `agentry.lock` would be read as a broken one, and
/// nothing would remove it if this process were killed before the text is written.
pub(super) fn place_file(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| parent.is_dir());
    match parent.map(|parent| link_nameless(parent, path)) {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has files without a name, and `/proc` may be missing.
        _ => File::create_new(path).and_then(|mut file| file.write_all(PLACEHOLDER.as_bytes())),
    }
}

/// Writes a file that has no name yet, and links it to `path`, where nothing may be.
fn link_nameless(parent: &Path, path: &Path) -> io::Result<()> {
    let mut file = File::options().write(true).custom_flags(libc::O_TMPFILE).open(parent)?;
    file.write_all(PLACEHOLDER.as_bytes())?;
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, nameless, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

impl Drop for LeftoverList {
    fn drop(&mut self) {
        let Ok(_lock) = lock(&self.directory) else { return };
        // First: of two runs that end at once, the later one finds no lock.
        self.held.clear();
        let others = living(&self.directory, &self.path).unwrap_or_default();
        take_away(&self.all, &others);
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the leftovers of killed runs. Returns at once if another process is working in `directory`:
/// the caller must not wait for a stopped run.
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

/// Locks `directory`: one process at a time creates or removes leftovers.
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
        // The lock is free, so the run that held it was killed.
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

/// The leftovers of living runs, except of the one with the file `but`.
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

/// Reads the lines of a record file. A cut-off line is ignored: its leftover was not created yet.
fn read(path: &Path) -> Vec<RunLeftover> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Removes leftovers in reverse order, unless another run holds them or their content has changed.
fn take_away(all: &[RunLeftover], others: &[RunLeftover]) {
    for leaving in all.iter().rev().filter(|leaving| !others.contains(leaving)) {
        let _ = match leaving {
            RunLeftover::File(path) => remove_placeholder(path),
            // Fails for a directory that is not empty, which then stays.
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

    /// Homes do not see each other's records; the placeholder itself says that it is in use.
    #[test]
    fn a_placeholder_stays_while_a_run_of_another_home_has_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("agentry.lock");
        let homes = ["first", "second"].map(|home| dir.path().join(home));
        let first = placed(&homes[0], &path);
        let second = placed(&homes[1], &path);
        drop(first);
        assert!(is_placeholder(&path), "the second run has it");
        drop(second);
        assert!(!path.exists(), "the last run removes it");
        // Runs that come and go at once leave nothing, and each has its placeholder.
        std::thread::scope(|scope| {
            for home in &homes {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let held = placed(home, &path);
                        assert!(is_placeholder(&path));
                        drop(held);
                    }
                });
            }
        });
        assert!(!path.exists());
    }

    /// Another program may read a protected file at any moment, such as `agentry.lock`.
    #[test]
    fn a_placeholder_is_never_seen_in_part() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("agentry.lock");
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut seen = std::collections::BTreeSet::new();
                while !dir.path().join("end").exists() {
                    seen.extend(fs::read_to_string(&path).ok());
                }
                seen
            });
            for _ in 0..2_000 {
                place_file(&path).expect("placed");
                fs::remove_file(&path).expect("removed");
            }
            place_file(&path).expect("placed");
            let again = place_file(&path).expect_err("something is there");
            assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
            fs::write(dir.path().join("end"), "").expect("written");
            let seen = reader.join().expect("no panic");
            assert!(seen.iter().all(|text| text == PLACEHOLDER), "{seen:?}");
        });
    }

    #[test]
    fn a_placeholder_is_removed_with_its_last_run() {
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
    fn a_placeholder_written_by_the_user_is_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("agentry.toml");
        let run = placed(&dir.path().join("ledger"), &path);
        fs::write(&path, "[check]\n").expect("written");
        drop(run);
        assert_eq!(fs::read_to_string(&path).expect("text"), "[check]\n");
    }

    #[test]
    fn leftovers_of_a_killed_run_are_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (ledger, path) = (dir.path().join("ledger"), dir.path().join("agentry.lock"));
        let run = placed(&ledger, &path);
        // A killed process runs no `drop`, but its locks are released.
        run.held.iter().chain([&run.file]).for_each(|file| file.unlock().expect("unlocked"));
        std::mem::forget(run);
        let held = lock(&ledger).expect("a lock");
        sweep(&ledger).expect("nobody waits");
        assert!(is_placeholder(&path));
        drop(held);
        sweep(&ledger).expect("swept");
        assert!(!path.exists());
    }
}
