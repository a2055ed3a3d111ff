//! Records a cassette while a run happens: wraps its models and its log.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Map;

use super::interfaces::{Clock, DeltaSink, EventLog, ModelPrompt, OverlongConversation, RunModels};
use crate::cassette::CassetteRecorder;
use crate::conversation::TokenUsage;
use crate::event::{ModelFailure, ModelFailureKind, ModelTurn, RunEvent, TimedEvent};
use crate::tool::BoxedFuture;

/// A recorder that models and log share; empty after it is finished.
#[derive(Clone)]
pub struct SharedRecording(Arc<Mutex<Option<CassetteRecorder>>>);

impl SharedRecording {
    /// Shares this recorder.
    pub fn new(recorder: CassetteRecorder) -> Self {
        Self(Arc::new(Mutex::new(Some(recorder))))
    }

    /// Finishes the cassette.
    pub fn finish(&self) -> io::Result<()> {
        let recorder = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        recorder.map_or(Ok(()), CassetteRecorder::finish)
    }

    fn sent(&self) {
        let mut recorder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.iter_mut().for_each(CassetteRecorder::sent);
    }

    fn with(
        &self,
        write: impl FnOnce(&mut CassetteRecorder) -> io::Result<()>,
    ) -> Result<(), String> {
        let mut recorder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = recorder.as_mut().map_or(Ok(()), write);
        written.map_err(|error| format!("the recording cannot be written: {error}"))
    }
}

/// A log that also records a cassette.
pub struct RecordedLog {
    /// Where events are written.
    pub log: Box<dyn EventLog>,
    /// The recording.
    pub recording: SharedRecording,
}

impl EventLog for RecordedLog {
    fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), String> {
        self.log.append(happened, durable)?;
        self.recording.with(|recorder| recorder.happened(happened))
    }
}

/// Models whose requests are recorded.
pub struct RecordedModels {
    /// Answers the requests.
    pub models: Arc<dyn RunModels>,
    /// The recording.
    pub recording: SharedRecording,
    /// The clock of the run.
    pub clock: Clock,
}

impl RunModels for RecordedModels {
    fn name(&self, model: usize) -> String {
        self.models.name(model)
    }

    fn estimate(&self, model: usize, reading: TokenUsage) -> TokenUsage {
        self.models.estimate(model, reading)
    }

    fn ask<'a>(
        &'a self,
        prompt: ModelPrompt<'a>,
        show: DeltaSink<'a>,
    ) -> BoxedFuture<'a, Result<ModelTurn, ModelFailure>> {
        let name = self.models.name(prompt.model);
        let extra = Map::new();
        let request = prompt.as_request(&name, &extra);
        let at = (self.clock)();
        if let Err(message) = self.recording.with(|recorder| recorder.asked(at, &request)) {
            let failure = ModelFailure::new(ModelFailureKind::Permanent, message);
            return Box::pin(std::future::ready(Err(failure)));
        }
        self.models.ask(prompt, show)
    }

    fn compact<'a>(&'a self, long: OverlongConversation<'a>) -> BoxedFuture<'a, RunEvent> {
        // The request for a summary is not part of the conversation, but the recorder must know that it
        // was sent.
        self.recording.sent();
        self.models.compact(long)
    }
}
