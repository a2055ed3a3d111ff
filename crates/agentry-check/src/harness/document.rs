//! Reads a file of a harness once: its language, its metadata with spans, and the text below it. Problems of
//! the language are reported with what the harness does about them.

use agentry_formats::front_matter::UNCLOSED_METADATA;
use agentry_targets::{AuthoringFacts, MetadataSyntax};
use agentry_text::json::{self, JsonDialect};
use agentry_text::tree_rules::{DUPLICATE_KEY, TOO_DEEP, TOO_MANY_VALUES};
use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{
    Diagnostic, Findings, LintRule, Severity, SourceFile, Span, Spanned, TreeEntry, TreeKey,
    TreeMap, TreeNode, TreeValue, markdown, toml,
};

use super::metadata_rules::{BROKEN_METADATA, NOT_FIELDS, REPEATED_KEY, UNQUOTED_VALUE};

/// The metadata and the text of a file.
#[derive(Debug)]
pub(crate) struct HarnessDocument {
    /// The fields; empty if there are none.
    pub(crate) fields: TreeMap,
    /// Whether the file has metadata.
    pub(crate) has_metadata: bool,
    /// The text below the metadata, without white space around it.
    pub(crate) body: Option<Spanned<String>>,
    /// Where something missing is reported.
    pub(crate) start: Span,
}

impl HarnessDocument {
    /// Reads the file of an agent.
    pub(crate) fn agent(
        source: &SourceFile,
        facts: &AuthoringFacts,
        findings: &mut Findings,
    ) -> Self {
        match facts.syntax {
            MetadataSyntax::Toml => Self::toml(source, facts, findings),
            MetadataSyntax::Yaml => Self::markdown(source, Some(facts), findings),
            MetadataSyntax::Lines => Self::lines(source, findings),
        }
    }

    /// Reads a Markdown file whose metadata is YAML.
    pub(crate) fn markdown(
        source: &SourceFile,
        facts: Option<&AuthoringFacts>,
        findings: &mut Findings,
    ) -> Self {
        let parts = markdown::parts(source);
        let start = Span::start_of(source.id);
        unclosed(parts.unclosed, findings);
        let body = trimmed(source, parts.body.clone());
        let Some(range) = parts.metadata else {
            return Self { fields: TreeMap::default(), has_metadata: false, body, start };
        };
        let mut found = Findings::default();
        let node = yaml::parse(source, range.clone(), YamlVersion::V1_2, &mut found);
        let is_broken = report_in_harness_terms(found, facts, findings);
        let fields = match node.value {
            // What a strict parser could not read is read as the lenient harnesses do.
            _ if is_broken => without_flow(of_lines(source, range.clone()), facts),
            TreeValue::Map(map) => map,
            TreeValue::Null => TreeMap::default(),
            other => {
                let message = format!("the metadata is {} and not `key: value`", other.describe());
                findings
                    .add(&NOT_FIELDS, node.span, message)
                    .hint("write one field per line: `name: …`, `description: …`");
                TreeMap::default()
            }
        };
        Self { fields, has_metadata: true, body, start }
    }

    /// Reads a Markdown file whose metadata is lines of `key: value`.
    fn lines(source: &SourceFile, findings: &mut Findings) -> Self {
        let parts = markdown::parts(source);
        unclosed(parts.unclosed, findings);
        let body = trimmed(source, parts.body.clone());
        let start = Span::start_of(source.id);
        let fields = parts.metadata.map(|range| {
            let mut ignored = Findings::default();
            let node = yaml::parse(source, range.clone(), YamlVersion::V1_2, &mut ignored);
            let is_broken = ignored.has_errors();
            match node.value {
                TreeValue::Map(map) if !is_broken => map,
                _ => of_lines(source, range),
            }
        });
        Self { has_metadata: fields.is_some(), fields: fields.unwrap_or_default(), body, start }
    }

    fn toml(source: &SourceFile, facts: &AuthoringFacts, findings: &mut Findings) -> Self {
        let mut found = Findings::default();
        let node = toml::parse(source, &mut found);
        report_in_harness_terms(found, Some(facts), findings);
        let fields = if let TreeValue::Map(map) = node.value { map } else { TreeMap::default() };
        let body = fields.get("developer_instructions").and_then(TreeNode::to_spanned);
        let body = body.filter(|text| !text.trim().is_empty());
        Self { fields, has_metadata: true, body, start: Span::start_of(source.id) }
    }
}

