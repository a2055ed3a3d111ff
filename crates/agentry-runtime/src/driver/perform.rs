//! One effect each.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;

use super::output::Output;
use super::parts::{Asked, Decision, Models, Person, Prompt, Said, Sink, TooMuch, Tools};
use super::wait::{chance, jittered};
use super::{Broken, Driver, compact};
use crate::approval::Approvals;
use crate::context::BYTES_A_TOKEN;
use crate::conversation::{Call, Message, Usage};
use crate::event::{Answer, Event, Failure, FailureKind, Judgement, Turn};
use crate::provider::Delta;
use crate::redact::{Redactor, Stream};
use crate::state::Phase;
use crate::step::{Effect, Question};
use crate::tool::ToolSpec;

impl Driver {
    /// Carries out one effect, or sets it going.
    pub(super) async fn perform(&mut self, effect: Effect) -> Result<(), Broken> {
        match effect {
            Effect::Ask { model } => return self.ask(model),
            Effect::Judge { id } => return self.judge(&id),
            Effect::Put(question) => self.put(question),
            Effect::Run { id } => return self.run(id),
            Effect::Wait { time } => {
                // A replay does not wait, and says what was recorded.
                let time = if self.parts.waits { jittered(time, chance()) } else { time };
                (self.parts.output)(Output::Waiting { time });
                let time = if self.parts.waits { time } else { 0 };
                self.tasks.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(time)).await;
                    Event::Waited
                });
            }
            Effect::Compact { messages } => return self.compact(messages),
            Effect::Stop => self.stop().await,
            // The loop ends there.
            Effect::Finish(_) => {}
        }
        Ok(())
    }

    fn ask(&mut self, model: usize) -> Result<(), Broken> {
        if !self.may_send(model, self.state.estimate(self.beside))? {
            return Ok(());
        }
        let asking = Asking {
            models: Arc::clone(&self.parts.models),
            tools: Arc::clone(&self.parts.tools),
            system: Arc::clone(&self.parts.system),
            shown: Shown::new(&self.parts.redactor, &self.parts.output, &self.heard),
            messages: Arc::clone(&self.state.messages),
            model,
        };
        self.tasks.spawn(caught(asking.turn(), |why| Event::TurnFailed(broken(&why))));
        Ok(())
    }

    /// Writes down what a question uses up at least; says whether it may be sent.
    fn may_send(&mut self, model: usize, reading: Usage) -> Result<bool, Broken> {
        let phase = self.state.phase.clone();
        self.heard.store(0, Ordering::Relaxed);
        let usage = self.parts.models.estimate(model, reading);
        self.happen(Event::Asking { usage })?;
        Ok(self.state.phase == phase)
    }

    /// Writes down how much of an answer was heard that is about to be stopped.
    pub(super) fn stopping(&mut self) -> Result<(), Broken> {
        let output = self.heard.swap(0, Ordering::Relaxed).div_ceil(BYTES_A_TOKEN as u64);
        let known = self.state.asking.filter(|_| self.state.phase == Phase::Asking);
        // What is played was not heard now.
        let Some(known) = known.filter(|_| output > 0 && self.parts.waits) else { return Ok(()) };
        let usage = Usage { output, ..known };
        let usage = self.parts.models.estimate(self.state.model, usage);
        self.happen(Event::Asking { usage })
    }

    fn compact(&mut self, messages: usize) -> Result<(), Broken> {
        let (model, window) = (self.state.model, self.state.window);
        let all = Arc::clone(&self.state.messages);
        let reading = compact::reading(all.get(..messages).unwrap_or(&all), window);
        if !self.may_send(model, reading)? {
            return Ok(());
        }
        let models = Arc::clone(&self.parts.models);
        let work = async move {
            let said = all.get(..messages).unwrap_or(&all);
            models.compact(TooMuch { model, window, said }).await
        };
        self.tasks.spawn(caught(work, |why| Event::TurnFailed(broken(&why))));
        Ok(())
    }

    /// Asks the policy about a call.
    fn judge(&mut self, id: &str) -> Result<(), Broken> {
        let Some(call) = self.call(id) else { return Ok(()) };
        let decision = self.approvals.weighed(self.parts.tools.judge(&call));
        self.parts.tools.judged(&call, &decision);
        let Decision { verdict, reason, class, .. } = decision;
        self.happen(Event::Judged { id: id.to_owned(), verdict, reason, class })
    }

    /// Writes down that a call runs, then runs it.
    fn run(&mut self, id: String) -> Result<(), Broken> {
        let Some(call) = self.call(&id) else { return Ok(()) };
        self.happen(Event::Started { id: id.clone() })?;
        let tools = Arc::clone(&self.parts.tools);
        let work = {
            let id = id.clone();
            async move {
                let output = tools.run(&call).await;
                Event::Ended { id, text: output.text, failed: output.failed }
            }
        };
        self.tasks.spawn(caught(work, move |why| Event::Ended {
            id,
            text: format!("a defect in the tool: {why}"),
            failed: true,
        }));
        Ok(())
    }

    /// Asks the person.
    fn put(&mut self, question: Question) {
        let id = match &question {
            Question::Call { id, .. }
            | Question::Unfinished { id }
            | Question::Failed { id, .. } => Some(id.clone()),
            Question::Limit { .. } | Question::Models { .. } => None,
        };
        let call = id.as_deref().and_then(|id| self.call(id));
        let putting = Putting {
            person: Arc::clone(&self.parts.person),
            tools: Arc::clone(&self.parts.tools),
            approvals: Arc::clone(&self.approvals),
            question,
            call,
        };
        let asking = Arc::clone(&self.asking);
        let about = id.clone();
        let work = async move {
            let _turn = asking.lock().await;
            let answer = putting.answer().await;
            // The next question may be settled by this answer.
            putting.approvals.note(&answer);
            Event::Answered { id: about, answer }
        };
        self.tasks.spawn(caught(work, move |why| Event::Answered {
            id,
            answer: Answer::No(Some(format!("nobody could be asked: {why}"))),
        }));
    }

    /// Goes on from where a call has led, so that a resumed run starts there.
    pub(super) fn moved(&mut self) -> Result<(), Broken> {
        let directory = self.parts.tools.directory();
        if self.directory != directory {
            self.directory.clone_from(&directory);
            return self.happen(Event::Moved { directory });
        }
        Ok(())
    }
}

