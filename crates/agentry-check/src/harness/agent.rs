//! One agent as it is written in a file of its harness: fields with spans, and how to get at them.

use agentry_targets::{AuthoringFacts, Target};
use agentry_text::{SourceFile, Span, Spanned, TreeEntry, TreeMap, TreeNode, TreeValue};

use crate::text_spans::within;

/// Where an agent is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentOrigin {
    /// In its own file.
    File,
    /// In a file of a plugin.
    Plugin,
    /// In a settings file, beside others.
    Settings,
}

/// An agent of a harness as its author wrote it.
#[derive(Debug)]
pub(crate) struct AuthoredAgent<'a> {
    pub(crate) target: &'static Target,
    pub(crate) facts: &'static AuthoringFacts,
    pub(crate) origin: AgentOrigin,
    pub(crate) source: &'a SourceFile,
    /// The name that its place gives it: of the file, or of the key in a settings file.
    pub(crate) id: String,
    /// The metadata.
    pub(crate) fields: &'a TreeMap,
    /// The instructions, if there are any.
    pub(crate) prompt: Option<Spanned<String>>,
    /// Where something missing is reported.
    pub(crate) start: Span,
}

impl<'a> AuthoredAgent<'a> {
    pub(crate) fn entry(&self, name: &str) -> Option<&'a TreeEntry> {
        self.fields.entry(name)
    }

    pub(crate) fn node(&self, name: &str) -> Option<&'a TreeNode> {
        self.entry(name).map(|entry| &entry.value)
    }

    /// Returns a text field with its span.
    pub(crate) fn text(&self, name: &str) -> Option<Spanned<&'a str>> {
        let node = self.node(name)?;
        node.as_str().map(|text| Spanned::new(text, node.span))
    }

    /// Returns the name under which the harness knows the agent.
    pub(crate) fn name(&self) -> Spanned<String> {
        let written = self.text("name").filter(|_| self.is_named_by_field());
        match written {
            Some(name) => Spanned::new(name.value.to_owned(), name.span),
            None => Spanned::new(self.id.clone(), self.start),
        }
    }

    fn is_named_by_field(&self) -> bool {
        // In OpenCode the field wins over the file name; in Copilot it is only shown.
        !self.facts.named_by_file || self.target.name == "opencode"
    }

    /// Whether the harness has a field of that name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        knows_field(self.target, name)
    }

    /// Whether a switch is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.node(name).is_some_and(|node| node.value == TreeValue::Bool(true))
    }
}

/// Whether a harness has a field of that name.
pub(crate) fn knows_field(target: &Target, name: &str) -> bool {
    field_names(target).any(|known| known == name)
}

/// Returns the names of all fields of a harness.
pub(crate) fn field_names(target: &Target) -> impl Iterator<Item = &'static str> {
    let rows = target.fields.iter().map(|field| field.name).filter(|name| !name.is_empty());
    let values = target.authoring.iter().flat_map(|facts| facts.values.iter());
    rows.chain(values.map(|value| value.name))
}

/// Returns the entries of a list, or of a text with commas, each with its span.
pub(crate) fn items(node: &TreeNode) -> Vec<Spanned<&str>> {
    match &node.value {
        TreeValue::Str(text) => parts(text, node.span),
        TreeValue::List(items) => {
            let text = |item: &'_ TreeNode| item.as_str().map(|_| ()).is_some();
            let texts = items.iter().filter(|item| text(item));
            texts.flat_map(|item| parts(item.as_str().unwrap_or_default(), item.span)).collect()
        }
        _ => Vec::new(),
    }
}

/// Splits a text at commas outside brackets; without a comma at white space.
fn parts(text: &str, span: Span) -> Vec<Spanned<&str>> {
    let by_comma = has_outer(text, |c| c == ',');
    let is_end = move |c: char| if by_comma { c == ',' } else { c.is_whitespace() };
    let mut out = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in text.char_indices().chain([(text.len(), '\0')]) {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if (depth == 0 && is_end(c)) || at == text.len() {
            let part = text.get(start..at).unwrap_or_default();
            let offset = start + (part.len() - part.trim_start().len());
            let word = part.trim();
            if !word.is_empty() {
                out.push(Spanned::new(word, within(span, text.len(), offset, word.len())));
            }
            start = at + c.len_utf8();
        }
    }
    out
}

/// Whether a character outside brackets passes a test.
fn has_outer(text: &str, fits: impl Fn(char) -> bool) -> bool {
    let mut depth = 0_usize;
    text.chars().any(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && fits(c)
    })
}

#[cfg(test)]
mod tests {
    use agentry_text::FileId;

    use super::*;

    #[test]
    fn list_fields_are_read_in_all_forms() {
        let cases: &[(&str, &[&str])] = &[
            ("Read, Bash(git log:*, x), Grep", &["Read", "Bash(git log:*, x)", "Grep"]),
            ("Read Grep", &["Read", "Grep"]),
            ("run in terminal, edit", &["run in terminal", "edit"]),
            ("a,,b,", &["a", "b"]),
            ("", &[]),
            ("Bash(x", &["Bash(x"]),
        ];
        for (text, expected) in cases {
            let span = Span::new(FileId(0), 10, 10 + text.len());
            let node = TreeNode::new(TreeValue::Str((*text).to_owned()), span);
            let found = items(&node);
            assert_eq!(found.iter().map(|it| it.value).collect::<Vec<_>>(), *expected, "{text}");
            for item in found {
                let start = item.span.start as usize - 10;
                assert_eq!(text.get(start..start + item.value.len()), Some(item.value), "{text}");
            }
        }
    }
}
