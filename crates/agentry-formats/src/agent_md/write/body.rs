//! Lays out the texts of an agent in Markdown, so that the reader finds each of them again.

use agentry_model::Declared;
use agentry_text::{FileId, Findings, SourceFile};

use crate::agent_md::body::MarkdownBody;
use crate::agent_md::tools::fence_for;
use crate::front_matter::FrontMatterFile;

/// The texts that may go under a heading. The writer of the metadata gets those that are not under one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HeadingTexts {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) avatar: Option<String>,
    pub(super) system: Option<String>,
    pub(super) rules: Option<String>,
    pub(super) notes: Option<String>,
    pub(super) tools: Vec<String>,
}

/// The position of the notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotesPlacement {
    AfterRules,
    AfterDescription,
    Last,
    Nowhere,
}

/// Returns the whole file. `metadata` writes the block for the texts that are not under a heading.
pub(super) fn lay_out(texts: &HeadingTexts, metadata: impl Fn(&HeadingTexts) -> String) -> String {
    let headed = surviving(texts);
    let untitled = HeadingTexts { title: None, description: None, ..headed.clone() };
    let bare = HeadingTexts {
        notes: texts.notes.clone(),
        tools: texts.tools.clone(),
        ..HeadingTexts::default()
    };
    // From the most readable layout to the safest; the first one that reads back unchanged is used.
    let layouts = [headed, untitled, bare];
    let places =
        [NotesPlacement::AfterRules, NotesPlacement::AfterDescription, NotesPlacement::Last];
    let with_notes = layouts.iter().flat_map(|texts| places.map(|place| (texts, place)));
    let without = layouts.iter().map(|texts| (texts, NotesPlacement::Nowhere));
    let mut last = String::new();
    for (shown, place) in with_notes.chain(without) {
        last = format!("{}{}", metadata(&texts.without(shown)), shown.markdown(place));
        if shown.reads_back(&last, place) {
            break;
        }
    }
    last
}

/// Returns the texts that survive under their headings. A description also survives on one line: its exact
/// form is then in the metadata as well, and the two do not conflict.
fn surviving(texts: &HeadingTexts) -> HeadingTexts {
    // Each text is tested with a heading before and after it.
    let frame = |texts: HeadingTexts| HeadingTexts {
        title: texts.title.or_else(|| Some("T".to_owned())),
        tools: vec![String::new()],
        ..texts
    };
    let survives = |texts: HeadingTexts| {
        let texts = frame(texts);
        texts.reads_back(&texts.markdown(NotesPlacement::Nowhere), NotesPlacement::Nowhere)
    };
    let HeadingTexts { title, description, avatar, system, rules, notes, tools } = texts.clone();
    let title = title.filter(|text| {
        survives(HeadingTexts { title: Some(text.clone()), ..HeadingTexts::default() })
    });
    let described = |text: &String| {
        survives(HeadingTexts { description: Some(text.clone()), ..HeadingTexts::default() })
    };
    let folded =
        description.as_ref().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let description = description.filter(described).or_else(|| folded.filter(described));
    let rules = rules.filter(|text| {
        survives(HeadingTexts { rules: Some(text.clone()), ..HeadingTexts::default() })
    });
    let after = || Some("r".to_owned());
    let system = system.filter(|text| {
        survives(HeadingTexts {
            system: Some(text.clone()),
            rules: after(),
            ..HeadingTexts::default()
        })
    });
    let avatar = avatar.filter(|text| {
        survives(HeadingTexts { avatar: Some(text.clone()), ..HeadingTexts::default() })
    });
    // A description is the first paragraph under the title, so it needs one.
    let description = description.filter(|_| title.is_some());
    HeadingTexts { title, description, avatar, system, rules, notes, tools }
}

impl HeadingTexts {
    /// Returns the texts that are not under a heading in `shown`, or not exactly.
    fn without(&self, shown: &Self) -> Self {
        let rest =
            |text: &Option<String>, shown: &Option<String>| text.clone().filter(|_| text != shown);
        Self {
            title: rest(&self.title, &shown.title),
            description: rest(&self.description, &shown.description),
            avatar: rest(&self.avatar, &shown.avatar),
            system: rest(&self.system, &shown.system),
            rules: rest(&self.rules, &shown.rules),
            notes: None,
            tools: Vec::new(),
        }
    }

    fn markdown(&self, notes: NotesPlacement) -> String {
        let Self { title, description, avatar, system, rules, notes: left_over, tools } = self;
        let at = |place: NotesPlacement| left_over.clone().filter(|_| notes == place);
        let section = |heading: &str, text: &Option<String>| {
            text.as_ref().map(|text| format!("## {heading}\n\n{text}"))
        };
        // Markup in the alternative text could break the image.
        let alt =
            title.as_deref().filter(|title| title.chars().all(|c| c.is_alphanumeric() || c == ' '));
        let alt = alt.unwrap_or("Avatar");
        let parts = [
            title.as_ref().map(|title| format!("# {title}")),
            description.clone(),
            at(NotesPlacement::AfterDescription),
            section("System", system),
            section("Rules", rules),
            at(NotesPlacement::AfterRules),
            (!tools.is_empty()).then(|| format!("## Tools\n\n{}", blocks(tools))),
            avatar.as_ref().map(|avatar| format!("# Avatar\n\n![{alt}]({avatar})")),
            at(NotesPlacement::Last),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() { String::new() } else { format!("{}\n", parts.join("\n\n")) }
    }

    /// Whether the reader finds exactly these texts under their headings in `text`.
    fn reads_back(&self, text: &str, notes: NotesPlacement) -> bool {
        let source = SourceFile::new(FileId(0), "", text);
        let mut findings = Findings::default();
        let document = FrontMatterFile::read(source, &mut findings);
        let body = MarkdownBody::read(&document.source, document.body, &mut findings);
        let same = |field: &Declared<String>, text: &Option<String>| {
            field.as_ref().map(|field| &field.value) == text.as_ref()
        };
        let left_over = self.notes.clone().filter(|_| notes != NotesPlacement::Nowhere);
        !findings.has_errors()
            && same(&body.title, &self.title)
            && same(&body.description, &self.description)
            && same(&body.avatar, &self.avatar)
            && same(&body.system, &self.system)
            && same(&body.rules, &self.rules)
            && same(&body.notes, &left_over)
            && body.tools.is_some() != self.tools.is_empty()
            && body
                .tools
                .is_none_or(|place| document.source.slice(place).trim() == blocks(&self.tools))
    }
}

fn blocks(tools: &[String]) -> String {
    let block = |code: &String| {
        let fence = fence_for(code);
        format!("{fence}js\n{code}\n{fence}")
    };
    tools.iter().map(block).collect::<Vec<_>>().join("\n\n")
}
