//! The one style of the reports of `check`, `render` and `import`: sections with aligned rows, one line of counts, and
//! what to do. The counts are the last thing on the screen; a long report starts with them.

use std::io;

use agentry_compile::text::report::visible;

use crate::output::style;

/// A report, in the order in which it is printed.
#[derive(Debug, Default)]
pub(crate) struct CommandReport {
    body: String,
    counts: String,
    details: Vec<String>,
    hints: Vec<String>,
    counts_first: bool,
}

impl CommandReport {
    /// A report with the line of counts.
    pub(crate) fn new(counts: impl Into<String>) -> Self {
        Self { counts: counts.into(), ..Self::default() }
    }

    /// Puts the counts and the lines about them first: a report about many agents may be longer than the screen.
    pub(crate) fn counts_first(self, counts_first: bool) -> Self {
        Self { counts_first, ..self }
    }

    /// Adds a section: a heading, and lines that are indented already. Without lines there is no section.
    pub(crate) fn section(&mut self, heading: &str, lines: &str) {
        if lines.is_empty() {
            return;
        }
        if !self.body.is_empty() {
            self.body.push('\n');
        }
        self.body.push_str(heading);
        self.body.push('\n');
        self.body.push_str(lines);
    }

    /// Adds text that has sections of its own.
    pub(crate) fn sections(&mut self, text: &str) {
        self.body.push_str(text);
    }

    /// Adds a line about the counts.
    pub(crate) fn detail(&mut self, line: &str) {
        self.details.push(visible(line.trim_end()).into_owned());
    }

    /// Adds what can be done.
    pub(crate) fn hint(&mut self, line: &str) {
        self.hints.push(format!("  = help: {}", visible(line)));
    }

    /// The report as it is printed, with colours where standard output has some.
    pub(crate) fn text(&self) -> String {
        let plain = self.plain();
        if style(&io::stdout()).color { painted(&plain) } else { plain }
    }

    fn plain(&self) -> String {
        let lines = |lines: &[&String]| {
            let filled = lines.iter().filter(|line| !line.is_empty());
            filled.fold(String::new(), |text, line| text + line + "\n")
        };
        let counts: Vec<_> = std::iter::once(&self.counts).chain(&self.details).collect();
        let hints: Vec<_> = self.hints.iter().collect();
        let body = self.body.trim_end().to_owned();
        let body = if body.is_empty() { body } else { body + "\n" };
        let parts = if self.counts_first {
            [lines(&counts), body, lines(&hints)]
        } else {
            [body, lines(&[counts, hints].concat()), String::new()]
        };
        let filled: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        filled.join("\n")
    }
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const END: &str = "\x1b[0m";

/// The words that begin a row, with their colours.
const WORDS: [(&str, &[&str]); 4] = [
    (RED, &["refused", "conflict"]),
    (GREEN, &["created", "updated", "imported", "exact"]),
    (YELLOW, &["narrowed", "dropped", "gap", "removed", "skipped", "changed", "lost"]),
    (DIM, &["unchanged", "="]),
];

/// The text with bold headings and a colour for the word of each row.
fn painted(text: &str) -> String {
    text.lines().fold(String::new(), |text, line| text + &painted_line(line) + "\n")
}

fn painted_line(line: &str) -> String {
    let rest = line.trim_start_matches(' ');
    let indent = line.len() - rest.len();
    let word = rest.split(' ').next().unwrap_or_default();
    let is_heading = indent == 0 && !word.is_empty() && word == rest;
    if is_heading {
        return format!("{BOLD}{line}{END}");
    }
    let color = WORDS.iter().find(|(_, words)| words.contains(&word)).map(|(color, _)| color);
    match color {
        Some(color) if indent == 2 => {
            let after = rest.get(word.len()..).unwrap_or_default();
            format!("  {color}{word}{END}{after}")
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_end_a_short_report_and_begin_a_long_one() {
        let mut report = CommandReport::new("checked 2 agents: 1 skipped");
        assert_eq!(report.plain(), "checked 2 agents: 1 skipped\n");
        report.section("files", "  created  a\n  skipped  b: no agent\n");
        report.section("nothing", "");
        report.section("losses", "  gap  c\n");
        report.detail("lost in pi: a\n");
        report.hint("`--guard` keeps it");
        let expected = "files\n  created  a\n  skipped  b: no agent\n\nlosses\n  gap  c\n\n\
            checked 2 agents: 1 skipped\nlost in pi: a\n  = help: `--guard` keeps it\n";
        assert_eq!(report.plain(), expected);
        let first = "checked 2 agents: 1 skipped\nlost in pi: a\n\nfiles\n  created  a\n  skipped  b: no agent\n\n\
            losses\n  gap  c\n\n  = help: `--guard` keeps it\n";
        let report = report.counts_first(true);
        assert_eq!(report.plain(), first);
        let colored = painted(expected);
        assert!(colored.starts_with("\x1b[1mfiles\x1b[0m\n  \x1b[32mcreated\x1b[0m  a\n"));
        assert!(colored.contains("\n  \x1b[2m=\x1b[0m help: "));
        assert!(colored.contains("\nchecked 2 agents"));
    }
}
