//! Counts the time that a call spends waiting for the user. That time is not part of its own.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time that was spent waiting. Several questions may be open at once.
#[derive(Debug, Default)]
pub struct PauseClock(Mutex<PausedTime>);

#[derive(Debug, Default)]
struct PausedTime {
    total: Duration,
    questions: u32,
    since: Option<Instant>,
}

impl PauseClock {
    /// Notes that the user is asked.
    pub fn begin(&self) {
        let mut paused = self.locked();
        paused.questions += 1;
        paused.since.get_or_insert_with(Instant::now);
    }

    /// Notes an answer.
    pub fn end(&self) {
        let mut paused = self.locked();
        paused.questions = paused.questions.saturating_sub(1);
        if paused.questions == 0 {
            let since = paused.since.take();
            paused.total += since.map_or(Duration::ZERO, |since| since.elapsed());
        }
    }

    /// Returns the time so far.
    pub fn total(&self) -> Duration {
        let paused = self.locked();
        paused.total + paused.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn locked(&self) -> MutexGuard<'_, PausedTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
