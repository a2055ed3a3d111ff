//! Suppressions written beside what they hide: `# agentry: allow(rule-name) the reason`.
//!
//! A suppression hides the findings of its rules on its own line, or, when it stands alone on a
//! line, on the next line that is neither blank nor a comment. `allow-file(…)` hides them in the
//! whole file. It must name rules that exist and give a reason.

use agentry_text::{Diagnostic, FileId, Source, Sources, Span};

use crate::registry::rule;
use crate::rules::{BAD_SUPPRESSION, UNUSED_SUPPRESSION};

const MARK: &str = "agentry: allow";

/// Takes away what is suppressed, and reports suppressions that are wrong or hide nothing.
pub(crate) fn suppress(sources: &Sources, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.text.contains(MARK)) {
        found.extend(suppressions(source));
    }
    if found.is_empty() {
        return diagnostics;
    }
    let mut kept = Vec::with_capacity(diagnostics.len());
    for diagnostic in diagnostics {
        let line = sources.start(diagnostic.span).line;
        let hides = |s: &&mut Suppression| s.hides(&diagnostic, line);
        match found.iter_mut().find(hides) {
            Some(suppression) => suppression.used = true,
            None => kept.push(diagnostic),
        }
    }
    kept.extend(found.iter().filter_map(Suppression::complaint));
    kept.sort_by_key(|diagnostic| diagnostic.span);
    kept
}

#[derive(Debug)]
struct Suppression {
    file: FileId,
    span: Span,
    /// The line that it is about; `None` for the whole file.
    line: Option<usize>,
    rules: Vec<String>,
    has_reason: bool,
    used: bool,
}

impl Suppression {
    fn hides(&self, diagnostic: &Diagnostic, line: usize) -> bool {
        let named = |name: &String| name == diagnostic.rule.name || name == diagnostic.rule.code;
        self.file == diagnostic.span.file
            && self.line.is_none_or(|at| at == line)
            && self.rules.iter().any(named)
    }

    fn complaint(&self) -> Option<Diagnostic> {
        let about = |rule, message: String| Some(Diagnostic::new(rule, self.span, message));
        let unknown = self.rules.iter().find(|name| rule(name).is_none());
        let mut complaint = match unknown {
            Some(name) => about(&BAD_SUPPRESSION, format!("there is no rule `{name}`")),
            None if !self.has_reason => {
                about(&BAD_SUPPRESSION, "this suppression gives no reason".to_owned())
            }
            None if !self.used => {
                about(&UNUSED_SUPPRESSION, "this suppression hides nothing".to_owned())
            }
            None => None,
        }?;
        complaint.hint(match (unknown, self.has_reason) {
            (Some(_), _) => "`agentry rules` lists them all",
            (None, false) => "say why after the closing parenthesis",
            (None, true) => "remove it",
        });
        Some(complaint)
    }
}

fn suppressions(source: &Source) -> Vec<Suppression> {
    let lines: Vec<(usize, &str)> = lines(&source.text).collect();
    let mut out = Vec::new();
    for (index, (start, line)) in lines.iter().enumerate() {
        let Some(written) = Written::parse(line) else { continue };
        let below = lines.iter().skip(index + 1);
        let next = below.clone().position(|(_, line)| !skipped(line, written.sign)).unwrap_or(0);
        let about = if written.alone { index + 2 + next } else { index + 1 };
        out.push(Suppression {
            file: source.id,
            span: Span::new(source.id, start + written.at, start + line.trim_end().len()),
            line: (!written.whole_file).then_some(about),
            rules: written.rules,
            has_reason: written.has_reason,
            used: false,
        });
    }
    out
}

/// A suppression as it stands in its line.
struct Written {
    at: usize,
    sign: &'static str,
    alone: bool,
    whole_file: bool,
    rules: Vec<String>,
    has_reason: bool,
}

impl Written {
    fn parse(line: &str) -> Option<Self> {
        let at = line.find(MARK)?;
        let before = line.get(..at)?.trim_end();
        let sign = SIGNS.iter().copied().find(|sign| before.ends_with(sign))?;
        let rest = line.get(at + MARK.len()..)?;
        let (whole_file, rest) = match rest.strip_prefix("-file") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let (names, reason) = rest.strip_prefix('(')?.split_once(')')?;
        Some(Self {
            at,
            sign,
            alone: before.trim_start() == sign,
            whole_file,
            rules: names.split(',').map(|name| name.trim().to_owned()).collect(),
            has_reason: reason.trim_end_matches("-->").chars().any(char::is_alphanumeric),
        })
    }
}

/// What opens a comment in the languages of the formats.
const SIGNS: &[&str] = &["#", "//", "<!--"];

/// Lines with the byte they start at.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

/// Whether a line is blank, or a comment of the same language.
fn skipped(line: &str, sign: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(sign)
}
