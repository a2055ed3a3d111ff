//! Moves through a text and keeps count of lines and columns, as `PyYAML`'s reader does.
//! A byte order mark has no column.

use super::YamlRefusal;

#[derive(Debug)]
pub(super) struct YamlReader<'t> {
    pub(super) text: &'t str,
    /// The offset of the next byte.
    pub(super) at: usize,
    pub(super) line: usize,
    /// In characters, from 0.
    pub(super) column: usize,
}

impl<'t> YamlReader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 0, column: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns the character after the next one.
    pub(super) fn second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    /// Reports whether the text ends here, or a space or a line break follows.
    pub(super) fn is_gap(&self) -> bool {
        is_gap(self.peek())
    }

    /// Moves on by one character.
    pub(super) fn forward(&mut self) {
        let Some(found) = self.peek() else { return };
        self.at += found.len_utf8();
        // CRLF is one line break, counted at its second character.
        let first_of_two = found == '\r' && self.peek() == Some('\n');
        if is_break(found) && !first_of_two {
            self.line += 1;
            self.column = 0;
        } else if found != '\u{feff}' {
            self.column += 1;
        }
    }

    /// Takes the given number of bytes, which must not contain a line break.
    pub(super) fn take(&mut self, bytes: usize) -> &'t str {
        let taken = self.rest().get(..bytes).unwrap_or("");
        self.at += taken.len();
        self.column += taken.chars().filter(|c| *c != '\u{feff}').count();
        taken
    }

    /// Takes characters of the line as long as `wanted` returns true.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        self.take(rest.find(|c| is_break(c) || !wanted(c)).unwrap_or(rest.len()))
    }

    pub(super) fn skip_spaces(&mut self) {
        self.take_while(|c| c == ' ');
    }

    /// Takes a line break, and returns the text that it becomes in a scalar.
    pub(super) fn line_break(&mut self) -> Option<&'static str> {
        let (text, count) = match self.peek()? {
            '\r' if self.second() == Some('\n') => ("\n", 2),
            // NEL becomes a line feed; the two Unicode separators stay as they are.
            '\r' | '\n' | '\u{85}' => ("\n", 1),
            '\u{2028}' => ("\u{2028}", 1),
            '\u{2029}' => ("\u{2029}", 1),
            _ => return None,
        };
        (0..count).for_each(|_| self.forward());
        Some(text)
    }

    /// Takes spaces, a comment and the line break; refuses anything else.
    pub(super) fn rest_of_line(&mut self, message: &'static str) -> Result<(), YamlRefusal> {
        self.skip_spaces();
        if self.peek() == Some('#') {
            self.take_while(|_| true);
        }
        if self.peek().is_some_and(|c| !is_break(c)) {
            return Err(self.refuse(message));
        }
        self.line_break();
        Ok(())
    }

    /// Reports whether a line `---` or `...` starts here.
    pub(super) fn at_document_mark(&self, marks: &[&str]) -> bool {
        let rest = self.rest();
        marks
            .iter()
            .any(|mark| rest.strip_prefix(mark).is_some_and(|after| is_gap(after.chars().next())))
    }

    pub(super) fn refuse(&self, message: &'static str) -> YamlRefusal {
        YamlRefusal { at: self.at, message }
    }
}

/// The two lines that end every scalar.
pub(super) const DOCUMENT_MARKS: &[&str] = &["---", "..."];

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Reports whether `next` is a space, a tab, a line break or the end of the text.
pub(super) fn is_gap(next: Option<char>) -> bool {
    next.is_none_or(|c| matches!(c, ' ' | '\t') || is_break(c))
}
