//! Predicts the messages of the next request if nothing new is said. Recorder and tape predict the same, so
//! these messages are not written.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::conversation::{Message, MessageBlock, MessageRole};
use crate::event::{CallJudgement, RunEvent};

/// The conversation, as it follows from the events so far.
#[derive(Debug, Default)]
pub(super) struct ExpectedConversation {
    pub(super) messages: Vec<Arc<Message>>,
    calls: Vec<String>,
    results: BTreeMap<String, (String, bool)>,
}

impl ExpectedConversation {
    /// Applies an event.
    pub(super) fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::UserSent { text } => self.messages.push(Arc::new(Message::user(text))),
            RunEvent::Turned(turn) => {
                self.calls = turn.message.calls().map(|call| call.id.clone()).collect();
                self.results.clear();
                self.messages.push(Arc::new(turn.message.clone()));
            }
            RunEvent::Judged { id, verdict: CallJudgement::Deny, reason, .. } => {
                self.results.insert(id.clone(), (format!("refused: {reason}"), true));
            }
            RunEvent::Ended { id, text, failed } => {
                self.results.insert(id.clone(), (text.clone(), *failed));
            }
            RunEvent::Returned { id, text, output } => {
                self.results.insert(id.clone(), (text.clone(), output.is_err()));
            }
            RunEvent::Compacted { messages, summary, .. } => {
                self.messages.drain(..(*messages).min(self.messages.len()));
                self.messages.insert(0, Arc::new(Message::user(summary)));
            }
            _ => {}
        }
    }

    /// Adds the results of the calls, because the model is asked now.
    pub(super) fn report(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        let results = calls.into_iter().filter_map(|id| {
            let (text, failed) = self.results.remove(&id)?;
            Some(MessageBlock::Result { id, text, failed })
        });
        let blocks: Vec<MessageBlock> = results.collect();
        if !blocks.is_empty() {
            self.messages.push(Arc::new(Message { role: MessageRole::User, blocks }));
        }
    }
}

/// Counts the equal messages from the start. Shared messages are compared by pointer, which is fast.
pub(super) fn same(old: &[Arc<Message>], new: &[Arc<Message>]) -> usize {
    old.iter().zip(new).take_while(|(old, new)| old == new).count()
}

/// Makes `old` equal to `new`, without copying a message.
pub(super) fn take_over(old: &mut Vec<Arc<Message>>, new: &[Arc<Message>]) {
    let shared = old.iter().zip(new).take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
    old.truncate(shared);
    old.extend_from_slice(new.get(shared..).unwrap_or_default());
}

/// Copies messages, to write them.
pub(super) fn copied(messages: &[Arc<Message>]) -> Vec<Message> {
    messages.iter().map(|message| Message::clone(message)).collect()
}
