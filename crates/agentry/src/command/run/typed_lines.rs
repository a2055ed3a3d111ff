//! What the user types while a run works: the answer to a question, or messages for later.
//!
//! A key that was pressed before a question was on the screen never answers it. Every question has a number,
//! and a key counts only if its bytes were read after that question was drawn.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::oneshot;

use super::line_editor::TypedInput;
use super::screen::keys::PressedKey;
use super::screen::styled_line::{StyledLine, TextLook};

/// The lines that are typed at the region.
#[derive(Default)]
pub(super) struct TypedLines {
    question: Option<OpenQuestion>,
    /// The number of the last question.
    epoch: Arc<AtomicU64>,
    /// Whether messages can be typed for later.
    pub(super) can_queue: bool,
    draft: String,
    queue: VecDeque<String>,
}

/// An answer that can be chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfferedAnswer {
    /// The letter that chooses it.
    pub(super) key: &'static str,
    /// What it means, in a few words.
    pub(super) label: &'static str,
}

/// A question on the screen.
struct OpenQuestion {
    prompt: String,
    draft: String,
    /// The answers to choose from, each with what it covers.
    offers: Vec<(OfferedAnswer, String)>,
    /// The answer that the arrow keys have reached.
    marked: Option<usize>,
    reply: Option<oneshot::Sender<TypedInput>>,
}

/// What a key means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyMeaning {
    /// Something to draw, at most.
    Typed,
    /// The turn is to be stopped.
    Stop,
    /// The result of the last call is to be shown.
    Expand,
}

impl TypedLines {
    /// The number of the last question, for those who read keys.
    pub(super) fn epoch(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.epoch)
    }

    /// Opens a question that is on the screen; its answer comes from the receiver. Keys that were read before
    /// are no answers.
    pub(super) fn open(
        &mut self,
        prompt: &str,
        offers: Vec<(OfferedAnswer, String)>,
    ) -> oneshot::Receiver<TypedInput> {
        self.next_epoch();
        let (reply, answer) = oneshot::channel();
        let (prompt, draft, reply) = (prompt.to_owned(), String::new(), Some(reply));
        // No answer is marked: Enter alone, pressed too early or by mistake, approves nothing.
        self.question = Some(OpenQuestion { prompt, draft, offers, marked: None, reply });
        answer
    }

    fn next_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Closes the question; returns its last line with what was typed.
    pub(super) fn close(&mut self) -> Option<StyledLine> {
        let question = self.question.take()?;
        // Keys that were read for this question must not reach the next one.
        self.next_epoch();
        Some(prompt_line(&question.prompt, &question.answer_in_words()))
    }

    /// Takes a key that was read while question number `at` was the last one.
    pub(super) fn press(&mut self, at: u64, key: Option<PressedKey>) -> KeyMeaning {
        let is_stale = at != self.epoch.load(Ordering::SeqCst);
        match &mut self.question {
            Some(_) if is_stale => KeyMeaning::Typed,
            Some(question) => question.press(key),
            None => self.queue(key),
        }
    }

    fn queue(&mut self, key: Option<PressedKey>) -> KeyMeaning {
        match key {
            Some(PressedKey::Escape) if self.draft.is_empty() => return KeyMeaning::Stop,
            Some(PressedKey::Control('o')) => return KeyMeaning::Expand,
            Some(PressedKey::Enter) if self.can_queue => {
                let line = std::mem::take(&mut self.draft);
                if !line.trim().is_empty() {
                    self.queue.push_back(line.trim().to_owned());
                }
            }
            Some(PressedKey::Up) if self.draft.is_empty() => {
                self.draft = self.queue.pop_back().unwrap_or_default();
            }
            Some(key) if self.can_queue => edit(&mut self.draft, &key),
            _ => {}
        }
        KeyMeaning::Typed
    }

    /// The next message that was typed while the run worked.
    pub(super) fn next_message(&mut self) -> Option<String> {
        self.queue.pop_front()
    }

    /// Takes the unfinished message.
    pub(super) fn take_draft(&mut self) -> String {
        std::mem::take(&mut self.draft)
    }

    /// The lines of the question, in rows of this many columns.
    pub(super) fn question_lines(&self, columns: usize) -> Option<Vec<StyledLine>> {
        let question = self.question.as_ref()?;
        let mut lines: Vec<StyledLine> = Vec::new();
        for (at, (OfferedAnswer { key, label }, covers)) in question.offers.iter().enumerate() {
            let is_marked = question.marked == Some(at);
            let look = if is_marked { TextLook::Bold } else { TextLook::Plain };
            let sign = if is_marked { "❯ " } else { "  " };
            let line = StyledLine::new(TextLook::Code, &format!("{sign}{key}  "));
            let line = line.with(look, label).with(TextLook::Dim, covers);
            lines.extend(line.rows_below(columns, OFFER_INDENT));
        }
        if !question.offers.is_empty() && question.draft.is_empty() {
            let help = StyledLine::new(TextLook::Dim, HELP);
            lines.extend(Some(help).filter(|help| help.columns() <= columns));
        }
        let cursor = prompt_line(&question.prompt, &question.draft).with(TextLook::Code, "█");
        lines.extend(cursor.rows(columns));
        Some(lines)
    }

    /// The messages for later. The last one can be changed.
    pub(super) fn queue_lines(&self) -> Vec<StyledLine> {
        let count = self.queue.len();
        let queued = self.queue.iter().enumerate().map(|(at, line)| {
            let hint =
                if at + 1 == count && self.draft.is_empty() { "  ↑ changes it" } else { "" };
            StyledLine::new(TextLook::Dim, "  next: ")
                .with(TextLook::Plain, line)
                .with(TextLook::Dim, hint)
        });
        let draft = (!self.draft.is_empty()).then(|| {
            StyledLine::new(TextLook::Dim, "  later: ")
                .with(TextLook::Plain, &self.draft)
                .with(TextLook::Code, "█")
        });
        queued.chain(draft).collect()
    }
}

