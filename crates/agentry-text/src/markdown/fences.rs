//! Fenced code blocks, and the text between them.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use super::document::{MarkdownDocument, inside, trimmed};
use crate::source::{SourceFile, Span};

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFence {
    /// The first word after the opening fence, in lower case.
    pub language: String,
    /// The code between the fences: whole lines, with their indentation if the block is in a list item.
    pub code: Span,
    /// The whole block with its fences.
    pub block: Span,
    /// The opening fence line.
    pub opening: Span,
    /// Whether a closing fence was found.
    pub closed: bool,
}

/// Returns every fenced block of the bytes `range`, including those in lists and quotes.
pub fn fences(source: &SourceFile, range: Range<usize>) -> Vec<CodeFence> {
    let document = MarkdownDocument::new(source, range);
    let mut found = Vec::new();
    let mut events = document.events();
    while let Some((event, block)) = events.next() {
        let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) = event else { continue };
        let mut last = 0;
        inside(&mut events, |_, line| last = last.max(line.end));
        let language = info.split_whitespace().next().unwrap_or("").to_lowercase();
        found.push(fence(&document, language, block, last));
    }
    found
}

/// Builds a block whose code ends at `last`.
/// The parser does not report whether it found a closing fence, but its events cover every line of
/// code and nothing else. So any text after the last event is the closing fence.
fn fence(
    document: &MarkdownDocument<'_>,
    language: String,
    block: Range<usize>,
    last: usize,
) -> CodeFence {
    let first_line = document.slice(block.clone()).split_inclusive('\n').next().unwrap_or("");
    let code_start = block.start + first_line.len();
    let code_end = last.clamp(code_start, block.end.max(code_start));
    let closed = !document.slice(code_end..block.end).trim().is_empty();
    let code_end = if closed { code_end } else { block.end };
    CodeFence {
        language,
        code: document.span(code_start..code_end),
        opening: document.span(document.trimmed(block.start..code_start)),
        block: document.span(block),
        closed,
    }
}

/// Returns the parts of the bytes `range` that are not in `blocks`, without blank ones.
pub fn outside(source: &SourceFile, range: Range<usize>, blocks: &[Span]) -> Vec<Span> {
    let mut blocks: Vec<_> = blocks.iter().map(|block| block.range()).collect();
    blocks.sort_by_key(|block| block.start);
    let end = range.end;
    let mut at = range.start;
    let mut found = Vec::new();
    // The empty block at the end flushes the text after the last real block.
    for block in blocks.into_iter().chain(std::iter::once(end..end)) {
        let stretch = trimmed(&source.text, at..block.start.min(end).max(at));
        if !stretch.is_empty() {
            found.push(Span::new(source.id, stretch.start, stretch.end));
        }
        at = at.max(block.end);
    }
    found
}
