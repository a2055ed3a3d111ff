//! Reports the leftovers of a killed run: its snapshot before the last command, compared with the present.
//! Another program may have made the changes, so they are only reported, once, at the next run there.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agentry_compile::text::report::visible;
use agentry_sandbox::is_placeholder;
use serde::{Deserialize, Serialize};

use super::DIRECTORY;
use super::recording;
use super::settle::{IMAGES, numbered};
use super::snapshot::{NameLooker, SeenThing, SeenThings, is_harmless};
use crate::commands::WriteReach;
use crate::protected_paths::{ProtectedKind, why_protected};

/// The snapshot before a command; locked as long as its run lives.
const BEFORE: &str = "before.json";
/// Exists as long as a command runs.
const OPEN: &str = "open";
/// The directory for the images that a report names.
pub(super) const WAS: &str = "was";

/// The state of a quarantine on disk.
pub(super) struct QuarantineNote {
    workspace: PathBuf,
    directory: PathBuf,
    /// Locked as long as this lives.
    file: File,
    written: String,
    is_open: bool,
}

/// The snapshot in its file. Names that are not UTF-8 are stored lossily.
#[derive(Serialize, Deserialize)]
struct StateBefore {
    workspace: String,
    open: Vec<String>,
    closed: Vec<String>,
    seen: BTreeMap<String, SeenThing>,
}

impl QuarantineNote {
    pub(super) fn new(workspace: &Path, directory: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(directory.join(BEFORE))?;
        file.lock()?;
        let (workspace, directory) = (workspace.to_owned(), directory.to_owned());
        Ok(Self { workspace, directory, file, written: String::new(), is_open: false })
    }

    /// Stores the snapshot before a command.
    pub(super) fn open(&mut self, reach: &WriteReach, seen: &SeenThings) -> io::Result<()> {
        let texts = |paths: &[PathBuf]| paths.iter().map(|path| text(path)).collect();
        let before = StateBefore {
            workspace: text(&self.workspace),
            open: texts(&reach.open),
            closed: texts(&reach.closed),
            seen: seen.iter().map(|(path, thing)| (text(path), thing.clone())).collect(),
        };
        let now = serde_json::to_string(&before)?;
        // Most commands change nothing protected, so the file is rarely rewritten.
        if now != self.written {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(now.as_bytes())?;
            self.written = now;
        }
        File::create(self.directory.join(OPEN))?;
        self.is_open = true;
        Ok(())
    }

    /// Simulates that the process was killed: releases only the lock.
    #[cfg(test)]
    pub(super) fn unlock(self) {
        self.file.unlock().unwrap();
        std::mem::forget(self);
    }

    /// Marks that the command has ended.
    pub(super) fn close(&mut self) {
        self.is_open = fs::remove_file(self.directory.join(OPEN)).is_err();
    }
}

impl Drop for QuarantineNote {
    fn drop(&mut self) {
        // A command may still run, so the next run has to compare.
        if !self.is_open {
            forget(&self.directory);
        }
    }
}

