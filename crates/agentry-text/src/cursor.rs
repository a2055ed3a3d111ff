//! Moves through text character by character, for the hand-written lexers of JSON and ACL.

/// A position in a text.
#[derive(Debug, Clone)]
pub(crate) struct TextCursor<'s> {
    text: &'s str,
    /// The offset of the next byte.
    pub(crate) at: usize,
}

impl<'s> TextCursor<'s> {
    /// A cursor at the start of `text`.
    pub(crate) fn new(text: &'s str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the text that is left.
    pub(crate) fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Returns the next character without taking it.
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes the next character.
    pub(crate) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes the next character, unless the line ends.
    pub(crate) fn next_in_line(&mut self) -> Option<char> {
        if self.peek().is_some_and(is_line_end) { None } else { self.next() }
    }

    /// Takes `expected` if it comes next.
    pub(crate) fn eat(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// Takes and returns characters as long as `wanted` returns true.
    pub(crate) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or("")
    }

    /// Takes everything up to the end of the line.
    pub(crate) fn take_line(&mut self) -> &'s str {
        self.take_while(|c| !is_line_end(c))
    }

    /// Returns the text from byte `start` to the cursor.
    pub(crate) fn since(&self, start: usize) -> &'s str {
        self.text.get(start..self.at).unwrap_or("")
    }
}

/// Reports whether a character ends a line.
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r')
}
