//! Reads the questions of a cassette: what is left out of each follows from the lines before it.

use std::sync::Arc;

use super::expected::{Expected, copied, same, take_over};
use super::{Asked, Tool};
use crate::conversation::Message;
use crate::event::Happened;

/// A question to the model, as far as it differs from the one before, and its answer.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) model: String,
    pub(super) system: Option<String>,
    pub(super) tools: Option<Vec<Tool>>,
    /// How many messages are those of the question before.
    pub(super) kept: usize,
    pub(super) messages: Vec<Message>,
    pub(super) reply: Option<Happened>,
}

/// What a reader of the file knows from the lines before.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) expected: Expected,
    /// The messages of the last question.
    last: Vec<Arc<Message>>,
    any: bool,
    /// The call that ended last.
    pub(super) ended: String,
}

impl Reading {
    /// A question, as far as it differs from the one before.
    pub(super) fn asked(&mut self, asked: Asked) -> Result<Recorded, &'static str> {
        let Asked { model, system, tools, kept, messages, .. } = asked;
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
        Ok(Recorded { model, system, tools, kept, messages, reply: None })
    }
}
