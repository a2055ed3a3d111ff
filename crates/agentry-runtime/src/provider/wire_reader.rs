//! What all wires have in common when they read an answer: one that is over takes nothing more, errors
//! are errors, tokens are counted, and the reason why it ended is looked up.
//!
//! A wire says only what is its own: where its words stand in an event ([`WireMapping::take`]), and two tables.

use serde_json::Value;

use super::draft::{AnswerDraft, TokenPointers};
use super::sse::SseEvent;
use super::{AnswerDelta, AnswerReader, ModelAnswer, fault, parsed};
use crate::conversation::TokenUsage;
use crate::event::ModelFailure;

/// What stands in the place of an event when there are no more.
const NO_MORE: &str = "[DONE]";

/// What the events of one wire mean.
pub(super) trait WireMapping: Default + Send {
    /// The name under which is kept what only this wire understands.
    const NAME: &'static str;
    /// Where tokens are counted.
    const COUNTS: TokenPointers;
    /// What the words mean with which an answer ends.
    const STOPS: StopReasons;

    /// Takes an event that is no error into the draft. One that is not known changes nothing.
    fn take(&mut self, data: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure>;
}

/// What the words mean with which an answer ends.
pub(super) struct StopReasons {
    /// The words that mean something.
    pub(super) known: &'static [(&'static str, StopReason)],
    /// Any other.
    pub(super) other: StopReason,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// All is said.
    Done,
    /// It is too long.
    Cut,
    /// The provider's rules do not let it go on.
    Refused,
    /// The same, and the word says why.
    RefusedBy,
    /// It failed, in these words; another time it may not.
    Failed(&'static str),
}

impl StopReasons {
    fn of(&self, word: &str) -> StopReason {
        let found = self.known.iter().find(|(known, _)| *known == word);
        found.map_or(self.other, |(_, stop)| *stop)
    }
}

/// Reads one answer of one wire.
struct WireReading<M> {
    mapping: M,
    draft: AnswerDraft,
}

/// Reads an answer of this model.
pub(super) fn reading<M: WireMapping + 'static>(model: &str) -> Box<dyn AnswerReader + Send> {
    Box::new(WireReading { mapping: M::default(), draft: AnswerDraft::new(M::NAME, model) })
}

impl<M: WireMapping> AnswerReader for WireReading<M> {
    fn take(
        &mut self,
        event: &SseEvent,
        show: &mut dyn FnMut(AnswerDelta),
    ) -> Result<(), ModelFailure> {
        if event.data.trim() == NO_MORE {
            self.draft.close();
        }
        if self.draft.is_closed() {
            return Ok(());
        }
        let data = parsed(event)?;
        // Some send a list of one.
        let data = data.get(0).unwrap_or(&data);
        self.draft.count(&M::COUNTS, data);
        let taken = match data.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(fault::in_stream(error)),
            None => self.mapping.take(data, &mut self.draft),
        };
        self.draft.shown().for_each(show);
        taken
    }

    fn is_complete(&self) -> bool {
        self.draft.is_complete()
    }

    fn used_up(&self) -> TokenUsage {
        self.draft.used_up()
    }

    fn finish(mut self: Box<Self>) -> Result<ModelAnswer, ModelFailure> {
        let Some(word) = self.draft.stopped().map(str::to_owned) else {
            return Err(fault::broke_off());
        };
        match M::STOPS.of(&word) {
            StopReason::Done => {}
            StopReason::Cut => self.draft.truncated = true,
            StopReason::Refused => self.draft.refuse("the provider's rules"),
            StopReason::RefusedBy => self.draft.refuse(&fault::shown(&word)),
            StopReason::Failed(why) => return Err(fault::temporary(why)),
        }
        Ok(self.draft.finish())
    }
}
