//! Walks over text character by character, for the languages that are read by hand.

/// A place in a text.
#[derive(Debug, Clone)]
pub(crate) struct TextCursor<'s> {
    text: &'s str,
    /// The byte that comes next.
    pub(crate) at: usize,
}

impl<'s> TextCursor<'s> {
    /// The start of `text`.
    pub(crate) fn new(text: &'s str) -> Self {
        Self { text, at: 0 }
    }

    /// What is still to come.
    pub(crate) fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// The next character.
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes the next character.
    pub(crate) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes the next character unless the line ends.
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

    /// Takes characters as long as `wanted` says so, and gives them.
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

    /// The text from byte `start` up to here.
    pub(crate) fn since(&self, start: usize) -> &'s str {
        self.text.get(start..self.at).unwrap_or("")
    }
}

/// Whether a line ends at this character.
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r')
}