/// How a question is answered.
const HELP: &str = "  a letter or ↑ ↓, then Enter · Esc stops the turn";

/// The column in which the words of an answer start.
pub(super) const OFFER_INDENT: usize = 5;

impl OpenQuestion {
    /// The answer that was typed or is marked, with the words of its letter.
    fn answer_in_words(&self) -> String {
        let (word, rest) = self.draft.trim().split_once(' ').unwrap_or((self.draft.trim(), ""));
        match self.offers.iter().find(|(offer, _)| offer.key == word.to_lowercase()) {
            Some((offer, _)) if rest.is_empty() => offer.label.to_owned(),
            Some((offer, _)) => format!("{}: {rest}", offer.label),
            None => self.draft.clone(),
        }
    }

    /// Moves the mark by one answer, from one end to the other.
    fn mark(&mut self, is_down: bool) {
        let count = self.offers.len();
        self.marked = match self.marked {
            _ if count == 0 => None,
            None => Some(if is_down { 0 } else { count - 1 }),
            Some(at) => Some((at + if is_down { 1 } else { count - 1 }) % count),
        };
    }

    fn press(&mut self, key: Option<PressedKey>) -> KeyMeaning {
        let answer = match key {
            None => TypedInput::End,
            Some(PressedKey::Control('d')) if self.draft.is_empty() => TypedInput::End,
            Some(PressedKey::Enter) => {
                let marked = self.marked.and_then(|at| self.offers.get(at));
                if let Some((offer, _)) = marked.filter(|_| self.draft.is_empty()) {
                    offer.key.clone_into(&mut self.draft);
                }
                TypedInput::Line(self.draft.clone())
            }
            Some(key @ (PressedKey::Up | PressedKey::Down)) => {
                self.mark(key == PressedKey::Down);
                return KeyMeaning::Typed;
            }
            Some(PressedKey::Escape) => TypedInput::Interrupt,
            Some(key) => {
                edit(&mut self.draft, &key);
                return KeyMeaning::Typed;
            }
        };
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(answer);
        }
        KeyMeaning::Typed
    }
}

/// Changes a line that is typed.
fn edit(draft: &mut String, key: &PressedKey) {
    match key {
        PressedKey::Text(text) => {
            draft.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
        }
        PressedKey::Backspace => {
            draft.pop();
        }
        PressedKey::Escape | PressedKey::Control('u') => draft.clear(),
        PressedKey::Control('w') => {
            let kept = draft.trim_end().rfind(' ').map_or(0, |at| at + 1);
            draft.truncate(kept);
        }
        _ => {}
    }
}

