//! The compiled rules of one section of one layer.

use agentry_text::Span;

use crate::pattern::{Pattern, PatternSubject};
use crate::{Action, Section};

/// An ordered list of rules: the first match decides, or else the intent.
#[derive(Debug, Clone)]
pub struct RuleList {
    /// The section of the rules.
    pub section: Section,
    /// The rules in order.
    pub rules: Vec<PolicyRule>,
    /// The rule for subjects that no other rule matches; its pattern matches everything.
    pub intent: PolicyRule,
}

/// One compiled rule.
#[derive(Debug, Clone)]
pub struct PolicyRule {
    /// The subjects that it matches.
    pub pattern: Pattern,
    /// The verdict of the rule.
    pub action: Action,
    /// The text for explanations, as the author wrote it: `git log*:allow`, `trust.exec: none`.
    pub text: String,
    /// Where it was written; `None` for a built-in rule.
    pub span: Option<Span>,
}

impl RuleList {
    /// Iterates over the rules in order, the intent last.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &PolicyRule> {
        self.rules.iter().chain(std::iter::once(&self.intent))
    }

    /// Like [`Self::all`], with mutable rules.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut PolicyRule> {
        self.rules.iter_mut().chain(std::iter::once(&mut self.intent))
    }

    /// Returns the same rules, restricted to commands as they are written: a deny rule then does not match
    /// other spellings, such as `/bin/rm` for `rm`.
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

    /// Returns the rule at `index`; the intent after the last one.
    pub fn at(&self, index: usize) -> &PolicyRule {
        self.rules.get(index).unwrap_or(&self.intent)
    }

    /// Returns the rule that decides about one subject.
    pub fn first(&self, subject: PatternSubject<'_>) -> &PolicyRule {
        self.rules.iter().find(|rule| rule.pattern.matches(subject)).unwrap_or(&self.intent)
    }
}
