//! Reads the requests of a cassette. What a request leaves out follows from the lines before it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::expectation::{ExpectedConversation, copied, same, take_over};
use super::{RecordedQuestion, RecordedTool};
use crate::conversation::Message;
use crate::event::{RunEvent, TimedEvent};

/// A recorded request, as its difference to the one before, and its answer.
#[derive(Debug)]
pub(super) struct RecordedTurn {
    pub(super) model: String,
    pub(super) system: Option<String>,
    pub(super) tools: Option<Vec<RecordedTool>>,
    /// How many messages are the same as in the request before.
    pub(super) kept: usize,
    pub(super) messages: Vec<Message>,
    pub(super) reply: Option<TimedEvent>,
}

/// What is known from the lines before.
#[derive(Debug, Default)]
pub(super) struct CassetteReading {
    pub(super) expected: ExpectedConversation,
    /// The messages of the last request.
    last: Vec<Arc<Message>>,
    any: bool,
    /// The id of the call of the model that ended last.
    pub(super) ended: String,
    /// The calls that calls made themselves, each with the call of the model that it is part of. A replay
    /// runs no call, so it makes none of them.
    inner: BTreeMap<String, String>,
}

impl CassetteReading {
    /// Returns whether an event is about a call that another call made.
    pub(super) fn is_inner(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::Called { within, call } => {
                let root = self.inner.get(within).unwrap_or(within).clone();
                self.inner.insert(call.id.clone(), root);
                true
            }
            RunEvent::Ended { id, .. } => match self.inner.get(id) {
                Some(root) => {
                    // A directory that it changed to is that of the whole call.
                    self.ended.clone_from(root);
                    true
                }
                None => false,
            },
            RunEvent::Judged { id, .. }
            | RunEvent::Started { id }
            | RunEvent::Answered { id: Some(id), .. } => self.inner.contains_key(id),
            _ => false,
        }
    }

    /// Reads a request, and returns its difference to the one before.
    pub(super) fn asked(&mut self, asked: RecordedQuestion) -> Result<RecordedTurn, &'static str> {
        let RecordedQuestion { model, system, tools, kept, messages, .. } = asked;
        if !self.any && (system.is_none() || tools.is_none()) {
            return Err("the first question lacks `system` or `tools`");
        }
        self.any = true;
        self.expected.report();
        let known = &mut self.expected.messages;
        known.truncate(kept.unwrap_or(known.len()));
        known.extend(messages.into_iter().map(Arc::new));
        let kept = same(&self.last, known);
        let messages = copied(known.get(kept..).unwrap_or_default());
        take_over(&mut self.last, known);
        Ok(RecordedTurn { model, system, tools, kept, messages, reply: None })
    }
}
