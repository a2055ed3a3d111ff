//! Printing, failures and exit codes.

use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use agentry_compile::text::report::cut;
use agentry_compile::text::report::{human::ReportStyle, json, visible};
use serde_json::Value;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::args::ColorChoice;

/// A text with spaces for tabs, which would break the alignment.
pub(crate) fn without_tabs(text: &str) -> String {
    text.replace('\t', "    ")
}

/// The exit code of the program by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExitKind {
    /// Done.
    Done,
    /// Findings, or losses that were not allowed.
    Findings,
    /// Bad usage or unreadable input.
    Usage,
    /// The requested agent or file is not trusted.
    Refused,
    /// The user stopped it.
    Interrupted,
    /// The exit code of a command that was run for the user.
    Command(u8),
}

/// The exit code of a program that the user stopped.
pub(crate) const INTERRUPTED: u8 = 130;

impl From<ExitKind> for ExitCode {
    fn from(exit: ExitKind) -> Self {
        Self::from(match exit {
            ExitKind::Done => 0,
            ExitKind::Findings => 1,
            ExitKind::Usage => 2,
            ExitKind::Refused => 3,
            ExitKind::Interrupted => INTERRUPTED,
            ExitKind::Command(code) => code,
        })
    }
}

/// Why a command could not do its work: what was found, and what to do.
#[derive(Debug)]
pub(crate) struct CliFailure {
    /// Lower case, no full stop.
    pub(crate) message: String,
    /// What was tried, one line each.
    pub(crate) details: Vec<String>,
    /// How to fix it.
    pub(crate) hint: Option<String>,
    /// The path of the failure, if it has one.
    pub(crate) path: Option<String>,
    /// The exit code.
    pub(crate) exit: ExitKind,
}

/// The result of a command.
pub(crate) type CliOutcome = Result<ExitKind, CliFailure>;

impl CliFailure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        let (message, details) = (message.into(), Vec::new());
        Self { message, details, hint: None, path: None, exit: ExitKind::Usage }
    }

    pub(crate) fn details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the path that the failure is about.
    pub(crate) fn about(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Marks the failure as a finding in an agent, not a wrong usage.
    pub(crate) fn finding(self) -> Self {
        Self { exit: ExitKind::Findings, ..self }
    }

    /// Marks the failure as a refusal: the agent exists and must not be used.
    pub(crate) fn refused(self) -> Self {
        Self { exit: ExitKind::Refused, ..self }
    }

    pub(crate) fn hint_opt(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }
}

/// The message of a system error, without its number.
pub(crate) fn error_text(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return "permission denied".to_owned();
    }
    let text = error.to_string().to_lowercase();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The action to take when standard output is closed.
static UNREAD: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Sets the action to take when standard output is closed, instead of exiting at once.
pub(crate) fn when_unread(stop: impl Fn() + Send + Sync + 'static) {
    let _ = UNREAD.set(Box::new(stop));
}

/// Prints to standard output. A closed pipe ends the program quietly.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        // The action may print as well, which would wait for this lock.
        drop(out);
        if let Some(stop) = UNREAD.get() {
            return stop();
        }
        #[expect(clippy::exit, reason = "nobody reads any more; there is nothing left to do")]
        std::process::exit(0);
    }
}

/// Writes the bytes of a protocol to standard output. Returns whether the reader is still there.
pub(crate) fn print_bytes(bytes: &[u8]) -> bool {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).is_ok()
}

/// Prints a JSON document to standard output.
pub(crate) fn print_json(value: &Value) {
    print(&as_json(value));
}

/// A JSON document in its printed form.
pub(crate) fn as_json(value: &Value) -> String {
    format!("{}\n", json::text(value))
}

/// Whether anything was printed to standard error.
static REMARKED: AtomicBool = AtomicBool::new(false);

/// Whether anything was printed beside the result.
pub(crate) fn has_remarked() -> bool {
    REMARKED.load(Ordering::Relaxed)
}

/// Prints a line to standard error. On a terminal it is broken between words.
pub(crate) fn remark(line: &str) {
    REMARKED.store(true, Ordering::Relaxed);
    let text = visible(line);
    let indent = if line.starts_with(HELP) { HELP.len() } else { 0 };
    let lines = match terminal_size(&io::stderr()) {
        Some(most) if most > 2 * indent => broken(&text, most - indent),
        _ => vec![text.as_ref()],
    };
    let _ = writeln!(io::stderr(), "{}", lines.join(&format!("\n{}", " ".repeat(indent))));
}

/// The start of a line that says what to do.
const HELP: &str = "  = help: ";

/// Whether `--quiet` was given.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether notes and progress are left out.
pub(crate) fn choose_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether notes and progress are left out.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a note to standard error, unless the user wants none.
pub(crate) fn note(line: &str) {
    if !is_quiet() {
        remark(line);
    }
}