/// One question to a model.
struct Asking {
    models: Arc<dyn Models>,
    tools: Arc<dyn Tools>,
    system: Arc<str>,
    shown: Shown,
    messages: Arc<Vec<Arc<Message>>>,
    model: usize,
}

impl Asking {
    async fn turn(mut self) -> Event {
        let tools: &[ToolSpec] = self.tools.specs();
        let prompt =
            Prompt { model: self.model, system: &self.system, messages: &self.messages, tools };
        let answered = self.models.ask(prompt, &mut |delta| self.shown.hear(delta)).await;
        self.shown.rest();
        match answered {
            Ok(turn) => Event::Turned(Turn { model: self.model, ..turn }),
            Err(failure) => Event::TurnFailed(failure),
        }
    }
}

/// An answer while it comes: a secret in it may come in two pieces.
struct Shown {
    output: Sink,
    text: Stream,
    thinking: Stream,
    /// Bytes of the answer so far.
    heard: Arc<AtomicU64>,
}

impl Shown {
    fn new(redactor: &Arc<Redactor>, output: &Sink, heard: &Arc<AtomicU64>) -> Self {
        let (text, thinking) = (redactor.words(), redactor.words());
        Self { output: Arc::clone(output), text, thinking, heard: Arc::clone(heard) }
    }

    fn hear(&mut self, delta: Delta) {
        let (Delta::Text(piece) | Delta::Thinking(piece) | Delta::Call(piece)) = &delta;
        self.heard.fetch_add(piece.len() as u64, Ordering::Relaxed);
        match delta {
            Delta::Text(piece) => {
                let rest = self.thinking.finish();
                self.thought(rest);
                let text = self.text.push(&piece);
                self.said(text);
            }
            Delta::Thinking(piece) => {
                let rest = self.text.finish();
                self.said(rest);
                let text = self.thinking.push(&piece);
                self.thought(text);
            }
            Delta::Call(tool) => {
                self.rest();
                (self.output)(Output::Calling { tool });
            }
        }
    }

    /// Nothing more comes.
    fn rest(&mut self) {
        let (thinking, text) = (self.thinking.finish(), self.text.finish());
        self.thought(thinking);
        self.said(text);
    }

    fn said(&self, text: String) {
        if !text.is_empty() {
            (self.output)(Output::Text { text });
        }
    }

    fn thought(&self, text: String) {
        if !text.is_empty() {
            (self.output)(Output::Thinking { text });
        }
    }
}

/// One question to the person.
struct Putting {
    person: Arc<dyn Person>,
    tools: Arc<dyn Tools>,
    approvals: Arc<Approvals>,
    question: Question,
    call: Option<Call>,
}

impl Putting {
    async fn answer(&self) -> Answer {
        match (&self.question, &self.call) {
            (Question::Call { .. }, Some(call)) => self.about_call(call).await,
            (Question::Unfinished { .. }, Some(call)) => {
                plain(self.person.decide(Asked::Unfinished(call)).await)
            }
            (Question::Failed { why, .. }, Some(call)) => {
                plain(self.person.decide(Asked::Failed(call, why)).await)
            }
            (Question::Limit { limit }, _) => plain(self.person.decide(Asked::Limit(limit)).await),
            (Question::Models { why }, _) => plain(self.person.decide(Asked::Models(why)).await),
            (_, None) => Answer::No(None),
        }
    }

    async fn about_call(&self, call: &Call) -> Answer {
        let decision = self.approvals.weighed(self.tools.judge(call));
        // What was asked about before may have settled this one.
        match decision.verdict {
            Judgement::Allow => return Answer::Yes,
            Judgement::Deny => return Answer::No(Some(decision.reason)),
            Judgement::Ask => {}
        }
        let preview = self.tools.preview(call);
        let asked = Asked::Call { call, decision: &decision, preview: preview.as_deref() };
        match self.person.decide(asked).await {
            Said::AlwaysRules => Answer::Always(decision.rules),
            Said::AlwaysExact => Answer::Always(vec![decision.exact]),
            said => plain(said),
        }
    }
}

fn plain(said: Said) -> Answer {
    match said {
        Said::Yes | Said::AlwaysRules | Said::AlwaysExact => Answer::Yes,
        Said::No(why) => Answer::No(why),
        Said::Park => Answer::Park,
    }
}

/// Lets a defect be an event instead of an end.
async fn caught(
    work: impl Future<Output = Event> + Send,
    otherwise: impl FnOnce(String) -> Event,
) -> Event {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(event) => event,
        Err(panic) => otherwise(words(&*panic)),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given").to_owned()
}

fn broken(why: &str) -> Failure {
    Failure::new(FailureKind::Permanent, format!("a defect in agentry: {why}"))
}
