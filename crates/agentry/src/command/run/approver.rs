//! Asks the user at the terminal: shows the exact call, the rule and a preview, and reads the decision.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentry_compile::NotifySettings;
use agentry_runtime::ToolCall;
use agentry_runtime::approval::ALL_EDITS;
use agentry_runtime::driver::interfaces::{ApprovalReply, ApprovalRequest, Approver, CallDecision};
use agentry_runtime::tool::BoxedFuture;
use rustyline::error::ReadlineError;

use super::call_user::call_user;
use super::call_words::{call_title, call_words, other_arguments, preview_lines};
use super::line_editor::{self, LineEditor, TypedInput};
use super::screen::TerminalSize;
use super::screen::keyboard::{KeyListener, Keyboard};
use super::screen::styled_line::{StyledLine, TextLook};
use super::stop::StopSwitch;
use super::terminal::TerminalView;
use super::typed_lines::{KeyMeaning, OFFER_INDENT, OfferedAnswer};
use crate::output::print;

/// An answer to a question, and what the user sees of it.
struct AnswerChoice {
    offer: OfferedAnswer,
    /// The word that chooses it as well as its letter.
    word: &'static str,
    /// What it covers.
    covers: String,
    reply: ApprovalReply,
}

impl AnswerChoice {
    const fn new(
        [key, word, label]: [&'static str; 3],
        covers: String,
        reply: ApprovalReply,
    ) -> Self {
        Self { offer: OfferedAnswer { key, label }, word, covers, reply }
    }
}

/// Where a remembered approval holds.
const STANDING: &str = "in every run of this agent here, until its policy changes";

/// The answers, in the order of their reach. Only some calls have those that remember something.
fn choices(decision: Option<&CallDecision>) -> Vec<AnswerChoice> {
    // Only a model reads a reason.
    let no = decision.map_or("", |_| ": what you type after it is the reason").to_owned();
    let mut choices = vec![
        AnswerChoice::new(["y", "yes", "yes"], String::new(), ApprovalReply::Yes),
        AnswerChoice::new(["n", "no", "no"], no, ApprovalReply::No(None)),
    ];
    if let Some(decision) = decision {
        let (has_rules, has_exact) = (!decision.rules.is_empty(), !decision.exact.is_empty());
        let mut add = |is_offered: bool, words, covers: String, reply| {
            choices.extend(is_offered.then(|| AnswerChoice::new(words, covers, reply)));
        };
        let exact = ["e", "exact", "always for exactly this call"];
        add(has_exact, exact, ", in this run".to_owned(), ApprovalReply::AlwaysExact);
        let rules = format!(": {}", decision.rules.join("; "));
        let always = ["a", "always", "always in this run"];
        // What it covers is named once, on the answer that remembers it for the shortest time.
        let standing = if has_exact { ": the same".to_owned() } else { format!("{rules},") };
        add(has_rules && has_exact, always, rules, ApprovalReply::AlwaysRules);
        let (edits, covered) = (["d", "edits", "all edits in this run"], format!(": {ALL_EDITS}"));
        add(decision.offer.all_edits, edits, covered, ApprovalReply::AllEdits);
        let (remember, covers) = (["r", "remember", "remember"], format!("{standing} {STANDING}"));
        add(decision.offer.standing && has_rules, remember, covers, ApprovalReply::Remember);
    }
    let later = ": `agentry resume` asks again".to_owned();
    choices.push(AnswerChoice::new(["l", "later", "later"], later, ApprovalReply::Park));
    choices
}

/// The line that an answer is typed in.
const ANSWER: &str = "answer › ";

/// Approvals by the user at this terminal.
pub(crate) struct TerminalApprover {
    pub(super) lines: LineEditor,
    terminal: Arc<Mutex<TerminalView>>,
    /// Reads keys while the run works; `None` where there is no live region.
    keyboard: Option<Keyboard>,
    stop: Arc<OnceLock<Arc<StopSwitch>>>,
    /// How the user is called to a question; not at all if nothing says it.
    notify: OnceLock<NotifySettings>,
    /// Paths in it are shown relative to it.
    workspace: OnceLock<PathBuf>,
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
        let (notify, workspace) = (OnceLock::new(), OnceLock::new());
        Ok(Self { lines, terminal, keyboard, stop, notify, workspace, asking })
    }

    /// Sets the switch by which Ctrl-C at a question stops the turn.
    pub(super) fn stop_by(&self, stop: &Arc<StopSwitch>) {
        let _ = self.stop.set(Arc::clone(stop));
    }

    /// Sets how the user is called to a question, and the workspace that it is about.
    pub(crate) fn work_in(&self, workspace: &Path, notify: NotifySettings) {
        let _ = self.notify.set(notify);
        let _ = self.workspace.set(workspace.to_path_buf());
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
        let input = self.lines.read(prompt, draft).await;
        self.view().screen.continue_below();
        input
    }

