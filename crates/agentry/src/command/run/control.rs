//! Another program steers a run with `--control`: it writes commands to standard input and reads events from
//! standard output, one JSON object per line each. Editors and servers run agents this way.

mod approver;
mod open_editor;
mod protocol;

use std::io::{self, BufRead as _, Read as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use agentry_runtime::driver::BrokenRun;
use agentry_runtime::redact::Redactor;
use agentry_runtime::{RunEnding, RunPhase};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::session::RunSession;
use super::stop::StopSwitch;
use crate::args::{AskFallback, RunFormat};
use crate::output::{CliFailure, print};
use approver::OpenQuestions;
use open_editor::OpenEditor;
use protocol::{ControlCommand, ControlEvent};

/// The size limit of a command: more than the largest prompt that standard input may bring.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// A message, and its number.
type NumberedMessage = (u64, String);
/// The number of the prompt.
const PROMPT: u64 = 1;

/// The program that steers a run.
pub(crate) struct RunControl {
    questions: OpenQuestions,
    editor: Arc<OpenEditor>,
    /// Messages that wait for the end of the turn; closed when no more can come.
    inbox: Mutex<Option<UnboundedSender<NumberedMessage>>>,
    messages: tokio::sync::Mutex<UnboundedReceiver<NumberedMessage>>,
    /// The number of the last message that came; the prompt is the first.
    received: AtomicU64,
    /// The number of the last message whose turn was cancelled.
    cancelled: AtomicU64,
    stop: OnceLock<Arc<StopSwitch>>,
}

impl RunControl {
    /// Starts to read commands. Without the program, questions are answered as `on_ask` says.
    pub(super) fn open(on_ask: AskFallback, redactor: Arc<Redactor>) -> Arc<Self> {
        let (inbox, messages) = unbounded_channel();
        let control = Arc::new(Self {
            questions: OpenQuestions::new(on_ask, redactor),
            editor: Arc::default(),
            inbox: Mutex::new(Some(inbox)),
            messages: tokio::sync::Mutex::new(messages),
            received: AtomicU64::new(PROMPT),
            cancelled: AtomicU64::new(0),
            stop: OnceLock::new(),
        });
        let reader = Arc::clone(&control);
        // A thread of its own: a read of standard input cannot be cancelled.
        thread::spawn(move || reader.read_commands());
        control
    }

    /// Sets the switch by which `cancel` and `stop` reach the run.
    pub(super) fn stop_by(&self, stop: &Arc<StopSwitch>) {
        let _ = self.stop.set(Arc::clone(stop));
    }

    /// The program has disconnected: the current turn continues without it.
    pub(super) fn leave(&self) {
        self.close_inbox();
        self.questions.leave();
        self.editor.leave();
    }

    fn close_inbox(&self) {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn read_commands(&self) {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(MOST_BYTES + 1).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                // The rest of the line would be read as another command.
                Ok(_) if line.len() as u64 > MOST_BYTES => {
                    emit(&ControlEvent::Rejected { why: "a command is longer than 4 MiB" });
                    break;
                }
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => match serde_json::from_slice(&line) {
                    Ok(command) => self.obey(command),
                    Err(error) => emit(&ControlEvent::Rejected { why: &error.to_string() }),
                },
            }
        }
        self.leave();
    }

    fn obey(&self, command: ControlCommand) {
        let done = match command {
            ControlCommand::Message { text } => self.receive(text),
            ControlCommand::Answer { question, answer, reason } => {
                self.questions.answer(question, answer.into_reply(reason))
            }
            ControlCommand::Reply { question, text } => self.questions.reply(question, text),
            ControlCommand::Editor(offer) => {
                self.editor.offer(offer);
                Ok(())
            }
            ControlCommand::File { request, text, error } => {
                let answer = error.map_or_else(|| Ok(text.unwrap_or_default()), Err);
                self.editor.answer(request, answer)
            }
            ControlCommand::Cancel => {
                let last = self.received.load(Ordering::SeqCst);
                self.cancelled.store(last, Ordering::SeqCst);
                self.stop_with(StopSwitch::stop_turn)
            }
            ControlCommand::Stop => self.stop_with(StopSwitch::end),
            ControlCommand::Park => {
                self.questions.park();
                Ok(())
            }
            ControlCommand::End => {
                self.close_inbox();
                Ok(())
            }
        };
        if let Err(why) = done {
            emit(&ControlEvent::Rejected { why: &why });
        }
    }

    fn receive(&self, text: String) -> Result<(), String> {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.received.fetch_add(1, Ordering::SeqCst) + 1;
        let sent = inbox.as_ref().is_some_and(|inbox| inbox.send((number, text)).is_ok());
        if sent { Ok(()) } else { Err("this run takes no further message".to_owned()) }
    }

    fn stop_with(&self, act: fn(&StopSwitch)) -> Result<(), String> {
        let stop = self.stop.get().ok_or("the run has not begun")?;
        act(stop);
        Ok(())
    }

    /// The next message; `None` if there will be none.
    async fn message(&self) -> Option<NumberedMessage> {
        self.messages.lock().await.recv().await
    }

    /// Cancels a turn whose cancellation came before it began, which would be lost otherwise.
    fn cancel_early(&self, number: u64) {
        if self.cancelled.load(Ordering::SeqCst) >= number {
            let _ = self.stop_with(StopSwitch::stop_turn);
        }
    }
}

/// Carries out the prompt, and then each message, until the program ends the conversation. Returns how the
/// last turn ended.
pub(super) async fn converse(
    session: &mut RunSession<'_>,
    control: &RunControl,
    prompt: Option<String>,
) -> Result<Option<RunEnding>, BrokenRun> {
    let (mut next, mut last) = (prompt.map(|text| (PROMPT, text)), None);
    loop {
        let (number, text) = match next.take() {
            Some(message) => message,
            None => tokio::select! {
                message = control.message() => match message {
                    Some(message) => message,
                    // The end of a conversation is a normal end, even after a cancelled turn.
                    None => return Ok(last.filter(|ending| *ending != RunEnding::Cancelled)),
                },
                () = session.stop.ended() => return Ok(Some(RunEnding::Cancelled)),
            },
        };
        session.stop.anew();
        // The turn begins first; then it can be cancelled.
        let turn = session.send_message(text);
        let (ending, ()) = tokio::join!(biased; turn, async { control.cancel_early(number) });
        last = Some(ending?);
        // A reached limit, a failure or a parked question ends the run, not only the turn.
        if matches!(session.driver.state().phase, RunPhase::Ended(_)) {
            return Ok(last);
        }
    }
}

/// Refuses `--control` with output for a person: the program reads standard output.
pub(crate) fn check_format(is_controlled: bool, format: RunFormat) -> Result<(), CliFailure> {
    if !is_controlled || format == RunFormat::Json {
        return Ok(());
    }
    let message = "`--control` is for programs, which read events";
    Err(CliFailure::new(message).hint("add `--format json`"))
}

/// Reports to the program why the run did not begin.
pub(crate) fn report_refusal(failure: &CliFailure) {
    let CliFailure { message, details, hint, .. } = failure;
    emit(&ControlEvent::Refused { message, details, hint: hint.as_deref() });
}

/// Reports the output of the function that the run carried out.
pub(super) fn report_output(output: &Value) {
    emit(&ControlEvent::Output { output });
}

fn emit(event: &ControlEvent<'_>) {
    let line = serde_json::to_string(event).unwrap_or_default();
    print(&format!("{line}\n"));
}
