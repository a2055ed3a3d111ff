//! The Markdown body: the sections that the format defines, and the remaining text as notes.

use agentry_model::Declared;
use agentry_text::markdown::{self, MarkdownSection};
use agentry_text::{Findings, Fix, SourceFile, Span, Spanned};

use super::late_metadata;
use super::rules::{EMPTY_SECTION, MISPLACED_SECTION, SECTION_TWICE, TEXT_NOT_SENT};
use crate::front_matter::trimmed;

/// The parts of the body.
#[derive(Debug, Default)]
pub(super) struct MarkdownBody {
    /// The first `# Heading`, except `# Avatar`.
    pub(super) title: Declared<String>,
    /// The first paragraph after it.
    pub(super) description: Declared<String>,
    /// The first image under `# Avatar`.
    pub(super) avatar: Declared<String>,
    /// The text under `## System`.
    pub(super) system: Declared<String>,
    /// The text under `## Rules`.
    pub(super) rules: Declared<String>,
    /// The content under `## Tools`.
    pub(super) tools: Option<Span>,
    /// The remaining text, which has no defined meaning.
    pub(super) notes: Declared<String>,
}

/// The headings that the format defines, with their levels.
const MEANINGS: &[(&str, u8)] = &[("system", 2), ("rules", 2), ("tools", 2), ("avatar", 1)];

impl MarkdownBody {
    /// Reads the text of `source` at `place`.
    pub(super) fn read(source: &SourceFile, place: Span, findings: &mut Findings) -> Self {
        let sections = markdown::sections(source, place.range());
        let mut reader = BodyReader { source, sections: &sections, taken: Vec::new(), findings };
        let mut body = Self::default();
        reader.title(&mut body);
        body.system = reader.text("system");
        body.rules = reader.text("rules");
        body.tools = reader.section("tools").map(|section| section.content);
        body.avatar = reader.avatar();
        let texts = [&body.system, &body.rules].map(|text| text.as_ref().map(|text| text.span));
        let late = late_metadata::find(source, place, &texts, reader.findings);
        let read: Vec<Span> = texts.into_iter().chain([body.tools]).flatten().collect();
        let bare = late_metadata::find_bare(source, place, &read, &late, reader.findings);
        reader.taken.extend(late.into_iter().chain(bare));
        let reported = reader.misplaced();
        reader.unsent(place, &reported);
        body.notes = rest(source, place, &reader.taken);
        body
    }
}

struct BodyReader<'r> {
    source: &'r SourceFile,
    sections: &'r [MarkdownSection],
    /// The spans that have a meaning and so are not notes.
    taken: Vec<Span>,
    findings: &'r mut Findings,
}

impl<'r> BodyReader<'r> {
    fn title(&mut self, body: &mut MarkdownBody) {
        let is_title = |section: &&MarkdownSection| {
            section.level == 1 && !section.title.is_empty() && !is_named(section, "avatar")
        };
        let Some(section) = self.sections.iter().find(is_title) else { return };
        body.title = Some(section.title.clone());
        body.description = markdown::first_paragraph(self.source, section.own.range());
        self.taken.push(section.heading);
        self.taken.extend(body.description.iter().map(|paragraph| paragraph.span));
    }

