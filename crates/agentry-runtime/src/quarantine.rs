//! Quarantine: removes what a command created under a protected name where no mount could prevent it. Such a
//! place is a directory that must stay writable, or one that is created while the command runs.
//!
//! ```text
//! before a command ─▶ look ─▶ snapshot of what is there, with images          before.json, open, images/
//! after it ─▶ look ─▶ new: moved to the quarantine                             taken/
//!                     changed or removed: restored
//!                     gone with its directory: reported, a copy is kept        was/
//! ```
//!
//! Only what appeared between the two looks can come from the command. Each item is reported to the user and
//! the model. If something cannot be restored, no further command starts. A file that another program wrote
//! at the same time is also moved to `taken`. [`left()`] reports what a killed run did not clean up.

mod git;
mod held_name;
mod leftover;
mod recording;
mod report;
mod settle;
mod snapshot;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::commands::{CommandConfinement, CommandStarter, ProgramLaunch, WriteReach};
use crate::tool::{CommandStreams, StartedCommand};
use settle::Quarantine;

pub use leftover::{ChangeSinceKill, changes_since_kill, left};
pub use recording::note;
pub use report::{QuarantineAct, QuarantineReport};

/// Its name in the directory of a run.
pub const DIRECTORY: &str = "quarantine";
/// The most items that the model gets one by one.
const MOST_MESSAGES: usize = 20;

/// Receives each report after a command.
pub type ReportListener = Box<dyn Fn(&QuarantineReport) + Send + Sync>;

/// A [`CommandStarter`] that inspects the protected names before and after each command of another one.
pub struct QuarantinedCommands {
    inner: Arc<dyn CommandStarter>,
    window: Arc<Mutex<CommandWindow>>,
}

impl QuarantinedCommands {
    /// Watches `inner` in a workspace. Moves files to `directory`, and passes each report to
    /// `tell`.
    pub fn new(
        inner: Arc<dyn CommandStarter>,
        workspace: PathBuf,
        directory: PathBuf,
        tell: ReportListener,
    ) -> Self {
        let window = CommandWindow {
            workspace,
            directory,
            tell,
            quarantine: None,
            running: 0,
            unread: Vec::new(),
        };
        Self { inner, window: Arc::new(Mutex::new(window)) }
    }

    /// Starts a command and watches it until it is dropped.
    fn watched(
        &self,
        start: impl FnOnce() -> io::Result<StartedCommand>,
    ) -> io::Result<StartedCommand> {
        locked(&self.window).open(self.inner.reach())?;
        // Created before the start, so that a failed start also closes the window.
        let mut running = RunningCommand { guard: None, window: Arc::clone(&self.window) };
        let StartedCommand { ended, guard } = start()?;
        running.guard = Some(guard);
        Ok(StartedCommand { ended, guard: Box::new(running) })
    }
}

impl CommandStarter for QuarantinedCommands {
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        self.watched(|| self.inner.start(argv, directory, streams))
    }

    fn start_program(
        &self,
        launch: ProgramLaunch,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        self.watched(|| self.inner.start_program(launch, streams))
    }

    fn confined_by(&self) -> CommandConfinement {
        self.inner.confined_by()
    }

    fn reach(&self) -> WriteReach {
        self.inner.reach()
    }

    fn settle(&self) -> Vec<String> {
        let mut window = locked(&self.window);
        // A server runs on after the call that it answered.
        if window.running > 0 {
            window.look();
        }
        std::mem::take(&mut window.unread)
    }
}

/// The time span in which at least one command runs.
struct CommandWindow {
    workspace: PathBuf,
    directory: PathBuf,
    tell: ReportListener,
    /// Created with the first command.
    quarantine: Option<Quarantine>,
    running: usize,
    /// Reports that the model has not got yet.
    unread: Vec<String>,
}

impl CommandWindow {
    /// Handles the start of a command.
    fn open(&mut self, reach: WriteReach) -> io::Result<()> {
        let quarantine = match &mut self.quarantine {
            Some(quarantine) => quarantine,
            none => none.insert(Quarantine::new(&self.workspace, &self.directory)?),
        };
        quarantine.permits()?;
        // Only the first of several parallel commands takes a snapshot; a later one would hide changes.
        if self.running == 0 {
            quarantine.open(reach)?;
        }
        self.running += 1;
        Ok(())
    }

    /// Handles the end of a command.
    fn shut(&mut self) {
        self.running = self.running.saturating_sub(1);
        self.look();
        if let Some(quarantine) = self.quarantine.as_mut().filter(|_| self.running == 0) {
            quarantine.close();
        }
    }

    /// Inspects what commands did so far.
    fn look(&mut self) {
        let Some(quarantine) = &mut self.quarantine else { return };
        let reports = quarantine.settle();
        reports.iter().for_each(|report| (self.tell)(report));
        self.unread.extend(reports.iter().take(MOST_MESSAGES).map(ToString::to_string));
        if let Some(more) = reports.len().checked_sub(MOST_MESSAGES).filter(|more| *more > 0) {
            let taken = self.directory.join(settle::TAKEN);
            self.unread.push(format!("the same with {more} more; see `{}`", taken.display()));
        }
    }
}

/// Returns whether the quarantine of a run has anything that a report names.
pub fn has_items(run: &Path) -> bool {
    [settle::TAKEN, leftover::WAS].iter().any(|name| {
        let items = std::fs::read_dir(run.join(DIRECTORY).join(name));
        items.is_ok_and(|mut items| items.next().is_some())
    })
}

fn locked(window: &Mutex<CommandWindow>) -> MutexGuard<'_, CommandWindow> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running command. Dropping it ends the command and its processes, and then inspects the results.
struct RunningCommand {
    guard: Option<Box<dyn Send + Sync>>,
    window: Arc<Mutex<CommandWindow>>,
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // Dropping the guard waits for the end of the command.
        self.guard = None;
        locked(&self.window).shut();
    }
}

#[cfg(test)]
mod tests;
