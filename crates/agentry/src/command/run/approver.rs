//! Asks the user at the terminal: shows the exact call, the rule and a preview, and reads the decision.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentry_compile::NotifySettings;
use agentry_runtime::ToolCall;
use agentry_runtime::approval::ALL_EDITS;
use agentry_runtime::driver::interfaces::{ApprovalReply, ApprovalRequest, Approver, CallDecision};
use agentry_runtime::tool::BoxedFuture;
use rustyline::error::ReadlineError;

use super::call_user::call_user;
use super::call_words::{call_words, diff_lines, other_arguments};
use super::line_editor::{self, LineEditor, TypedInput};
use super::screen::keyboard::{KeyListener, Keyboard};
use super::screen::styled_line::{StyledLine, TextLook};
use super::stop::StopSwitch;
use super::terminal::TerminalView;
use super::typed_lines::KeyMeaning;
use crate::output::print;

/// An answer to a question, and what the user sees of it.
struct AnswerChoice {
    /// The letter and the word that choose it.
    words: [&'static str; 2],
    label: &'static str,
    reply: ApprovalReply,
}

/// The answers that remember something, in the order of their reach.
fn wider_choices(decision: &CallDecision) -> Vec<AnswerChoice> {
    let has_rules = !decision.rules.is_empty();
    let choice = |is_offered: bool, words, label, reply| {
        is_offered.then_some(AnswerChoice { words, label, reply })
    };
    let exact = !decision.exact.is_empty();
    let (edits, standing) = (decision.offer.all_edits, decision.offer.standing && has_rules);
    let choices = [
        choice(exact, ["e", "exact"], "always for this [e]xact call", ApprovalReply::AlwaysExact),
        choice(
            has_rules && exact,
            ["a", "always"],
            "[a]lways for this run",
            ApprovalReply::AlwaysRules,
        ),
        choice(edits, ["d", "edits"], "all e[d]its in this run", ApprovalReply::AllEdits),
        choice(standing, ["r", "remember"], "[r]emember", ApprovalReply::Remember),
    ];
    choices.into_iter().flatten().collect()
}

/// The line that lists the answers.
fn prompt(choices: &[AnswerChoice]) -> String {
    let no = if choices.is_empty() { "[n]o" } else { "[n]o, with a reason if you like" };
    let wider = choices.iter().map(|choice| choice.label);
    let all: Vec<&str> = ["[y]es", no].into_iter().chain(wider).chain(["[l]ater › "]).collect();
    all.join("  ")
}

/// Approvals by the user at this terminal.
pub(crate) struct TerminalApprover {
    pub(super) lines: LineEditor,
    terminal: Arc<Mutex<TerminalView>>,
    /// Reads keys while the run works; `None` where there is no live region.
    keyboard: Option<Keyboard>,
    stop: Arc<OnceLock<Arc<StopSwitch>>>,
    /// How the user is called to a question; not at all if nothing says it.
    notify: OnceLock<NotifySettings>,
    /// Held while a question is open: delegates ask at the same terminal.
    asking: tokio::sync::Mutex<()>,
}

impl TerminalApprover {
    pub(super) fn new(terminal: Arc<Mutex<TerminalView>>) -> Result<Self, ReadlineError> {
        let (stop, asking): (Arc<OnceLock<Arc<StopSwitch>>>, _) =
            (Arc::default(), tokio::sync::Mutex::default());
        let lines = LineEditor::new()?;
        let is_live = terminal.lock().unwrap_or_else(PoisonError::into_inner).is_live();
        let keyboard = is_live.then(|| keyboard(&terminal, &stop)).transpose()?;
        Ok(Self { lines, terminal, keyboard, stop, notify: OnceLock::new(), asking })
    }

    /// Sets the switch by which Ctrl-C at a question stops the turn.
    pub(super) fn stop_by(&self, stop: &Arc<StopSwitch>) {
        let _ = self.stop.set(Arc::clone(stop));
    }

    /// Sets how the user is called to a question.
    pub(crate) fn notify_by(&self, notify: NotifySettings) {
        let _ = self.notify.set(notify);
    }

    fn call_user(&self) {
        self.notify.get().copied().into_iter().for_each(call_user);
    }

    /// Takes keys while the run works.
    pub(super) fn take_keys(&self) {
        self.keyboard.iter().for_each(Keyboard::resume);
    }

