//! The first paragraph and the first image of a text. Formats use them as description and picture.

use std::cell::OnceCell;
use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag};

use super::document::{MarkdownDocument, VisibleText, inside};
use crate::source::{SourceFile, Spanned};

/// Returns the first paragraph of the bytes `range`, if it comes before the first heading.
/// It is the raw text, with each run of white space as one space. A paragraph of images alone does not count.
pub fn first_paragraph(source: &SourceFile, range: Range<usize>) -> Option<Spanned<String>> {
    let document = MarkdownDocument::new(source, range);
    let mut events = document.events();
    while let Some((event, range)) = events.next() {
        match event {
            Event::Start(Tag::Heading { .. }) => return None,
            Event::Start(Tag::Paragraph) => {
                let mut visible = VisibleText::default();
                inside(&mut events, |event, _| visible.take(&event));
                if !visible.text.trim().is_empty() {
                    let span = document.span(document.trimmed(range));
                    return Some(Spanned::new(folded(source.slice(span)), span));
                }
            }
            // Lists, quotes and code are skipped as a whole: a paragraph inside them is not the document's.
            Event::Start(_) => inside(&mut events, |_, _| {}),
            _ => {}
        }
    }
    None
}

/// Returns the text with each run of white space as one space.
fn folded(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the address of the first image of the bytes `range`.
/// The span is the address itself, or the whole image if the address is elsewhere (`![me][picture]`).
pub fn first_image(source: &SourceFile, range: Range<usize>) -> Option<Spanned<String>> {
    let document = MarkdownDocument::new(source, range);
    // The definition of a reference may be outside of `range`, so it is looked up in the whole
    // file.
    // That parser is built only when a reference needs it.
    let whole = MarkdownDocument::new(source, 0..source.text.len());
    let definitions = OnceCell::new();
    let elsewhere = |link: BrokenLink<'_>| {
        let parser = definitions.get_or_init(|| Parser::new_ext(whole.text(), Options::empty()));
        let found = parser.reference_definitions().get(&link.reference)?;
        Some((CowStr::from(found.dest.to_string()), CowStr::from("")))
    };
    let options = Options::empty();
    let parser = Parser::new_with_broken_link_callback(document.text(), options, Some(elsewhere));
    let mut events = parser.into_offset_iter();
    while let Some((event, image)) = events.next() {
        let Event::Start(Tag::Image { link_type, dest_url, .. }) = event else { continue };
        let mut label_end = image.start + "![".len();
        inside(&mut events, |_, part| label_end = label_end.max(part.end));
        let place = match link_type {
            LinkType::Inline => address(&document, label_end..image.end).unwrap_or(image),
            _ => image,
        };
        return Some(Spanned::new(dest_url.to_string(), document.span(place)));
    }
    None
}

/// Returns the range of the address in the rest of an inline image, `](address "title")`.
fn address(document: &MarkdownDocument<'_>, rest: Range<usize>) -> Option<Range<usize>> {
    let text = document.slice(rest.clone());
    let after = text.find("](")? + "](".len();
    let text = text.get(after..)?;
    let written = text.trim_start();
    let start = rest.start + after + (text.len() - written.len());
    match written.strip_prefix('<') {
        Some(inner) => Some(start + 1..start + 1 + until(inner, |c, _| c == '>')),
        None => Some(start..start + until(written, |c, open| c.is_whitespace() || open < 0)),
    }
}

/// Returns the number of bytes of `text` before the character that ends the address.
/// `ends` gets the character and the number of open parentheses after it. A backslash escapes the
/// next character.
fn until(text: &str, ends: impl Fn(char, i32) -> bool) -> usize {
    let (mut open, mut hidden) = (0_i32, false);
    for (at, c) in text.char_indices() {
        if hidden {
            hidden = false;
            continue;
        }
        match c {
            '\\' => hidden = true,
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if ends(c, open) {
            return at;
        }
    }
    text.len()
}
