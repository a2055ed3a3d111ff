//! Scalars without quotes.

use std::borrow::Cow;

use super::reader::{DOCUMENT_MARKS, is_break, is_gap};
use super::scan::{ScalarParts, YamlScanner, ends_word};

impl<'t> YamlScanner<'t> {
    /// Returns a plain scalar, and the offset where its text ends.
    pub(super) fn plain(&mut self) -> (Cow<'t, str>, usize) {
        let mut text = ScalarParts::default();
        let mut end = self.reader.at;
        // White space counts only if another word follows, so it waits here.
        let mut spaces: Vec<&'t str> = Vec::new();
        let indent = self.indent.map_or(0, |indent| indent + 1);
        // A `#` after white space starts a comment; inside a word it never gets here.
        while self.reader.peek() != Some('#') {
            let word = self.reader.take(self.word_length());
            if word.is_empty() {
                break;
            }
            self.allow_key = false;
            spaces.drain(..).for_each(|space| text.push(space));
            text.push(word);
            end = self.reader.at;
            self.plain_spaces(&mut spaces);
            // In block style, a line with less indentation belongs to the parent. Brackets ignore
            // indentation.
            if spaces.is_empty() || self.level == 0 && self.reader.column < indent {
                break;
            }
        }
        (text.finish(), end)
    }

    /// Returns the number of bytes up to the next character that may end the scalar.
    fn word_length(&self) -> usize {
        let rest = self.reader.rest();
        let in_flow = self.level > 0;
        let ends = |(at, c): (usize, char)| match c {
            ':' => {
                let next = rest.get(at + 1..).and_then(|rest| rest.chars().next());
                is_gap(next) || in_flow && next.is_some_and(|next| ",[]{}".contains(next))
            }
            ',' | '?' | '[' | ']' | '{' | '}' => in_flow,
            _ => ends_word(c),
        };
        rest.char_indices().find(|found| ends(*found)).map_or(rest.len(), |(at, _)| at)
    }

    /// Collects the white space before the next word, after folding of line breaks.
    fn plain_spaces(&mut self, out: &mut Vec<&'t str>) {
        let blanks = self.reader.take_while(|c| c == ' ');
        let Some(first) = self.reader.line_break() else {
            out.extend(Some(blanks).filter(|blanks| !blanks.is_empty()));
            return;
        };
        self.allow_key = true;
        let mut breaks = Vec::new();
        loop {
            if self.reader.column == 0 && self.reader.at_document_mark(DOCUMENT_MARKS) {
                // The scalar ends before `---` or `...`; the breaks before it are dropped.
                return;
            }
            self.reader.skip_spaces();
            match self.reader.line_break() {
                Some(found) => breaks.push(found),
                None => break,
            }
        }
        match first {
            "\n" if breaks.is_empty() => out.push(" "),
            "\n" => {}
            other => out.push(other),
        }
        out.extend(breaks);
        debug_assert!(self.reader.peek().is_none_or(|c| !is_break(c)), "all breaks are taken");
    }
}
