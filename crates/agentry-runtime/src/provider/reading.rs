//! What all wires have in common when they read an answer: one that is over takes nothing more, errors
//! are errors, tokens are counted, and the reason why it ended is looked up.
//!
//! A wire says only what is its own: where its words stand in an event ([`Mapping::take`]), and two tables.

use serde_json::Value;

use super::draft::{Counts, Draft};
use super::sse::Event;
use super::{Answered, Delta, Reader, fault, parsed};
use crate::conversation::Usage;
use crate::event::Failure;

/// What stands in the place of an event when there are no more.
const NO_MORE: &str = "[DONE]";

/// What the events of one wire mean.
pub(super) trait Mapping: Default + Send {
    /// The name under which is kept what only this wire understands.
    const NAME: &'static str;
    /// Where tokens are counted.
    const COUNTS: Counts;
    /// What the words mean with which an answer ends.
    const STOPS: Stops;

    /// Takes an event that is no error into the draft. One that is not known changes nothing.
    fn take(&mut self, data: &Value, draft: &mut Draft) -> Result<(), Failure>;
}

/// What the words mean with which an answer ends.
pub(super) struct Stops {
    /// The words that mean something.
    pub(super) known: &'static [(&'static str, Stop)],
    /// Any other.
    pub(super) other: Stop,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
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

impl Stops {
    fn of(&self, word: &str) -> Stop {
        let found = self.known.iter().find(|(known, _)| *known == word);
        found.map_or(self.other, |(_, stop)| *stop)
    }
}

/// Reads one answer of one wire.
struct Reading<M> {
    mapping: M,
    draft: Draft,
}

/// Reads an answer of this model.
pub(super) fn reading<M: Mapping + 'static>(model: &str) -> Box<dyn Reader + Send> {
    Box::new(Reading { mapping: M::default(), draft: Draft::new(M::NAME, model) })
}

impl<M: Mapping> Reader for Reading<M> {
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
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

    fn used_up(&self) -> Usage {
        self.draft.used_up()
    }

    fn finish(mut self: Box<Self>) -> Result<Answered, Failure> {
        let Some(word) = self.draft.stopped().map(str::to_owned) else {
            return Err(fault::broke_off());
        };
        match M::STOPS.of(&word) {
            Stop::Done => {}
            Stop::Cut => self.draft.truncated = true,
            Stop::Refused => self.draft.refuse("the provider's rules"),
            Stop::RefusedBy => self.draft.refuse(&fault::shown(&word)),
            Stop::Failed(why) => return Err(fault::temporary(why)),
        }
        Ok(self.draft.finish())
    }
}