/// Prints a failure. On a terminal its label is coloured, and long lines are broken between words.
pub(crate) fn complain(failure: &CliFailure) {
    let (on, off) = if style(&io::stderr()).color { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    let most = terminal_size(&io::stderr());
    let labelled = |label: &str, painted: String, text: &str| {
        REMARKED.store(true, Ordering::Relaxed);
        let text = visible(text);
        let lines = match most {
            Some(most) if most > 2 * label.len() => broken(&text, most - label.len()),
            _ => vec![text.as_ref()],
        };
        let text = lines.join(&format!("\n{}", " ".repeat(label.len())));
        let _ = writeln!(io::stderr(), "{painted}{text}");
    };
    labelled("error: ", format!("{on}error{off}: "), &failure.message);
    failure.details.iter().for_each(|line| labelled("    ", "  ".to_owned(), line));
    if let Some(hint) = &failure.hint {
        labelled(HELP, HELP.to_owned(), hint);
    }
}

/// What `--color` says.
static COLOR: OnceLock<ColorChoice> = OnceLock::new();

/// Sets when the output has colours.
pub(crate) fn choose_color(choice: ColorChoice) {
    let _ = COLOR.set(choice);
}

/// The option `--color` as it was given, for a further process.
pub(crate) fn color_option() -> &'static [&'static str] {
    match COLOR.get() {
        None | Some(ColorChoice::Auto) => &[],
        Some(ColorChoice::Always) => &["--color=always"],
        Some(ColorChoice::Never) => &["--color=never"],
    }
}

/// The style of findings on `stream`: as `--color` says; by default coloured on a terminal, unless `NO_COLOR` is set.
pub(crate) fn style(stream: &impl IsTerminal) -> ReportStyle {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_plain =
        || set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let color = match COLOR.get().unwrap_or(&ColorChoice::Auto) {
        ColorChoice::Auto => stream.is_terminal() && !is_plain(),
        ColorChoice::Always => true,
        ColorChoice::Never => false,
    };
    ReportStyle { color, ..ReportStyle::default() }
}

/// The columns of the terminal at standard output; `None` if it is no terminal.
pub(crate) fn terminal_columns() -> Option<usize> {
    terminal_size(&io::stdout())
}

/// The columns of the terminal, if `stream` is one.
fn terminal_size(stream: &impl IsTerminal) -> Option<usize> {
    let (columns, _) = stream.is_terminal().then(agentry_posix::terminal::size).flatten()?;
    Some(usize::from(columns)).filter(|columns| *columns > 0)
}

/// Rows as aligned columns, the last one not padded. On a terminal the last one is broken between words, so that
/// its rows stay below each other; elsewhere a row is one line.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    columns_within(rows, terminal_columns())
}

/// Like [`columns`], for a terminal of this width.
pub(crate) fn columns_within(rows: &[Vec<String>], most: Option<usize>) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..count).map(|at| width(at).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let start = line.width();
            let lines = match most {
                Some(most) if at + 1 == count && start * 2 <= most => broken(cell, most - start),
                _ => vec![cell.as_str()],
            };
            line.push_str(&lines.join(&format!("\n{}", " ".repeat(start))));
            let padding = width.saturating_sub(cell.width()) + COLUMN_GAP;
            line.push_str(&" ".repeat(padding));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Between two columns.
const COLUMN_GAP: usize = 2;

/// A text in lines of at most this many columns, broken at spaces. A word that is longer stays whole.
fn broken(text: &str, most: usize) -> Vec<&str> {
    // The columns of the line so far, and of its part after the last space.
    let (mut columns, mut after) = (0, 0);
    let (mut lines, mut start, mut space) = (Vec::new(), 0, None);
    for (at, char) in text.char_indices() {
        let width = char.width().unwrap_or(0);
        if char == ' ' {
            (space, after) = (Some(at), 0);
        }
        if let Some(end) = space.filter(|_| columns >= most) {
            lines.push(text.get(start..end).unwrap_or_default());
            (start, space, columns) = (end + 1, None, after);
        }
        // The space that a line is broken at belongs to neither.
        columns += if start > at { 0 } else { width };
        after += if char == ' ' { 0 } else { width };
    }
    lines.push(text.get(start..).unwrap_or_default());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_is_broken_on_a_terminal() {
        let rows = [["a", "日本", "one two three"], ["bbb", "x", "four"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let cases = [
            (None, "a    日本  one two three\nbbb  x     four\n"),
            (Some(80), "a    日本  one two three\nbbb  x     four\n"),
            (Some(24), "a    日本  one two three\nbbb  x     four\n"),
            (Some(22), "a    日本  one two\n           three\nbbb  x     four\n"),
            // There is no room beside the other columns.
            (Some(20), "a    日本  one two three\nbbb  x     four\n"),
        ];
        for (most, expected) in cases {
            assert_eq!(columns_within(&rows, most), expected, "{most:?}");
        }
        assert_eq!(broken("a-long-word and", 4), ["a-long-word", "and"]);
        assert_eq!(broken("ab cd ef", 5), ["ab cd", "ef"]);
        assert_eq!(broken("", 5), [""]);
        assert_eq!(broken("ab cde f gh", 4), ["ab", "cde", "f gh"]);
        // Each character is looked at once: a tool may describe itself in a line of this length.
        assert_eq!(broken(&"word ".repeat(200_000), 9).len(), 100_001);
    }
}