/// Removes the snapshot, but keeps `taken` and `was`.
fn forget(directory: &Path) {
    let _ = fs::remove_file(directory.join(BEFORE));
    let _ = fs::remove_file(directory.join(OPEN));
    let _ = fs::remove_dir_all(directory.join(IMAGES));
    let _ = fs::remove_dir(directory);
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A change under a protected name since a run was killed while a command ran. Another program may have made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSinceKill {
    /// The path, relative to the workspace.
    pub path: String,
    /// What changed, in a line for the user.
    pub line: String,
}

/// Returns what changed under protected names in `workspace` since a run there was killed while a command
/// ran, one line each. Each line is returned once. `runs` has a directory for each run. Nothing in the
/// workspace is changed.
pub fn left(runs: &Path, workspace: &Path) -> Vec<String> {
    let entries = fs::read_dir(runs).into_iter().flatten().filter_map(Result::ok);
    let mut messages = Vec::new();
    for entry in entries {
        let directory = entry.path().join(DIRECTORY);
        // The lock is held while the files are compared, so that no other process reports them too.
        let Ok(Some((_lock, before))) = killed(&directory) else { continue };
        if before.workspace != text(workspace) {
            continue;
        }
        let keeps = |path: &Path, thing: &SeenThing| {
            keep(&directory, path, &[(path.to_owned(), thing.clone())])
        };
        let changes = KilledRun::new(&entry.path(), before).map(|run| run.compared(&keeps));
        messages.extend(changes.into_iter().flatten().map(|change| change.line));
        forget(&directory);
    }
    messages
}

/// Returns the same for one run, and leaves it to be reported.
pub fn changes_since_kill(run: &Path) -> Vec<ChangeSinceKill> {
    let Ok(Some((_lock, before))) = killed(&run.join(DIRECTORY)) else { return Vec::new() };
    KilledRun::new(run, before).map(|run| run.compared(&|_, _| None)).unwrap_or_default()
}

/// Returns the snapshot of a run that is not alive any more.
fn killed(directory: &Path) -> io::Result<Option<(File, StateBefore)>> {
    let mut file = match OpenOptions::new().read(true).write(true).open(directory.join(BEFORE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    // A held lock means that the run is alive.
    if file.try_lock().is_err() {
        return Ok(None);
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let before = serde_json::from_str(&text).map_err(io::Error::other)?;
    Ok(Some((file, before)))
}

/// A run that was killed while a command ran.
struct KilledRun {
    run: String,
    directory: PathBuf,
    before: StateBefore,
    /// When the command started.
    since: SystemTime,
}

impl KilledRun {
    /// The run in this directory; `None` if no command ran.
    fn new(run: &Path, before: StateBefore) -> Option<Self> {
        let directory = run.join(DIRECTORY);
        let since = fs::metadata(directory.join(OPEN)).and_then(|it| it.modified()).ok()?;
        let run = run.file_name()?.to_string_lossy().into_owned();
        Some(Self { run, directory, before, since })
    }

    /// Returns every difference to the snapshot. `keeps` copies an original and returns where it is.
    fn compared(
        &self,
        keeps: &dyn Fn(&Path, &SeenThing) -> Option<PathBuf>,
    ) -> Vec<ChangeSinceKill> {
        let Self { directory, before, since, .. } = self;
        let paths = |texts: &[String]| texts.iter().map(PathBuf::from).collect();
        let reach = WriteReach { open: paths(&before.open), closed: paths(&before.closed) };
        let now = NameLooker::default().look(Path::new(&before.workspace), &reach);
        let mut messages = Vec::new();
        for (path, thing) in &now {
            let known = before.seen.get(&text(path));
            let is_own = || match thing {
                SeenThing::File { digest, .. } => {
                    recording::is_own(directory, path, digest, *since)
                }
                _ => *thing == SeenThing::Directory,
            };
            if known == Some(thing) || is_harmless(path, thing) || is_own() {
                continue;
            }
            let what = if known.is_some() { "was changed" } else { "appeared" };
            messages.push(self.change(path, what, known.and_then(|it| keeps(path, it))));
        }
        for (path, thing) in before.seen.iter().map(|(path, thing)| (Path::new(path), thing)) {
            // A placeholder of the sandbox stands for a missing file.
            let is_there = fs::symlink_metadata(path).is_ok() && !is_placeholder(path);
            let is_gone = !now.contains_key(path) && !is_there;
            if is_gone && *thing != SeenThing::Directory {
                messages.push(self.change(path, "has gone", keeps(path, thing)));
            }
        }
        messages
    }

    fn change(&self, path: &Path, what: &str, was: Option<PathBuf>) -> ChangeSinceKill {
        let below = path.strip_prefix(&self.before.workspace).unwrap_or(path);
        let why = why_protected(below).unwrap_or(ProtectedKind::Repository.why());
        let was = was.map_or(String::new(), |was| format!("; it was `{}`", was.display()));
        let (path, run) = (below.display().to_string(), &self.run);
        let shown = visible(&path);
        let line =
            format!("`{shown}` {what} since a command of the run `{run}` was killed ({why}){was}");
        ChangeSinceKill { path, line }
    }
}

/// Copies the images of the files at or below a path to `was`, and returns where they are.
pub(super) fn keep(
    directory: &Path,
    top: &Path,
    things: &[(PathBuf, SeenThing)],
) -> Option<PathBuf> {
    let was = directory.join(WAS);
    fs::create_dir_all(&was).ok()?;
    let to = was.join(numbered(fs::read_dir(&was).ok()?.count(), top));
    let mut is_kept = false;
    for (path, thing) in things {
        let SeenThing::File { digest, .. } = thing else { continue };
        let to = match path.strip_prefix(top) {
            Ok(below) if below.as_os_str().is_empty() => to.clone(),
            Ok(below) => to.join(below),
            Err(_) => continue,
        };
        let ready = to.parent().map_or(Ok(()), fs::create_dir_all);
        let copied = ready.and_then(|()| fs::copy(directory.join(IMAGES).join(digest), &to));
        is_kept |= copied.is_ok();
    }
    is_kept.then_some(to)
}
