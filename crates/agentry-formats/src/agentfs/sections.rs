//! The sections of `persona.md` and `principles.md` that the format defines: rules, the innermost layer of
//! the persona, and the parts that no automatic write may change.

use agentry_text::markdown::{self, MarkdownSection};
use agentry_text::{Findings, SourceFile, Span, json, path};

/// A section of `principles.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrinciplesPart {
    /// Things that the agent always does.
    MustDo,
    /// Things that the agent never does.
    NeverDo,
    /// When the agent asks for help, and which person.
    Escalation,
}

/// The headings of `principles.md`, in lower case.
const HEADINGS: &[(&str, PrinciplesPart)] = &[
    ("must do", PrinciplesPart::MustDo),
    ("never do", PrinciplesPart::NeverDo),
    ("must not", PrinciplesPart::NeverDo),
    ("never", PrinciplesPart::NeverDo),
    ("绝不做", PrinciplesPart::NeverDo),
    ("escalation path", PrinciplesPart::Escalation),
    ("escalation", PrinciplesPart::Escalation),
    ("priority", PrinciplesPart::Escalation),
];

/// A part of a file that only a person may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedSection {
    /// Its name: `Never Do`, `L0`, `access_control`.
    pub name: &'static str,
    /// Its span, including the heading.
    pub span: Span,
    /// Its text, without surrounding white space.
    pub text: String,
}

/// Returns whether a heading may name a part that no automatic write may change. `title` has lower-case words with one space
/// between them. Broader than what the readers take for such a heading: a doubt protects.
pub fn is_protected_title(title: &str) -> bool {
    let words: Vec<&str> = title.split(' ').collect();
    let names = HEADINGS.iter().filter(|(_, part)| *part == PrinciplesPart::NeverDo);
    let is_named = |name: &str| {
        let name: Vec<&str> = name.split(' ').collect();
        words.windows(name.len()).any(|part| part == name)
    };
    // Chinese is written without spaces.
    let is_inside = |name: &str| !name.is_ascii() && title.contains(name);
    let mut names = names.map(|(name, _)| *name);
    names.any(|name| is_named(name) || is_inside(name)) || words.contains(&"l0")
}

/// Returns whether a title is one of the names of a protected part and nothing else, as in [`is_protected_title`].
pub fn is_protected_name(title: &str) -> bool {
    let named =
        |(name, part): &(&str, PrinciplesPart)| *part == PrinciplesPart::NeverDo && *name == title;
    title == "l0" || HEADINGS.iter().any(named)
}

/// Returns the protected parts of a file, chosen by its name: «Never Do» of `principles.md`, `L0` of
/// `persona.md`, `access_control` of `agent.json`, and none of any other file. Two versions of a file agree
/// if the names and texts of these parts are equal.
pub fn protected_sections(source: &SourceFile) -> Vec<ProtectedSection> {
    let file = path::name(&source.path);
    match file {
        "principles.md" => {
            let never =
                |section: &MarkdownSection| part(&section.title) == Some(PrinciplesPart::NeverDo);
            of_headings(source, "Never Do", never)
        }
        "persona.md" => of_headings(source, "L0", |section| tier(&section.title) == Some(0)),
        "agent.json" => access_control(source),
        _ => Vec::new(),
    }
}

/// Returns every section of `principles.md` that the format defines, in source order.
pub fn principles(source: &SourceFile) -> Vec<(PrinciplesPart, MarkdownSection)> {
    let sections = markdown::sections(source, 0..source.text.len());
    let known = |section: MarkdownSection| Some((part(&section.title)?, section));
    sections.into_iter().filter_map(known).collect()
}

/// Returns the layer (0 to 2) of a heading of `persona.md`: `## L0`, `# L1 — Style`.
pub fn tier(title: &str) -> Option<u8> {
    let rest = bare(title).strip_prefix(['L', 'l'])?;
    let mut after = rest.chars();
    // Base 3, because only L0, L1 and L2 exist.
    let tier = after.next()?.to_digit(3)?;
    let ends = after.next().is_none_or(|c| !c.is_alphanumeric());
    ends.then(|| u8::try_from(tier).ok()).flatten()
}

/// Returns the meaning of a heading of `principles.md`. A translation or remark beside the defined words is
/// allowed: `绝不做 (Never Do)`, `Never Do — red lines`.
fn part(title: &str) -> Option<PrinciplesPart> {
    let separators = ['(', ')', '（', '）', '/', '—', '–', '|', ':', '：'];
    let named = |text: &str| {
        let text = bare(text).to_lowercase();
        HEADINGS.iter().find(|(name, _)| *name == text).map(|(_, part)| *part)
    };
    std::iter::once(title).chain(title.split(separators)).find_map(named)
}

