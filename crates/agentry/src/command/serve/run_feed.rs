//! The events of runs from their journals, as `agentry run --format json` prints them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::journal::{JournalError, JournalFollower, RunDescription};
use agentry_runtime::redact::Redactor;
use agentry_runtime::{RunEffect, RunEnding, RunEvent, RunSpending, StepState, TimedEvent, step};
use agentry_server::EventBatch;
use serde_json::{Value, json};

/// How long a journal stays open after the last look at it.
const IDLE: Duration = Duration::from_mins(1);

/// The journals that are being read.
pub(super) struct RunFeeds {
    home: PathBuf,
    feeds: Mutex<BTreeMap<String, Arc<Mutex<RunFeed>>>>,
}

/// One journal, read as far as it goes.
pub(super) struct RunFeed {
    follower: JournalFollower,
    pub(super) about: RunDescription,
    /// The names of the models; empty once another process may have had others.
    models: Vec<String>,
    state: StepState,
    /// Every event that is shown, by its number.
    pub(super) events: Vec<(u64, Value)>,
    next: u64,
    ending: Option<RunEnding>,
    goes_on: bool,
    used: Instant,
}

impl RunFeeds {
    pub(super) fn new(home: PathBuf) -> Self {
        Self { home, feeds: Mutex::default() }
    }

    /// Reads what a journal has now, and shows it.
    pub(super) fn with<T>(
        &self,
        run: &str,
        show: impl FnOnce(&RunFeed) -> T,
    ) -> Result<T, JournalError> {
        let feed = self.feed(run)?;
        let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
        feed.read()?;
        Ok(show(&feed))
    }

    fn feed(&self, run: &str) -> Result<Arc<Mutex<RunFeed>>, JournalError> {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = feeds.get(run) {
            // One that is being read just now was looked at before.
            if !feed.try_lock().is_ok_and(|known| known.follower.is_replaced()) {
                return Ok(Arc::clone(feed));
            }
        }
        let (follower, about) = JournalFollower::open(&self.home, run)?;
        let feed = RunFeed {
            models: about.models.clone(),
            follower,
            about,
            state: StepState::default(),
            events: Vec::new(),
            next: 1,
            ending: None,
            goes_on: true,
            used: Instant::now(),
        };
        let feed = Arc::new(Mutex::new(feed));
        feeds.insert(run.to_owned(), Arc::clone(&feed));
        Ok(feed)
    }

    /// Closes the journals without a reader.
    pub(super) fn sweep(&self) {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|_, feed| match feed.try_lock() {
            Ok(feed) => feed.used.elapsed() < IDLE,
            Err(_) => true,
        });
    }
}

impl RunFeed {
    fn read(&mut self) -> Result<(), JournalError> {
        self.used = Instant::now();
        // Asked before reading: events written in between are still read below.
        self.goes_on = self.follower.goes_on();
        for happened in self.follower.more()? {
            let sequence = self.next;
            self.next += 1;
            self.events.extend(self.shown(&happened).map(|event| (sequence, event)));
            if matches!(happened.event, RunEvent::Adjusted { .. }) {
                self.models.clear();
            }
            // What the user does between turns, an undo for example, does not start the run again.
            let is_between = happened.event.is_between_turns();
            let effects = step(&mut self.state, happened);
            if !is_between {
                self.ending = effects.into_iter().find_map(|effect| match effect {
                    RunEffect::Finish(ending) => Some(ending),
                    _ => None,
                });
            }
        }
        Ok(())
    }

    /// An event as it is shown; `None` if it is of no use to a reader.
    fn shown(&self, happened: &TimedEvent) -> Option<Value> {
        let name = |at: usize| self.models.get(at).cloned().unwrap_or_default();
        // The journal is redacted already.
        let output = RunOutput::of(&happened.event, &self.state, &name, &Redactor::default());
        if let Some(output) = output {
            return serde_json::to_value(output).ok();
        }
        match &happened.event {
            RunEvent::UserSent { text } => Some(json!({ "type": "said", "text": text })),
            RunEvent::Delegated { id, run, spent } => {
                Some(json!({ "type": "delegated", "id": id, "run": run, "spent": spent }))
            }
            RunEvent::Undone { paths } => {
                Some(json!({ "type": "undone", "text": paths.join(", ") }))
            }
            RunEvent::Switched { model } => {
                Some(json!({ "type": "switched", "model": name(*model) }))
            }
            RunEvent::Cleared => Some(json!({ "type": "cleared" })),
            RunEvent::UserRan { command, text: None } => {
                Some(json!({ "type": "user_ran", "text": command }))
            }
            RunEvent::Resumed => Some(json!({ "type": "resumed" })),
            RunEvent::Cancelled { run } => Some(json!({ "type": "cancelled", "run": run })),
            _ => None,
        }
    }

    /// Some events after a number.
    pub(super) fn batch(&self, after: u64, most: usize) -> EventBatch {
        let first = self.events.partition_point(|(sequence, _)| *sequence <= after);
        let rest = self.events.get(first..).unwrap_or_default();
        let events: Vec<_> = rest.iter().take(most).cloned().collect();
        let is_all = events.len() == rest.len() && events.len() < most;
        EventBatch { ended: (is_all && !self.goes_on).then(|| self.ended()), events }
    }

    /// The last event of a stream.
    pub(super) fn ended(&self) -> Value {
        let spent = self.state.spent;
        match &self.ending {
            Some(ending) => {
                let output = RunOutput::Ended { ending: ending.clone(), spent };
                serde_json::to_value(output).unwrap_or_default()
            }
            // No process has it, and it did not end.
            None => json!({ "type": "ended", "state": "interrupted", "spent": spent }),
        }
    }

    /// What the run has spent so far.
    pub(super) fn spent(&self) -> &RunSpending {
        &self.state.spent
    }
}
