//! The files that are open in an editor behind the program: a run asks for their texts, and has them saved.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentry_runtime::tool::OpenFiles;

use super::emit;
use super::protocol::{ControlEvent, EditorOffer};

/// The time that an editor gets to return a text. Without it, the file on disk counts.
const READ: Duration = Duration::from_secs(5);
/// The time that an editor gets to save a file.
const SAVE: Duration = Duration::from_secs(30);

/// What an editor answers: a text, or why there is none.
type FileAnswer = Result<String, String>;

/// The editor behind the program.
#[derive(Default)]
pub(super) struct OpenEditor {
    reads: AtomicBool,
    writes: AtomicBool,
    last: AtomicU64,
    /// The requests that wait; `None` once the program is gone.
    waiting: Mutex<Option<BTreeMap<u64, Sender<FileAnswer>>>>,
}

impl OpenEditor {
    /// The program says what its editor can do.
    pub(super) fn offer(&self, offer: EditorOffer) {
        self.reads.store(offer.reads, Ordering::SeqCst);
        self.writes.store(offer.writes, Ordering::SeqCst);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// The program answers a request.
    pub(super) fn answer(&self, request: u64, answer: FileAnswer) -> Result<(), String> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let found = waiting.as_mut().and_then(|all| all.remove(&request));
        let sender = found.ok_or_else(|| format!("file request {request} is not open"))?;
        // The request may have run out of time.
        let _ = sender.send(answer);
        Ok(())
    }

    /// The program is gone: nothing waits any more.
    pub(super) fn leave(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn ask(&self, time: Duration, event: impl FnOnce(u64)) -> FileAnswer {
        let request = self.last.fetch_add(1, Ordering::SeqCst) + 1;
        let (sender, answer) = channel();
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let all = waiting.as_mut().ok_or("the editor is gone")?;
            all.insert(request, sender);
        }
        event(request);
        let answer = answer.recv_timeout(time);
        if let Some(all) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            all.remove(&request);
        }
        answer.unwrap_or_else(|_| Err("the editor did not answer".to_owned()))
    }
}

impl OpenFiles for OpenEditor {
    fn text(&self, path: &Path) -> Option<String> {
        if !self.reads.load(Ordering::SeqCst) {
            return None;
        }
        let path = path.to_str()?;
        self.ask(READ, |request| emit(&ControlEvent::FileRead { request, path })).ok()
    }

    fn save(&self, path: &Path, text: &str) -> Result<(), String> {
        if !self.writes.load(Ordering::SeqCst) {
            return Err(
                "it has changes in the editor that are not saved, and the editor cannot save \
                        files for the agent: ask the user to save it"
                    .to_owned(),
            );
        }
        let path = path.to_str().ok_or("its path is no text")?;
        let event = |request| emit(&ControlEvent::FileWrite { request, path, text });
        self.ask(SAVE, event).map(drop)
    }
}
