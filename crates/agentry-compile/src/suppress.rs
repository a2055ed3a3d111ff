//! Suppressions in comments: `# agentry: allow(rule-name) the reason`.
//!
//! A suppression hides findings of its rules on its own line. If it is alone on its line, it applies to the
//! next line that is neither blank nor a comment. `allow-file(…)` applies to the whole file. It must name
//! existing rules and give a reason. Text inside quotes is not a comment, so it is never a suppression.

use std::collections::HashMap;
use std::ops::Range;

use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{
    Diagnostic, FileId, Findings, SourceFile, SourceFiles, Span, TreeEntry, TreeNode, TreeValue,
    acl, json, markdown, toml,
};

use crate::registry::rule;
use crate::rules::{BAD_SUPPRESSION, UNUSED_SUPPRESSION};

const MARK: &str = "agentry: allow";

/// Removes suppressed findings, and reports suppressions that are wrong or unused. Only the first `own`
/// files can have any: a suppression in a base applies only to the base.
pub(crate) fn suppress(
    sources: &SourceFiles,
    own: usize,
    diagnostics: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for source in sources.iter().take(own).filter(|source| source.text.contains(MARK)) {
        found.extend(suppressions(source));
    }
    if found.is_empty() {
        return diagnostics;
    }
    let mut by_line: HashMap<(FileId, Option<usize>), Vec<usize>> = HashMap::new();
    for (at, suppression) in found.iter().enumerate() {
        by_line.entry((suppression.file, suppression.line)).or_default().push(at);
    }
    let mut kept = Vec::with_capacity(diagnostics.len());
    for diagnostic in diagnostics {
        let file = diagnostic.span.file;
        let line = sources.start(diagnostic.span).line;
        // `None` is the key of suppressions for the whole file.
        let near = [Some(line), None].into_iter().filter_map(|line| by_line.get(&(file, line)));
        let at =
            near.flatten().copied().find(|at| found.get(*at).is_some_and(|s| s.names(&diagnostic)));
        match at.and_then(|at| found.get_mut(at)) {
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
    /// The line that it applies to; `None` for the whole file.
    line: Option<usize>,
    rules: Vec<String>,
    has_reason: bool,
    used: bool,
}

impl Suppression {
    fn names(&self, diagnostic: &Diagnostic) -> bool {
        let named = |name: &String| name == diagnostic.rule.name || name == diagnostic.rule.code;
        self.rules.iter().any(named)
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

fn suppressions(source: &SourceFile) -> Vec<Suppression> {
    let lines: Vec<(usize, &str)> = lines(&source.text).collect();
    // From the last line up, so that the next line of text is always known.
    let mut next: Vec<usize> = SIGNS.iter().map(|_| lines.len()).collect();
    let mut out = Vec::new();
    let quoted = quoted(source);
    let is_text = |at: usize| quoted.iter().any(|range| range.contains(&at));
    for (index, (start, line)) in lines.iter().enumerate().rev() {
        if let Some(written) =
            SuppressionComment::parse(line).filter(|found| !is_text(start + found.at))
        {
            let sign = SIGNS.iter().position(|sign| *sign == written.sign).unwrap_or(0);
            let below = next.get(sign).copied().unwrap_or(lines.len());
            let about = if written.alone { below } else { index };
            out.push(Suppression {
                file: source.id,
                span: Span::new(source.id, start + written.at, start + line.trim_end().len()),
                line: (!written.whole_file).then_some(about + 1),
                rules: written.rules,
                has_reason: written.has_reason,
                used: false,
            });
        }
        for (sign, next) in SIGNS.iter().zip(&mut next) {
            if !skipped(line, sign) {
                *next = index;
            }
        }
    }
    out.reverse();
    out
}

/// The ranges of quoted text, which cannot contain comments.
fn quoted(source: &SourceFile) -> Vec<Range<usize>> {
    let whole = 0..source.text.len();
    let ignored = &mut Findings::default();
    let ending = source.path.rsplit('.').next().unwrap_or("");
    let node = match ending {
        "agent" | "yaml" | "yml" => yaml::parse(source, whole, YamlVersion::V1_1, ignored),
        "json" => json::parse(source, ignored),
        "toml" => toml::parse(source, ignored),
        "acl" => acl::parse(source, ignored),
        "md" => match markdown::parts(source).metadata {
            Some(range) => yaml::parse(source, range, YamlVersion::V1_2, ignored),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let mut out = Vec::new();
    collect(&node, source, &mut out);
    out
}

fn collect(node: &TreeNode, source: &SourceFile, out: &mut Vec<Range<usize>>) {
    match &node.value {
        TreeValue::Map(map) => {
            for TreeEntry { key, value } in &map.entries {
                push_quoted(key.span, source, out);
                collect(value, source, out);
            }
        }
        TreeValue::List(items) | TreeValue::Call(_, items) => {
            items.iter().for_each(|item| collect(item, source, out));
        }
        _ => push_quoted(node.span, source, out),
    }
}

fn push_quoted(span: Span, source: &SourceFile, out: &mut Vec<Range<usize>>) {
    if source.slice(span).starts_with(['"', '\'']) {
        out.push(span.range());
    }
}

/// A suppression as written in its line.
struct SuppressionComment {
    at: usize,
    sign: &'static str,
    alone: bool,
    whole_file: bool,
    rules: Vec<String>,
    has_reason: bool,
}

impl SuppressionComment {
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

/// The comment signs of the formats' languages.
const SIGNS: &[&str] = &["#", "//", "<!--"];

/// The lines, each with the offset of its first byte.
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