/// Reads a JSON file; `None` if it cannot be read as a map.
pub(crate) fn read_json(
    source: &SourceFile,
    dialect: JsonDialect,
    (rule, hint): (&'static LintRule, &str),
    findings: &mut Findings,
) -> Option<TreeMap> {
    let mut found = Findings::default();
    let node = json::parse_as(source, dialect, &mut found);
    let first = found.iter().find(|it| it.severity == Severity::Error).cloned();
    if let Some(first) = first {
        let message = format!("this is not JSON: {}", first.message);
        findings.add(rule, first.span, message).hint(hint.to_owned());
        return None;
    }
    match node.value {
        TreeValue::Map(map) => Some(map),
        other => {
            let message = format!("the file is {} and not a map", other.describe());
            findings.add(rule, node.span, message).hint(hint.to_owned());
            None
        }
    }
}

fn unclosed(opening: Option<Span>, findings: &mut Findings) {
    if let Some(span) = opening {
        findings
            .add(&UNCLOSED_METADATA, span, "the metadata block is never closed")
            .hint("add a line `---` after the last field");
    }
}

/// Reports the problems of a data language in terms of the harness. Returns whether a part was not parsed.
fn report_in_harness_terms(
    found: Findings,
    facts: Option<&AuthoringFacts>,
    findings: &mut Findings,
) -> bool {
    let broken = facts.map_or("a strict parser refuses the file", |facts| facts.broken);
    let mut is_broken = false;
    for problem in found.into_sorted() {
        let Diagnostic { span, message, hint, fix, .. } = problem.clone();
        if *problem.rule == TOO_DEEP || *problem.rule == TOO_MANY_VALUES {
            findings.push(problem);
        } else if *problem.rule == DUPLICATE_KEY {
            let again = findings.add(&REPEATED_KEY, span, message);
            again.related = problem.related;
            match facts.and_then(|facts| facts.repeated_key) {
                Some(effect) => drop(again.hint(effect)),
                None => again.severity = Severity::Warning,
            }
        } else if problem.severity == Severity::Error && !is_broken {
            is_broken = true;
            match fix {
                Some(fix) => {
                    let hint = "in quotes it means the same to every program";
                    findings.add(&UNQUOTED_VALUE, span, message).hint(hint).fix(fix);
                }
                None => {
                    let hint = hint.map_or(broken.to_owned(), |hint| format!("{hint}; {broken}"));
                    findings.add(&BROKEN_METADATA, span, message).hint(hint);
                }
            }
        }
    }
    is_broken
}

fn trimmed(source: &SourceFile, range: std::ops::Range<usize>) -> Option<Spanned<String>> {
    agentry_formats::front_matter::trimmed(source, Span::new(source.id, range.start, range.end))
}

/// Returns the top-level fields of the metadata without parsing it; empty without metadata.
pub(crate) fn top_level(source: &SourceFile) -> TreeMap {
    let range = markdown::parts(source).metadata;
    range.map(|range| of_lines(source, range)).unwrap_or_default()
}

/// Reads lines of `key: value`, lists and blocks of text below a key. Deeper lines are skipped.
fn of_lines(source: &SourceFile, range: std::ops::Range<usize>) -> TreeMap {
    let mut entries: Vec<TreeEntry> = Vec::new();
    let text = source.text.get(range.clone()).unwrap_or_default();
    let mut at = range.start;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let plain = line.trim_end();
        if let Some((key, value)) = plain.split_once(':').filter(|(key, _)| is_key(key)) {
            let place = start + key.len() + 1 + (value.len() - value.trim_start().len());
            let node = scalar(source, value.trim(), place);
            let key = TreeKey::string(key, Span::new(source.id, start, start + key.len()));
            entries.push(TreeEntry { key, value: node });
            continue;
        }
        let Some(last) = entries.last_mut() else { continue };
        let is_nested = || {
            let deeper = plain.trim_start().split_once(':');
            plain.starts_with([' ', '\t']) && deeper.is_some_and(|(key, _)| is_key(key))
        };
        if matches!(last.value.value, TreeValue::Null) && is_nested() {
            // A map below the key: its entries are skipped, and so are lists in it.
            last.value.value = TreeValue::Map(TreeMap::default());
        } else if source.slice(last.value.span).starts_with(['|', '>']) {
            add_line(&mut last.value, plain.trim());
        } else if let Some(item) = plain.trim_start().strip_prefix("- ") {
            let place = start + plain.len() - item.trim_start().len();
            add_item(&mut last.value, scalar(source, item.trim(), place));
        }
    }
    TreeMap::from(entries)
}

/// Leaves out lists and maps in brackets, which the line reader does not take apart. A required field stays:
/// it is written, so it is not missing.
fn without_flow(mut map: TreeMap, facts: Option<&AuthoringFacts>) -> TreeMap {
    let is_flow = |node: &TreeNode| node.as_str().is_some_and(|text| text.starts_with(['[', '{']));
    let required = facts.map_or(&[][..], |facts| facts.required);
    map.entries
        .retain(|entry| !is_flow(&entry.value) || required.contains(&entry.key.text.as_str()));
    map
}

/// Adds a line to a block of text, whose header was its first value.
fn add_line(node: &mut TreeNode, line: &str) {
    if let TreeValue::Str(text) = &mut node.value {
        if text.starts_with(['|', '>']) {
            text.clear();
        }
        text.push_str(line);
        text.push('\n');
    }
}

fn is_key(key: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !key.is_empty() && key.chars().all(fits)
}

/// A plain value. Quotes around it are removed, as lenient harnesses do.
fn scalar(source: &SourceFile, text: &str, at: usize) -> TreeNode {
    let span = Span::new(source.id, at, at + text.len());
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?;
        inner.strip_suffix(quote)
    });
    let value = match quoted.unwrap_or(text) {
        "" => TreeValue::Null,
        "true" => TreeValue::Bool(true),
        "false" => TreeValue::Bool(false),
        text => text.parse().map_or_else(|_| TreeValue::Str(text.to_owned()), TreeValue::Int),
    };
    TreeNode { span, value, plain: quoted.is_none() }
}

fn add_item(node: &mut TreeNode, item: TreeNode) {
    match &mut node.value {
        TreeValue::List(items) => items.push(item),
        TreeValue::Null => node.value = TreeValue::List(vec![item]),
        _ => {}
    }
}
