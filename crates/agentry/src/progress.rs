//! A progress line on standard error for long runs; nothing without a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Counts finished items.
#[derive(Debug)]
pub(crate) struct ProgressCounter {
    total: usize,
    done: usize,
    /// When the next line is due; `None` without a terminal.
    next: Option<Instant>,
    shown: bool,
}

/// A run shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(100);

impl ProgressCounter {
    pub(crate) fn new(total: usize) -> Self {
        let next = io::stderr().is_terminal().then(|| Instant::now() + PATIENCE);
        Self { total, done: 0, next, shown: false }
    }

    /// Adds `more` finished items.
    pub(crate) fn add(&mut self, more: usize) {
        self.done += more;
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            let _ = write!(io::stderr(), "\rchecking {}/{}", self.done, self.total);
            self.next = Some(now + PAUSE);
            self.shown = true;
        }
    }

    /// Clears the line.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[2K");
            self.shown = false;
        }
    }
}