    /// Leaves the keys to another reader.
    pub(super) fn leave_keys(&self) {
        self.keyboard.iter().for_each(Keyboard::pause);
    }

    /// Reads a line of the conversation: first what was typed while the run worked.
    pub(super) async fn line(&self, prompt: &str) -> TypedInput {
        self.leave_keys();
        let draft = {
            let mut view = self.view();
            view.leave();
            view.typed.can_queue = true;
            if let Some(line) = view.typed.next_message() {
                view.show(&[StyledLine::new(TextLook::Plain, &format!("{prompt}{line}"))]);
                view.draw();
                return TypedInput::Line(line);
            }
            view.typed.take_draft()
        };
        self.lines.read(prompt, draft).await
    }

    /// Shows a question and reads the answer to it. Until then the run prints nothing: other calls may
    /// still be under way, and their results would separate the question from its answer.
    async fn ask(&self, question: &[StyledLine], prompt: &str) -> TypedInput {
        let Some(keyboard) = &self.keyboard else {
            return self.ask_by_line(question, prompt).await;
        };
        let answer = {
            let mut view = self.view();
            view.hold();
            view.show(question);
            view.draw();
            // The question is on the screen: what is typed from now on is an answer to it. The choices
            // follow, so that the user who sees them can answer.
            line_editor::discard_typed();
            let answer = view.typed.open(prompt);
            view.draw();
            self.call_user();
            answer
        };
        let _open = OpenedQuestion(&self.terminal);
        keyboard.resume();
        answer.await.unwrap_or(TypedInput::End)
    }

    /// Asks where there is no live region.
    async fn ask_by_line(&self, question: &[StyledLine], prompt: &str) -> TypedInput {
        self.view().hold();
        let _open = OpenedQuestion(&self.terminal);
        let lines = question.iter().map(|line| format!("{}\n", line.painted(false)));
        print(&lines.collect::<String>());
        line_editor::discard_typed();
        self.call_user();
        self.lines.read(prompt, String::new()).await
    }

    /// Handles Esc or Ctrl-C at a question: it stops the turn.
    fn interrupt(&self) {
        self.stop.get().iter().for_each(|stop| stop.stop_turn());
    }

    async fn choose(&self, question: &[StyledLine], choices: Vec<AnswerChoice>) -> ApprovalReply {
        let prompt = prompt(&choices);
        let again = [StyledLine::new(TextLook::Warning, "please answer with one of the letters")];
        let mut question = question;
        loop {
            let line = match self.ask(question, &prompt).await {
                TypedInput::Line(line) => line,
                TypedInput::Interrupt => {
                    self.interrupt();
                    return ApprovalReply::No(None);
                }
                // Ctrl-D is no decision: the run is parked, and `resume` asks again.
                TypedInput::End => return ApprovalReply::Park,
            };
            let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            let word = word.to_lowercase();
            let is_chosen = |choice: &&AnswerChoice| choice.words.contains(&word.as_str());
            if let Some(chosen) = choices.iter().find(is_chosen) {
                return chosen.reply.clone();
            }
            match word.as_str() {
                "y" | "yes" => return ApprovalReply::Yes,
                "n" | "no" => {
                    let why = rest.trim();
                    return ApprovalReply::No((!why.is_empty()).then(|| why.to_owned()));
                }
                "l" | "later" => return ApprovalReply::Park,
                _ => question = &again,
            }
        }
    }

    fn view(&self) -> MutexGuard<'_, TerminalView> {
        self.terminal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The keyboard of a view. Esc stops the turn.
fn keyboard(
    terminal: &Arc<Mutex<TerminalView>>,
    stop: &Arc<OnceLock<Arc<StopSwitch>>>,
) -> std::io::Result<Keyboard> {
    let (view, stop) = (Arc::downgrade(terminal), Arc::clone(stop));
    let epoch = terminal.lock().unwrap_or_else(PoisonError::into_inner).typed.epoch();
    Keyboard::new(KeyListener {
        before: Box::new(move || epoch.load(Ordering::SeqCst)),
        hears: Box::new(move |at, key| {
            let Some(view) = view.upgrade() else { return };
            let mut view = view.lock().unwrap_or_else(PoisonError::into_inner);
            match view.typed.press(at, key) {
                KeyMeaning::Typed => view.draw(),
                KeyMeaning::Expand => view.expand(None),
                KeyMeaning::Stop => {
                    drop(view);
                    stop.get().iter().for_each(|stop| stop.stop_turn());
                }
            }
        }),
    })
}

/// A question on the screen. It is closed even if the answer is no longer awaited.
struct OpenedQuestion<'a>(&'a Mutex<TerminalView>);

impl Drop for OpenedQuestion<'_> {
    fn drop(&mut self) {
        let mut view = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answered) = view.typed.close() {
            view.show(&[answered]);
        }
        view.release();
        view.draw();
    }
}

