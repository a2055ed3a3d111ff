//! Splits a Markdown file into front matter and body.

use std::ops::Range;

use crate::source::{SourceFile, Span};

/// A Markdown file, split into front matter and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownParts {
    /// The bytes between the fences, if the file opens with `---`.
    pub metadata: Option<Range<usize>>,
    /// The bytes after the closing fence, or the whole file if there is no front matter.
    pub body: Range<usize>,
    /// The opening fence, when no closing one follows.
    pub unclosed: Option<Span>,
}

/// Splits a file. Blank lines may precede the opening fence. A fence is a line of exactly `---`,
/// apart from trailing spaces.
pub fn parts(source: &SourceFile) -> MarkdownParts {
    let text = &*source.text;
    let mut parts = MarkdownParts { metadata: None, body: 0..text.len(), unclosed: None };
    let mut lines = lines(text).skip_while(|line| content(text, line).is_empty());
    let Some(opening) = lines.next().filter(|line| is_fence(text, line)) else { return parts };
    match lines.find(|line| is_fence(text, line)) {
        Some(closing) => {
            parts.metadata = Some(opening.next..closing.start);
            parts.body = closing.next..text.len();
        }
        None => parts.unclosed = Some(Span::new(source.id, opening.start, opening.start + 3)),
    }
    parts
}

/// One line of a text, as byte offsets.
struct LineRange {
    start: usize,
    /// Before the line ending.
    end: usize,
    /// After the line ending.
    next: usize,
}

/// Returns the lines of `text`, which end with LF, CRLF or a lone CR.
fn lines(text: &str) -> impl Iterator<Item = LineRange> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let ending = match rest.as_bytes().get(length..) {
            Some([b'\r', b'\n', ..]) => 2,
            Some([_, ..]) => 1,
            _ => 0,
        };
        let end = start + length;
        let line = LineRange { start, end, next: end + ending };
        start = line.next;
        Some(line)
    })
}

/// Returns a line without trailing spaces.
fn content<'t>(text: &'t str, line: &LineRange) -> &'t str {
    text.get(line.start..line.end).unwrap_or("").trim_end_matches([' ', '\t'])
}

fn is_fence(text: &str, line: &LineRange) -> bool {
    content(text, line) == "---"
}
