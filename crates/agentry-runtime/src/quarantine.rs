//! Takes away what a command made under a protected name, where no mount could prevent it: a file in a
//! directory that must stay open, or below one that is made while the command runs.
//!
//! ```text
//! before a command ─▶ look ─▶ snapshot of what is there, with images          before.json, open, images/
//! after it ─▶ look ─▶ new: moved to the quarantine                             taken/
//!                     changed or removed: restored
//!                     gone with its directory: reported, a copy is kept        was/
//! ```
//!
//! Only what appeared between the two looks can be the command's. Each item is reported to the person and to
//! the model. If something cannot be restored, no further command starts. A file that another program wrote
//! in the same moment is in `taken`, too. [`left()`] reports what a killed run did not clean up.

mod git;
mod held_name;
mod leftover;
mod recording;
mod report;
mod settle;
mod snapshot;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::commands::{CommandConfinement, CommandStarter, WriteReach};
use crate::tool::{CommandStreams, StartedCommand};
use settle::Quarantine;

pub use leftover::left;
pub use recording::note;
pub use report::{QuarantineAct, QuarantineReport};

/// The directory in that of a run.
pub const DIRECTORY: &str = "quarantine";
/// The most items that the model gets one by one.
const MOST_SAID: usize = 20;

/// Receives each report after a command.
pub type ReportListener = Box<dyn Fn(&QuarantineReport) + Send + Sync>;

/// Commands with a look at the protected names before and after each.
pub struct QuarantinedCommands {
    inner: Arc<dyn CommandStarter>,
    window: Arc<Mutex<CommandWindow>>,
}

impl QuarantinedCommands {
    /// Watches `inner` in a workspace. What it takes away goes to `directory`, and is reported to `tell`.
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
            said: Vec::new(),
        };
        Self { inner, window: Arc::new(Mutex::new(window)) }
    }
}

impl CommandStarter for QuarantinedCommands {
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        locked(&self.window).open(self.inner.reach())?;
        let mut running = RunningCommand { guard: None, window: Arc::clone(&self.window) };
        let StartedCommand { ended, guard } = self.inner.start(argv, directory, streams)?;
        running.guard = Some(guard);
        Ok(StartedCommand { ended, guard: Box::new(running) })
    }

    fn confined_by(&self) -> CommandConfinement {
        self.inner.confined_by()
    }

    fn reach(&self) -> WriteReach {
        self.inner.reach()
    }

    fn settle(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.window).said)
    }
}

/// The time in which commands run.
struct CommandWindow {
    workspace: PathBuf,
    directory: PathBuf,
    tell: ReportListener,
    /// From the first command on.
    quarantine: Option<Quarantine>,
    running: usize,
    /// What the model has not heard of yet.
    said: Vec<String>,
}

impl CommandWindow {
    /// A command is about to start.
    fn open(&mut self, reach: WriteReach) -> io::Result<()> {
        let quarantine = match &mut self.quarantine {
            Some(quarantine) => quarantine,
            none => none.insert(Quarantine::new(&self.workspace, &self.directory)?),
        };
        quarantine.permits()?;
        if self.running == 0 {
            quarantine.open(reach)?;
        }
        self.running += 1;
        Ok(())
    }

    /// One has ended.
    fn shut(&mut self) {
        self.running = self.running.saturating_sub(1);
        let Some(quarantine) = &mut self.quarantine else { return };
        let told = quarantine.settle();
        if self.running == 0 {
            quarantine.close();
        }
        told.iter().for_each(|told| (self.tell)(told));
        self.said.extend(told.iter().take(MOST_SAID).map(ToString::to_string));
        if let Some(more) = told.len().checked_sub(MOST_SAID).filter(|more| *more > 0) {
            let taken = self.directory.join(settle::TAKEN);
            self.said.push(format!("the same with {more} more; see `{}`", taken.display()));
        }
    }
}

fn locked(window: &Mutex<CommandWindow>) -> MutexGuard<'_, CommandWindow> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command that runs. Dropping this ends it with all that it started; then its results are inspected.
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