/// The text of a question about a call: everything that the answer is about.
fn call_text(call: &ToolCall, decision: &CallDecision, preview: Option<&str>) -> Vec<StyledLine> {
    let words = call_words(&call.tool, &call.arguments);
    let title = StyledLine::new(TextLook::Warning, "may it run? ").with(TextLook::Bold, &words);
    let mut lines = vec![StyledLine::default(), title];
    let others = other_arguments(&call.arguments, preview.is_some());
    lines.extend(others.iter().map(|line| StyledLine::new(TextLook::Plain, &format!("  {line}"))));
    lines.extend(preview.map(diff_lines).unwrap_or_default());
    let mut add = |label: &str, text: &str| {
        lines.push(StyledLine::new(TextLook::Dim, label).with(TextLook::Plain, text));
    };
    add("why you are asked: ", &decision.reason);
    if !decision.places.is_empty() {
        add("written at: ", &decision.places.join(", "));
    }
    if !decision.rules.is_empty() {
        add("[a]lways covers: ", &decision.rules.join("; "));
    }
    if decision.offer.all_edits {
        add("all e[d]its covers: ", ALL_EDITS);
    }
    if decision.offer.standing && !decision.rules.is_empty() {
        add("[r]emember covers: ", "the same in every run of this agent, until its policy changes");
    }
    lines
}

/// A question in plain lines.
fn plain_text(text: &str) -> Vec<StyledLine> {
    text.lines().map(|line| StyledLine::new(TextLook::Plain, line)).collect()
}

impl Approver for TerminalApprover {
    fn decide<'a>(&'a self, asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        Box::pin(async move {
            let _turn = self.asking.lock().await;
            let mut question = match asked {
                ApprovalRequest::Of(chain, _) => plain_text(&format!("\n{chain} asks:")),
                _ => Vec::new(),
            };
            let text = match asked.plain() {
                // There is only one wrapper, which is gone.
                ApprovalRequest::Of(..) => return ApprovalReply::No(None),
                ApprovalRequest::Call { call, decision, preview } => {
                    question.extend(call_text(call, decision, preview));
                    // A human gate has nothing that a wider approval could cover.
                    return self.choose(&question, wider_choices(decision)).await;
                }
                ApprovalRequest::Unfinished(call) => format!(
                    "\n`{}` was under way when the run was killed: it is not known what it did\n\
                     {}\nrun it again?",
                    call.tool,
                    call_words(&call.tool, &call.arguments)
                ),
                ApprovalRequest::Failed(call, why) => {
                    format!("\n`{}` failed: {why}\nrun it again?", call.tool)
                }
                ApprovalRequest::Limit(limit) => {
                    format!("\nthe limit of {limit} is reached; continue?")
                }
                ApprovalRequest::Models(why) => {
                    format!("\nno model answers: {why}\ntry again?")
                }
            };
            question.extend(plain_text(&text));
            self.choose(&question, Vec::new()).await
        })
    }

    fn answer<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxedFuture<'a, Option<String>> {
        Box::pin(async move {
            let _turn = self.asking.lock().await;
            let mut lines = plain_text(&format!("\n{question}"));
            for (number, choice) in (1..).zip(choices) {
                lines.push(StyledLine::new(TextLook::Plain, &format!("  {number}. {choice}")));
            }
            let line = match self.ask(&lines, "answer › ").await {
                TypedInput::Line(line) => line,
                TypedInput::Interrupt => {
                    self.interrupt();
                    return None;
                }
                TypedInput::End => return None,
            };
            let chosen = line.trim().parse::<usize>().ok().and_then(|it| it.checked_sub(1));
            let chosen = chosen.and_then(|at| choices.get(at)).cloned();
            Some(chosen.unwrap_or(line)).filter(|answer| !answer.trim().is_empty())
        })
    }
}
