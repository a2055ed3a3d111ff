//! Findings: the one type in which every stage reports problems to a person or an editor.

use std::fmt;

use crate::edit::Fix;
use crate::rule::LintRule;
use crate::source::{FileId, Span};
use crate::{acl, json, toml, tree_rules, yaml};

/// How bad a [`Diagnostic`] is. The variants are ordered: later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// The agent can be used, but may not do what its author intended.
    Warning,
    /// The agent cannot be used.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A finding, ready to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that was broken.
    pub rule: &'static LintRule,
    /// The severity of the rule, unless the configuration changed it.
    pub severity: Severity,
    /// One line, lower case, no full stop.
    pub message: String,
    /// The text to underline.
    pub span: Span,
    /// What to do about it, for a person.
    pub hint: Option<String>,
    /// Other places that belong to the finding.
    pub related: Vec<SpanLabel>,
    /// The edits that repair it.
    pub fix: Option<Fix>,
    /// Whether the text at `span` is a secret that must not be shown.
    pub secret: bool,
    /// Whether it reports something missing. That is certain only if the whole file could be parsed.
    pub absent: bool,
}

/// A related place with a short text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanLabel {
    /// The place.
    pub span: Span,
    /// What is there.
    pub message: String,
}

impl Diagnostic {
    /// A finding of `rule` at `span`.
    pub fn new(rule: &'static LintRule, span: Span, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            message: message.into(),
            span,
            hint: None,
            related: Vec::new(),
            fix: None,
            secret: false,
            absent: false,
        }
    }

    /// Sets the hint.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the hint, if there is one.
    pub fn hint_opt(&mut self, hint: Option<String>) -> &mut Self {
        if hint.is_some() {
            self.hint = hint;
        }
        self
    }

    /// Adds a related place.
    pub fn related(&mut self, span: Span, message: impl Into<String>) -> &mut Self {
        self.related.push(SpanLabel { span, message: message.into() });
        self
    }

    /// Marks the text at the span as a secret.
    pub fn secret(&mut self) -> &mut Self {
        self.secret = true;
        self
    }

    /// Marks the finding as a report of something missing.
    pub fn absent(&mut self) -> &mut Self {
        self.absent = true;
        self
    }

    /// Sets the fix.
    pub fn fix(&mut self, fix: Fix) -> &mut Self {
        self.fix = Some(fix);
        self
    }
}

/// The findings so far. Every reader and every check adds to it.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Diagnostic>,
}

impl Findings {
    /// Adds a finding and returns it, so that the caller can add a hint or a fix.
    pub fn add(
        &mut self,
        rule: &'static LintRule,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Diagnostic::new(rule, span, message))
    }

    /// Adds an existing finding.
    pub fn push(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        self.list.push_mut(diagnostic)
    }

    /// Adds all findings of `other`.
    pub fn extend(&mut self, other: Findings) {
        self.list.extend(other.list);
    }

    /// Returns the findings in the order of being added.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Returns the spans of secrets.
    pub fn secrets(&self) -> impl Iterator<Item = Span> {
        self.list.iter().filter(|found| found.secret).map(|found| found.span)
    }

    /// Reports whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|found| found.severity == Severity::Error)
    }

    /// Reports whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Marks the findings of these rules as reports of something missing.
    pub fn absent(&mut self, rules: &[&str]) {
        for found in self.list.iter_mut().filter(|found| rules.contains(&found.rule.name)) {
            found.absent = true;
        }
    }

    /// Moves the findings about one file to another span.
    pub fn place(&mut self, file: FileId, span: Span) {
        for found in self.list.iter_mut().filter(|found| found.span.file == file) {
            found.span = span;
        }
    }

    /// Returns the findings in source order, without duplicates.
    /// Reports of something missing are dropped in a file with syntax errors, which may hide it.
    pub fn into_sorted(self) -> Vec<Diagnostic> {
        let mut list = self.list;
        if list.iter().any(|found| found.absent) {
            let broken: Vec<_> = list
                .iter()
                .filter(|found| hides(found.rule))
                .map(|found| found.span.file)
                .collect();
            list.retain(|found| !found.absent || !broken.contains(&found.span.file));
        }
        // Rule and message are part of the key, so that duplicates are neighbours.
        list.sort_by(|a, b| {
            (a.span, a.rule.code, &a.message).cmp(&(b.span, b.rule.code, &b.message))
        });
        list.dedup_by(|a, b| a.span == b.span && a.rule == b.rule && a.message == b.message);
        list
    }
}

/// Reports whether a finding of `rule` means that a part of the file was not parsed.
fn hides(rule: &LintRule) -> bool {
    // Beyond a limit parsing stops, so fields may be missing as after a syntax error.
    let limits = [&tree_rules::TOO_DEEP, &tree_rules::TOO_MANY_VALUES];
    let syntax = [&yaml::YAML_SYNTAX, &yaml::YAML_TAG, &json::JSON_SYNTAX, &toml::TOML_SYNTAX];
    let known = limits.into_iter().chain(syntax).chain(acl::RULES.iter().copied());
    known.into_iter().any(|known| known == rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::rules::MISSING_FIELD;

    #[test]
    fn syntax_errors_suppress_missing_field_findings() {
        let (first, second) = (Span::start_of(FileId(0)), Span::start_of(FileId(1)));
        let cases: [(Span, &'static LintRule, usize); 4] = [
            (first, &yaml::YAML_SYNTAX, 1),
            (first, &toml::TOML_SYNTAX, 1),
            (second, &yaml::YAML_SYNTAX, 2),
            (first, &tree_rules::DUPLICATE_KEY, 2),
        ];
        for (span, rule, count) in cases {
            let mut findings = Findings::default();
            findings.add(&MISSING_FIELD, first, "there is no `name`").absent();
            findings.add(rule, span, "a mistake");
            assert_eq!(findings.into_sorted().len(), count, "{} {span:?}", rule.name);
        }
    }
}
