//! The calls of a run on the screen: a running call has lines in the live region, an ended one is folded to
//! one line of the scrollback.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use agentry_compile::text::report::counted;
use agentry_runtime::CallJudgement;

use super::call_words::diff_stat;
use super::screen::styled_line::{StyledLine, TextLook};

/// The last lines of a running call that are shown.
const TAIL_LINES: usize = 3;
/// The lines of a failed call that are shown.
const FAILED_LINES: usize = 3;
/// The least time of a call that is shown when it has ended.
const NOTICED: Duration = Duration::from_millis(100);
/// The most characters of a result that stands in the line of its call.
const SHORT_RESULT: usize = 80;
/// The most bytes of a running call that are kept for its last lines.
const TAIL_BYTES: usize = 4_096;
/// The most calls whose results `/expand` can show.
const MOST_RESULTS: usize = 100;

/// The calls of a run.
#[derive(Debug, Default)]
pub(super) struct CallList {
    open: Vec<ShownCall>,
    /// The results of ended calls, with their numbers.
    results: VecDeque<(usize, String, String)>,
    /// The number of the last call.
    last: usize,
}

/// A call that has not ended.
#[derive(Debug)]
struct ShownCall {
    id: String,
    number: usize,
    words: String,
    verdict: CallJudgement,
    reason: String,
    started: Option<Instant>,
    /// How long it took, if it has ended and its result is held back.
    took: Option<Duration>,
    tail: String,
}

impl CallList {
    /// Adds a call that was judged.
    pub(super) fn add(&mut self, id: &str, words: String, judged: (CallJudgement, &str)) {
        self.last += 1;
        self.insert(id, self.last, words, judged);
    }

    /// Starts a command of the user, which has no number: its whole result is shown at its end.
    pub(super) fn start_command(&mut self, id: &str, words: String) {
        self.insert(id, 0, words, (CallJudgement::Allow, ""));
        self.start(id);
    }

    fn insert(&mut self, id: &str, number: usize, words: String, judged: (CallJudgement, &str)) {
        let (verdict, reason) = (judged.0, judged.1.to_owned());
        let (id, started) = (id.to_owned(), None);
        // A resumed run judges a call again.
        self.open.retain(|call| call.id != id);
        self.open.push(ShownCall {
            id,
            number,
            words,
            verdict,
            reason,
            started,
            took: None,
            tail: String::new(),
        });
    }

    /// Records that a call runs now.
    pub(super) fn start(&mut self, id: &str) {
        if let Some(call) = self.call(id) {
            call.started = Some(Instant::now());
        }
    }

    /// Records that a call has ended. Its result is shown after the question that is on the screen.
    pub(super) fn stop_clock(&mut self, id: &str) {
        if let Some(call) = self.call(id) {
            call.took = call.time();
        }
    }

    /// Adds output of a running call.
    pub(super) fn print(&mut self, id: &str, text: &str) {
        let Some(call) = self.call(id) else { return };
        call.tail.push_str(text);
        let excess = call.tail.len().saturating_sub(TAIL_BYTES);
        if excess > 0 {
            let from = (excess..call.tail.len()).find(|at| call.tail.is_char_boundary(*at));
            call.tail.drain(..from.unwrap_or(0));
        }
    }

    /// Ends a call; returns its folded lines.
    pub(super) fn end(&mut self, id: &str, text: &str, failed: bool) -> Vec<StyledLine> {
        let at = self.open.iter().position(|call| call.id == id);
        let Some(call) = at.map(|at| self.open.remove(at)) else {
            return vec![StyledLine::new(TextLook::Dim, "✓ an earlier call has ended")];
        };
        self.results.push_back((call.number, call.words.clone(), text.to_owned()));
        if self.results.len() > MOST_RESULTS {
            self.results.pop_front();
        }
        call.folded(text, failed)
    }

    /// The last output of a call that has not ended.
    pub(super) fn tail(&self, id: &str) -> &str {
        self.open.iter().find(|call| call.id == id).map_or("", |call| &call.tail)
    }

    /// A call that has not ended, in words.
    pub(super) fn words(&self, id: &str) -> Option<String> {
        self.open.iter().find(|call| call.id == id).map(|call| call.words.clone())
    }

    /// The result of a call by its number, or of the last one.
    pub(super) fn result(&self, number: Option<usize>) -> Option<&(usize, String, String)> {
        match number {
            Some(number) => self.results.iter().find(|result| result.0 == number),
            None => self.results.back(),
        }
    }

    /// The calls that wait for an answer of the user.
    pub(super) fn waiting(&self) -> Vec<&str> {
        let waits =
            |call: &&ShownCall| call.started.is_none() && call.verdict == CallJudgement::Ask;
        self.open.iter().filter(waits).map(|call| call.words.as_str()).collect()
    }

