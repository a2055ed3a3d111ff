//! Reads lines that the user types. The terminal is always restored, however the program ends.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};

use crate::output::print;

/// What was typed.
pub(super) enum TypedInput {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    End,
}

/// A terminal that lines are read from.
#[derive(Clone)]
pub(super) struct LineEditor {
    editor: Arc<Mutex<DefaultEditor>>,
    /// The terminal settings before the first read.
    found: Option<Termios>,
    /// While it exists, a signal interrupts the wait for a key. `None` where lines are not edited.
    waker: Option<Arc<dyn ExternalPrinter + Send + Sync>>,
}

impl LineEditor {
    pub(super) fn new() -> Result<Self, ReadlineError> {
        let found = tcgetattr(io::stdin()).ok();
        let mut editor = DefaultEditor::new()?;
        let waker = editor.create_external_printer().ok();
        let waker = waker.map(|it| Arc::new(it) as Arc<dyn ExternalPrinter + Send + Sync>);
        Ok(Self { editor: Arc::new(Mutex::new(editor)), found, waker })
    }

    /// Discards the keys that were pressed before now: none of them may answer a question that was not on
    /// the screen yet. The editor itself keeps no keys from one read to the next.
    pub(super) fn discard_typed(&self) {
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }

    /// Reads the next line without blocking the runtime.
    pub(super) async fn read(&self, prompt: &str) -> TypedInput {
        let (lines, prompt) = (self.clone(), prompt.to_owned());
        tokio::task::spawn_blocking(move || lines.wait(&prompt)).await.unwrap_or(TypedInput::End)
    }

    /// Reads the next line and blocks the thread.
    pub(super) fn wait(&self, prompt: &str) -> TypedInput {
        match self.editor().readline(prompt) {
            Ok(line) => TypedInput::Line(line),
            Err(ReadlineError::Interrupted) => TypedInput::Interrupt,
            Err(_) => TypedInput::End,
        }
    }

    /// Restores the terminal if a read is still waiting, and returns whether it did. The line of that read
    /// is discarded.
    pub(super) fn restore(&self) -> bool {
        const NO_BRACKETED_PASTE: &str = "\x1b[?2004l";
        // A locked editor means that a read is waiting.
        let Some(found) = self.found.as_ref().filter(|_| self.editor.try_lock().is_err()) else {
            return false;
        };
        if self.waker.is_some() {
            print(NO_BRACKETED_PASTE);
        }
        tcsetattr(io::stdin(), OptionalActions::Now, found).is_ok()
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

    fn editor(&self) -> std::sync::MutexGuard<'_, DefaultEditor> {
        self.editor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
