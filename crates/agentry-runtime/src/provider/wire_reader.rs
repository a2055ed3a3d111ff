//! What all wires have in common when they read an answer: end of stream, errors, token counters and stop
//! reasons.
//!
//! A wire adds only how its events map to an answer ([`WireMapping::take`]), and two tables.

use agentry_mcp::StreamEvent;
use serde_json::Value;

use super::draft::{AnswerDraft, TokenPointers};
use super::{AnswerDelta, AnswerReader, ModelAnswer, fault, parsed};
use crate::conversation::TokenUsage;
use crate::event::ModelFailure;

/// The data that marks the end of a stream.
const NO_MORE: &str = "[DONE]";

/// How the events of one wire map to an answer.
pub(super) trait WireMapping: Default + Send {
    /// The name that marks what only this wire can read.
    const NAME: &'static str;
    /// Where tokens are reported.
    const COUNTS: TokenPointers;
    /// The stop reasons of the wire.
    const STOPS: StopReasons;

    /// Applies an event that is not an error. An unknown event changes nothing.
    fn take(&mut self, data: &Value, draft: &mut AnswerDraft) -> Result<(), ModelFailure>;
}

/// The stop reasons of a wire.
pub(super) struct StopReasons {
    /// The reasons with a special meaning.
    pub(super) known: &'static [(&'static str, StopReason)],
    /// The meaning of any other reason.
    pub(super) other: StopReason,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// It is complete.
    Done,
    /// It reached the output limit.
    Cut,
    /// The provider's rules stopped it.
    Refused,
    /// The same, and the reason names the rule.
    RefusedBy,
    /// It failed, with this message; a retry may help.
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

/// Creates a reader for an answer of this model.
pub(super) fn reading<M: WireMapping + 'static>(model: &str) -> Box<dyn AnswerReader + Send> {
    Box::new(WireReading { mapping: M::default(), draft: AnswerDraft::new(M::NAME, model) })
}

impl<M: WireMapping> AnswerReader for WireReading<M> {
    fn take(
        &mut self,
        event: &StreamEvent,
        show: &mut dyn FnMut(AnswerDelta),
    ) -> Result<(), ModelFailure> {
        if event.data.trim() == NO_MORE {
            self.draft.close();
        }
        if self.draft.is_closed() {
            return Ok(());
        }
        let data = parsed(event)?;
        // Some servers send a list with one item.
        let data = data.get(0).unwrap_or(&data);
        // Before the error check: a failed answer may have been charged.
        self.draft.count(&M::COUNTS, data);
        let taken = match data.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(fault::in_stream(error)),
            None => self.mapping.take(data, &mut self.draft),
        };
        // Shown even if the event fails, because these pieces did arrive.
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
