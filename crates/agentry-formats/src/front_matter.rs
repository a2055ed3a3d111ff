//! Markdown files with YAML front matter: agents, skills, schedules, tools and memories all use it.

use agentry_text::markdown::{self, MarkdownParts};
use agentry_text::table::{Coercion, validate};
use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{
    Data, FieldTable, Findings, SourceFile, Span, Spanned, TableRecord, TreeNode, rules,
};

rules! {
    /// Every rule about front matter, in code order.
    pub RULES = [
        UNCLOSED_METADATA: "AG0081",
    ]
}

/// A Markdown file, split into front matter and body.
#[derive(Debug)]
pub struct FrontMatterFile {
    /// The file.
    pub source: SourceFile,
    /// The metadata, or an empty map.
    pub metadata: TreeNode,
    /// Whether the file has a metadata block.
    pub has_metadata: bool,
    /// The text after the metadata.
    pub body: Span,
}

impl FrontMatterFile {
    /// Splits `source` and parses its front matter.
    pub fn read(source: SourceFile, findings: &mut Findings) -> Self {
        let MarkdownParts { metadata, body, unclosed } = markdown::parts(&source);
        if let Some(span) = unclosed {
            findings
                .add(&UNCLOSED_METADATA, span, "the metadata block is never closed")
                .hint("add a line `---` after the last field");
        }
        let has_metadata = metadata.is_some();
        let node = match metadata {
            Some(range) => yaml::parse(&source, range, YamlVersion::V1_2, findings),
            // A missing field is then reported at the start of the file.
            None => TreeNode::empty_map(Span::start_of(source.id)),
        };
        let body = Span::new(source.id, body.start, body.end);
        Self { source, metadata: node, has_metadata, body }
    }

    /// Validates the metadata against `table` and returns it as a record.
    pub fn record(&self, table: &'static FieldTable, findings: &mut Findings) -> TableRecord<'_> {
        validate(table, &self.metadata, Coercion::Strict, findings);
        TableRecord::new(table, &self.metadata, Coercion::Strict)
    }

    /// Returns the body without surrounding white space; `None` if nothing is left.
    pub fn text(&self) -> Option<Spanned<String>> {
        trimmed(&self.source, self.body)
    }
}

/// Writes a metadata block with its `---` lines.
pub fn block(metadata: &Data) -> String {
    let fields = if metadata.is_empty() { String::new() } else { yaml::emit(metadata) };
    format!("---\n{fields}---\n")
}

/// Writes a Markdown file: a metadata block, an empty line and `body`, if there is one.
pub fn write(metadata: &Data, body: &str) -> String {
    let block = block(metadata);
    if body.is_empty() { block } else { format!("{block}\n{body}\n") }
}

/// Returns the text at `span` without surrounding white space, with its exact span; `None` if it is empty.
pub fn trimmed(source: &SourceFile, span: Span) -> Option<Spanned<String>> {
    let text = source.slice(span);
    let start = span.range().start + (text.len() - text.trim_start().len());
    let text = text.trim();
    let place = Span::new(source.id, start, start + text.len());
    (!text.is_empty()).then(|| Spanned::new(text.to_owned(), place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_written_above_the_body() {
        let fields = Data::Map(vec![("a".to_owned(), Data::Int(1))]);
        let none = Data::Map(Vec::new());
        let cases = [
            (&fields, "text", "---\na: 1\n---\n\ntext\n"),
            (&fields, "", "---\na: 1\n---\n"),
            (&none, "text", "---\n---\n\ntext\n"),
            (&none, "", "---\n---\n"),
        ];
        for (metadata, body, expected) in cases {
            assert_eq!(write(metadata, body), expected, "{metadata:?} {body:?}");
        }
    }
}