    /// Whether every call has ended.
    pub(super) const fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets the open calls: the turn is over.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// The lines of the running calls.
    pub(super) fn region(&self, spinner: char) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for call in &self.open {
            let Some(time) = call.time().map(time_words) else { continue };
            let sign = if call.took.is_some() { '·' } else { spinner };
            let line = StyledLine::new(TextLook::Code, &format!("{sign} "))
                .with(TextLook::Plain, &call.words)
                .with(TextLook::Dim, &format!("  {} · {time}", verdict_word(call.verdict)));
            lines.push(line);
            let shown: Vec<&str> =
                call.tail.lines().filter(|line| !line.trim().is_empty()).collect();
            let skipped = shown.len().saturating_sub(TAIL_LINES);
            for line in shown.iter().skip(skipped) {
                // A progress bar overwrites its line: only its last state counts.
                let line = line.trim_end().rsplit('\r').next().unwrap_or_default();
                lines.push(StyledLine::new(TextLook::Dim, &format!("    {line}")));
            }
        }
        lines
    }

    fn call(&mut self, id: &str) -> Option<&mut ShownCall> {
        self.open.iter_mut().find(|call| call.id == id)
    }
}

impl ShownCall {
    /// How long it has run; `None` if it has not started.
    fn time(&self) -> Option<Duration> {
        self.took.or_else(|| self.started.map(|started| started.elapsed()))
    }

    /// The call in one line: verdict, time and result. A failed one has the first lines of its result.
    fn folded(&self, text: &str, failed: bool) -> Vec<StyledLine> {
        let Self { number, words, verdict, reason, started, .. } = self;
        let (mark, look) = if failed { ("✗", TextLook::Bad) } else { ("✓", TextLook::Good) };
        let head = StyledLine::new(look, &format!("{mark} "))
            .with(TextLook::Plain, words)
            .with(TextLook::Dim, &format!("  [{number}] "));
        if *verdict == CallJudgement::Deny {
            return vec![head.with(TextLook::Bad, &format!("denied: {reason}"))];
        }
        // A call that took no time that one would notice has none.
        let time = self.time().filter(|it| *it >= NOTICED);
        let time = time.map(time_words);
        let verdict = match (verdict, started) {
            (CallJudgement::Ask, None) => "refused",
            (CallJudgement::Ask, Some(_)) => "approved",
            _ => "allowed",
        };
        let facts: Vec<String> = [Some(verdict.to_owned()), time, Some(result_words(text))]
            .into_iter()
            .flatten()
            .collect();
        let mut lines = vec![head.with(TextLook::Dim, &facts.join(" · "))];
        let is_repeated =
            text.trim().lines().count() == 1 && text.trim().chars().count() <= SHORT_RESULT;
        if failed && !is_repeated {
            let shown = text.lines().filter(|line| !line.trim().is_empty());
            let shown = shown.take(FAILED_LINES).map(|line| {
                StyledLine::new(TextLook::Bad, &format!("    {}", crate::output::cut(line, 300)))
            });
            lines.extend(shown);
        }
        lines
    }
}

const fn verdict_word(verdict: CallJudgement) -> &'static str {
    match verdict {
        CallJudgement::Allow => "allowed",
        CallJudgement::Ask => "approved",
        CallJudgement::Deny => "denied",
    }
}

/// A result in a few words: the changed lines, the only line, or how many there are.
fn result_words(text: &str) -> String {
    if let Some((added, removed)) = diff_stat(text) {
        return format!("+{added} −{removed}");
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.as_slice() {
        [] => "no output".to_owned(),
        [line] => crate::output::cut(line.trim(), SHORT_RESULT),
        lines => counted(lines.len(), "line"),
    }
}

/// A time in words: `0.3 s`, `12 s`, `1 min 5 s`.
pub(super) fn time_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=9 => format!("{:.1} s", time.as_secs_f64()),
        10..=59 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_durations_are_summarised() {
        let cases = [
            ("", "no output"),
            ("done\n", "done"),
            ("a\nb\n\nc\n", "3 lines"),
            ("changed\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n", "+2 −1"),
        ];
        for (text, expected) in cases {
            assert_eq!(result_words(text), expected, "{text}");
        }
        let cases = [(320, "0.3 s"), (9_000, "9.0 s"), (59_000, "59 s"), (65_000, "1 min 5 s")];
        for (time, expected) in cases {
            assert_eq!(time_words(Duration::from_millis(time)), expected);
        }
    }

    #[test]
    fn a_running_call_shows_its_last_lines() {
        let mut calls = CallList::default();
        calls.add("1", "bash make".to_owned(), (CallJudgement::Allow, ""));
        calls.start("1");
        calls.print("1", "one\ntwo\nthree\n10%\r50%\r");
        calls.print("1", "\n");
        let shown: Vec<String> =
            calls.region('*').iter().skip(1).map(|line| line.painted(false)).collect();
        assert_eq!(shown, ["    two", "    three", "    50%"]);
        calls.print("1", &"é".repeat(TAIL_BYTES));
        assert!(calls.region('*').iter().all(|line| line.columns() < TAIL_BYTES));
        let lines = calls.end("1", "all\nof\nit", false);
        assert_eq!(lines.len(), 1);
        assert_eq!(calls.result(Some(1)).map(|it| it.2.as_str()), Some("all\nof\nit"));
        assert!(calls.region('*').is_empty());
    }
}
