//! The one comparison of protected sections. Every automatic path that changes a file of an agent asks it, and a change of what
//! it protects is refused, however it is spelled.
//!
//! A file is seen as Markdown: headings that may name a protected part, with all that stands below them, byte by byte, and the
//! headings and blocks around them. Two versions agree if these views are equal. What could hide a section from a reader (HTML,
//! front matter, invisible characters) must stay as it is as well.

use std::ops::Range;

use agentry_compile::formats::agentfs::{
    is_protected_name, is_protected_title, protected_sections,
};
use agentry_compile::text::{FileId, SourceFile, hygiene};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::look_alike::folded;

/// The texts of all formats that can have protected sections. Memories and skills have none.
const PROTECTED_TEXTS: &[&str] =
    &["persona.md", "principles.md", "system-prompt.md", "instructions.md"];
/// The level of a line that names a protected part without being a heading.
const NO_HEADING: u8 = 7;

/// Returns why a change of a file touches what is protected, or `None` if it does not. `None` as a version means that there is
/// no such file.
#[must_use]
pub fn protected_change(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Option<String> {
    if old == new {
        return None;
    }
    let Ok(old) = str::from_utf8(old.unwrap_or_default()) else {
        return Some("the present file is not UTF-8".to_owned());
    };
    let Ok(new) = str::from_utf8(new.unwrap_or_default()) else {
        return Some("it is not UTF-8".to_owned());
    };
    if let Some(why) = hidden(new) {
        return Some(why.to_owned());
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    if !PROTECTED_TEXTS.contains(&name.as_str()) {
        return other_change(path, old, new);
    }
    let (before, after) = (ProtectedView::of(old), ProtectedView::of(new));
    before.difference(&after).or_else(|| other_change(path, old, new))
}

/// Compares the parts that the format itself defines, such as `access_control` of `agent.json`.
fn other_change(path: &str, old: &str, new: &str) -> Option<String> {
    let parts = |text: &str| -> Vec<(&'static str, String)> {
        let source = SourceFile::new(FileId(0), path, text);
        protected_sections(&source).into_iter().map(|part| (part.name, part.text)).collect()
    };
    let (old, new) = (parts(old), parts(new));
    let changed = old
        .iter()
        .find(|part| !new.contains(part))
        .or_else(|| new.iter().find(|part| !old.contains(part)));
    changed
        .map(|(name, _)| format!("it changes the protected `{name}`"))
        .or_else(|| (old != new).then(|| "it changes the order of protected parts".to_owned()))
}

/// Characters that a person does not see, or that a reader may take for the end of a line or a file.
fn hidden(text: &str) -> Option<&'static str> {
    let breaks = |letter: char| {
        matches!(letter, '\u{feff}' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{b}' | '\u{c}')
    };
    if text.contains('\0') || text.contains(breaks) || hygiene::cleaned(text) != text {
        return Some("it has invisible or control characters");
    }
    let is_lone =
        text.match_indices('\r').any(|(at, _)| text.as_bytes().get(at + 1) != Some(&b'\n'));
    is_lone.then_some("it has a carriage return that ends no line")
}

/// What must be equal in two versions of a file.
#[derive(Debug, PartialEq, Eq)]
struct ProtectedView<'t> {
    sections: Vec<ProtectedPart<'t>>,
    /// Raw HTML, which can hide or comment out what follows.
    html: Vec<&'t str>,
    front_matter: &'t str,
}

/// A protected section, and its position.
#[derive(Debug, PartialEq, Eq)]
struct ProtectedPart<'t> {
    /// Its lines, from the heading on.
    text: &'t str,
    /// The headings above it, outermost first.
    above: Vec<String>,
    /// The quotes and lists that it is in.
    inside: Vec<&'static str>,
}

/// A heading, or a line that names a protected part.
struct NamedBlock {
    level: u8,
    title: String,
    start: usize,
    inside: Vec<&'static str>,
}

impl<'t> ProtectedView<'t> {
    fn of(text: &'t str) -> Self {
        let (blocks, html) = scan(text);
        let is_protected = |block: &&(usize, &NamedBlock)| match block.1.level {
            NO_HEADING => is_protected_name(&folded(&block.1.title)),
            _ => is_protected_title(&folded(&block.1.title)),
        };
        let numbered: Vec<(usize, &NamedBlock)> = blocks.iter().enumerate().collect();
        let sections = numbered.iter().filter(|block| is_protected(block)).map(|(at, block)| {
            let rest = blocks.get(at + 1..).unwrap_or_default();
            let end = rest.iter().find(|next| next.level <= block.level && next.level < NO_HEADING);
            let end = end.map_or(text.len(), |next| next.start);
            ProtectedPart {
                text: text.get(block.start..end).unwrap_or_default().trim_end(),
                above: above(blocks.get(..*at).unwrap_or_default(), block.level),
                inside: block.inside.clone(),
            }
        });
        Self { sections: sections.collect(), html, front_matter: front_matter(text) }
    }

