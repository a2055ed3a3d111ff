//! The one shape in which every stage reports to a person or an editor.

use std::fmt;

use crate::edit::Fix;
use crate::rule::LintRule;
use crate::source::{FileId, Span};
use crate::{acl, json, toml, tree_rules, yaml};

/// How bad a [`Diagnostic`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// The agent can be used; it may not do what was meant.
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
    /// What it is an instance of.
    pub rule: &'static LintRule,
    /// The rule's own severity, unless configuration changed it.
    pub severity: Severity,
    /// One line, lower case, no full stop.
    pub message: String,
    /// The text to underline.
    pub span: Span,
    /// What to do about it.
    pub hint: Option<String>,
    /// Other places that belong to the finding.
    pub related: Vec<SpanLabel>,
    /// How to mend it without a person.
    pub fix: Option<Fix>,
    /// Whether the text at `span` is a secret that nothing may show.
    pub secret: bool,
    /// Whether it says that something is not there, which only a file that was read whole can show.
    pub absent: bool,
}

/// A further place with a word about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanLabel {
    /// Where.
    pub span: Span,
    /// What is to be seen there.
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

    /// Says what to do.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what to do, if there is something to say.
    pub fn hint_opt(&mut self, hint: Option<String>) -> &mut Self {
        if hint.is_some() {
            self.hint = hint;
        }
        self
    }

    /// Adds a further place.
    pub fn related(&mut self, span: Span, message: impl Into<String>) -> &mut Self {
        self.related.push(SpanLabel { span, message: message.into() });
        self
    }

    /// Says that the text at the place is a secret.
    pub fn secret(&mut self) -> &mut Self {
        self.secret = true;
        self
    }

    /// Says that the finding is about something that is not there.
    pub fn absent(&mut self) -> &mut Self {
        self.absent = true;
        self
    }

    /// Adds a way to mend it.
    pub fn fix(&mut self, fix: Fix) -> &mut Self {
        self.fix = Some(fix);
        self
    }
}

/// The findings so far: what every reader and every check reports into.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Diagnostic>,
}

impl Findings {
    /// Reports a finding and gives it back for a hint or a fix.
    pub fn add(
        &mut self,
        rule: &'static LintRule,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Diagnostic::new(rule, span, message))
    }

    /// Reports a finding made elsewhere.
    pub fn push(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        self.list.push_mut(diagnostic)
    }

    /// Takes over all of `other`.
    pub fn extend(&mut self, other: Findings) {
        self.list.extend(other.list);
    }

    /// The findings, in the order of being reported.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// The places of secrets.
    pub fn secrets(&self) -> impl Iterator<Item = Span> {
        self.list.iter().filter(|found| found.secret).map(|found| found.span)
    }

    /// Whether a finding is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|found| found.severity == Severity::Error)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Says of the findings of these rules that they are about something that is not there.
    pub fn absent(&mut self, rules: &[&str]) {
        for found in self.list.iter_mut().filter(|found| rules.contains(&found.rule.name)) {
            found.absent = true;
        }
    }

    /// Moves the findings about one file to another place.
    pub fn place(&mut self, file: FileId, span: Span) {
        for found in self.list.iter_mut().filter(|found| found.span.file == file) {
            found.span = span;
        }
    }

    /// The findings in source order. One that was reported twice is kept once; what is not there is
    /// no finding in a file of which a mistake of syntax hides a part.
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
        list.sort_by(|a, b| {
            (a.span, a.rule.code, &a.message).cmp(&(b.span, b.rule.code, &b.message))
        });
        list.dedup_by(|a, b| a.span == b.span && a.rule == b.rule && a.message == b.message);
        list
    }
}

/// Whether a finding of `rule` means that a part of the file was not read.
fn hides(rule: &LintRule) -> bool {
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
    fn what_a_mistake_hides_is_not_missing() {
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
