//! `agentry render --watch`: renders again when a definition changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use agentry_compile::{FileTree as _, WalkedPath, WorldRecorder};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::args::RenderArguments;
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, complain, note, print};
use crate::save;

use super::destination::{LEDGER, here};
use super::project::ProjectOutcome;
use super::report::RenderReport;

/// Changes within this time count as one.
const QUIET: Duration = Duration::from_millis(50);

/// What wakes the watch.
enum WatchEvent {
    /// Files changed.
    Changed(Vec<PathBuf>),
    /// The user stops the watch.
    Stop,
}

pub(super) fn run(args: &RenderArguments) -> CliOutcome {
    let (sender, wakes) = mpsc::channel();
    let stop = sender.clone();
    ctrlc::set_handler(move || drop(stop.send(WatchEvent::Stop)))
        .map_err(|error| CliFailure::new(format!("Ctrl-C cannot be caught: {error}")))?;
    let mut watch = RenderWatch::new(args, sender)?;
    let mut is_reported = false;
    let mut disk = DiskWorld::default();
    loop {
        // Registered before rendering: a change during the run triggers another one.
        watch.look_at_new_directories();
        disk = disk.again();
        match super::once(&WorldRecorder::new(&disk), args) {
            Ok((done, _)) => {
                let mut report = RenderReport::new(args);
                done.iter().for_each(|done| report.project(done));
                print(&format!("{}{}\n", report.refused(), report.summary()));
                watch.remember(&done);
            }
            Err(failure) => complain(&failure),
        }
        if !std::mem::replace(&mut is_reported, true) {
            note("watching; Ctrl-C ends it");
        }
        if watch.wait(&wakes) {
            return Ok(ExitKind::Interrupted);
        }
    }
}

struct RenderWatch<'a> {
    args: &'a RenderArguments,
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    /// The files that we write ourselves.
    own: BTreeSet<PathBuf>,
}

impl<'a> RenderWatch<'a> {
    fn new(args: &'a RenderArguments, sender: Sender<WatchEvent>) -> Result<Self, CliFailure> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // After an error any file may have changed; the empty path triggers a run.
            let paths = event.map(|event| changed(event).unwrap_or_default());
            match paths {
                Ok(paths) if paths.is_empty() => {}
                Ok(paths) => drop(sender.send(WatchEvent::Changed(paths))),
                Err(_) => drop(sender.send(WatchEvent::Changed(vec![PathBuf::new()]))),
            }
        });
        let watcher =
            watcher.map_err(|error| CliFailure::new(format!("nothing can be watched: {error}")))?;
        Ok(Self { args, watcher, watched: BTreeSet::new(), own: BTreeSet::new() })
    }

    /// Watches every directory of the workspace that is not ignored.
    fn look_at_new_directories(&mut self) {
        let disk = DiskWorld::default();
        let start = self.args.agents.first().map_or("", String::as_str);
        let root = here(&disk.workspace(start));
        let mut dirs = BTreeSet::from([PathBuf::from(&root)]);
        let mut paths = vec![root.clone()];
        // Named agents may lie outside of the workspace.
        paths.extend(self.args.agents.iter().cloned());
        for path in paths {
            disk.walk(&path, &mut |met| {
                if let WalkedPath::File(path) = met {
                    let above = Path::new(path).ancestors().skip(1);
                    dirs.extend(above.filter(|dir| *dir != Path::new("")).map(Path::to_path_buf));
                }
            });
        }
        for dir in dirs {
            if !self.watched.contains(&dir)
                && self.watcher.watch(&dir, RecursiveMode::NonRecursive).is_ok()
            {
                self.watched.insert(dir);
            }
        }
        // A removed directory is forgotten, so that it is watched again when it comes back.
        self.watched.retain(|dir| dir.is_dir());
    }

    /// Records the files that we write, so that they do not trigger a run.
    fn remember(&mut self, done: &[ProjectOutcome]) {
        for done in done {
            let changes = done.plan.changes.iter().map(|change| done.place.shown(&change.path));
            self.own.extend(changes.filter_map(|path| std::path::absolute(path).ok()));
        }
    }

    /// Waits until a definition changes; returns whether the user stopped the watch.
    fn wait(&self, wakes: &Receiver<WatchEvent>) -> bool {
        let mut due = false;
        loop {
            let wake = if due {
                // Editors write a file in several steps; wait until they are done.
                match wakes.recv_timeout(QUIET) {
                    Ok(wake) => wake,
                    Err(RecvTimeoutError::Timeout) => return false,
                    Err(RecvTimeoutError::Disconnected) => return true,
                }
            } else {
                match wakes.recv() {
                    Ok(wake) => wake,
                    Err(_) => return true,
                }
            };
            match wake {
                WatchEvent::Stop => return true,
                WatchEvent::Changed(paths) => due |= paths.iter().any(|path| self.is_source(path)),
            }
        }
    }

    /// Whether a change of this path is not our own.
    fn is_source(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ours = name == ".agentry" || name.starts_with(save::PREFIX) || path.ends_with(LEDGER);
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        // A directory with our files changes whenever we write them.
        let holds_ours = path.is_dir() && self.own.iter().any(|own| own.starts_with(&path));
        !ours && !self.own.contains(&path) && !holds_ours
    }
}

/// The paths of an event that can change the result.
fn changed(event: Event) -> Option<Vec<PathBuf>> {
    match event.kind {
        // Our own reads cause access events: they would start an endless loop.
        EventKind::Access(_) | EventKind::Other => None,
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) => {
            Some(event.paths)
        }
    }
}