    fn difference(&self, new: &Self) -> Option<String> {
        let first_line = |part: &ProtectedPart<'_>| {
            let line = part.text.lines().next().unwrap_or_default();
            line.trim_matches(|c: char| c == '#' || c.is_whitespace())
                .chars()
                .take(60)
                .collect::<String>()
        };
        if let Some(part) = self.sections.iter().find(|part| !new.sections.contains(part)) {
            return Some(format!(
                "it changes, hides or moves the protected section «{}»",
                first_line(part)
            ));
        }
        if let Some(part) = new.sections.iter().find(|part| !self.sections.contains(part)) {
            return Some(format!("it adds a protected section «{}»", first_line(part)));
        }
        if self.sections != new.sections {
            return Some("it changes the number or the order of protected sections".to_owned());
        }
        if self.front_matter != new.front_matter {
            return Some("it changes the front matter".to_owned());
        }
        (self.html != new.html).then(|| "it changes raw HTML, which can hide text".to_owned())
    }
}

/// The headings that a block stands below.
fn above(before: &[NamedBlock], level: u8) -> Vec<String> {
    let (mut above, mut outer) = (Vec::new(), level);
    for block in before.iter().rev().filter(|block| block.level < NO_HEADING) {
        if block.level < outer {
            outer = block.level;
            above.push(format!("{} {}", block.level, block.title));
        }
    }
    above.reverse();
    above
}

/// The front matter with its fences; empty if there is none.
fn front_matter(text: &str) -> &str {
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut at = 0;
    let mut opened = false;
    for line in text.split_inclusive('\n') {
        at += line.len();
        match (opened, is_fence(line)) {
            (false, true) => opened = true,
            (false, false) if line.trim().is_empty() => {}
            (false, false) => return "",
            (true, true) => return text.get(..at).unwrap_or_default(),
            (true, false) => {}
        }
    }
    // An opening fence without an end: a reader may take everything for front matter.
    if opened { text } else { "" }
}

/// The headings and naming lines of a text, and its raw HTML.
fn scan(text: &str) -> (Vec<NamedBlock>, Vec<&str>) {
    let mut scan = BlockScan { text, ..BlockScan::default() };
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        scan.take(&event, &range);
    }
    scan.close_item();
    (scan.blocks, scan.html)
}

#[derive(Default)]
struct BlockScan<'t> {
    text: &'t str,
    blocks: Vec<NamedBlock>,
    html: Vec<&'t str>,
    inside: Vec<&'static str>,
    /// The block whose text is read: its level, its start, its text so far.
    open: Option<(u8, usize, String)>,
}

impl BlockScan<'_> {
    fn take(&mut self, event: &Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => self.begin(*level as u8, range.start),
            Event::Start(Tag::BlockQuote(_)) => self.enter("quote"),
            Event::Start(Tag::List(_)) => self.enter("list"),
            // The text of a tight list is in no paragraph.
            Event::Start(Tag::Paragraph | Tag::Item) => self.begin(NO_HEADING, range.start),
            Event::End(TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::Item) => self.close_item(),
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_)) => {
                self.close_item();
                self.inside.pop();
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, _, open)) = &mut self.open {
                    open.push_str(text);
                }
            }
            // Only the first line of a paragraph can name a part.
            Event::SoftBreak | Event::HardBreak => match &mut self.open {
                Some((NO_HEADING, ..)) => self.close_item(),
                Some((_, _, open)) => open.push(' '),
                None => {}
            },
            Event::Html(_) | Event::InlineHtml(_) => {
                self.html.extend(self.text.get(range.clone()));
            }
            _ => {}
        }
    }

    fn enter(&mut self, container: &'static str) {
        self.close_item();
        self.inside.push(container);
    }

    fn begin(&mut self, level: u8, start: usize) {
        self.close_item();
        // From the start of the line: marks of quotes and lists belong to the section.
        let line =
            self.text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        self.open = Some((level, line, String::new()));
    }

    /// Keeps the block whose text was read: every heading, and a line that names a protected part.
    fn close_item(&mut self) {
        let Some((level, start, title)) = self.open.take() else { return };
        if level < NO_HEADING || is_protected_name(&folded(&title)) {
            self.blocks.push(NamedBlock { level, title, start, inside: self.inside.clone() });
        }
    }
}
