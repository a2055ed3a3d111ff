//! A line of text with looks. It is the only way to the screen of a run: every text is cleaned when it is
//! added, so nothing that a model, a tool or a file name contains can control the terminal.

use agentry_compile::text::report::{MOST_MARKS, visible_after};
use unicode_width::UnicodeWidthChar as _;

use crate::output::without_tabs;

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::command::run) enum TextLook {
    #[default]
    Plain,
    Dim,
    Bold,
    Code,
    Good,
    Warning,
    Bad,
}

impl TextLook {
    /// The escape sequence that turns the look on.
    const fn sequence(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "\x1b[2m",
            Self::Bold => "\x1b[1m",
            Self::Code => "\x1b[36m",
            Self::Good => "\x1b[32m",
            Self::Warning => "\x1b[33m",
            Self::Bad => "\x1b[31m",
        }
    }
}

/// A line in pieces, each with its look. Its text has no control characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::command::run) struct StyledLine {
    pieces: Vec<(TextLook, String)>,
    /// The columns that it takes, and the combining marks at its end.
    columns: usize,
    marks: usize,
}

impl StyledLine {
    pub(in crate::command::run) fn new(look: TextLook, text: &str) -> Self {
        Self::default().with(look, text)
    }

    /// The line with more text.
    pub(in crate::command::run) fn with(mut self, look: TextLook, text: &str) -> Self {
        self.push(look, text);
        self
    }

    /// The line with another one after it.
    pub(in crate::command::run) fn and(mut self, other: &Self) -> Self {
        for (look, text) in &other.pieces {
            if text.is_ascii() {
                self.push_ascii(*look, text);
            } else {
                text.chars().for_each(|char| self.push_visible(*look, char));
            }
        }
        self
    }

    /// The line with plain text in bold.
    pub(in crate::command::run) fn emphasized(mut self) -> Self {
        let plain = self.pieces.iter_mut().filter(|(look, _)| *look == TextLook::Plain);
        plain.for_each(|(look, _)| *look = TextLook::Bold);
        self
    }

    /// The line without spaces at its ends.
    pub(in crate::command::run) fn trimmed(&self) -> Self {
        let all: Vec<_> = self.characters().collect();
        let is_text = |(_, char): &(TextLook, char)| *char != ' ';
        let start = all.iter().position(is_text).unwrap_or(all.len());
        let end = all.iter().rposition(is_text).map_or(start, |at| at + 1);
        Self::of(all.get(start..end).unwrap_or_default())
    }

    /// Its pieces of text, each with one look.
    pub(in crate::command::run) fn pieces(&self) -> &[(TextLook, String)] {
        &self.pieces
    }

