//! Asks the user at the terminal: shows the exact call, the rule and a preview, and reads the decision.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agentry_runtime::ToolCall;
use agentry_runtime::driver::interfaces::{ApprovalReply, ApprovalRequest, Approver, CallDecision};
use agentry_runtime::tool::BoxedFuture;
use rustyline::error::ReadlineError;

use super::line_editor::{LineEditor, TypedInput};
use super::stop::StopSwitch;
use super::terminal::{TerminalView, clean};
use crate::output::print;

/// The possible answers to a call.
const CHOICES: &str =
    "[y]es  [n]o  [a]lways for this run  always for this [e]xact call  [l]ater › ";
/// The possible answers to a question that nothing remembers.
const SIMPLE_CHOICES: &str = "[y]es  [n]o  [l]ater › ";

/// Approvals by the user at this terminal.
pub(crate) struct TerminalApprover {
    pub(super) lines: LineEditor,
    terminal: Arc<Mutex<TerminalView>>,
    stop: OnceLock<Arc<StopSwitch>>,
    /// Held while a question is open: delegates ask at the same terminal.
    asking: tokio::sync::Mutex<()>,
}

impl TerminalApprover {
    pub(super) fn new(terminal: Arc<Mutex<TerminalView>>) -> Result<Self, ReadlineError> {
        let (stop, asking) = (OnceLock::new(), tokio::sync::Mutex::default());
        Ok(Self { lines: LineEditor::new()?, terminal, stop, asking })
    }

    /// Sets the switch by which Ctrl-C at a question stops the turn.
    pub(super) fn stop_by(&self, stop: &Arc<StopSwitch>) {
        let _ = self.stop.set(Arc::clone(stop));
    }

    /// Reads a line of the conversation.
    pub(super) async fn line(&self, prompt: &str) -> TypedInput {
        self.terminal.lock().unwrap_or_else(PoisonError::into_inner).close();
        self.lines.read(prompt).await
    }

    /// Shows a question and reads the answer to it. Until then the run prints nothing: other calls may
    /// still be under way, and their results would overwrite the question.
    async fn ask(&self, question: &str, prompt: &str) -> TypedInput {
        let _held = HeldView::new(&self.terminal);
        print(question);
        self.lines.discard_typed();
        self.lines.read(prompt).await
    }

    /// Handles Ctrl-C at a question: it stops the turn.
    fn interrupt(&self) {
        if let Some(stop) = self.stop.get() {
            stop.interrupt();
        }
    }

    async fn choose(&self, question: &str, prompt: &str, has_always: bool) -> ApprovalReply {
        let mut question = question;
        loop {
            let line = match self.ask(question, prompt).await {
                TypedInput::Line(line) => line,
                TypedInput::Interrupt => {
                    self.interrupt();
                    return ApprovalReply::No(None);
                }
                // Ctrl-D is no decision: the run is parked, and `resume` asks again.
                TypedInput::End => return ApprovalReply::Park,
            };
            let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            match word.to_lowercase().as_str() {
                "y" | "yes" => return ApprovalReply::Yes,
                "n" | "no" => {
                    let why = rest.trim();
                    return ApprovalReply::No((!why.is_empty()).then(|| why.to_owned()));
                }
                "a" | "always" if has_always => return ApprovalReply::AlwaysRules,
                "e" | "exact" if has_always => return ApprovalReply::AlwaysExact,
                "l" | "later" => return ApprovalReply::Park,
                _ => question = "please answer with one of the letters\n",
            }
        }
    }
}

/// While it lives, the view shows nothing. It is released even if nobody waits for the answer any more.
struct HeldView<'a>(&'a Mutex<TerminalView>);

impl<'a> HeldView<'a> {
    fn new(view: &'a Mutex<TerminalView>) -> Self {
        view.lock().unwrap_or_else(PoisonError::into_inner).hold();
        Self(view)
    }
}

impl Drop for HeldView<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).release();
    }
}

/// The text of a question about a call.
fn call_text(call: &ToolCall, decision: &CallDecision, preview: Option<&str>) -> String {
    let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
    // Everything from the model is cleaned: escape sequences could fake a question.
    let mut text = format!("\nmay `{}` run?\n{}\n", clean(&call.tool), clean(&arguments));
    if let Some(preview) = preview {
        let _ = writeln!(text, "\n{}", clean(preview));
    }
    let _ = writeln!(text, "\nwhy you are asked: {}", clean(&decision.reason));
    if !decision.places.is_empty() {
        let _ = writeln!(text, "written at: {}", clean(&decision.places.join(", ")));
    }
    if !decision.rules.is_empty() {
        let _ = writeln!(text, "[a]lways covers: {}", clean(&decision.rules.join("; ")));
    }
    text
}

impl Approver for TerminalApprover {
    fn decide<'a>(&'a self, asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        Box::pin(async move {
            let _turn = self.asking.lock().await;
            let asker = match asked {
                ApprovalRequest::Of(chain, _) => format!("\n{} asks:\n", clean(chain)),
                _ => String::new(),
            };
            let question = match asked.plain() {
                // There is only one wrapper, which is gone.
                ApprovalRequest::Of(..) => return ApprovalReply::No(None),
                ApprovalRequest::Call { call, decision, preview } => {
                    let question = format!("{asker}{}", call_text(call, decision, preview));
                    // A human gate has nothing that an approval for the run could cover.
                    if decision.rules.is_empty() && decision.exact.is_empty() {
                        return self.choose(&question, SIMPLE_CHOICES, false).await;
                    }
                    return self.choose(&question, CHOICES, true).await;
                }
                ApprovalRequest::Unfinished(call) => format!(
                    "\n`{}` was under way when the run was killed: it is not known what it \
                     did\n{}\nrun it again?",
                    clean(&call.tool),
                    clean(&call.arguments.to_string())
                ),
                ApprovalRequest::Failed(call, why) => {
                    format!("\n`{}` failed: {}\nrun it again?", clean(&call.tool), clean(why))
                }
                ApprovalRequest::Limit(limit) => {
                    format!("\nthe limit of {limit} is reached; continue?")
                }
                ApprovalRequest::Models(why) => {
                    format!("\nno model answers: {}\ntry again?", clean(why))
                }
            };
            self.choose(&format!("{asker}{question}\n"), SIMPLE_CHOICES, false).await
        })
    }

    fn answer<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxedFuture<'a, Option<String>> {
        Box::pin(async move {
            let _turn = self.asking.lock().await;
            let listed: Vec<String> = (1..)
                .zip(choices)
                .map(|(number, choice)| format!("  {number}. {}\n", clean(choice)))
                .collect();
            let question = format!("\n{}\n{}", clean(question), listed.concat());
            let line = match self.ask(&question, "answer › ").await {
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
