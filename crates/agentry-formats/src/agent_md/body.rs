//! The Markdown body: which headings mean something, and what is left over.

use agentry_model::Field;
use agentry_text::markdown::{self, Section};
use agentry_text::{Findings, Fix, Source, Span, Spanned};

use super::rules::{EMPTY_SECTION, MISPLACED_SECTION, SECTION_TWICE};
use crate::front::trimmed;

/// What the body says.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The first `# Heading` that is not the avatar's.
    pub(super) title: Field<String>,
    /// The first paragraph after it.
    pub(super) description: Field<String>,
    /// The first image under `# Avatar`.
    pub(super) avatar: Field<String>,
    /// The text under `## System`.
    pub(super) system: Field<String>,
    /// The text under `## Rules`.
    pub(super) rules: Field<String>,
    /// What stands under `## Tools`.
    pub(super) tools: Option<Span>,
    /// All text that nobody acts upon.
    pub(super) notes: Field<String>,
}

/// The headings that mean something, with their levels.
const MEANINGS: &[(&str, u8)] = &[("system", 2), ("rules", 2), ("tools", 2), ("avatar", 1)];

impl Body {
    /// Reads the bytes `place` of `source`.
    pub(super) fn read(source: &Source, place: Span, findings: &mut Findings) -> Self {
        let sections = markdown::sections(source, place.range());
        let mut reader = Reader { source, sections: &sections, taken: Vec::new(), findings };
        let mut body = Self::default();
        reader.title(&mut body);
        body.system = reader.text("system");
        body.rules = reader.text("rules");
        body.tools = reader.section("tools").map(|section| section.content);
        body.avatar = reader.avatar();
        reader.misplaced();
        body.notes = rest(source, place, &reader.taken);
        body
    }
}

struct Reader<'r> {
    source: &'r Source,
    sections: &'r [Section],
    /// What has a meaning, and so is no note.
    taken: Vec<Span>,
    findings: &'r mut Findings,
}

impl<'r> Reader<'r> {
    fn title(&mut self, body: &mut Body) {
        let is_title = |section: &&Section| {
            section.level == 1 && !section.title.is_empty() && !is_named(section, "avatar")
        };
        let Some(section) = self.sections.iter().find(is_title) else { return };
        body.title = Some(section.title.clone());
        body.description = markdown::first_paragraph(self.source, section.own.range());
        self.taken.push(section.heading);
        self.taken.extend(body.description.iter().map(|paragraph| paragraph.span));
    }

    /// The one section of that name; a further one is reported.
    fn section(&mut self, name: &str) -> Option<&'r Section> {
        let level =
            MEANINGS.iter().find(|(other, _)| *other == name).map_or(2, |(_, level)| *level);
        let sections = self.sections;
        let is_meant =
            |(_, section): &(usize, &Section)| section.level == level && is_named(section, name);
        let mut found = sections.iter().enumerate().filter(is_meant);
        let (at, first) = found.next()?;
        self.take(at, first);
        for (at, again) in found {
            self.take(at, again);
            let message = format!("`{}` occurs twice", heading(first));
            self.findings
                .add(&SECTION_TWICE, again.heading, message)
                .related(first.heading, "first written here")
                .hint("put both into one section");
        }
        Some(first)
    }

    /// The section number `at` is no note, up to the next heading that could start another one.
    fn take(&mut self, at: usize, section: &Section) {
        let mut below = self.sections.iter().skip(at + 1);
        let next = below.find(|other| other.level <= section.level.max(2));
        let end = next.map_or(section.content.end, |next| next.heading.start);
        self.taken.push(Span { end, ..section.heading });
    }

    fn text(&mut self, name: &str) -> Field<String> {
        let section = self.section(name)?;
        let text = trimmed(self.source, section.content);
        if text.is_none() {
            self.empty(section, "is empty", "write what it should say, or remove the heading");
        }
        text
    }

    fn avatar(&mut self) -> Field<String> {
        let section = self.section("avatar")?;
        let image = markdown::first_image(self.source, section.content.range());
        if image.is_none() {
            self.empty(section, "has no image", "add one: `![avatar](avatar.png)`");
        }
        image
    }

    fn empty(&mut self, section: &Section, what: &str, hint: &str) {
        let message = format!("`{}` {what}", heading(section));
        self.findings.add(&EMPTY_SECTION, section.heading, message).hint(hint);
    }

    /// Reports headings that would mean something at another level.
    fn misplaced(&mut self) {
        for section in self.sections.iter().filter(|section| section.level <= 2) {
            let meant = MEANINGS.iter().find(|(name, _)| is_named(section, name));
            let Some((_, level)) = meant.filter(|(_, level)| *level != section.level) else {
                continue;
            };
            let right = format!("{} {}", hashes(*level), section.title.value);
            let message = format!("`{}` has no meaning at this level", heading(section));
            let found = self.findings.add(&MISPLACED_SECTION, section.heading, message);
            found.hint(format!("write `{right}`"));
            if self.source.slice(section.heading).trim_start().starts_with('#') {
                found.fix(Fix::unsafe_(format!("make it `{right}`"), section.heading, right));
            }
        }
    }
}

fn is_named(section: &Section, name: &str) -> bool {
    section.title.value.to_lowercase() == name
}

fn heading(section: &Section) -> String {
    format!("{} {}", hashes(section.level), section.title.value)
}

fn hashes(level: u8) -> String {
    "#".repeat(usize::from(level))
}

/// The text of `place` that is not in `taken`.
fn rest(source: &Source, place: Span, taken: &[Span]) -> Field<String> {
    let stretches = markdown::outside(source, place.range(), taken);
    let (first, last) = (stretches.first()?, stretches.last()?);
    let texts: Vec<_> = stretches.iter().map(|stretch| source.slice(*stretch)).collect();
    Some(Spanned::new(texts.join("\n\n"), first.to(*last)))
}
