//! Converts the parser's character counts to byte offsets, and finds parts of the text for which
//! the parser gives no position: closing quotes, headers of block scalars, tags.

use std::ops::Range;

use saphyr_parser::Marker;

use crate::hygiene::unusual;
use crate::source::{FileId, Span};

/// The text that is parsed, as a part of its file.
pub(super) struct SpanMapper<'t> {
    /// The part of the file that is YAML; all offsets are relative to it.
    pub(super) text: &'t str,
    file: FileId,
    /// Where the part starts in its file.
    base: usize,
    /// For each character of several bytes: the index of the next character, and the difference
    /// between its byte offset and that index.
    wide: Vec<(usize, usize)>,
}

impl<'t> SpanMapper<'t> {
    pub(super) fn new(text: &'t str, file: FileId, base: usize) -> Self {
        Self { text, file, base, wide: wide(text) }
    }

    /// Returns the byte offset of the parser's mark.
    pub(super) fn byte(&self, mark: Marker) -> usize {
        // The last wide character before the mark has the number of extra bytes up to there.
        let before = self.wide.partition_point(|(next, _)| *next <= mark.index());
        let extra = before.checked_sub(1).and_then(|at| self.wide.get(at)).map_or(0, |wide| wide.1);
        mark.index().saturating_add(extra).min(self.text.len())
    }

    /// Converts a byte range of the text to a span of the file.
    pub(super) fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.file, self.base + range.start, self.base + range.end)
    }

    /// Converts a span of the file to a byte range of the text.
    pub(super) fn local(&self, span: Span) -> Range<usize> {
        let range = span.range();
        range.start.saturating_sub(self.base)..range.end.saturating_sub(self.base)
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or("")
    }

    pub(super) fn at(&self, offset: usize) -> Option<u8> {
        self.text.as_bytes().get(offset).copied()
    }

    /// Returns the end of the quoted scalar that starts at `start`, after its closing quote.
    pub(super) fn closing_quote(&self, start: usize) -> usize {
        let quote = self.at(start);
        let mut at = start + 1;
        while let Some(byte) = self.at(at) {
            let escaped = quote == Some(b'"') && byte == b'\\'
                || quote == Some(b'\'') && byte == b'\'' && self.at(at + 1) == Some(b'\'');
            if escaped {
                at += 2;
            } else if Some(byte) == quote {
                return at + 1;
            } else {
                at += 1;
            }
        }
        self.text.len()
    }

    /// Returns the first byte after `from` that is one of `wanted`, if only white space, comments,
    /// tags, anchors and the indicators `through` are before it.
    pub(super) fn seek(&self, from: usize, wanted: &[u8], through: &[u8]) -> Option<usize> {
        let mut at = from;
        loop {
            let byte = self.at(at)?;
            if wanted.contains(&byte) {
                return Some(at);
            }
            at = match byte {
                b' ' | b'\t' | b'\n' | b'\r' => at + 1,
                b'#' => self.line_end(at),
                b'!' | b'&' => self.word_end(at),
                _ if through.contains(&byte) => at + 1,
                _ => return None,
            };
        }
    }

    /// Returns the range of the tags and anchors that start at `from`.
    pub(super) fn properties(&self, from: usize) -> Range<usize> {
        let mut end = from;
        let mut at = from;
        while matches!(self.at(at), Some(b'!' | b'&')) {
            end = self.word_end(at);
            at = end;
            while matches!(self.at(at), Some(b' ' | b'\t')) {
                at += 1;
            }
        }
        from..end
    }

    /// Returns the end of the word at `from`: white space or a bracket or comma.
    pub(super) fn word_end(&self, from: usize) -> usize {
        let ends = |byte: &u8| {
            matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b'[' | b']' | b'{' | b'}')
        };
        self.find(from, ends)
    }

    /// Returns the end of the line at `from`, before its line break.
    pub(super) fn line_end(&self, from: usize) -> usize {
        self.find(from, |byte| matches!(byte, b'\n' | b'\r'))
    }

    /// Returns the start of the line that contains `at`.
    pub(super) fn line_start(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        before.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |found| found + 1)
    }

    fn find(&self, from: usize, wanted: impl Fn(&u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        rest.iter().position(wanted).map_or(self.text.len(), |found| from + found)
    }

    /// Returns the end of the text in `range`, without blank lines after it.
    pub(super) fn without_blank_lines(&self, range: Range<usize>) -> usize {
        let written = self.slice(range.clone()).as_bytes();
        let last = written.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        let Some(last) = last else { return range.start };
        self.line_end(range.start + last).min(range.end)
    }

    /// Returns the first tab in `range` that is not in a comment.
    pub(super) fn tab(&self, range: Range<usize>) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            match self.at(at) {
                Some(b'\t') => return Some(at),
                Some(b'#') => at = self.line_end(at),
                _ => at += 1,
            }
        }
        None
    }
}

/// Returns the table of wide characters for [`SpanMapper`].
fn wide(text: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut extra = 0;
    for (at, found) in unusual(text).filter(|(_, found)| !found.is_ascii()) {
        // `at` counts bytes; without the extra ones it is the index of the character.
        let next = at - extra + 1;
        extra += found.len_utf8() - 1;
        out.push((next, extra));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_marks_become_byte_offsets() {
        for (text, index, byte) in [("abc", 1, 1), ("é\u{1F680}x", 2, 6), ("é", 9, 2), ("a", 9, 1)]
        {
            let places = SpanMapper::new(text, FileId(0), 10);
            let found = places.byte(Marker::new(index, 1, 0));
            assert_eq!(found, byte, "{text:?} {index}");
            assert_eq!(places.span(found..found).range(), byte + 10..byte + 10);
        }
    }

    #[test]
    fn closing_quotes_are_found() {
        let cases = [
            (r#""a" # "b""#, 3),
            (r#""a\"b" c"#, 6),
            (r"'it''s' 'x'", 7),
            (r#""open"#, 5),
            (r#""\"#, 2),
        ];
        for (text, end) in cases {
            assert_eq!(SpanMapper::new(text, FileId(0), 0).closing_quote(0), end, "{text}");
        }
    }
}
