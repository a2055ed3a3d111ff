//! A line on standard error while a long run goes on; nothing when nobody watches.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Counts what is done.
#[derive(Debug)]
pub(crate) struct ProgressCounter {
    total: usize,
    done: usize,
    /// When the next line is due; `None` when nobody watches.
    next: Option<Instant>,
    shown: bool,
}

/// A run that is over by then shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(100);

impl ProgressCounter {
    pub(crate) fn new(total: usize) -> Self {
        let next = io::stderr().is_terminal().then(|| Instant::now() + PATIENCE);
        Self { total, done: 0, next, shown: false }
    }

    /// Counts `more` as done.
    pub(crate) fn add(&mut self, more: usize) {
        self.done += more;
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            let _ = write!(io::stderr(), "\rchecking {}/{}", self.done, self.total);
            self.next = Some(now + PAUSE);
            self.shown = true;
        }
    }

    /// Wipes the line away.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[2K");
            self.shown = false;
        }
    }
}
