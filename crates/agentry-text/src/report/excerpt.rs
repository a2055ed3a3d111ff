//! The few lines of a file that a finding shows, shortened and safe for a terminal.
//!
//! A line may have a megabyte, a span a thousand lines, and a text escape sequences. An excerpt is
//! small, has `\n` as its only line break, and records where the marked ranges are in it.

use std::ops::{Range, RangeInclusive};

use super::sanitize;

/// The most lines of one span that are shown; of a longer span, only the first is.
pub(super) const LINES: usize = 6;
/// The most bytes between two spans that are shown together.
const TOGETHER: usize = 2048;
/// Columns of a tab.
const TAB: &str = "    ";
/// Marks the part of a line that is left out.
const CUT: &str = "...";

/// Lines of a file, as shown.
#[derive(Debug)]
pub(super) struct SourceExcerpt {
    /// The lines; none is empty, so that each can be pointed at.
    pub text: String,
    /// The ranges of the caller, as offsets into `text`.
    pub marks: Vec<Range<usize>>,
}

/// Returns the lines of `text` around `ranges`, none of them much longer than `width`.
///
/// The ranges must be inside the text and on character boundaries. The most important one comes
/// first: its start is always shown.
pub(super) fn excerpt(text: &str, ranges: &[Range<usize>], width: usize) -> SourceExcerpt {
    let from = ranges.iter().map(|range| range.start).min().unwrap_or(0);
    let to = ranges.iter().map(|range| range.end).max().unwrap_or(0);
    let (start, cut) = window(text, from, width);
    let mut copy =
        ExcerptCopier { ranges, width, to, out: String::new(), marks: vec![], column: 0 };
    copy.marks.resize(ranges.len(), 0..0);
    if cut {
        copy.push_str(CUT);
    }
    copy.lines(text, start);
    SourceExcerpt { text: copy.out, marks: copy.marks }
}

/// Reports whether `ranges` are so near each other, on short lines, that one excerpt can show all.
pub(super) fn fit_together(text: &str, ranges: &[Range<usize>], width: usize) -> bool {
    let from = ranges.iter().map(|range| range.start).min().unwrap_or(0);
    let to = ranges.iter().map(|range| range.end).max().unwrap_or(0);
    let (start, cut) = window(text, from, width);
    // Several annotations with a multi-line range are drawn as a tangle of lines.
    let single =
        |range: &Range<usize>| !text.get(range.clone()).is_some_and(|it| it.contains(is_end));
    let lines = || text.get(start..to).unwrap_or("").split(is_end);
    to - from <= TOGETHER
        && !cut
        && ranges.iter().all(single)
        && lines().all(|line| line.chars().count() < width)
}

/// Returns where to start showing the line of byte `at`, and whether its beginning is left out.
fn window(text: &str, at: usize, width: usize) -> (usize, bool) {
    let before = text.get(..at).unwrap_or("");
    let mut near = before.char_indices().rev().take_while(|(_, char)| !is_end(*char));
    // Keeps a third of the width for the text at `at`.
    let room = width - width / 3;
    let start = near.by_ref().take(room).last().map_or(at, |(byte, _)| byte);
    if near.next().is_none() {
        return (start, false);
    }
    let shown = before.char_indices().rev().take(width / 3).last();
    (shown.map_or(at, |(byte, _)| byte), true)
}

fn is_end(char: char) -> bool {
    matches!(char, '\n' | '\r')
}

/// Copies lines and tracks the ranges in them.
struct ExcerptCopier<'r> {
    ranges: &'r [Range<usize>],
    width: usize,
    /// The last byte of interest; nothing after its line is copied.
    to: usize,
    out: String,
    marks: Vec<Range<usize>>,
    /// The number of characters on the current line.
    column: usize,
}

impl ExcerptCopier<'_> {
    /// Copies from byte `at` to the end of the last line.
    fn lines(&mut self, text: &str, mut at: usize) {
        loop {
            at = self.line(text, at);
            // An empty line gets a space, because an underline needs a character.
            if self.column == 0 {
                self.push_str(" ");
            }
            let rest = text.get(at..).unwrap_or("");
            let end = if rest.starts_with("\r\n") { 2 } else { 1 };
            if rest.is_empty() || at + end > self.to {
                return;
            }
            self.out.push('\n');
            self.column = 0;
            at += end;
        }
    }

    /// Copies one line from byte `at`, as much as fits; returns the byte where it ends.
    fn line(&mut self, text: &str, at: usize) -> usize {
        let rest = text.get(at..).unwrap_or("");
        let mut before = None;
        for (offset, char) in rest.char_indices() {
            if is_end(char) {
                self.note(at + offset..=at + offset);
                return at + offset;
            }
            if self.column >= self.width {
                return self.cut(text, at + offset);
            }
            self.note(at + offset..=at + offset);
            self.push(before, char);
            before = Some(char);
        }
        self.note(text.len()..=text.len());
        text.len()
    }

    /// Leaves out the rest of the line; ranges that continue there end here.
    fn cut(&mut self, text: &str, at: usize) -> usize {
        let rest = text.get(at..self.to).unwrap_or("");
        let end = rest.find(is_end).map_or(self.to.max(at), |offset| at + offset);
        self.note(at..=end);
        self.push_str(CUT);
        end
    }

    /// Sets the marks of ranges that start or end in `bytes`, which are the next to be copied.
    fn note(&mut self, bytes: RangeInclusive<usize>) {
        let here = self.out.len();
        for (range, mark) in self.ranges.iter().zip(&mut self.marks) {
            if bytes.contains(&range.start) {
                *mark = here..here;
            }
            if bytes.contains(&range.end) {
                mark.end = here;
            }
        }
    }

    fn push(&mut self, before: Option<char>, char: char) {
        if char == '\t' {
            self.push_str(TAB);
        } else {
            let length = self.out.len();
            sanitize::push(&mut self.out, before, char);
            self.column += self.out.get(length..).map_or(0, |new| new.chars().count());
        }
    }

    fn push_str(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_around_the_marks() {
        let long = format!("{}HERE{}", "a".repeat(5000), "b".repeat(5000));
        let cases: [(&str, Range<usize>, &str, &str); 8] = [
            ("one\ntwo\nthree", 4..7, "two", "two"),
            ("one\rtwo\rthree", 5..6, "two", "w"),
            ("one\r\ntwo", 2..6, "one\ntwo", "e\nt"),
            ("a\tb", 2..3, "a    b", "b"),
            ("", 0..0, " ", ""),
            ("one\n", 4..4, " ", ""),
            ("x\u{1b}y", 1..2, "x\\u{1b}y", "\\u{1b}"),
            (&long, 5000..5004, "...aaaaaaaaaaHEREbbbbbbbbbbbbb...", "HERE"),
        ];
        for (text, range, expected, marked) in cases {
            let found = excerpt(text, &[range], 30);
            let mark = found.marks[0].clone();
            assert_eq!((found.text.as_str(), &found.text[mark]), (expected, marked));
        }
    }

    #[test]
    fn marks_end_where_the_line_is_cut() {
        let text = "x".repeat(100) + "\nlast";
        let cases = [(10..101, 10..34), (10..50, 10..30), (10..105, 10..38)];
        for (range, expected) in cases {
            let found = excerpt(&text, std::slice::from_ref(&range), 30);
            assert!(found.text.starts_with(&("x".repeat(30) + "...")), "{range:?}");
            assert_eq!(found.marks[0], expected, "{range:?}");
        }
    }
}