    /// Shows a question and reads the answer to it. Until then the run prints nothing: other calls may
    /// still be under way, and their results would separate the question from its answer.
    async fn ask(&self, question: &[StyledLine], choices: &[AnswerChoice]) -> TypedInput {
        let offers: Vec<_> = choices.iter().map(|it| (it.offer, self.short(&it.covers))).collect();
        let Some(keyboard) = &self.keyboard else {
            return self.ask_by_line(question, &offers).await;
        };
        let answer = {
            let mut view = self.view();
            view.hold();
            view.show(question);
            view.draw();
            // The question is on the screen: what is typed from now on is an answer to it. The choices
            // follow, so that the user who sees them can answer.
            line_editor::discard_typed();
            let answer = view.typed.open(ANSWER, offers);
            view.draw();
            self.call_user();
            answer
        };
        let _open = OpenedQuestion(&self.terminal);
        keyboard.resume();
        answer.await.unwrap_or(TypedInput::End)
    }

    /// Asks where there is no live region.
    async fn ask_by_line(
        &self,
        question: &[StyledLine],
        offers: &[(OfferedAnswer, String)],
    ) -> TypedInput {
        self.view().hold();
        let _open = OpenedQuestion(&self.terminal);
        let columns = TerminalSize::now().columns - 1;
        let line = |(OfferedAnswer { key, label }, covers): &(OfferedAnswer, String)| {
            let line = StyledLine::new(TextLook::Plain, &format!("  {key}  {label}{covers}"));
            line.rows_below(columns, OFFER_INDENT)
        };
        let lines = question.iter().cloned().chain(offers.iter().flat_map(line));
        let lines: Vec<String> = lines.map(|line| line.painted(false)).collect();
        print(&format!("{}\n", lines.join("\n")));
        line_editor::discard_typed();
        self.call_user();
        self.lines.read(ANSWER, String::new()).await
    }

    /// A text that names files of the workspace by their relative paths.
    fn short(&self, text: &str) -> String {
        short_paths(text, self.workspace.get())
    }

    /// Handles Esc or Ctrl-C at a question: it stops the turn.
    fn interrupt(&self) {
        self.stop.get().iter().for_each(|stop| stop.stop_turn());
    }

    async fn choose(&self, question: &[StyledLine], choices: Vec<AnswerChoice>) -> ApprovalReply {
        let again = [StyledLine::new(TextLook::Warning, "please answer with one of the letters")];
        let mut question = question;
        loop {
            let line = match self.ask(question, &choices).await {
                TypedInput::Line(line) => line,
                TypedInput::Interrupt => {
                    self.interrupt();
                    return ApprovalReply::No(None);
                }
                // Ctrl-D is no decision: the run is parked, and `resume` asks again.
                TypedInput::End => return ApprovalReply::Park,
            };
            let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            let (word, why) = (word.to_lowercase(), rest.trim());
            let is_chosen = |it: &&AnswerChoice| word == it.offer.key || word == it.word;
            match choices.iter().find(is_chosen).map(|chosen| &chosen.reply) {
                Some(ApprovalReply::No(_)) if !why.is_empty() => {
                    return ApprovalReply::No(Some(why.to_owned()));
                }
                Some(reply) => return reply.clone(),
                None => question = &again,
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
    let words = call_title(&call.tool, &call.arguments);
    let title = StyledLine::new(TextLook::Warning, "may it run? ").with(TextLook::Bold, &words);
    let mut lines = vec![StyledLine::default(), title];
    let others = other_arguments(&call.arguments, preview.is_some());
    lines.extend(others.iter().map(|line| StyledLine::new(TextLook::Plain, &format!("  {line}"))));
    lines.extend(preview.map(|diff| preview_lines(call, diff)).unwrap_or_default());
    let columns = TerminalSize::now().columns - 1;
    let mut add = |label: &str, text: &str| {
        let line = StyledLine::new(TextLook::Dim, label).with(TextLook::Plain, text);
        lines.extend(line.rows_below(columns, 2));
    };
    add("why you are asked: ", &decision.reason);
    if !decision.places.is_empty() {
        add("written at: ", &decision.places.join(", "));
    }
    lines
}

/// A text that names files of the workspace by their relative paths. Only a quoted path is shortened, and only
/// at its start, so that it cannot be taken for another one.
pub(super) fn short_paths(text: &str, workspace: Option<&PathBuf>) -> String {
    let Some(workspace) = workspace.and_then(|it| it.to_str()).filter(|it| it.len() > 1) else {
        return text.to_owned();
    };
    text.replace(&format!("`{workspace}/"), "`")
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
                    let reason = self.short(&decision.reason);
                    question.extend(call_text(
                        call,
                        &CallDecision { reason, ..decision.clone() },
                        preview,
                    ));
                    // A human gate has nothing that a wider approval could cover.
                    return self.choose(&question, choices(Some(decision))).await;
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
            self.choose(&question, choices(None)).await
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
            let line = match self.ask(&lines, &[]).await {
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
