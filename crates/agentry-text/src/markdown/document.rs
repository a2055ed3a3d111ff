//! The base of all functions on Markdown: a byte range of a file as a document,
//! and the conversion of its offsets to spans of the file.

use std::borrow::Cow;
use std::iter::once;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::source::{FileId, SourceFile, Span};

/// The column from which `-`, `*`, `+` and `1.` open no list. The parser walks through every open
/// list at each line, so unbounded nesting would make a small file slow. A list takes at least two columns.
const DEEPEST_LIST: usize = 200;

/// A part of a file, ready to parse.
pub(super) struct MarkdownDocument<'s> {
    file: FileId,
    start: usize,
    /// As long as the part in bytes, and equal to it except for the replacements of [`tame`].
    text: Cow<'s, str>,
}

impl<'s> MarkdownDocument<'s> {
    pub(super) fn new(source: &'s SourceFile, range: Range<usize>) -> Self {
        let start = range.start;
        Self { file: source.id, start, text: tame(source.text.get(range).unwrap_or("")) }
    }

    /// Returns the text that the parser gets. Its offsets are those of [`Self::span`].
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the events of the parser, each with its range in [`Self::text`].
    pub(super) fn events(&self) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
        Parser::new_ext(&self.text, Options::empty()).into_offset_iter()
    }

    /// Returns the text of a range.
    pub(super) fn slice(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or("")
    }

    /// Converts a range of the document to a span of the file.
    pub(super) fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.file, self.start + range.start, self.start + range.end)
    }

    /// Returns the range without white space at its ends.
    pub(super) fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        trimmed(&self.text, range)
    }
}

/// Returns a range of `text` without white space at its ends.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let text = text.get(range.clone()).unwrap_or("");
    let start = range.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}

/// Passes every event of the block that was just opened to `each`, except its end.
pub(super) fn inside<'d>(
    events: &mut impl Iterator<Item = (Event<'d>, Range<usize>)>,
    mut each: impl FnMut(Event<'d>, Range<usize>),
) {
    let mut depth = 1_usize;
    for (event, range) in events {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) if depth == 1 => return,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        each(event, range);
    }
}

/// Collects the text that is visible on the rendered page: no markup, no image.
#[derive(Default)]
pub(super) struct VisibleText {
    pub(super) text: String,
    images: usize,
}

impl VisibleText {
    pub(super) fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(Tag::Image { .. }) => self.images += 1,
            Event::End(TagEnd::Image) => self.images = self.images.saturating_sub(1),
            _ if self.images > 0 => {}
            Event::Text(text) | Event::Code(text) => self.text.push_str(text),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            _ => {}
        }
    }
}

/// Replaces what the parser handles badly, without changing any offset: a lone CR becomes LF, a tab
/// at the end of a line becomes a space, and a list marker that is too deep becomes a letter.
fn tame(text: &str) -> Cow<'_, str> {
    // The length is tested first, because almost no line is that long.
    let is_deep = |line: &str| line.len() > DEEPEST_LIST && deep_marker(line.as_bytes()).is_some();
    if !text.contains('\r') && !text.contains('\t') && !text.split('\n').any(is_deep) {
        return Cow::Borrowed(text);
    }
    let following = text.bytes().skip(1).chain(once(b' '));
    let lone = |(byte, next)| if byte == b'\r' && next != b'\n' { b'\n' } else { byte };
    let mut bytes: Vec<u8> = text.bytes().zip(following).map(lone).collect();
    for line in bytes.split_mut(|byte| *byte == b'\n') {
        let blank = |byte: &&mut u8| matches!(**byte, b' ' | b'\t' | b'\r');
        line.iter_mut().rev().take_while(blank).filter(|byte| **byte == b'\t').for_each(space);
        if let Some(marker) = deep_marker(line).and_then(|at| line.get_mut(at)) {
            *marker = b'x';
        }
    }
    // Only ASCII bytes were replaced by ASCII bytes, so the text is still UTF-8.
    Cow::Owned(String::from_utf8(bytes).unwrap_or_default())
}

fn space(byte: &mut u8) {
    *byte = b' ';
}

/// Returns the offset of the first list marker of a line that is beyond [`DEEPEST_LIST`].
fn deep_marker(line: &[u8]) -> Option<usize> {
    let (mut at, mut column) = (0, 0);
    loop {
        let gap = line.get(at..)?.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'>'));
        let (bytes, columns) = gap.fold((0, 0), |(bytes, columns), byte| {
            // A tab counts as four columns at most, so the column is never underestimated.
            (bytes + 1, columns + if *byte == b'\t' { 4 } else { 1 })
        });
        (at, column) = (at + bytes, column + columns);
        let mut words = line.get(at..)?.split(u8::is_ascii_whitespace);
        let word = words.next().filter(|word| is_list_marker(word))?;
        if column > DEEPEST_LIST {
            return Some(at);
        }
        (at, column) = (at + word.len(), column + word.len());
    }
}

fn is_list_marker(word: &[u8]) -> bool {
    match word {
        [b'-' | b'*' | b'+'] => true,
        [digits @ .., b'.' | b')'] => {
            (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}
