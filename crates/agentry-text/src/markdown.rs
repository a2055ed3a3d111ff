//! Markdown: front matter, sections, fenced code, images and paragraphs, each with its bytes.

use std::ops::Range;

use crate::source::{Source, Span, Spanned};

/// A Markdown file taken apart at its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The bytes between the fences, if the file opens with `---`.
    pub metadata: Option<Range<usize>>,
    /// The bytes after the closing fence; the whole file without metadata.
    pub body: Range<usize>,
    /// The opening fence, when no closing one follows.
    pub unclosed: Option<Span>,
}

/// Takes a file apart. Blank lines may stand before the opening fence.
pub fn parts(source: &Source) -> Parts {
    Parts { metadata: None, body: 0..source.text.len(), unclosed: None }
}

/// A heading with what stands under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// 1 for `#`.
    pub level: u8,
    /// The text of the heading, trimmed.
    pub title: Spanned<String>,
    /// The whole heading line(s).
    pub heading: Span,
    /// From after the heading to the next heading of this level or above (outside code).
    pub content: Span,
    /// From after the heading to the next heading of any level.
    pub own: Span,
}

/// Every section of the bytes `body`, in source order.
pub fn sections(source: &Source, body: Range<usize>) -> Vec<Section> {
    let _ = (source, body);
    Vec::new()
}

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The first word after the opening fence, in lower case.
    pub language: String,
    /// The code between the fences.
    pub code: Span,
    /// The whole block with its fences.
    pub block: Span,
    /// The opening fence line.
    pub opening: Span,
    /// Whether a closing fence was found.
    pub closed: bool,
}

/// Every fenced block of the bytes `range`.
pub fn fences(source: &Source, range: Range<usize>) -> Vec<Fence> {
    let _ = (source, range);
    Vec::new()
}

/// The first paragraph of the bytes `range`, if one stands before the first heading.
pub fn first_paragraph(source: &Source, range: Range<usize>) -> Option<Spanned<String>> {
    let _ = (source, range);
    None
}

/// The address of the first image of the bytes `range`.
pub fn first_image(source: &Source, range: Range<usize>) -> Option<Spanned<String>> {
    let _ = (source, range);
    None
}
