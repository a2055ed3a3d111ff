//! Shows a run to the user. On a terminal the answer streams in, running calls and questions stand in a live
//! region, and ended calls are folded; elsewhere the answer goes to standard output, and one line for each
//! call to standard error.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_compile::text::report::{counted, visible};
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::event::ApprovalAnswer;
use agentry_runtime::{CallJudgement, RunEnding, ToolCall};
use serde_json::Value;

use super::call_list::CallList;
use super::call_words::{brief, call_words};
use super::markdown::{MarkdownBlock, MarkdownStream, hanging_indent};
use super::markdown_table::laid_out;
use super::prepared_agent::variable;
use super::run_status::{RunStatus, WAITS};
use super::screen::TerminalSize;
use super::screen::frame::LiveScreen;
use super::screen::plain_signs::needs_plain_signs;
use super::screen::styled_line::{StyledLine, TextLook};
use super::typed_lines::TypedLines;
use crate::output::{cut, has_remarked, is_quiet, print, style, without_tabs};

/// The time between two looks at the clock and at the size of the terminal.
const TICK: Duration = Duration::from_millis(80);

/// The view of a run.
#[derive(Default)]
pub(crate) struct TerminalView {
    /// Whether the output is a terminal.
    rich: bool,
    pub(super) screen: LiveScreen,
    markdown: MarkdownStream,
    pub(super) status: RunStatus,
    pub(super) calls: CallList,
    pub(super) typed: TypedLines,
    /// The decisions about calls, for `/why`: the call, the verdict and the reason.
    decided: Vec<(String, CallJudgement, String)>,
    /// Whether standard output has something else than the answer.
    is_aside: bool,
    /// Whether the banner of the conversation was shown.
    has_banner: bool,
    /// What happened while a question is on the screen; `None` if there is none.
    held: Option<Vec<RunOutput>>,
    /// The last failure of a model, until one answers.
    last_failure: Option<String>,
}

