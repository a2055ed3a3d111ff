//! The questions that wait for the program. Several may be open at once, because delegates ask as well.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentry_runtime::ToolCall;
use agentry_runtime::driver::interfaces::{
    AbsentApprover, ApprovalReply, ApprovalRequest, Approver,
};
use agentry_runtime::redact::Redactor;
use agentry_runtime::tool::{BoxedFuture, EditorFiles};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::protocol::{AnswerWord, ApprovalEvent, ControlEvent};
use super::{RunControl, emit};
use crate::args::AskFallback;

/// One question that waits for its answer.
enum PendingAnswer {
    /// An approval, and whether it may cover more than this once.
    Approval { answer: oneshot::Sender<ApprovalReply>, has_always: bool },
    /// A question of the agent.
    Question(oneshot::Sender<Option<String>>),
}

/// All questions that wait for their answers.
pub(super) struct OpenQuestions {
    open: Mutex<BTreeMap<u64, PendingAnswer>>,
    last: AtomicU64,
    /// Whether the program is there to answer.
    is_attended: AtomicBool,
    /// Whether the program wants the run parked.
    parks: AtomicBool,
    fallback: AbsentApprover,
    redactor: Arc<Redactor>,
}

impl OpenQuestions {
    pub(super) fn new(on_ask: AskFallback, redactor: Arc<Redactor>) -> Self {
        let (open, last, parks) = (Mutex::default(), AtomicU64::new(0), AtomicBool::new(false));
        let (is_attended, fallback) = (AtomicBool::new(true), on_ask.into());
        Self { open, last, is_attended, parks, fallback, redactor }
    }

    pub(super) fn answer(&self, question: u64, reply: ApprovalReply) -> Result<(), String> {
        let mut open = self.open();
        let widens = matches!(reply, ApprovalReply::AlwaysRules | ApprovalReply::AlwaysExact);
        match open.get(&question) {
            Some(PendingAnswer::Approval { has_always: false, .. }) if widens => {
                return Err(format!("question {question} can be answered only this once"));
            }
            Some(PendingAnswer::Approval { .. }) => {}
            Some(PendingAnswer::Question(_)) => {
                return Err(format!("question {question} is answered with `reply`"));
            }
            None => return Err(not_open(question)),
        }
        if let Some(PendingAnswer::Approval { answer, .. }) = open.remove(&question) {
            let _ = answer.send(reply);
        }
        Ok(())
    }

    pub(super) fn reply(&self, question: u64, text: Option<String>) -> Result<(), String> {
        let mut open = self.open();
        match open.get(&question) {
            Some(PendingAnswer::Question(_)) => {}
            Some(PendingAnswer::Approval { .. }) => {
                return Err(format!("question {question} is answered with `answer`"));
            }
            None => return Err(not_open(question)),
        }
        if let Some(PendingAnswer::Question(answer)) = open.remove(&question) {
            let _ = answer.send(text.filter(|it| !it.trim().is_empty()));
        }
        Ok(())
    }

    /// Parks the run at every open and every further approval.
    pub(super) fn park(&self) {
        self.parks.store(true, Ordering::SeqCst);
        for (_, question) in std::mem::take(&mut *self.open()) {
            if let PendingAnswer::Approval { answer, .. } = question {
                let _ = answer.send(ApprovalReply::Park);
            }
        }
    }

    /// No more answers will come: all questions get the answer that they have without a user.
    pub(super) fn leave(&self) {
        let mut open = self.open();
        // Under the lock, so that no question is opened after it.
        self.is_attended.store(false, Ordering::SeqCst);
        open.clear();
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, PendingAnswer>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a question and reports it; `None` if no user can answer.
    fn ask(&self, question: PendingAnswer, report: impl FnOnce(u64)) -> Option<AwaitedAnswer<'_>> {
        let number = self.last.fetch_add(1, Ordering::SeqCst) + 1;
        let mut open = self.open();
        if !self.is_attended.load(Ordering::SeqCst) {
            return None;
        }
        open.insert(number, question);
        drop(open);
        report(number);
        Some(AwaitedAnswer { questions: self, number })
    }

