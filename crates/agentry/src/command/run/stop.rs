//! Stops a run: on Ctrl-C, on a signal that ends the program, and when the terminal is closed.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_posix::signal::{Signal, SignalKind, signal};
use agentry_runtime::driver::CancelScope;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::line_editor::LineEditor;
use super::session::runtime;
use crate::output::INTERRUPTED;

/// A second Ctrl-C within this time stops more than the first one did.
const TWICE: Duration = Duration::from_secs(3);

/// Whether a run handles the signals itself.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The switch that stops a run.
pub(super) struct StopSwitch {
    canceller: UnboundedSender<CancelScope>,
    /// When Ctrl-C was last pressed.
    last: Mutex<Option<Instant>>,
    ended: Notify,
    /// Whether a command of the user is under way, which is stopped in place of a turn.
    has_command: AtomicBool,
    command_stopped: Notify,
}

/// Resets the mark of a command under way.
struct CommandMark<'a>(&'a AtomicBool);

impl Drop for CommandMark<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl StopSwitch {
    pub(super) fn new(canceller: UnboundedSender<CancelScope>) -> Self {
        let (last, has_command) = (Mutex::default(), AtomicBool::new(false));
        let (ended, command_stopped) = (Notify::new(), Notify::new());
        Self { canceller, last, ended, has_command, command_stopped }
    }

    /// Ctrl-C: once stops the turn, twice the run.
    pub(super) fn interrupt(&self) {
        if self.again() {
            self.end();
        } else {
            self.stop_turn();
        }
    }

    /// Stops the turn, however often it is asked for.
    pub(super) fn stop_turn(&self) {
        if self.has_command.load(Ordering::SeqCst) {
            return self.command_stopped.notify_waiters();
        }
        let _ = self.canceller.send(CancelScope::Turn);
    }

    /// Waits until the command of the user that is under way must end. Until then it is what Esc and Ctrl-C stop.
    pub(super) async fn command_stopped(&self) {
        // Made before the mark is set, so that it misses no key.
        let stopped = self.command_stopped.notified();
        self.has_command.store(true, Ordering::SeqCst);
        let _mark = CommandMark(&self.has_command);
        stopped.await;
    }

    /// Records a Ctrl-C, and returns whether there was one just before.
    pub(super) fn again(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.replace(Instant::now());
        before.is_some_and(|before| before.elapsed() < TWICE)
    }

    /// Forgets the last Ctrl-C, because something else can be stopped now.
    pub(super) fn anew(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Ends the run.
    pub(super) fn end(&self) {
        let _ = self.canceller.send(CancelScope::Run);
        self.command_stopped.notify_waiters();
        self.ended.notify_one();
    }

    /// Waits until the run must end.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    /// Listens to signals from now on. Must be called inside the runtime.
    pub(super) fn listen(self: &Arc<Self>) {
        // Before any line is read: the line editor restores the handlers that it finds installed.
        let (interrupts, endings) = (signal(SignalKind::interrupt()), endings());
        TAKEN.store(true, Ordering::Relaxed);
        if let Ok(mut interrupts) = interrupts {
            let stop = Arc::clone(self);
            tokio::spawn(async move {
                while interrupts.recv().await.is_some() {
                    stop.interrupt();
                }
            });
        }
        if let Ok(mut endings) = endings {
            let stop = Arc::clone(self);
            tokio::spawn(async move {
                while next(&mut endings).await {
                    stop.end();
                }
            });
        }
    }
}

/// The signals that end the program: termination, and a closed terminal.
fn endings() -> io::Result<[Signal; 2]> {
    Ok([signal(SignalKind::terminate())?, signal(SignalKind::hangup())?])
}

/// Waits for the next of these signals.
async fn next([ends, closes]: &mut [Signal; 2]) -> bool {
    tokio::select! {
        signal = ends.recv() => signal.is_some(),
        signal = closes.recv() => signal.is_some(),
    }
}

/// Ends the program at once on a signal while lines are read, with the terminal restored. Applies until a
/// run handles the signals itself.
pub(super) fn end_at(lines: &LineEditor) {
    let Ok(runtime) = runtime() else { return };
    // Signal handlers can be registered only inside a runtime.
    let inside = runtime.enter();
    let Ok(mut endings) = endings() else { return };
    drop(inside);
    let lines = lines.clone();
    std::thread::spawn(move || {
        if runtime.block_on(next(&mut endings)) && !TAKEN.load(Ordering::Relaxed) {
            lines.restore();
            #[expect(clippy::exit, reason = "nothing is under way but that a key is waited for")]
            std::process::exit(INTERRUPTED.into());
        }
    });
}
