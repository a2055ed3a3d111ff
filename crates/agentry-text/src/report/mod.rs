//! Findings for people and programs.
//!
//! Every writer takes one finding at a time and returns text or JSON. No writer prints, and none
//! keeps findings, so a check of ten thousand agents needs little memory. Text for a terminal
//! passes through [`visible()`], so that a hostile file cannot move the cursor or reorder the text.

mod excerpt;
pub mod github;
pub mod human;
pub mod json;
mod sanitize;
pub mod sarif;

#[cfg(test)]
mod samples;

use std::fmt;

pub use sanitize::{MOST_MARKS, is_hidden, visible, visible_after};

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{SourceFiles, Span, TextPosition};

/// The counts of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckSummary {
    /// How many agents were checked.
    pub agents: usize,
    /// How many other files were checked: settings, skills, texts.
    pub files: usize,
    /// How many findings are errors.
    pub errors: usize,
    /// How many are warnings.
    pub warnings: usize,
    /// How many are notes.
    pub notes: usize,
}

impl CheckSummary {
    /// Counts a finding.
    pub fn count(&mut self, diagnostic: &Diagnostic) {
        match diagnostic.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => self.notes += 1,
        }
    }
}

/// Writes the last line of a check: `checked 12 agents: 2 errors, 1 warning`.
impl fmt::Display for CheckSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let findings = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")];
        let findings: Vec<_> = findings
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| counted(count, what))
            .collect();
        let what = match (self.agents, self.files) {
            (0, files) if files > 0 => counted(files, "file"),
            (agents, 0) => counted(agents, "agent"),
            (agents, files) => {
                format!("{} and {}", counted(agents, "agent"), counted(files, "other file"))
            }
        };
        match (self.agents + self.files, findings.is_empty()) {
            (0, true) => f.write_str("no agents found"),
            (_, true) => write!(f, "checked {what}: all good"),
            (_, false) => write!(f, "checked {what}: {}", findings.join(", ")),
        }
    }
}

/// Returns at most `most` characters of a text, and `…` if that is not all.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns a count with its noun: `1 error`, `2 errors`.
pub fn counted<N: Copy + fmt::Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// The location of a span, as all writers need it.
struct ReportLocation<'s> {
    path: &'s str,
    start: TextPosition,
    /// After the last character; never before `start`.
    end: TextPosition,
}

impl<'s> ReportLocation<'s> {
    fn of(span: Span, sources: &'s SourceFiles) -> Self {
        let start = sources.start(span);
        Self { path: sources.path(span), start, end: sources.end(span).max(start) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::edit::Fix;
    use crate::source::FileId;

    #[test]
    fn the_summary_line_counts_findings() {
        let summary = |agents, errors, warnings, notes| {
            let files = 0;
            CheckSummary { agents, files, errors, warnings, notes }
        };
        let with_files = |agents, files| CheckSummary { agents, files, ..CheckSummary::default() };
        let cases = [
            (with_files(2, 1), "checked 2 agents and 1 other file: all good"),
            (with_files(0, 3), "checked 3 files: all good"),
            (summary(12, 2, 1, 0), "checked 12 agents: 2 errors, 1 warning"),
            (summary(5, 0, 0, 0), "checked 5 agents: all good"),
            (summary(1, 0, 0, 3), "checked 1 agent: 3 notes"),
            (summary(0, 1, 0, 0), "checked 0 agents: 1 error"),
            (summary(0, 0, 0, 0), "no agents found"),
        ];
        for (summary, expected) in cases {
            assert_eq!(summary.to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_reported_without_hidden_characters(
            texts in proptest::array::uniform2(hostile()),
            path in hostile(),
            ranges in vec((0_u32..2, 0_u32..80, 0_u32..80), 1..5),
            width in 0_usize..160,
        ) {
            let mut sources = SourceFiles::default();
            for text in &texts {
                sources.add(&path, text);
            }
            // Not `Span::new`, which would correct a range that ends before it starts.
            let mut spans = ranges.into_iter().map(|(file, start, end)| Span { file: FileId(file), start, end });
            let main = spans.next().unwrap_or(Span::start_of(FileId(9)));
            let mut found = Diagnostic::new(&samples::RULE, main, &*texts[0]);
            spans.for_each(|span| { found.related(span, &*texts[1]); });
            found.hint(&*path).fix(Fix::safe(&*path, main, &*texts[1]));

            let human = human::render(&found, &sources, human::ReportStyle { color: false, width });
            let place = ReportLocation::of(main, &sources);
            let at = format!(":{}:{}\n", place.start.line, place.start.column);
            prop_assert!(human.lines().nth(1).is_some_and(|line| format!("{line}\n").ends_with(&at)), "{human}");
            let mut log = sarif::SarifLog::new("1.2.3");
            log.add(&found, &sources);
            for text in [
                human,
                human::line(&found, &sources),
                json::text(&json::diagnostic(&found, &sources)),
                json::text(&log.finish(&[])),
                github::line(&found, &sources),
            ] {
                let bad = |char: char| char != '\n' && sanitize::is_hidden(char);
                prop_assert!(!text.contains(bad), "{text:?}");
            }
        }
    }

    /// Short texts with many line breaks, tabs, wide characters and terminal control characters.
    fn hostile() -> impl Strategy<Value = String> {
        const PIECES: &[&str] = &[
            "\r\n",
            "\r",
            "\n",
            "\t",
            "\u{1b}[2J",
            "\u{202e}",
            "\u{200d}",
            "\u{9b}",
            "日",
            "\u{1F680}",
            "e\u{301}",
            "a",
            " ",
            "long words ",
        ];
        let piece = prop_oneof![
            4 => proptest::sample::select(PIECES).prop_map(str::to_owned),
            1 => any::<char>().prop_map(String::from),
        ];
        vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }
}
