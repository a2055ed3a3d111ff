//! A run that is recorded while it happens.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Map;

use super::parts::{Clock, Log, Models, Prompt, Show, TooMuch};
use crate::cassette::Recorder;
use crate::conversation::Usage;
use crate::event::{Event, Failure, FailureKind, Happened, Turn};
use crate::tool::Doing;

/// A recorder that models and log share; nothing is left once it is finished.
#[derive(Clone)]
pub struct Recording(Arc<Mutex<Option<Recorder>>>);

impl Recording {
    /// Records with this.
    pub fn new(recorder: Recorder) -> Self {
        Self(Arc::new(Mutex::new(Some(recorder))))
    }

    /// The run is over.
    pub fn finish(&self) -> io::Result<()> {
        let recorder = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        recorder.map_or(Ok(()), Recorder::finish)
    }

    fn sent(&self) {
        let mut recorder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.iter_mut().for_each(Recorder::sent);
    }

    fn with(&self, write: impl FnOnce(&mut Recorder) -> io::Result<()>) -> Result<(), String> {
        let mut recorder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = recorder.as_mut().map_or(Ok(()), write);
        written.map_err(|error| format!("the recording cannot be written: {error}"))
    }
}

/// A log, and a recording beside it.
pub struct RecordedLog {
    /// Where events are written down.
    pub log: Box<dyn Log>,
    /// The recording.
    pub recording: Recording,
}

impl Log for RecordedLog {
    fn append(&mut self, happened: &Happened, durable: bool) -> Result<(), String> {
        self.log.append(happened, durable)?;
        self.recording.with(|recorder| recorder.happened(happened))
    }
}

/// Models whose questions are recorded.
pub struct RecordedModels {
    /// Who answers.
    pub models: Arc<dyn Models>,
    /// The recording.
    pub recording: Recording,
    /// The time.
    pub clock: Clock,
}

impl Models for RecordedModels {
    fn name(&self, model: usize) -> String {
        self.models.name(model)
    }

    fn estimate(&self, model: usize, reading: Usage) -> Usage {
        self.models.estimate(model, reading)
    }

    fn ask<'a>(&'a self, prompt: Prompt<'a>, show: Show<'a>) -> Doing<'a, Result<Turn, Failure>> {
        let name = self.models.name(prompt.model);
        let extra = Map::new();
        let request = prompt.as_request(&name, &extra);
        let at = (self.clock)();
        if let Err(message) = self.recording.with(|recorder| recorder.asked(at, &request)) {
            let failure = Failure::new(FailureKind::Permanent, message);
            return Box::pin(std::future::ready(Err(failure)));
        }
        self.models.ask(prompt, show)
    }

    fn compact<'a>(&'a self, long: TooMuch<'a>) -> Doing<'a, Event> {
        // Not a question of the run, but one all the same.
        self.recording.sent();
        self.models.compact(long)
    }
}
