//! What commands must not make, and what no mount can keep them from making: a file inside of a
//! directory that must stay open, or below one that is made while they run.
//!
//! ```text
//! a command is about to start ─▶ look ─▶ that belongs there, with images    before.json, open, images/
//! it has ended, and its children ─▶ look ─▶ new: moved here                         taken/
//!                                           changed or removed: put back
//!                                           gone with its directory: told, kept     was/
//! ```
//!
//! Only what came between the two can be the command's. All of it is told, to the person and to the
//! model; after what cannot be taken back, no further command starts. Whoever else writes at the same
//! moment finds what was theirs in `taken`. What a killed run left open is told by [`left()`].

mod git;
mod hold;
mod left;
mod look;
mod own;
mod settle;
mod told;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::commands::{Commands, Confining, Reach};
use crate::tool::{Started, Streams};
use settle::Quarantine;

pub use left::left;
pub use own::note;
pub use told::{Did, Told};

/// The directory in that of a run.
pub const DIRECTORY: &str = "quarantine";
/// The most of what was found that the model is told of one by one.
const MOST_SAID: usize = 20;

/// Hears what was found after a command.
pub type Tell = Box<dyn Fn(&Told) + Send + Sync>;

/// Commands before and after each of which is looked at what is there.
pub struct Quarantined {
    inner: Arc<dyn Commands>,
    window: Arc<Mutex<Window>>,
}

impl Quarantined {
    /// Looks after `inner` in a workspace. What it takes away goes to `directory`, and `tell` hears of
    /// it.
    pub fn new(
        inner: Arc<dyn Commands>,
        workspace: PathBuf,
        directory: PathBuf,
        tell: Tell,
    ) -> Self {
        let window =
            Window { workspace, directory, tell, quarantine: None, running: 0, said: Vec::new() };
        Self { inner, window: Arc::new(Mutex::new(window)) }
    }
}

impl Commands for Quarantined {
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: Streams,
    ) -> io::Result<Started> {
        locked(&self.window).open(self.inner.reach())?;
        let mut running = Running { guard: None, window: Arc::clone(&self.window) };
        let Started { ended, guard } = self.inner.start(argv, directory, streams)?;
        running.guard = Some(guard);
        Ok(Started { ended, guard: Box::new(running) })
    }

    fn confined_by(&self) -> Confining {
        self.inner.confined_by()
    }

    fn reach(&self) -> Reach {
        self.inner.reach()
    }

    fn settle(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.window).said)
    }
}

/// The time in which commands run.
struct Window {
    workspace: PathBuf,
    directory: PathBuf,
    tell: Tell,
    /// From the first command on.
    quarantine: Option<Quarantine>,
    running: usize,
    /// What was not yet told to the model.
    said: Vec<String>,
}

impl Window {
    /// A command is about to start.
    fn open(&mut self, reach: Reach) -> io::Result<()> {
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

fn locked(window: &Mutex<Window>) -> MutexGuard<'_, Window> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command that runs. When this is dropped it ends, with all that it started; then is looked at what it
/// made.
struct Running {
    guard: Option<Box<dyn Send + Sync>>,
    window: Arc<Mutex<Window>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its end is waited for.
        self.guard = None;
        locked(&self.window).shut();
    }
}

#[cfg(test)]
mod tests;
