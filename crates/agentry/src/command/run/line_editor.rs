//! Reads lines that the user types. The terminal is always restored, however the program ends.

use std::sync::{Arc, Mutex, PoisonError};

use agentry_posix::terminal::{self, TerminalSettings};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor, ExternalPrinter};

use super::line_helper::LineHelper;
use super::prepared_agent::variable;
use super::screen::plain_signs::{needs_plain_signs, with_plain_signs};
use crate::output::print;

/// What was typed.
#[derive(Debug)]
pub(super) enum TypedInput {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    End,
}

/// The milliseconds that the rest of an escape sequence may take. Without a limit, the letter after Esc is a shortcut.
const SEQUENCE_TIME: u16 = 100;

type TalkEditor = Editor<LineHelper, FileHistory>;

/// A terminal that lines are read from.
#[derive(Clone)]
pub(super) struct LineEditor {
    editor: Arc<Mutex<TalkEditor>>,
    /// The terminal settings before the first read.
    found: Option<TerminalSettings>,
    /// While it exists, a signal interrupts the wait for a key. `None` where lines are not edited.
    waker: Option<Arc<dyn ExternalPrinter + Send + Sync>>,
}

impl LineEditor {
    pub(super) fn new() -> Result<Self, ReadlineError> {
        let found = TerminalSettings::current();
        let config = Config::builder().keyseq_timeout(Some(SEQUENCE_TIME)).build();
        let mut editor = TalkEditor::with_config(config)?;
        editor.set_helper(Some(LineHelper::default()));
        let waker = editor.create_external_printer().ok();
        let waker = waker.map(|it| Arc::new(it) as Arc<dyn ExternalPrinter + Send + Sync>);
        Ok(Self { editor: Arc::new(Mutex::new(editor)), found, waker })
    }

    /// Reads the next line without blocking the runtime.
    pub(super) async fn read(&self, prompt: &str, typed: String) -> TypedInput {
        let (lines, prompt) = (self.clone(), prompt.to_owned());
        let read = tokio::task::spawn_blocking(move || lines.wait_with(&prompt, &typed));
        read.await.unwrap_or(TypedInput::End)
    }

    /// Reads the next line and blocks the thread.
    pub(super) fn wait(&self, prompt: &str) -> TypedInput {
        self.wait_with(prompt, "")
    }

    /// Like [`LineEditor::wait`], with text that stands in the line already.
    pub(super) fn wait_with(&self, prompt: &str, typed: &str) -> TypedInput {
        let is_plain = needs_plain_signs(&variable);
        let prompt = if is_plain { with_plain_signs(prompt) } else { prompt.to_owned() };
        match self.editor().readline_with_initial(&prompt, (typed, "")) {
            // A line that ends with a backslash continues in the next one.
            Ok(line) => TypedInput::Line(line.replace("\\\n", "\n")),
            Err(ReadlineError::Interrupted) => TypedInput::Interrupt,
            Err(_) => TypedInput::End,
        }
    }

    /// Restores the terminal, and returns whether a read was still waiting. The line of that read is
    /// discarded.
    pub(super) fn restore(&self) -> bool {
        const NO_BRACKETED_PASTE: &str = "\x1b[?2004l";
        // A locked editor means that a read is waiting.
        let is_waiting = self.editor.try_lock().is_err();
        let Some(found) = &self.found else { return false };
        if is_waiting && self.waker.is_some() {
            print(NO_BRACKETED_PASTE);
        }
        found.restore() && is_waiting
    }

    /// Sets what Tab completes: these words, and files below a directory.
    pub(super) fn complete(&self, words: Vec<String>, directory: &std::path::Path) {
        self.editor().set_helper(Some(LineHelper::new(words, directory)));
    }

    /// Loads the history of earlier conversations.
    pub(super) fn history(&self, path: &std::path::Path) {
        let _ = self.editor().load_history(path);
    }

    /// Adds a line to the history.
    pub(super) fn remember(&self, line: &str, path: &std::path::Path) {
        let mut editor = self.editor();
        let _ = editor.add_history_entry(line);
        let _ = editor.save_history(path);
    }

    fn editor(&self) -> std::sync::MutexGuard<'_, TalkEditor> {
        self.editor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Discards the keys that were pressed before now: none of them may answer a question that was not on the
/// screen yet. The editor itself keeps no keys from one read to the next.
pub(super) fn discard_typed() {
    terminal::discard_keys();
}
