//! Markdown files with YAML metadata: agents, skills, schedules, tools and memories all start so.

use agentry_text::markdown::{self, MarkdownParts};
use agentry_text::table::{Coercion, validate};
use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{
    Data, FieldTable, Findings, LintRule, RuleExample, Severity, SourceFile, Span, Spanned,
    TableRecord, TreeNode,
};

/// Every rule about metadata blocks, in code order.
pub const RULES: &[&LintRule] = &[&UNCLOSED_METADATA];

/// An opening `---` that no closing one follows.
pub static UNCLOSED_METADATA: LintRule = LintRule {
    code: "AG0081",
    name: "unclosed-metadata",
    severity: Severity::Error,
    why: "A file that opens with `---` starts with metadata; without the closing `---` it is not \
          clear where the text begins.",
    bad: RuleExample::File(
        "agents/help_helper.agent.md",
        "---\nstatus: active\n\n# Helper\n\nAnswers questions.\n",
    ),
    good: RuleExample::File(
        "agents/help_helper.agent.md",
        "---\nstatus: active\n---\n# Helper\n\nAnswers questions.\n",
    ),
};

/// A Markdown file, taken apart.
#[derive(Debug)]
pub struct FrontMatterFile {
    /// The file.
    pub source: SourceFile,
    /// The metadata; an empty map without any.
    pub metadata: TreeNode,
    /// Whether the file has a metadata block.
    pub has_metadata: bool,
    /// The text after the metadata.
    pub body: Span,
}

impl FrontMatterFile {
    /// Takes `source` apart and reads its metadata.
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
            None => TreeNode::empty_map(Span::start_of(source.id)),
        };
        let body = Span::new(source.id, body.start, body.end);
        Self { source, metadata: node, has_metadata, body }
    }

    /// Checks the metadata against `table` and gives it as a record.
    pub fn record(&self, table: &'static FieldTable, findings: &mut Findings) -> TableRecord<'_> {
        validate(table, &self.metadata, Coercion::Strict, findings);
        TableRecord::new(table, &self.metadata, Coercion::Strict)
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