    /// Adds text, without anything that controls the terminal.
    pub(in crate::command::run) fn push(&mut self, look: TextLook, text: &str) {
        // Most text is of this kind, and every character of it takes one column.
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return self.push_ascii(look, text);
        }
        let text = without_tabs(text);
        // A text that streams in may be split inside of an emoji.
        let before = self.pieces.last().map_or("", |(_, text)| text);
        for char in visible_after(before, &text).into_owned().chars() {
            self.push_visible(look, char);
        }
    }

    /// Adds text of printable ASCII.
    fn push_ascii(&mut self, look: TextLook, text: &str) {
        if text.is_empty() {
            return;
        }
        (self.columns, self.marks) = (self.columns + text.len(), 0);
        match self.pieces.last_mut() {
            Some((last, before)) if *last == look => before.push_str(text),
            _ => self.pieces.push((look, text.to_owned())),
        }
    }

    fn push_visible(&mut self, look: TextLook, char: char) {
        let columns = columns_of(char);
        self.marks = if columns == 0 { self.marks + 1 } else { 0 };
        if self.marks > MOST_MARKS {
            return;
        }
        self.columns += columns;
        match self.pieces.last_mut() {
            Some((last, text)) if *last == look => text.push(char),
            _ => self.pieces.push((look, char.to_string())),
        }
    }

    pub(in crate::command::run) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether its text starts with this one, in one look.
    pub(in crate::command::run) fn starts_with(&self, text: &str) -> bool {
        self.pieces.first().is_some_and(|(_, first)| first.starts_with(text))
    }

    /// The columns that it takes. Never fewer than on a terminal that joins characters of an emoji.
    pub(in crate::command::run) const fn columns(&self) -> usize {
        self.columns
    }

    /// The line in at most this many columns; `…` stands for the rest.
    pub(in crate::command::run) fn cut(&self, most: usize) -> Self {
        if self.columns <= most {
            return self.clone();
        }
        let mut out = Self::default();
        for (look, char) in self.characters() {
            if out.columns + columns_of(char) >= most {
                out.push_visible(look, '…');
                break;
            }
            out.push_visible(look, char);
        }
        out
    }

    /// The line in rows of at most this many columns, broken at spaces where there are some.
    pub(in crate::command::run) fn rows(&self, most: usize) -> Vec<Self> {
        if self.columns <= most {
            return vec![self.clone()];
        }
        let mut rows = Vec::new();
        let mut row: Vec<(TextLook, char)> = Vec::new();
        let mut columns = 0;
        for (look, char) in self.characters() {
            if columns + columns_of(char) > most.max(2) {
                // Without a space, or if the break leaves too little, the row is filled.
                let space = row.iter().rposition(|(_, char)| *char == ' ');
                let at = space.map_or(row.len(), |at| at + 1);
                let rest = row.split_off(if at * 2 > row.len() { at } else { row.len() });
                rows.push(Self::of(&row));
                row = rest;
                columns = row.iter().map(|(_, char)| columns_of(*char)).sum();
            }
            columns += columns_of(char);
            row.push((look, char));
        }
        rows.push(Self::of(&row));
        rows
    }

    /// Like [`StyledLine::rows`]; all rows but the first are indented, so that they stand below its text.
    pub(in crate::command::run) fn rows_below(&self, most: usize, indent: usize) -> Vec<Self> {
        if self.columns <= most || most < indent * 2 {
            return self.rows(most);
        }
        let mut first = self.rows(most);
        let rest = first.split_off(1);
        let mut line = Self::default();
        rest.iter()
            .flat_map(Self::characters)
            .for_each(|(look, char)| line.push_visible(look, char));
        let indented = |row: &Self| Self::new(TextLook::Plain, &" ".repeat(indent)).and(row);
        first.extend(line.rows(most - indent).iter().map(indented));
        first
    }

    /// The line as it is written to the terminal.
    pub(in crate::command::run) fn painted(&self, color: bool) -> String {
        let mut out = String::new();
        for (look, text) in &self.pieces {
            if color && *look != TextLook::Plain {
                out.push_str(look.sequence());
                out.push_str(text);
                out.push_str("\x1b[0m");
            } else {
                out.push_str(text);
            }
        }
        out
    }

    fn of(characters: &[(TextLook, char)]) -> Self {
        let mut out = Self::default();
        characters.iter().for_each(|(look, char)| out.push_visible(*look, *char));
        out
    }

    fn characters(&self) -> impl Iterator<Item = (TextLook, char)> {
        self.pieces.iter().flat_map(|(look, text)| text.chars().map(move |char| (*look, char)))
    }
}

fn columns_of(char: char) -> usize {
    match char {
        // It makes the symbol before it a wide one, on terminals that know it.
        '\u{FE0F}' => 1,
        _ => char.width().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> StyledLine {
        StyledLine::new(TextLook::Plain, text)
    }

    #[test]
    fn lines_wrap_and_cut_at_their_columns() {
        let cases: [(&str, usize, &[&str]); 7] = [
            ("short", 10, &["short"]),
            ("", 10, &[""]),
            ("one two three", 8, &["one two ", "three"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("日本語です", 5, &["日本", "語で", "す"]),
            ("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]),
            ("a bcdefghij", 6, &["a bcde", "fghij"]),
        ];
        for (text, columns, expected) in cases {
            let rows: Vec<String> =
                plain(text).rows(columns).iter().map(|row| row.painted(false)).collect();
            assert_eq!(rows, expected, "{text:?} in {columns}");
        }
        assert_eq!(plain("日本語").cut(4).painted(false), "日…");
        assert_eq!(plain("abc").cut(3).painted(false), "abc");
        assert_eq!(plain("abcd").cut(3).painted(false), "ab…");
    }

    #[test]
    fn styled_text_is_reset_and_control_characters_escaped() {
        let line = StyledLine::new(TextLook::Bad, "no\x1b[2J").with(TextLook::Plain, " more");
        assert_eq!(line.painted(true), "\x1b[31mno\\u{1b}[2J\x1b[0m more");
        assert_eq!(line.painted(false), "no\\u{1b}[2J more");
        let mut family = plain("👩");
        ["\u{200D}", "🚀❤", "\u{FE0F}", "\u{FE0F}"]
            .iter()
            .for_each(|it| family.push(TextLook::Plain, it));
        assert_eq!(family.painted(false), "👩\u{200D}🚀❤\u{FE0F}\\u{fe0f}");
        let tower = plain(&format!("a{}b", "\u{301}".repeat(50)));
        let marks =
            format!("{}{}", "\u{301}".repeat(MOST_MARKS), "\\u{301}".repeat(50 - MOST_MARKS));
        assert_eq!(tower.painted(false), format!("a{marks}b"));
        // Looks make no difference.
        let mut tower = plain("a");
        for at in 0..50 {
            tower.push(if at % 2 == 0 { TextLook::Bold } else { TextLook::Plain }, "\u{301}");
        }
        assert_eq!(tower.painted(false).matches('\u{301}').count(), MOST_MARKS);
    }
}