    /// Returns the first section of that name; reports any further one.
    fn section(&mut self, name: &str) -> Option<&'r MarkdownSection> {
        let level =
            MEANINGS.iter().find(|(other, _)| *other == name).map_or(2, |(_, level)| *level);
        let sections = self.sections;
        let is_meant = |(_, section): &(usize, &MarkdownSection)| {
            section.level == level && is_named(section, name)
        };
        let mut found = sections.iter().enumerate().filter(is_meant);
        let (at, first) = found.next()?;
        self.take(at, first);
        for (at, again) in found {
            // It is reported here, so it must not appear again as a note.
            self.take(at, again);
            let message = format!("`{}` occurs twice", heading(first));
            self.findings
                .add(&SECTION_TWICE, again.heading, message)
                .related(first.heading, "first written here")
                .hint("put both into one section");
        }
        Some(first)
    }

    /// Excludes a section from the notes, up to the next heading that could start another section.
    fn take(&mut self, at: usize, section: &MarkdownSection) {
        let mut below = self.sections.iter().skip(at + 1);
        // Also for a level-1 section (`# Avatar`): a `## System` below it is a section itself.
        let next = below.find(|other| other.level <= section.level.max(2));
        let end = next.map_or(section.content.end, |next| next.heading.start);
        self.taken.push(Span { end, ..section.heading });
    }

    fn text(&mut self, name: &str) -> Declared<String> {
        let section = self.section(name)?;
        let text = trimmed(self.source, section.content);
        if text.is_none() {
            self.empty(section, "is empty", "write what it should say, or remove the heading");
        }
        text
    }

    fn avatar(&mut self) -> Declared<String> {
        let section = self.section("avatar")?;
        let image = markdown::first_image(self.source, section.content.range());
        if image.is_none() {
            self.empty(section, "has no image", "add one: `![avatar](avatar.png)`");
        }
        image
    }

    fn empty(&mut self, section: &MarkdownSection, what: &str, hint: &str) {
        let message = format!("`{}` {what}", heading(section));
        self.findings.add(&EMPTY_SECTION, section.heading, message).hint(hint);
    }

    /// Reports headings that would have a meaning at another level, and returns their sections.
    fn misplaced(&mut self) -> Vec<Span> {
        let mut reported = Vec::new();
        for section in self.sections.iter().filter(|section| section.level <= 2) {
            let meant = MEANINGS.iter().find(|(name, _)| is_named(section, name));
            let Some((_, level)) = meant.filter(|(_, level)| *level != section.level) else {
                continue;
            };
            let right = format!("{} {}", hashes(*level), section.title.value);
            let message = format!("`{}` has no meaning at this level", heading(section));
            let found = self.findings.add(&MISPLACED_SECTION, section.heading, message);
            found.hint(format!("write `{right}`"));
            // A heading underlined with `===` has no hashes to replace.
            if self.source.slice(section.heading).trim_start().starts_with('#') {
                found.fix(Fix::unsafe_(format!("make it `{right}`"), section.heading, right));
            }
            reported.push(section.heading.to(section.content));
        }
        reported
    }

    /// Reports text outside the known sections. `reported` are sections that have a finding already.
    fn unsent(&mut self, place: Span, reported: &[Span]) {
        // Without its end, the metadata is a part of the text; that is reported already.
        if place.start == 0 && self.source.text.trim_start().starts_with("---") {
            return;
        }
        let known: Vec<_> = self.taken.iter().chain(reported).copied().collect();
        for stretch in markdown::outside(self.source, place.range(), &known) {
            let Some(line) = first_visible_line(self.source, stretch) else { continue };
            self.findings
                .add(&TEXT_NOT_SENT, line, "this text is not sent to the model")
                .hint("put it under `## System` or `## Rules`, or into a comment");
        }
    }
}

/// Returns the first line of a text with letters or digits outside comments.
fn first_visible_line(source: &SourceFile, stretch: Span) -> Option<Span> {
    let mut at = stretch.range().start;
    let mut in_comment = false;
    for line in source.slice(stretch).split_inclusive('\n') {
        let start = at;
        at += line.len();
        let mut visible = String::new();
        let mut rest = line;
        loop {
            let (sign, end) = if in_comment { ("-->", "") } else { ("<!--", rest) };
            let Some((before, after)) = rest.split_once(sign) else {
                visible.push_str(end);
                break;
            };
            if !in_comment {
                visible.push_str(before);
            }
            (in_comment, rest) = (!in_comment, after);
        }
        if visible.chars().any(char::is_alphanumeric) {
            return Some(Span::new(source.id, start, start + line.trim_end().len()));
        }
    }
    None
}

fn is_named(section: &MarkdownSection, name: &str) -> bool {
    section.title.value.to_lowercase() == name
}

fn heading(section: &MarkdownSection) -> String {
    format!("{} {}", hashes(section.level), section.title.value)
}

fn hashes(level: u8) -> String {
    "#".repeat(usize::from(level))
}

/// Returns the text of `place` that is not in `taken`.
fn rest(source: &SourceFile, place: Span, taken: &[Span]) -> Declared<String> {
    let stretches = markdown::outside(source, place.range(), taken);
    let (first, last) = (stretches.first()?, stretches.last()?);
    let texts: Vec<_> = stretches.iter().map(|stretch| source.slice(*stretch)).collect();
    Some(Spanned::new(texts.join("\n\n"), first.to(*last)))
}
