//! Headings, and the content of their sections.

use std::ops::Range;

use pulldown_cmark::{Event, Tag};

use super::document::{MarkdownDocument, VisibleText, inside};
use crate::source::{SourceFile, Span, Spanned};

/// A heading with the content below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownSection {
    /// 1 for `#`.
    pub level: u8,
    /// The text of the heading, trimmed and without markup; its span includes the markup.
    pub title: Spanned<String>,
    /// The whole heading, without the line ending. A heading underlined with `=` or `-` has two lines.
    pub heading: Span,
    /// From after the heading to the next heading of the same or a higher level.
    pub content: Span,
    /// From after the heading to the next heading of any level.
    pub own: Span,
}

/// Returns every section of the bytes `body`, in source order.
pub fn sections(source: &SourceFile, body: Range<usize>) -> Vec<MarkdownSection> {
    let document = MarkdownDocument::new(source, body);
    let headings = headings(&document);
    let end = document.text().len();
    let line = |heading: Option<&MarkdownHeading>| heading.map_or(end, |heading| heading.line);
    let section = |(at, heading): (usize, &MarkdownHeading)| {
        let below = headings.get(at + 1..).unwrap_or_default();
        let next = below.iter().find(|other| other.level <= heading.level);
        MarkdownSection {
            level: heading.level,
            title: Spanned::new(heading.title.clone(), document.span(heading.text.clone())),
            heading: document.span(document.trimmed(heading.range.clone())),
            content: document.span(heading.range.end..line(next)),
            own: document.span(heading.range.end..line(below.first())),
        }
    };
    headings.iter().enumerate().map(section).collect()
}

struct MarkdownHeading {
    level: u8,
    title: String,
    /// The text with its markup.
    text: Range<usize>,
    /// From the first `#` or letter to the next line.
    range: Range<usize>,
    /// The start of its first line, before any indentation.
    line: usize,
}

/// Returns the headings of the document itself; those in quotes and lists are content.
fn headings(document: &MarkdownDocument<'_>) -> Vec<MarkdownHeading> {
    let mut found = Vec::new();
    let mut events = document.events();
    while let Some((event, range)) = events.next() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                found.push(heading(document, level as u8, range, &mut events));
            }
            // Skips other blocks as a whole, and the headings inside them.
            Event::Start(_) => inside(&mut events, |_, _| {}),
            _ => {}
        }
    }
    found
}

fn heading<'d>(
    document: &MarkdownDocument<'_>,
    level: u8,
    range: Range<usize>,
    events: &mut impl Iterator<Item = (Event<'d>, Range<usize>)>,
) -> MarkdownHeading {
    let mut visible = VisibleText::default();
    let mut text: Option<Range<usize>> = None;
    inside(events, |event, part| {
        visible.take(&event);
        text = Some(match text.take() {
            Some(all) => all.start.min(part.start)..all.end.max(part.end),
            None => part,
        });
    });
    let before = document.slice(0..range.start).trim_end_matches([' ', '\t']);
    MarkdownHeading {
        level,
        title: visible.text.trim().to_owned(),
        text: document.trimmed(text.unwrap_or_else(|| range.clone())),
        line: before.len(),
        range,
    }
}
