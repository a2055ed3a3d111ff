//! What the journal of a run adds up to: spending, decisions, and how long a person was waited for.

use std::collections::{BTreeMap, BTreeSet};

use agentry_runtime::journal::RunDescription;
use agentry_runtime::{
    ApprovalAnswer, CallJudgement, MessageBlock, MessageRole, PersonQuestion, RunEffect, RunEvent,
    StepState, TimedEvent, step,
};

use super::draft::DecidedCall;

/// The most decisions that a receipt lists.
const MOST_DECISIONS: usize = 200;
/// The tool that asks the user a question.
const QUESTION: &str = "question";
/// The tools that read or write memories.
const MEMORY_TOOLS: &[&str] = &["remember", "recall"];

/// What the journal of a run adds up to.
#[derive(Debug)]
pub struct RunAccount {
    /// The state that its events have built.
    pub state: StepState,
    /// How often the policy said allow, ask and deny.
    pub verdicts: [u64; 3],
    /// The first decisions, in order.
    pub decisions: Vec<DecidedCall>,
    /// Milliseconds in which a person was asked and had not answered.
    pub human_time: u64,
    /// How many questions a person answered.
    pub answers: u64,
    /// Whether a tool read or wrote memories.
    pub uses_memory: bool,
    /// The first message of the user.
    pub first_message: Option<String>,
    /// The time of the last event.
    pub last: Option<u64>,
}

/// Reads the events one after the other.
struct AccountReader {
    account: RunAccount,
    /// The tool of each call.
    tools: BTreeMap<String, String>,
    /// The place of each call in the list of decisions.
    places: BTreeMap<String, usize>,
    /// The open questions to the person: a call, or `None` for one about the whole run.
    open: BTreeSet<Option<String>>,
    /// The calls that ask the person and have not returned.
    asking: BTreeSet<String>,
}

impl RunAccount {
    /// Adds up the events of a journal.
    #[must_use]
    pub fn of(events: Vec<TimedEvent>) -> Self {
        let account = Self {
            state: StepState::default(),
            verdicts: [0; 3],
            decisions: Vec::new(),
            human_time: 0,
            answers: 0,
            uses_memory: false,
            first_message: None,
            last: None,
        };
        let mut reader = AccountReader {
            account,
            tools: BTreeMap::new(),
            places: BTreeMap::new(),
            open: BTreeSet::new(),
            asking: BTreeSet::new(),
        };
        events.into_iter().for_each(|event| reader.read(event));
        reader.account
    }

    /// The last text of the model.
    #[must_use]
    pub fn last_text(&self) -> Option<String> {
        let messages = self.state.messages.iter().rev();
        let mut answers = messages.filter(|message| message.role == MessageRole::Assistant);
        answers.next().map(|message| message.text())
    }

    /// What the user asked for.
    #[must_use]
    pub fn prompt(&self, about: &RunDescription) -> Option<String> {
        about.prompt.clone().or_else(|| self.first_message.clone())
    }
}

impl AccountReader {
    fn read(&mut self, happened: TimedEvent) {
        // The clock may have been set back; then nothing was waited for.
        let passed = happened.at.saturating_sub(self.account.last.unwrap_or(happened.at));
        if !self.open.is_empty() || !self.asking.is_empty() {
            self.account.human_time = self.account.human_time.saturating_add(passed);
        }
        self.account.last = Some(happened.at);
        self.note(&happened.event);
        for effect in step(&mut self.account.state, happened) {
            if let RunEffect::Put(question) = effect {
                self.open.insert(call_of(&question));
            }
        }
    }

    fn note(&mut self, event: &RunEvent) {
        match event {
            RunEvent::UserSent { text } if self.account.first_message.is_none() => {
                self.account.first_message = Some(text.clone());
            }
            RunEvent::Turned(turn) => {
                for block in &turn.message.blocks {
                    if let MessageBlock::Call(call) = block {
                        self.call(&call.id, &call.tool);
                    }
                }
            }
            RunEvent::Called { call, .. } => self.call(&call.id, &call.tool),
            RunEvent::Judged { id, verdict, .. } => self.judged(id, *verdict),
            RunEvent::Answered { id, answer } => self.answered(id.as_ref(), answer),
            RunEvent::Started { id } if self.tools.get(id).is_some_and(|it| it == QUESTION) => {
                self.asking.insert(id.clone());
            }
            RunEvent::Ended { id, failed, .. } if self.asking.remove(id) && !failed => {
                self.account.answers += 1;
            }
            // The process that asked is gone; the one that continues asks again.
            RunEvent::Resumed => {
                self.open.clear();
                self.asking.clear();
            }
            _ => {}
        }
    }

    fn call(&mut self, id: &str, tool: &str) {
        self.account.uses_memory |= MEMORY_TOOLS.contains(&tool);
        self.tools.insert(id.to_owned(), tool.to_owned());
    }

    fn judged(&mut self, id: &str, verdict: CallJudgement) {
        let at = match verdict {
            CallJudgement::Allow => 0,
            CallJudgement::Ask => 1,
            CallJudgement::Deny => 2,
        };
        if let Some(count) = self.account.verdicts.get_mut(at) {
            *count += 1;
        }
        if self.account.decisions.len() < MOST_DECISIONS {
            self.places.insert(id.to_owned(), self.account.decisions.len());
            let tool = self.tools.get(id).cloned().unwrap_or_default();
            let verdict = verdict.as_str();
            self.account.decisions.push(DecidedCall { tool, verdict, answer: None });
        }
    }

    fn answered(&mut self, id: Option<&String>, answer: &ApprovalAnswer) {
        self.open.remove(&id.cloned());
        let word = match answer {
            ApprovalAnswer::Yes => "yes",
            ApprovalAnswer::Always(_) => "always",
            ApprovalAnswer::No(_) => "no",
            ApprovalAnswer::Park => "later",
        };
        // A refusal may be that of the program, because no person is present.
        if matches!(answer, ApprovalAnswer::Yes | ApprovalAnswer::Always(_)) {
            self.account.answers += 1;
        }
        let place = id.and_then(|id| self.places.get(id));
        if let Some(decision) = place.and_then(|at| self.account.decisions.get_mut(*at)) {
            decision.answer = Some(word);
        }
    }
}

/// The call that a question is about.
fn call_of(question: &PersonQuestion) -> Option<String> {
    match question {
        PersonQuestion::Call { id, .. }
        | PersonQuestion::Unfinished { id }
        | PersonQuestion::Failed { id, .. } => Some(id.clone()),
        PersonQuestion::Limit { .. } | PersonQuestion::Models { .. } => None,
    }
}
