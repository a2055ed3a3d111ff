//! Metadata that is not at the start of the file. No reader finds it, so that a `deny` list in it
//! would be lost without a trace: it is an error.

use agentry_text::markdown;
use agentry_text::table::is_extension;
use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{Applicability, Findings, Fix, SourceFile, Span, TextEdit, TreeMap};

use super::bare_metadata;
use super::fields::METADATA;
use super::rules::LATE_METADATA;

/// Fields that limit what an agent may do. A block with one of them is metadata even inside a text.
const LIMITS: &[&str] = &["abilities", "allow", "deny", "required"];

/// Reports every metadata block in `body`, and returns their spans. `texts` are the sections that are sent:
/// there, a block with a title and a description may be an example for the model.
pub(super) fn find(
    source: &SourceFile,
    body: Span,
    texts: &[Option<Span>],
    findings: &mut Findings,
) -> Vec<Span> {
    let lines = fence_lines(source, body);
    let mut found = Vec::new();
    let mut rest = lines.iter().peekable();
    while let Some(opening) = rest.next() {
        let closing = rest.peek().copied();
        let is_text = texts.iter().flatten().any(|text| holds(*text, *opening));
        let Some(block) = metadata_after(source, opening, closing, body, is_text) else { continue };
        if closing.is_some_and(|closing| closing.start < block.end) {
            rest.next();
        }
        report(source, block, true, findings);
        found.push(block);
    }
    found
}

/// Reports metadata in other spellings than two lines `---`, and returns its spans. `read` are the spans that
/// have a meaning, `known` the blocks that are reported already.
pub(super) fn find_bare(
    source: &SourceFile,
    body: Span,
    read: &[Span],
    known: &[Span],
    findings: &mut Findings,
) -> Vec<Span> {
    let found = bare_metadata::find(source, body, read, known);
    for block in &found {
        report(source, *block, false, findings);
    }
    found
}

/// Returns every line `---` of the body (also indented, or `***`), except those in code and one at the start of the file.
fn fence_lines(source: &SourceFile, body: Span) -> Vec<Span> {
    let fences = markdown::fences(source, body.range());
    let mut at = body.range().start;
    let mut lines = Vec::new();
    for line in source.slice(body).split_inclusive(['\n', '\r']) {
        let span = Span::new(source.id, at, at + line.trim_end().len());
        at += line.len();
        let is_first = || {
            let before = source.text.get(..span.range().start);
            before.is_some_and(|text| text.trim().is_empty())
        };
        // The fences are in order, so only the last one that starts before the line can hold it.
        let in_code = || {
            let before = fences.partition_point(|fence| fence.block.start <= span.start);
            let last = before.checked_sub(1).and_then(|at| fences.get(at));
            last.is_some_and(|fence| holds(fence.block, span))
        };
        if matches!(line.trim(), "---" | "***" | "___") && !is_first() && !in_code() {
            lines.push(span);
        }
    }
    lines
}

/// Returns the block behind an opening line, with its lines `---`: up to the closing one, else up to the
/// first blank line.
fn metadata_after(
    source: &SourceFile,
    opening: &Span,
    closing: Option<&Span>,
    body: Span,
    is_text: bool,
) -> Option<Span> {
    // Only up to the next line `---`: otherwise a file of such lines would be read once for each of them.
    let end = closing.map_or(body.end, |closing| closing.start);
    let rest = Span { start: opening.end, end, ..body };
    let lines = source.slice(rest).split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some((*end, line))
    });
    // The first line is the rest of the opening one.
    let mut paragraph = lines.skip(1).take_while(|(_, line)| !line.trim().is_empty());
    let paragraph = paragraph.by_ref().last().map_or(0, |(end, _)| end);
    let start = opening.range().end;
    let to_blank = Span::new(source.id, start, start + paragraph);
    let to_closing = closing.map(|closing| (Span { end: closing.start, ..to_blank }, closing.end));
    let candidates = to_closing.into_iter().chain([(to_blank, to_blank.end)]);
    let mut found = candidates.filter(|(inside, _)| is_metadata(source, *inside, is_text));
    found.next().map(|(_, end)| Span { end, ..*opening })
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn is_metadata(source: &SourceFile, place: Span, is_text: bool) -> bool {
    let mut findings = Findings::default();
    let text = source.slice(place);
    // Most text between two lines is prose, which needs no parser.
    if text.trim().is_empty() || !text.contains(':') {
        return false;
    }
    let node = yaml::parse(source, place.range(), YamlVersion::V1_2, &mut findings);
    let Some(map) = node.as_map().filter(|_| !findings.has_errors()) else { return false };
    has_limit(map) || (!is_text && has_only_fields(map))
}

fn has_limit(map: &TreeMap) -> bool {
    let is_limit = |name: &str| LIMITS.contains(&name);
    map.entries
        .iter()
        .any(|entry| METADATA.field(&entry.key.text).is_some_and(|field| is_limit(field.name)))
}

fn has_only_fields(map: &TreeMap) -> bool {
    let is_field = |key: &str| METADATA.field(key).is_some() || is_extension(key);
    !map.is_empty() && map.entries.iter().all(|entry| is_field(&entry.key.text))
}

/// Reports a block. Only one `is_fenced` by lines `---` can be moved as it is.
fn report(source: &SourceFile, block: Span, is_fenced: bool, findings: &mut Findings) {
    let line = source.slice(block).lines().next().map_or(0, str::len);
    let first = Span::new(block.file, block.range().start, block.range().start + line);
    let found = findings.add(&LATE_METADATA, first, "this metadata is not read: it is not first");
    found.hint("move it to the top of the file, between two lines `---`");
    let text = source.slice(block);
    // Beside other metadata, both would have to be merged by hand.
    if !is_fenced || !text.starts_with("---") || source.text.trim_start().starts_with("---") {
        return;
    }
    let closing = if text.trim_end().ends_with("\n---") { "" } else { "\n---" };
    let start = Span { start: 0, end: 0, ..block };
    let edits = vec![
        TextEdit { span: start, text: format!("{}{closing}\n", text.trim_end()) },
        TextEdit { span: block, text: String::new() },
    ];
    let title = "move it to the top of the file".to_owned();
    found.fix(Fix::several(title, edits, Applicability::Unsafe));
}
