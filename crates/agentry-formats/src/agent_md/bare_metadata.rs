//! Metadata outside the sections in another spelling than two lines `---`: plain `key: value` lines, `+++`, a
//! block of YAML, TOML or JSON code, a list, a table, a `## Metadata` section. No reader finds it either.

use agentry_model::AgentStatus;
use agentry_text::table::is_extension;
use agentry_text::{SourceFile, Span, markdown};

use super::fields::METADATA;

/// Fields whose loss changes what an agent may do, or whether it starts.
const LIMITS: &[&str] = &["abilities", "allow", "deny", "required", "status"];
/// Fields whose value is a sentence: one such line alone may be prose (`Rules: be brief.`).
const TEXTS: &[&str] = &["title", "description", "system", "rules"];
/// Languages of code that hold data.
const DATA: &[&str] =
    &["", "yaml", "yml", "toml", "json", "jsonc", "ini", "text", "txt", "md", "markdown"];
/// Headings under which a person writes metadata.
const HEADINGS: &[&str] =
    &["metadata", "meta data", "meta", "front matter", "frontmatter", "header"];

/// Returns the blocks of `body` that are metadata and lie neither in `texts`, which are read, nor in `known`.
pub(super) fn find(source: &SourceFile, body: Span, texts: &[Span], known: &[Span]) -> Vec<Span> {
    // Without its end, the metadata at the top is a part of the text; that is reported already.
    let mut lines = source.text.lines().filter(|line| !line.trim().is_empty());
    if body.start == 0 && lines.next().is_some_and(|line| line.starts_with("---")) {
        return Vec::new();
    }
    let fences = markdown::fences(source, body.range());
    let is_other = |fence: &&markdown::CodeFence| !DATA.contains(&fence.language.as_str());
    let mut apart: Vec<Span> = fences.iter().filter(is_other).map(|fence| fence.block).collect();
    apart.extend(texts.iter().chain(known));
    apart.sort_by_key(|span| span.start);
    let (mut apart, mut apart_end) = (apart.into_iter().peekable(), 0);
    let mut blocks =
        MetadataScan { block: None, lines: Vec::new(), under: false, found: Vec::new() };
    let mut in_comment = false;
    let mut at = body.range().start;
    for line in source.slice(body).split_inclusive('\n') {
        let span = Span::new(source.id, at, at + line.trim_end().len());
        at += line.len();
        let hidden = in_comment || line.trim_start().starts_with("<!--");
        in_comment = hidden && !line.contains("-->");
        while let Some(next) = apart.next_if(|next| next.start <= span.start) {
            apart_end = next.end.max(apart_end);
        }
        blocks.line(line.trim_end(), span, hidden || span.end <= apart_end);
    }
    blocks.end_block();
    blocks.found
}

/// Takes the lines of a body together to blocks.
struct MetadataScan<'s> {
    block: Option<Span>,
    lines: Vec<&'s str>,
    /// Whether the block stands under a heading such as `## Metadata`.
    under: bool,
    found: Vec<Span>,
}

impl<'s> MetadataScan<'s> {
    fn line(&mut self, line: &'s str, span: Span, is_apart: bool) {
        let text = line.trim();
        if text.is_empty() || is_apart || text.starts_with("```") || text.starts_with("~~~") {
            return self.end_block();
        }
        if let Some(heading) = text.strip_prefix('#') {
            self.end_block();
            let heading = heading.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            self.under = HEADINGS.contains(&heading.as_str());
            return;
        }
        self.block = Some(self.block.map_or(span, |block| block.to(span)));
        self.lines.push(line);
    }

    fn end_block(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let Some(block) = self.block.take() else { return };
        if is_metadata(&lines, self.under) {
            self.found.push(block);
        }
    }
}

/// Whether the lines of a block are metadata. `under` a heading such as `## Metadata`, one field is
/// enough.
fn is_metadata(lines: &[&str], under: bool) -> bool {
    let lines: Vec<&str> = lines.iter().copied().filter(|line| !is_rule(line)).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let first = lines.iter().map(|line| indent(line)).min().unwrap_or(0);
    let (mut fields, mut others) = (Vec::new(), 0);
    for line in &lines {
        match field_line(line) {
            Some(field) => fields.push(field),
            // A deeper line, a list item or a closing bracket belongs to the field above it.
            None if !fields.is_empty() && is_continued(line, indent(line) > first) => {}
            None => others += 1,
        }
    }
    if fields.iter().any(FieldLine::is_clear_limit) {
        return true;
    }
    let known = fields.iter().filter(|field| field.name.is_some());
    let is_text = |field: &&FieldLine| field.name.is_some_and(|name| TEXTS.contains(&name));
    let (all, texts) = (known.clone().count(), known.filter(is_text).count());
    all > 0 && (under || (others == 0 && all == fields.len() && (all > 1 || texts == 0)))
}

/// Whether a line is a rule such as `---`, `***` or `+++`, or a bracket around data.
fn is_rule(line: &str) -> bool {
    let text = line.trim();
    text.chars().all(|c| "-*_+={}|: ".contains(c))
}

fn is_continued(line: &str, is_deeper: bool) -> bool {
    is_deeper || line.trim_start().starts_with(['-', '*', ']', '}', '"', '\''])
}

/// A line `key: value`, `key = value`, `| key | value |` or `[key]`, in whatever list, quote or emphasis.
struct FieldLine<'l> {
    /// The field; `None` for an extension.
    name: Option<&'static str>,
    value: &'l str,
}

impl FieldLine<'_> {
    /// Whether the line can only be a limit: its value is data, not a sentence.
    fn is_clear_limit(&self) -> bool {
        let Some(name) = self.name.filter(|name| LIMITS.contains(name)) else { return false };
        let value = self.value.trim_matches(['"', '\'', '`', '|', ' ', ',']);
        if name == "status" {
            return AgentStatus::WORDS.iter().any(|word| word.eq_ignore_ascii_case(value));
        }
        self.value.starts_with(['[', '{'])
    }
}

/// Reads a line that names a field of the metadata.
fn field_line(line: &str) -> Option<FieldLine<'_>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let text = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (key, rest) = text.split_at_checked(end)?;
    let is_header = line.trim_start().starts_with('[') && rest.trim() == "]";
    let rest = rest.trim_start_matches(['"', '\'', '`', '*', '_', ' ']);
    let value = rest.strip_prefix([':', '=', '|']).or_else(|| is_header.then_some(""))?;
    // In `**deny:** [sh]`, the emphasis ends behind the colon.
    let value = value.trim_start_matches(['*', '_']).trim();
    let field = METADATA.field(key);
    (field.is_some() || is_extension(key))
        .then(|| FieldLine { name: field.map(|it| it.name), value })
}
