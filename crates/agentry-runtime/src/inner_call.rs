//! The calls that a running call makes itself, as scripts do. They are judged, approved and written to the
//! journal like the calls of a model. A script that is run again after a kill gets the recorded results of
//! the calls that it had finished, so that nothing is done twice.

use serde_json::Value;

use crate::conversation::ToolCall;
use crate::event::CallClass;
use crate::redact::equals_redacted;
use crate::state::{CallProgress, CallState, StepState};

/// A call of an earlier attempt of the call that made it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PastCall {
    call: ToolCall,
    within: String,
    /// What it returned; `None` if it was started and has no result.
    pub(crate) result: Option<(String, bool)>,
}

impl PastCall {
    /// Converts a call of an attempt that is over. Returns `None` if it did nothing, or only read.
    fn of(state: &CallState) -> Option<Self> {
        let result = match &state.progress {
            CallProgress::Over(text, failed) if state.has_started => Some((text.clone(), *failed)),
            CallProgress::Running if state.class != CallClass::Read => None,
            _ => return None,
        };
        let within = state.within.clone()?;
        Some(Self { call: state.call.clone(), within, result })
    }

    fn is(&self, within: &str, call: &ToolCall) -> bool {
        let is_same = || {
            // Secrets in the journal are marks, which stand for any text.
            let text = |value: &Value| value.to_string();
            self.call.arguments == call.arguments
                || equals_redacted(&text(&self.call.arguments), &text(&call.arguments))
        };
        self.within == within && self.call.tool == call.tool && is_same()
    }
}

impl StepState {
    /// Returns an id for the next call within another one.
    pub(crate) fn inner_id(&self, within: &str) -> String {
        let id = |number: usize| format!("{within}.{number}");
        let mut number = 1;
        while self.ids.contains(&id(number)) {
            number += 1;
        }
        id(number)
    }

    /// Returns whether a call waits for a call of its own, about which the user is asked.
    pub(crate) fn is_suspended(&self, id: &str) -> bool {
        let mut own = self.inner.iter().filter(|call| call.within.as_deref() == Some(id));
        let waits = |call: &CallState| call.is_asked() || self.is_suspended(&call.call.id);
        let goes_on = |call: &CallState| call.runs() && !self.is_suspended(&call.call.id);
        own.clone().any(waits) && !own.any(goes_on)
    }

    /// Returns whether a call was made by another one, or by a call that this one made.
    pub(crate) fn is_below(&self, call: &CallState, ancestor: &str) -> bool {
        let mut within = call.within.as_deref();
        while let Some(id) = within {
            if id == ancestor {
                return true;
            }
            within = self.call(id).and_then(|call| call.within.as_deref());
        }
        false
    }

    /// Forgets the calls that a call has made: it is over.
    pub(crate) fn forget_inner(&mut self, id: &str) {
        let gone: Vec<String> = self.below(id).map(|call| call.call.id.clone()).collect();
        self.inner.retain(|call| !gone.contains(&call.call.id));
        self.past.retain(|past| past.within != id && !gone.contains(&past.within));
    }

    /// Lists the calls below another one.
    pub(crate) fn below<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a CallState> {
        self.inner.iter().filter(move |call| self.is_below(call, id))
    }

    /// Keeps what the inner calls have done, for another attempt of the calls that made them.
    pub(crate) fn keep_inner(&mut self) {
        let inner = std::mem::take(&mut self.inner);
        self.past.extend(inner.iter().filter_map(PastCall::of));
    }

    /// Returns whether a call did something in an earlier attempt.
    pub(crate) fn has_past(&self, id: &str) -> bool {
        self.past.iter().any(|past| past.within == id)
    }

    /// Takes the same call of an earlier attempt. Calls below it belong to the new one now.
    pub(crate) fn take_past(&mut self, within: &str, call: &ToolCall) -> Option<PastCall> {
        let at = self.past.iter().position(|past| past.is(within, call))?;
        let past = self.past.remove(at);
        for below in &mut self.past {
            if below.within == past.call.id {
                below.within.clone_from(&call.id);
            }
        }
        Some(past)
    }

    /// Pauses the calls that wait for a call of their own: a resumed run starts them again.
    pub(crate) fn suspend(&mut self) {
        let waiting: Vec<String> = self
            .calls
            .iter()
            .filter(|call| call.runs() && self.is_suspended(&call.call.id))
            .map(|call| call.call.id.clone())
            .collect();
        for call in self.calls.iter_mut().filter(|call| waiting.contains(&call.call.id)) {
            call.progress = CallProgress::Ready;
            self.spent.steps = self.spent.steps.saturating_sub(1);
        }
        self.keep_inner();
    }
}
