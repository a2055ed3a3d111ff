//! A progress line on standard error for long runs; nothing without a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::output::is_quiet;

/// Counts finished items.
#[derive(Debug)]
pub(crate) struct ProgressCounter {
    /// What is done with the items.
    verb: &'static str,
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
    pub(crate) fn new(verb: &'static str, total: usize) -> Self {
        let is_shown = io::stderr().is_terminal() && !is_quiet();
        let next = is_shown.then(|| Instant::now() + PATIENCE);
        Self { verb, total, done: 0, next, shown: false }
    }

    /// Adds `more` finished items.
    pub(crate) fn add(&mut self, more: usize) {
        self.done += more;
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            let _ = write!(io::stderr(), "\r{} {}/{}", self.verb, self.done, self.total);
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
