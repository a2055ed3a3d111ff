//! The links and anchors of a Markdown page.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::files::File;

/// The links and anchors of one page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// In the order of the page.
    pub(super) links: Vec<Link>,
    /// The headings, as GitHub and others spell them in addresses.
    pub(super) anchors: Vec<String>,
}

/// A link or an image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// As written.
    pub(super) target: String,
    /// The line, from 1.
    pub(super) line: usize,
}

impl Page {
    /// Collects the links and anchors of `file`.
    pub(super) fn read(file: &File) -> Self {
        let mut page = Self::default();
        let mut heading: Option<String> = None;
        let parser = Parser::new_ext(&file.text, Options::ENABLE_TABLES);
        for (event, range) in parser.into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let line = file.text[..range.start].matches('\n').count() + 1;
                    page.links.push(Link { target: dest_url.into_string(), line });
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let title = heading.take().unwrap_or_default();
                    page.add_anchor(&title);
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(title) = &mut heading {
                        title.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        page
    }

    /// Adds an anchor; a heading that occurs again is numbered.
    fn add_anchor(&mut self, title: &str) {
        let slug = slug(title);
        let numbered = (1..).map(|number| format!("{slug}-{number}"));
        let mut names = std::iter::once(slug.clone()).chain(numbered);
        let free = names.find(|name| !self.anchors.contains(name));
        self.anchors.extend(free);
    }
}

/// The title in lower case, with hyphens for spaces and without punctuation.
fn slug(title: &str) -> String {
    let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn headings_become_anchors() {
        let cases = [
            ("# The end\n", vec!["the-end"]),
            ("## `agent.toml`, once more\n", vec!["agenttoml-once-more"]),
            ("# A\n# A\n# A\n", vec!["a", "a-1", "a-2"]),
            ("## Größe — [x](y.md)\n", vec!["größe--x"]),
            ("```\n# none\n```\n", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(Page::read(&file("a.md", text)).anchors, expected, "{text}");
        }
    }

    #[test]
    fn links_have_their_line() {
        let text = "one\n\n[a](b.md) and\n![c](d.png)\n\n| x |\n|---|\n| [e](f.md) |\n";
        let link = |target: &str, line| Link { target: target.to_owned(), line };
        let expected = [link("b.md", 3), link("d.png", 4), link("f.md", 8)];
        assert_eq!(Page::read(&file("a.md", text)).links, expected);
    }
}
