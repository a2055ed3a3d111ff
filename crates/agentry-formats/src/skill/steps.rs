//! The steps of a skill: numbered headings (`### 1. Title (Hardened Step)`) and numbered list items
//! (`1. Title (adaptive step): …`). The label in parentheses gives the kind of a step.

use agentry_model::{SkillStep, StepKind};
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, SourceFile, Span, Spanned, markdown};

use super::rules::UNKNOWN_STEP;

/// The labels with their kinds; compared without case.
const LABELS: &[(&str, StepKind)] = &[
    ("Hardened Step", StepKind::Deterministic),
    ("deterministic step", StepKind::Deterministic),
    ("Flexible Step", StepKind::Adaptive),
    ("adaptive step", StepKind::Adaptive),
    ("Human Gate", StepKind::HumanGate),
];

/// Returns every step of the body, in order. Reports a label that is almost a known one.
pub(super) fn read(
    source: &SourceFile,
    body: Span,
    findings: &mut Findings,
) -> Vec<Spanned<SkillStep>> {
    // A step needs a label in parentheses. Most skills have none, so this saves parsing them.
    if !source.slice(body).contains('(') {
        return Vec::new();
    }
    let mut lines: Vec<StepLine> = markdown::sections(source, body.range())
        .into_iter()
        .map(|section| StepLine { span: section.title.span, numbered: false })
        .collect();
    lines.extend(items(source, body));
    lines.sort_by_key(|line| line.span);
    lines.iter().filter_map(|line| step(source, line, findings)).collect()
}

/// A heading or the first line of a list item.
struct StepLine {
    span: Span,
    /// Whether a number in front was found and removed.
    numbered: bool,
}

/// Returns the numbered list items of `body` that may have a label, except those in code blocks.
fn items(source: &SourceFile, body: Span) -> Vec<StepLine> {
    let mut at = body.range().start;
    let mut found = Vec::new();
    for line in source.slice(body).split_inclusive('\n') {
        if let Some(rest) = after_number(line.trim_start()) {
            let start = at + (line.len() - rest.len());
            let span = Span::new(source.id, start, start + rest.trim_end().len());
            if rest.contains('(') {
                found.push(StepLine { span, numbered: true });
            }
        }
        at += line.len();
    }
    // Fences are searched only if an item was found, because that needs a Markdown parse.
    if !found.is_empty() {
        let code: Vec<_> = markdown::fences(source, body.range()).iter().map(|f| f.block).collect();
        let inside = |span: Span| code.iter().any(|b| b.start <= span.start && span.start < b.end);
        found.retain(|line| !inside(line.span));
    }
    found
}

/// Returns the text after `12. ` or `12) `.
fn after_number(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    let rest = rest.strip_prefix(['.', ')'])?;
    let gap = rest.starts_with([' ', '\t']);
    // CommonMark allows at most nine digits in front of a list item.
    (1..=9).contains(&digits).then_some(())?;
    gap.then(|| rest.trim_start())
}

fn step(
    source: &SourceFile,
    line: &StepLine,
    findings: &mut Findings,
) -> Option<Spanned<SkillStep>> {
    let text = source.slice(line.span);
    let numbered = line.numbered || after_number(text).is_some();
    let title = if line.numbered { text } else { after_number(text).unwrap_or(text) };
    let start = line.span.range().end - title.len();
    for (open, label) in labels(title) {
        let known = LABELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(label.trim()));
        if let Some((_, kind)) = known {
            let title = title.get(..open).unwrap_or("").trim_matches([' ', '*', '_', '`', '\t']);
            return Some(Spanned::new(
                SkillStep { title: title.to_owned(), kind: *kind },
                line.span,
            ));
        }
        // Elsewhere in a title, parentheses are ordinary text.
        if numbered && ends_title(title, open + label.len() + 2) {
            let at = start + open + 1;
            almost(label, Span::new(source.id, at, at + label.len()), findings);
        }
    }
    None
}

/// Returns the texts in parentheses, each with the offset of its opening parenthesis.
fn labels(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('(').filter_map(|(open, _)| {
        let inner = text.get(open + 1..)?;
        let close = inner.find(')')?;
        Some((open, inner.get(..close)?)).filter(|(_, label)| !label.contains('('))
    })
}

/// Whether the title ends at byte `at`: nothing follows, or a colon.
fn ends_title(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or("").trim_start_matches(['*', '_', ' ', '\t']);
    rest.is_empty() || rest.starts_with([':', '\u{ff1a}'])
}

/// Reports a label that is unknown but resembles a known one.
fn almost(label: &str, span: Span, findings: &mut Findings) {
    let names = || LABELS.iter().map(|(name, _)| *name);
    let near = nearest(label, names());
    let word = |word: &str| matches!(word.to_ascii_lowercase().as_str(), "step" | "gate");
    if near.is_none() && !label.split_whitespace().any(word) {
        return;
    }
    let found = findings.add(&UNKNOWN_STEP, span, format!("`({label})` is not a kind of step"));
    match near {
        Some(name) => {
            found.hint(format!("did you mean `({name})`?"));
            found.fix(Fix::unsafe_(format!("write `{name}`"), span, name));
        }
        None => {
            found.hint("use `(Hardened Step)`, `(Flexible Step)` or `(Human Gate)`");
        }
    }
}