/// Returns a title without its number and its markup.
fn bare(title: &str) -> &str {
    let marks = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | ':' | '：');
    let title = title.trim_matches(marks);
    let rest = title.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['.', ')']) {
        // Without a digit in front, the dot belongs to the title.
        Some(after) if rest.len() < title.len() => after.trim_matches(marks),
        _ => title,
    }
}

fn of_headings(
    source: &SourceFile,
    name: &'static str,
    wanted: impl Fn(&MarkdownSection) -> bool,
) -> Vec<ProtectedSection> {
    let sections = markdown::sections(source, 0..source.text.len());
    let protected = |section: MarkdownSection| ProtectedSection {
        name,
        span: section.heading.to(section.content),
        text: source.slice(section.content).trim().to_owned(),
    };
    sections.into_iter().filter(wanted).map(protected).collect()
}

fn access_control(source: &SourceFile) -> Vec<ProtectedSection> {
    let node = json::parse(source, &mut Findings::default());
    let entry = node.as_map().and_then(|map| map.entry("access_control"));
    let protected = entry.map(|entry| ProtectedSection {
        name: "access_control",
        span: entry.key.span.to(entry.value.span),
        // As JSON again, so that white space in the file does not count as a change.
        text: entry.value.to_data().to_json().to_string(),
    });
    protected.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_text::FileId;

    #[test]
    fn principles_headings_are_recognised() {
        let cases = [
            ("Never Do", Some(PrinciplesPart::NeverDo)),
            ("NEVER DO:", Some(PrinciplesPart::NeverDo)),
            ("**Must Not**", Some(PrinciplesPart::NeverDo)),
            ("2. Never", Some(PrinciplesPart::NeverDo)),
            ("绝不做", Some(PrinciplesPart::NeverDo)),
            ("绝不做（Never Do）", Some(PrinciplesPart::NeverDo)),
            ("Never Do — red lines", Some(PrinciplesPart::NeverDo)),
            ("Must Do", Some(PrinciplesPart::MustDo)),
            ("Escalation Path", Some(PrinciplesPart::Escalation)),
            ("Priority", Some(PrinciplesPart::Escalation)),
            ("Never mind", None),
            ("", None),
        ];
        for (title, expected) in cases {
            assert_eq!(part(title), expected, "{title}");
        }
    }

    #[test]
    fn persona_tiers_are_recognised() {
        let cases = [
            ("L0", Some(0)),
            ("l1", Some(1)),
            ("L2: details", Some(2)),
            ("L0 — 核心身份", Some(0)),
            ("L3", None),
            ("L0x", None),
            ("Level 0", None),
            ("", None),
        ];
        for (title, expected) in cases {
            assert_eq!(tier(title), expected, "{title}");
        }
    }

    #[test]
    fn protected_sections_are_found() {
        let principles =
            "# Rules\n\n## Must Do\n- a\n\n## Never Do\n- b\n\n### More\n- c\n\n## Other\n- d\n";
        let twice = "### Must Not\n- a\n\n```\n# Never\n```\n\n# x\n\n## 绝不做\n- b\n";
        let cases = [
            ("agents/x/principles.md", principles, vec![("Never Do", "- b\n\n### More\n- c")]),
            (
                "principles.md",
                twice,
                vec![("Never Do", "- a\n\n```\n# Never\n```"), ("Never Do", "- b")],
            ),
            ("persona.md", "# L0 — who\nme\n\n# L1\nstyle\n", vec![("L0", "me")]),
            ("persona.md", "## How\n- short\n", vec![]),
            (
                "agent.json",
                "{\"name\": \"x\", \"access_control\": {\"owner\": \"me\"}}",
                vec![("access_control", "{\"owner\":\"me\"}")],
            ),
            ("notes.md", "## Never Do\n- a\n", vec![]),
        ];
        for (path, text, expected) in cases {
            let source = SourceFile::new(FileId(0), path, text);
            let found = protected_sections(&source);
            let shown: Vec<_> = found.iter().map(|part| (part.name, part.text.as_str())).collect();
            assert_eq!(shown, expected, "{path}: {text}");
        }
        let source = SourceFile::new(FileId(0), "principles.md", principles);
        let spans: Vec<_> = protected_sections(&source).iter().map(|part| part.span).collect();
        let text: Vec<_> = spans.iter().map(|span| source.slice(*span).trim_end()).collect();
        assert_eq!(text, ["## Never Do\n- b\n\n### More\n- c"]);
    }
}