    async fn decide(&self, asked: ApprovalRequest<'_>) -> ApprovalReply {
        if self.parks.load(Ordering::SeqCst) {
            return ApprovalReply::Park;
        }
        let about = self.describe(asked);
        let (answer, answered) = oneshot::channel();
        let has_always = about.choices.contains(&AnswerWord::Always);
        let question = PendingAnswer::Approval { answer, has_always };
        let report = |question| emit(&ControlEvent::Approval { question, about });
        let Some(_awaited) = self.ask(question, report) else {
            return self.fallback.decide(asked).await;
        };
        match answered.await {
            Ok(reply) => reply,
            Err(_) => self.fallback.decide(asked).await,
        }
    }

    async fn inquire(&self, text: &str, choices: &[String]) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        let text = self.redactor.text(text);
        let choices = choices.iter().map(|choice| self.redactor.text(choice)).collect();
        let report = |question| emit(&ControlEvent::Question { question, text, choices });
        let _awaited = self.ask(PendingAnswer::Question(answer), report)?;
        answered.await.ok().flatten()
    }

    fn describe(&self, asked: ApprovalRequest<'_>) -> ApprovalEvent {
        let agent = match asked {
            ApprovalRequest::Of(chain, _) => Some(chain.to_owned()),
            _ => None,
        };
        let (kind, call, reason) = match asked.plain() {
            ApprovalRequest::Call { call, decision, preview } => {
                // A human gate has nothing that an approval for the run could cover.
                let is_gate = decision.rules.is_empty() && decision.exact.is_empty();
                return ApprovalEvent {
                    kind: "call",
                    agent,
                    call: Some(self.call(call)),
                    reason: self.redactor.text(&decision.reason),
                    places: decision.places.clone(),
                    rules: decision.rules.iter().map(|it| self.redactor.text(it)).collect(),
                    preview: preview.map(|it| self.redactor.text(it)),
                    choices: if is_gate { &AnswerWord::ONCE } else { &AnswerWord::ALL },
                };
            }
            ApprovalRequest::Unfinished(call) => {
                let why = "it was under way when the run was killed: it is not known what it did";
                ("unfinished", Some(call), why.to_owned())
            }
            ApprovalRequest::Failed(call, why) => ("failed", Some(call), why.to_owned()),
            ApprovalRequest::Limit(limit) => {
                ("limit", None, format!("the limit of {limit} is reached"))
            }
            ApprovalRequest::Models(why) => ("models", None, format!("no model answers: {why}")),
            // There is only one wrapper, which is gone.
            ApprovalRequest::Of(..) => ("call", None, String::new()),
        };
        ApprovalEvent {
            kind,
            agent,
            call: call.map(|call| self.call(call)),
            reason: self.redactor.text(&reason),
            places: Vec::new(),
            rules: Vec::new(),
            preview: None,
            choices: &AnswerWord::ONCE,
        }
    }

    fn call(&self, call: &ToolCall) -> Value {
        let arguments = self.redactor.value(call.arguments.clone());
        json!({"id": call.id, "tool": call.tool, "arguments": arguments})
    }
}

fn not_open(question: u64) -> String {
    format!("question {question} is not open")
}

/// A question that a call waits for. It is withdrawn if the call ends without the answer.
struct AwaitedAnswer<'a> {
    questions: &'a OpenQuestions,
    number: u64,
}

impl Drop for AwaitedAnswer<'_> {
    fn drop(&mut self) {
        let withdrawn = self.questions.open().remove(&self.number).is_some();
        if withdrawn {
            emit(&ControlEvent::Withdrawn { question: self.number });
        }
    }
}

impl Approver for RunControl {
    fn decide<'a>(&'a self, asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        Box::pin(self.questions.decide(asked))
    }

    fn answer<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxedFuture<'a, Option<String>> {
        Box::pin(self.questions.inquire(question, choices))
    }

    fn editor(&self) -> EditorFiles {
        EditorFiles(Some(self.editor.clone()))
    }
}
