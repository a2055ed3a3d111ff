//! Markdown files with YAML metadata: agents, skills, schedules, tools and memories all start so.

use agentry_text::markdown::{self, Parts};
use agentry_text::table::{Coerce, validate};
use agentry_text::yaml::{self, Version};
use agentry_text::{
    Data, Example, Findings, Node, Record, Rule, Severity, Source, Span, Spanned, Table,
};

/// Every rule about metadata blocks, in code order.
pub const RULES: &[&Rule] = &[&UNCLOSED_METADATA];

/// An opening `---` that no closing one follows.
pub static UNCLOSED_METADATA: Rule = Rule {
    code: "AG0081",
    name: "unclosed-metadata",
    severity: Severity::Error,
    why: "A file that opens with `---` starts with metadata; without the closing `---` no reader \
          can tell where the text begins.",
    bad: Example::File(
        "agents/help_helper.agent.md",
        "---\nstatus: active\n\n# Helper\n\nAnswers questions.\n",
    ),
    good: Example::File(
        "agents/help_helper.agent.md",
        "---\nstatus: active\n---\n# Helper\n\nAnswers questions.\n",
    ),
};

/// A Markdown file, taken apart.
#[derive(Debug)]
pub struct Document {
    /// The file.
    pub source: Source,
    /// The metadata; an empty map without any.
    pub metadata: Node,
    /// Whether the file has a metadata block.
    pub has_metadata: bool,
    /// The text after the metadata.
    pub body: Span,
}

impl Document {
    /// Takes `source` apart and reads its metadata.
    pub fn read(source: Source, findings: &mut Findings) -> Self {
        let Parts { metadata, body, unclosed } = markdown::parts(&source);
        if let Some(span) = unclosed {
            findings
                .add(&UNCLOSED_METADATA, span, "the metadata block is never closed")
                .hint("add a line `---` after the last field");
        }
        let has_metadata = metadata.is_some();
        let node = match metadata {
            Some(range) => yaml::parse(&source, range, Version::V1_2, findings),
            None => Node::empty_map(Span::start_of(source.id)),
        };
        let body = Span::new(source.id, body.start, body.end);
        Self { source, metadata: node, has_metadata, body }
    }

    /// Checks the metadata against `table` and gives it as a record.
    pub fn record(&self, table: &'static Table, findings: &mut Findings) -> Record<'_> {
        validate(table, &self.metadata, Coerce::Strict, findings);
        Record::new(table, &self.metadata, Coerce::Strict)
    }

    /// The body without surrounding white space, unless there is none.
    pub fn text(&self) -> Option<Spanned<String>> {
        trimmed(&self.source, self.body)
    }
}

/// A metadata block with its fences.
pub fn block(metadata: &Data) -> String {
    let fields = if metadata.is_empty() { String::new() } else { yaml::emit(metadata) };
    format!("---\n{fields}---\n")
}

/// A Markdown file: a metadata block, and `body` after an empty line if there is any.
pub fn write(metadata: &Data, body: &str) -> String {
    let block = block(metadata);
    if body.is_empty() { block } else { format!("{block}\n{body}\n") }
}

/// The text at `span` without surrounding white space, in its exact place, unless it is empty.
pub fn trimmed(source: &Source, span: Span) -> Option<Spanned<String>> {
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
    fn written_files() {
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
