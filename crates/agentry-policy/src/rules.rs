//! The rules of one section of one layer, compiled: what a verdict is taken from.

use agentry_text::Span;

use crate::pattern::{Pattern, PatternSubject};
use crate::{Action, Section};

/// An ordered list of rules; the first that matches decides, else the last one, the intent.
#[derive(Debug, Clone)]
pub struct RuleList {
    /// What they are about.
    pub section: Section,
    /// In order.
    pub rules: Vec<PolicyRule>,
    /// The answer when no rule matches. Its pattern matches everything.
    pub intent: PolicyRule,
}

/// One compiled rule.
#[derive(Debug, Clone)]
pub struct PolicyRule {
    /// What it matches.
    pub pattern: Pattern,
    /// Its answer.
    pub action: Action,
    /// As the author wrote it, to show: `git log*:allow`, `trust.exec: none`.
    pub text: String,
    /// Where it was written; nothing for what is built in.
    pub span: Option<Span>,
}

impl RuleList {
    /// Every rule in order, the intent last.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &PolicyRule> {
        self.rules.iter().chain(std::iter::once(&self.intent))
    }

    /// The same, to be changed.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut PolicyRule> {
        self.rules.iter_mut().chain(std::iter::once(&mut self.intent))
    }

    /// The same rules about commands as they are written only: a deny reaches no other way to write
    /// a command, as `/bin/rm` for `rm`.
    #[must_use]
    pub fn as_written(&self) -> Self {
        let plain = |rule: &PolicyRule| PolicyRule {
            pattern: rule.pattern.as_written().unwrap_or_else(|| rule.pattern.clone()),
            ..rule.clone()
        };
        Self {
            section: self.section,
            rules: self.rules.iter().map(plain).collect(),
            intent: self.intent.clone(),
        }
    }

    /// The rule at `index`; past the last one, the intent.
    pub fn at(&self, index: usize) -> &PolicyRule {
        self.rules.get(index).unwrap_or(&self.intent)
    }

    /// The rule that decides about one subject: the first that matches.
    pub fn first(&self, subject: PatternSubject<'_>) -> &PolicyRule {
        self.rules.iter().find(|rule| rule.pattern.matches(subject)).unwrap_or(&self.intent)
    }
}
