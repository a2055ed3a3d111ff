//! A replay: models, tools and the person as they were recorded. Only the policy is asked anew. Nothing
//! is executed, and the first difference ends the run.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Map;
use tokio::sync::mpsc::UnboundedSender;

use super::Cancel;
use super::parts::{Asked, Decision, Models, Person, Prompt, Said, Show, TooMuch, Tools};
use crate::cassette::{Difference, Tape};
use crate::conversation::{Call, Usage};
use crate::event::{Answer, Event, Failure, Happened, Turn};
use crate::provider::Delta;
use crate::tool::{self, Doing, ToolSpec};

/// A recording in the place of the world.
pub struct Played {
    tape: Mutex<Tape>,
    /// What judges calls as they would be judged now.
    tools: Arc<dyn Tools>,
    difference: Mutex<Option<Difference>>,
    canceller: OnceLock<UnboundedSender<Cancel>>,
}

impl Played {
    /// Plays a tape, with the tools that judge its calls.
    pub fn new(tape: Tape, tools: Arc<dyn Tools>) -> Self {
        Self {
            tape: Mutex::new(tape),
            tools,
            difference: Mutex::new(None),
            canceller: OnceLock::new(),
        }
    }

    /// By which the run is stopped where the recorded one was, or where it goes another way.
    pub fn stop_by(&self, canceller: UnboundedSender<Cancel>) {
        let _ = self.canceller.set(canceller);
    }

    /// How the run began, if the cassette says so.
    pub fn began(&self) -> Option<Event> {
        self.tape().began().cloned()
    }

    /// How many models there were at least: a run that fell back has asked several.
    pub fn models(&self) -> usize {
        self.tape().models()
    }

    /// What the clock showed.
    pub fn now(&self) -> u64 {
        self.tape().now()
    }

    /// What the person says next.
    pub fn said(&self) -> Option<String> {
        match self.tape().said()?.event {
            Event::Said { text } => Some(text),
            _ => None,
        }
    }

    /// The first difference, when the run is over.
    pub fn difference(&self) -> Option<Difference> {
        let found = self.difference.lock().unwrap_or_else(PoisonError::into_inner).clone();
        found.or_else(|| self.tape().finish().err())
    }

    fn tape(&self) -> std::sync::MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a difference and ends the run.
    fn differs(&self, difference: Difference) {
        let mut known = self.difference.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert(difference);
        self.cancel(Cancel::Run);
    }

    fn cancel(&self, cancel: Cancel) {
        if let Some(canceller) = self.canceller.get() {
            let _ = canceller.send(cancel);
        }
    }

    /// What was recorded; where the recorded run was stopped, or goes another way, this one is stopped
    /// and nothing more comes.
    async fn recorded(&self, found: Result<Happened, Difference>) -> Event {
        match found.map(|happened| happened.event) {
            Ok(Event::Cancelled { run }) => {
                self.cancel(if run { Cancel::Run } else { Cancel::Turn });
            }
            Ok(Event::TimeUp) => self.cancel(Cancel::Time),
            Ok(event) => return event,
            Err(difference) => self.differs(difference),
        }
        std::future::pending().await
    }
}

impl Models for Played {
    fn name(&self, _model: usize) -> String {
        "recorded".to_owned()
    }

    fn estimate(&self, _model: usize, _reading: Usage) -> Usage {
        // What was sent then is sent now, whatever it would cost.
        self.tape().refused().unwrap_or_default()
    }

    fn ask<'a>(&'a self, prompt: Prompt<'a>, show: Show<'a>) -> Doing<'a, Result<Turn, Failure>> {
        Box::pin(async move {
            let found = self.tape().turn(&prompt.as_request("recorded", &Map::new()));
            match self.recorded(found).await {
                Event::Turned(turn) => {
                    show(Delta::Text(turn.message.text()));
                    Ok(turn)
                }
                Event::TurnFailed(failure) => Err(failure),
                _ => std::future::pending().await,
            }
        })
    }

    fn compact<'a>(&'a self, _long: TooMuch<'a>) -> Doing<'a, Event> {
        Box::pin(async move {
            let found = self.tape().compacted();
            self.recorded(found).await
        })
    }
}

impl Tools for Played {
    fn specs(&self) -> &[ToolSpec] {
        self.tools.specs()
    }

    fn judge(&self, call: &Call) -> Decision {
        self.tools.judge(call)
    }

    fn judged(&self, call: &Call, decision: &Decision) {
        let same = self.tape().judged(call, decision.verdict, &decision.reason);
        if let Err(difference) = same {
            self.differs(difference);
        }
    }

    fn preview(&self, call: &Call) -> Option<String> {
        self.tools.preview(call)
    }

    fn run<'a>(&'a self, call: &'a Call) -> Doing<'a, tool::Output> {
        Box::pin(async move {
            let found = self.tape().result(call);
            let event = self.recorded(found).await;
            if let Some(directory) = self.tape().moved(call) {
                self.tools.move_to(&directory);
            }
            match event {
                Event::Ended { text, failed, .. } => tool::Output { text, failed },
                _ => std::future::pending().await,
            }
        })
    }

    fn shortened(&self, text: &str, _most: usize) -> String {
        // It was, when it was recorded.
        text.to_owned()
    }

    fn directory(&self) -> String {
        self.tools.directory()
    }

    fn move_to(&self, directory: &str) {
        self.tools.move_to(directory);
    }
}

impl Person for Played {
    fn decide<'a>(&'a self, asked: Asked<'a>) -> Doing<'a, Said> {
        Box::pin(async move {
            let (id, exact) = match asked {
                Asked::Call { call, decision, .. } => (Some(&call.id), Some(&decision.exact)),
                Asked::Unfinished(call) | Asked::Failed(call, _) => (Some(&call.id), None),
                Asked::Limit(_) | Asked::Models(_) => (None, None),
            };
            let found = self.tape().answer(id.map(String::as_str));
            let Event::Answered { answer, .. } = self.recorded(found).await else {
                return std::future::pending().await;
            };
            match answer {
                Answer::Yes => Said::Yes,
                Answer::Always(names) if exact.is_some_and(|exact| names == [exact.clone()]) => {
                    Said::AlwaysExact
                }
                Answer::Always(_) => Said::AlwaysRules,
                Answer::No(why) => Said::No(why),
                Answer::Park => Said::Park,
            }
        })
    }

    fn answer<'a>(&'a self, _: &'a str, _: &'a [String]) -> Doing<'a, Option<String>> {
        // Calls are not run, so none asks.
        Box::pin(std::future::ready(None))
    }
}
