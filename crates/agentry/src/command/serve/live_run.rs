//! A run that this server steers. It outlives the server: without it, the turn under way goes on, and what needs a
//! person parks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentry_server::LiveSignal;
use tokio::runtime::Handle;
use tokio::sync::{broadcast, watch};

use crate::command::steered_run::RunSteering;

/// The pieces that a slow reader may lag behind.
const SIGNALS: usize = 256;

/// A run that has a process of this server.
pub(super) struct LiveRun {
    commands: Mutex<RunCommands>,
    pub(super) signals: broadcast::Sender<LiveSignal>,
    has_ended: watch::Sender<bool>,
    /// Whether a turn is under way, as far as its events say.
    is_busy: AtomicBool,
    /// Whether a call that needs an approval waits for it.
    pub(super) waits: bool,
}

/// The way to the run.
struct RunCommands {
    /// `None` when no further command is sent.
    steering: Option<RunSteering>,
    /// Messages whose turns are still to come.
    pending: usize,
}

impl LiveRun {
    pub(super) fn new(steering: RunSteering, waits: bool) -> Self {
        Self {
            commands: Mutex::new(RunCommands { steering: Some(steering), pending: 0 }),
            signals: broadcast::channel(SIGNALS).0,
            has_ended: watch::channel(false).0,
            is_busy: AtomicBool::new(true),
            waits,
        }
    }

    fn commands(&self) -> MutexGuard<'_, RunCommands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Steers the run, if it still takes commands.
    pub(super) fn steer(&self, act: impl FnOnce(&RunSteering)) {
        if let Some(steering) = &self.commands().steering {
            act(steering);
        }
    }

    /// Sends a message, unless the run takes no further one.
    pub(super) fn send_message(&self, text: &str) -> bool {
        let mut commands = self.commands();
        let is_sent = commands.steering.as_ref().is_some_and(|steering| steering.message(text));
        commands.pending += usize::from(is_sent);
        is_sent
    }

    /// A turn ended: without a further message, the run ends with it.
    pub(super) fn turn_ended(&self) {
        let mut commands = self.commands();
        if commands.pending > 0 {
            commands.pending -= 1;
        } else if let Some(steering) = commands.steering.take() {
            steering.command("end");
        }
    }

    /// Notes whether a turn is under way.
    pub(super) fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Relaxed);
    }

    /// Whether a turn is under way, so that the run cannot have ended.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }

    /// Leaves the run alone.
    pub(super) fn leave(&self) {
        self.commands().steering = None;
    }

    /// Notifies readers of a change.
    pub(super) fn signal(&self, signal: LiveSignal) {
        // Without readers no notification is needed.
        let _ = self.signals.send(signal);
    }

    /// The process has ended.
    pub(super) fn set_ended(&self) {
        self.has_ended.send_replace(true);
    }

    /// Blocks until the process has ended, at most this long.
    pub(super) fn wait_for_end(&self, most: Duration) {
        let mut has_ended = self.has_ended.subscribe();
        let ended = async { has_ended.wait_for(|ended| *ended).await.is_ok() };
        let _ = Handle::current().block_on(async { tokio::time::timeout(most, ended).await });
    }
}