impl TerminalView {
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        // A dumb terminal has no escape sequences to draw the region with.
        let is_dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
        let rich = out.is_terminal() && !is_dumb && !is_quiet();
        let color = style(&out).color;
        let markdown = if color { MarkdownStream::default() } else { MarkdownStream::plain() };
        Self {
            rich,
            markdown,
            screen: LiveScreen::new(color, needs_plain_signs(&variable)),
            ..Self::default()
        }
    }

    /// A view that leaves standard output to the result of a function.
    pub(crate) fn aside() -> Self {
        Self { is_aside: true, ..Self::default() }
    }

    /// The view for several threads. One of them keeps the live region up to date.
    pub(super) fn shared(self) -> Arc<Mutex<Self>> {
        let is_live = self.rich;
        let view = Arc::new(Mutex::new(self));
        let weak = Arc::downgrade(&view);
        let tick = move || {
            while let Some(view) = weak.upgrade() {
                view.lock().unwrap_or_else(PoisonError::into_inner).tick();
                drop(view);
                std::thread::sleep(TICK);
            }
        };
        if is_live {
            // Without the thread, the region changes only with the run.
            let _ = std::thread::Builder::new().name("screen".to_owned()).spawn(tick);
        }
        view
    }

    /// Whether a user is at the terminal.
    pub(crate) fn is_attended() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Whether there is a live region.
    pub(super) const fn is_live(&self) -> bool {
        self.rich
    }

    /// The decisions about the last calls.
    pub(super) fn decided(&self) -> &[(String, CallJudgement, String)] {
        &self.decided
    }

    /// Shows nothing but the region from now on: a question is on the screen.
    pub(super) fn hold(&mut self) {
        self.close();
        self.held.get_or_insert_default();
    }

    /// Shows what happened since [`TerminalView::hold`].
    pub(super) fn release(&mut self) {
        for output in self.held.take().unwrap_or_default() {
            self.show_output(&output);
        }
    }

    /// Shows that the run works now.
    pub(super) fn begin(&mut self) {
        self.status.begin(WAITS);
        self.draw();
    }

    /// Shows that a command of the user runs now.
    pub(super) fn begin_command(&mut self, call: &ToolCall) {
        self.status.begin("runs your command");
        self.calls.start_command(&call.id, call_words(&call.tool, &call.arguments));
        self.draw();
    }

    /// Takes over a call that an earlier process judged.
    pub(super) fn recall(&mut self, call: &ToolCall) {
        let ToolCall { id, tool, arguments, .. } = call;
        let words = self.words(tool, arguments);
        self.calls.add(id, words, (CallJudgement::Allow, ""));
    }

    /// A call in one line.
    fn words(&self, tool: &str, arguments: &Value) -> String {
        if self.rich { call_words(tool, arguments) } else { format!("{tool} {}", brief(arguments)) }
    }

    /// Shows an output of the run.
    pub(crate) fn show_output(&mut self, output: &RunOutput) {
        // The region stays up to date meanwhile: nothing of it moves the question.
        let is_regional = matches!(output, RunOutput::Started { .. } | RunOutput::Piece { .. });
        if let Some(held) = self.held.as_mut().filter(|_| !is_regional) {
            held.push(output.clone());
            if let RunOutput::Result { id, .. } = output {
                self.calls.stop_clock(id);
            }
            return;
        }
        self.status.show_output(output);
        match output {
            // Elsewhere the text waits for the end of its turn: only then is it known to be the answer.
            RunOutput::Text { text } if self.rich => self.stream(text),
            RunOutput::Turn { text, calls, .. } => self.turned(text, *calls),
            RunOutput::Call { id, tool, arguments, verdict, reason, .. } => {
                let words = self.words(tool, arguments);
                self.calls.add(id, words, (*verdict, reason));
                self.judged(&format!("{tool} {}", brief(arguments)), *verdict, reason);
                self.fold_denied(id, *verdict);
            }
            RunOutput::Answer { id: Some(id), answer: ApprovalAnswer::No(why) } => {
                self.refused(id, why.as_deref());
            }
            RunOutput::Started { id } => self.calls.start(id),
            RunOutput::Piece { id, text } => self.calls.print(id, text),
            RunOutput::Result { id, text, failed } => self.result(id, text, *failed),
            RunOutput::Quarantined(quarantined) => {
                self.note(&format!("warning: {quarantined}"), TextLook::Warning);
            }
            RunOutput::ModelFailed { model, message, .. } => {
                self.model_failed(format!("{model}: {message}"));
            }
            // The region counts the seconds.
            RunOutput::Waiting { .. } if self.rich => {}
            RunOutput::Waiting { time } => {
                self.note(&format!("asking again in {time} ms"), TextLook::Dim);
            }
            RunOutput::Compacted { messages, .. } => {
                self.note(&format!("{messages} messages were compacted"), TextLook::Dim);
            }
            RunOutput::Ended { ending, .. } => self.ended(ending),
            RunOutput::Delegate { agent, output, .. } => self.delegate(agent, output),
            _ => {}
        }
        if self.calls.is_empty() {
            self.status.rest();
        }
        self.refresh();
    }

    /// Prints a line that is not from the model; to standard error where there is no terminal.
    pub(in crate::command::run) fn note(&mut self, line: &str, look: TextLook) {
        if self.rich {
            self.close();
            let rows = StyledLine::new(look, line).rows_below(TerminalSize::now().columns - 1, 2);
            rows.iter().for_each(|row| self.screen.commit(row));
            self.refresh();
        } else if !is_quiet() || matches!(look, TextLook::Bad | TextLook::Warning) {
            let line = without_tabs(line);
            let _ = writeln!(io::stderr(), "{}", visible(&line));
        }
    }

    /// Shows what a conversation begins with, once.
    pub(super) fn banner(&mut self, rows: &[(&'static str, String)]) {
        if std::mem::replace(&mut self.has_banner, true) {
            return;
        }
        let line = |(name, value): &(&str, String)| {
            StyledLine::new(TextLook::Dim, &format!("{name:<10} ")).with(TextLook::Plain, value)
        };
        let help = StyledLine::new(TextLook::Dim, "/help lists what you can type");
        let mut lines: Vec<_> =
            rows.iter().map(line).chain([help, StyledLine::default()]).collect();
        if has_remarked() {
            lines.insert(0, StyledLine::default());
        }
        if self.rich {
            self.show(&lines);
            self.draw();
        }
    }

    /// Shows a turn of an earlier process: what was prompt, and the answer.
    pub(super) fn recall_turn(&mut self, prompt: &str, answer: &str) {
        if !self.rich {
            return print(&format!("› {}\n{}\n", clean(prompt), clean(answer)));
        }
        let last = StyledLine::new(TextLook::Dim, "the last turn:");
        self.show(&[
            StyledLine::default(),
            last,
            StyledLine::new(TextLook::Plain, &format!("› {prompt}")),
        ]);
        self.stream(answer.trim_end());
        self.close();
        self.show(&[StyledLine::default()]);
        self.draw();
    }

    /// Shows the whole result of a call by its number, or of the last one.
    pub(super) fn expand(&mut self, number: Option<usize>) {
        let Some((number, words, text)) = self.calls.result(number).cloned() else {
            return self.note("there is no such result", TextLook::Dim);
        };
        let mut lines = vec![StyledLine::new(TextLook::Bold, &format!("{words}  [{number}]"))];
        lines.extend(text.lines().map(|line| StyledLine::new(TextLook::Dim, &format!("  {line}"))));
        self.show(&lines);
    }

    /// Adds lines to the scrollback. An empty first line only separates them from what is above.
    pub(super) fn show(&mut self, lines: &[StyledLine]) {
        self.close();
        let is_apart = self.screen.ends_empty() && lines.first().is_some_and(StyledLine::is_empty);
        lines.iter().skip(usize::from(is_apart)).for_each(|line| self.screen.commit(line));
        self.refresh();
    }

    /// Adds lines to the scrollback, broken between words.
    pub(super) fn show_broken(&mut self, lines: &[StyledLine]) {
        let columns = TerminalSize::now().columns - 1;
        let indent = |line: &StyledLine| if line.starts_with(" ") { 4 } else { 2 };
        let rows: Vec<_> =
            lines.iter().flat_map(|line| line.rows_below(columns, indent(line))).collect();
        self.show(&rows);
    }

    /// Ends the open line of the model, so that other text can follow.
    pub(crate) fn close(&mut self) {
        let blocks = self.markdown.finish();
        self.commit(&blocks);
    }

    /// Adds blocks of the answer to the scrollback, prose broken between words.
    fn commit(&mut self, blocks: &[MarkdownBlock]) {
        if blocks.is_empty() {
            return;
        }
        let columns = TerminalSize::now().columns;
        for block in blocks {
            match block {
                MarkdownBlock::Code(line) => self.screen.commit(line),
                MarkdownBlock::Prose(line) if line.columns() < columns => self.screen.commit(line),
                MarkdownBlock::Prose(line) => {
                    let rows = line.rows_below(columns - 1, hanging_indent(line));
                    rows.iter().for_each(|row| self.screen.commit(row));
                }
                MarkdownBlock::Table(rows) => {
                    laid_out(rows, columns - 1).iter().for_each(|row| self.screen.commit(row));
                }
            }
        }
    }

    /// Removes the region: something else writes to the terminal now.
    pub(super) fn leave(&mut self) {
        if self.rich {
            self.close();
            self.status.end();
            self.calls.clear();
            self.draw();
        }
    }

    /// Draws the region now.
    pub(super) fn draw(&mut self) {
        if self.rich {
            self.screen.set_region(self.region());
            self.screen.draw();
        }
    }

    /// What the run has spent, with its limits.
    pub(crate) fn spending(&self) -> String {
        self.status.spending()
    }

    /// Draws the region if the last frame is long enough ago; otherwise the next tick does.
    fn refresh(&mut self) {
        if self.screen.is_due(Instant::now()) {
            self.draw();
        }
    }

    /// Moves the clock of the region on.
    fn tick(&mut self) {
        if self.status.is_busy() || self.screen.has_pending() {
            self.status.tick();
            self.draw();
        }
    }

    /// The lines of the region: the open line, running calls, the question or the state of the run.
    fn region(&self) -> Vec<StyledLine> {
        if !self.status.is_busy() {
            return Vec::new();
        }
        let size = TerminalSize::now();
        let open = self.markdown.open_line();
        let mut lines = laid_out(self.markdown.open_table(), size.columns - 1);
        if !open.is_empty() {
            lines.extend(open.rows_below(size.columns - 1, hanging_indent(open)));
        }
        lines.extend(self.calls.region(self.status.spinner()));
        match self.typed.question_lines(size.columns - 1) {
            Some(question) => {
                let waiting = self.calls.waiting();
                if waiting.len() > 1 {
                    let label = format!("{} wait for you:", counted(waiting.len(), "call"));
                    lines.push(StyledLine::new(TextLook::Warning, &label));
                    let row = |words: &&str| StyledLine::new(TextLook::Dim, &format!("  {words}"));
                    lines.extend(waiting.iter().map(row));
                }
                lines.extend(question);
            }
            None => {
                lines.push(self.status.line(size.columns - 1));
                lines.extend(self.typed.queue_lines());
            }
        }
        lines
    }

    fn stream(&mut self, text: &str) {
        let blocks = self.markdown.push(text);
        self.commit(&blocks);
        let size = TerminalSize::now();
        let columns = size.columns - 1;
        // A line that fills half of the screen goes to the scrollback in rows.
        if self.markdown.open_line().columns() > columns * (size.rows / 2) {
            let mut rows = self.markdown.open_line().rows(columns);
            let rest = rows.pop().unwrap_or_default();
            rows.iter().for_each(|row| self.screen.commit(row));
            self.markdown.keep_only(rest);
        }
    }

    /// Shows why a model does not answer; on a terminal once, however often it is asked.
    fn model_failed(&mut self, failure: String) {
        if !self.rich || self.last_failure.as_ref() != Some(&failure) {
            self.note(&failure, TextLook::Bad);
        }
        self.last_failure = Some(failure);
    }

    /// Whether the last failure on the screen is this one.
    fn has_shown(&self, why: &str) -> bool {
        self.rich && self.last_failure.as_ref().is_some_and(|shown| shown.ends_with(why))
    }

    fn turned(&mut self, text: &str, calls: usize) {
        self.last_failure = None;
        if self.rich {
            self.close();
        } else if !text.trim().is_empty() {
            let text = clean(text);
            // Text between calls is reasoning; only the last text is the answer.
            if calls == 0 && !self.is_aside {
                print(&format!("{}\n", text.trim_end()));
            } else if !is_quiet() {
                let _ = writeln!(io::stderr(), "{}", text.trim_end());
            }
        }
    }

    fn judged(&mut self, call: &str, verdict: CallJudgement, reason: &str) {
        let word = verdict.as_str();
        self.decided.push((call.to_owned(), verdict, reason.to_owned()));
        // On a terminal the call is in the region now, and in the scrollback when it has ended.
        if self.rich {
            return;
        }
        let is_denied = verdict == CallJudgement::Deny;
        // `--quiet` leaves out what is plain; a refusal stays.
        let look = if is_denied { TextLook::Warning } else { TextLook::Plain };
        self.note(&format!("{call}  {word}"), look);
        if is_denied {
            self.note(&format!("  {reason}"), look);
        }
    }

    /// A denied call has no result: it is over at once.
    fn fold_denied(&mut self, id: &str, verdict: CallJudgement) {
        if verdict == CallJudgement::Deny {
            let folded = self.calls.end(id, "", true);
            if self.rich {
                self.show_broken(&folded);
            }
        }
    }

    /// Shows a call that was refused, by the user or because no user is present.
    fn refused(&mut self, id: &str, why: Option<&str>) {
        let words = self.calls.words(id).unwrap_or_default();
        let why = why.unwrap_or("by the user");
        let folded = self.calls.end(id, why, true);
        if self.rich {
            return self.show_broken(folded.get(..1).unwrap_or_default());
        }
        self.note(&format!("  {}: refused: {why}", cut(&words, 50)), TextLook::Warning);
    }

    /// Shows what a delegate does, with the agents that lead to it.
    fn delegate(&mut self, agent: &str, output: &RunOutput) {
        match output {
            RunOutput::Call { id, tool, arguments, verdict, reason, .. } => {
                let words = format!("{agent}: {}", call_words(tool, arguments));
                self.calls.add(&format!("{agent}/{id}"), words, (*verdict, reason));
                self.judged(&format!("{agent}: {tool} {}", brief(arguments)), *verdict, reason);
                self.fold_denied(&format!("{agent}/{id}"), *verdict);
            }
            RunOutput::Answer { id: Some(id), answer: ApprovalAnswer::No(why) } => {
                self.refused(&format!("{agent}/{id}"), why.as_deref());
            }
            RunOutput::Started { id } => self.calls.start(&format!("{agent}/{id}")),
            RunOutput::Piece { id, text } => self.calls.print(&format!("{agent}/{id}"), text),
            RunOutput::Result { id, text, failed } if self.rich => {
                self.result(&format!("{agent}/{id}"), text, *failed);
            }
            RunOutput::Quarantined(quarantined) => {
                self.note(&format!("warning: {agent}: {quarantined}"), TextLook::Warning);
            }
            RunOutput::ModelFailed { model, message, .. } => {
                self.model_failed(format!("{agent}: {model}: {message}"));
            }
            _ => {}
        }
    }

    /// Shows a call that has ended: folded on a terminal, in one line elsewhere.
    fn result(&mut self, id: &str, text: &str, failed: bool) {
        let words = self.calls.words(id).unwrap_or_else(|| "an earlier call".to_owned());
        let folded = self.calls.end(id, text, failed);
        if self.rich {
            return self.show_broken(&folded);
        }
        let lines: Vec<&str> = text.lines().collect();
        let state = if failed { "failed" } else { "done" };
        let first = lines.first().filter(|_| failed).map_or(String::new(), |it| format!(": {it}"));
        let count = counted(lines.len(), "line");
        self.note(&format!("  {}: {state}, {count}{first}", cut(&words, 50)), TextLook::Plain);
    }

    fn ended(&mut self, ending: &RunEnding) {
        if self.rich {
            self.leave();
            let line = self.status.summary();
            self.note(&line, TextLook::Dim);
        }
        match ending {
            RunEnding::Done => {}
            // What stands just above is not repeated.
            RunEnding::Failed { why } if self.has_shown(why) => {
                self.note("error: the run failed", TextLook::Bad);
            }
            RunEnding::Failed { why } => {
                self.note(&format!("error: the run failed: {why}"), TextLook::Bad);
            }
            RunEnding::OverBudget { limit } => {
                let line = format!("error: the run has reached its limit of {limit}");
                self.note(&line, TextLook::Bad);
            }
            RunEnding::Cancelled => self.note("stopped", TextLook::Warning),
            RunEnding::Parked { question } => {
                let line = format!("the run waits for an answer: {question}");
                self.note(&line, TextLook::Warning);
            }
        }
        self.draw();
    }
}

/// Removes control characters, so that text cannot control the terminal.
pub(crate) fn clean(text: &str) -> String {
    let text = without_tabs(&text.replace("\r\n", "\n"));
    text.split('\n').map(|line| visible(line).into_owned()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(clean("a\tb\r\nc"), "a    b\nc");
        assert!(!clean("\x1b[2Jgone").contains('\x1b'));
    }
}