fn prompt_line(prompt: &str, draft: &str) -> StyledLine {
    StyledLine::new(TextLook::Warning, prompt).with(TextLook::Plain, draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> PressedKey {
        PressedKey::Text(text.to_owned())
    }

    #[test]
    fn only_keys_after_the_question_answer_it() {
        let mut typed = TypedLines::default();
        let before = typed.epoch().load(Ordering::SeqCst);
        let mut answer = typed.open("sure? ", Vec::new());
        typed.press(before, Some(text("y")));
        typed.press(before, Some(PressedKey::Enter));
        assert!(answer.try_recv().is_err());
        let now = typed.epoch().load(Ordering::SeqCst);
        for key in [Some(text("nx")), Some(PressedKey::Backspace), Some(PressedKey::Enter)] {
            typed.press(now, key);
        }
        assert!(matches!(answer.try_recv(), Ok(TypedInput::Line(line)) if line == "n"));
        typed.close();
        let mut next = typed.open("and this? ", Vec::new());
        typed.press(now, Some(text("y")));
        typed.press(now, Some(PressedKey::Enter));
        assert!(next.try_recv().is_err(), "it was read for the question before");
    }

    #[test]
    fn typed_messages_are_queued_until_the_turn_ends() {
        let mut typed = TypedLines { can_queue: true, ..TypedLines::default() };
        for key in [
            Some(text("one\ntwo")),
            Some(PressedKey::Enter),
            Some(text("un")),
            Some(PressedKey::Enter),
        ] {
            assert_eq!(typed.press(0, key), KeyMeaning::Typed);
        }
        typed.press(0, Some(text("draft")));
        assert_eq!(typed.next_message().as_deref(), Some("one two"));
        assert_eq!(typed.next_message().as_deref(), Some("un"));
        assert_eq!(typed.next_message(), None);
        assert_eq!(typed.press(0, Some(PressedKey::Escape)), KeyMeaning::Typed);
        assert_eq!(typed.take_draft(), "");
        // A queued message comes back to be changed, or is taken back.
        for key in [text("three"), PressedKey::Enter, text("for"), PressedKey::Enter] {
            typed.press(0, Some(key));
        }
        for key in [PressedKey::Up, text("ty"), PressedKey::Enter] {
            typed.press(0, Some(key));
        }
        assert_eq!(typed.queue, ["three", "forty"]);
        for key in [PressedKey::Up, PressedKey::Escape, PressedKey::Up, PressedKey::Escape] {
            assert_eq!(typed.press(0, Some(key)), KeyMeaning::Typed);
        }
        assert_eq!((typed.next_message(), typed.take_draft()), (None, String::new()));
        assert_eq!(typed.press(0, Some(PressedKey::Escape)), KeyMeaning::Stop);
    }

    #[test]
    fn an_answer_is_chosen_by_its_letter_or_by_arrows() {
        let offer = |key, label| (OfferedAnswer { key, label }, String::new());
        let offers = || vec![offer("y", "yes"), offer("n", "no"), offer("l", "later")];
        let (up, down) = (PressedKey::Up, PressedKey::Down);
        let cases = [
            (vec![], "", ""),
            (vec![text("y")], "y", "yes"),
            (vec![text("n not here")], "n not here", "no: not here"),
            (vec![text("other")], "other", "other"),
            (vec![down.clone()], "y", "yes"),
            (vec![up.clone()], "l", "later"),
            (vec![down.clone(), down.clone(), down.clone(), down.clone()], "y", "yes"),
            (vec![down.clone(), up.clone()], "l", "later"),
            // What is typed counts more than the mark.
            (vec![down, text("n")], "n", "no"),
        ];
        for (keys, expected, shown) in cases {
            let mut typed = TypedLines::default();
            let mut answer = typed.open("answer › ", offers());
            let now = typed.epoch().load(Ordering::SeqCst);
            for key in keys.iter().cloned().chain([PressedKey::Enter]) {
                typed.press(now, Some(key));
            }
            let line = answer.try_recv();
            assert!(matches!(line, Ok(TypedInput::Line(line)) if line == expected), "{keys:?}");
            let closed = typed.close().map(|line| line.painted(false));
            assert_eq!(closed, Some(format!("answer › {shown}")), "{keys:?}");
        }
    }
}
