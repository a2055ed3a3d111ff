//! The answer to a call, and why.

use agentry_text::Span;

use crate::{Action, LayerSource, PolicyRule};

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The strictest answer of all parts.
    pub action: Action,
    /// One entry a part of the call, in source order.
    pub reasons: Vec<VerdictReason>,
}

/// Why one part of a call got its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictReason {
    /// The part, as written: one command of a line, one redirection.
    pub segment: String,
    /// Its answer.
    pub action: Action,
    /// The rule that decided, or what is built in.
    pub rule: String,
    /// Where the rule was written.
    pub span: Option<Span>,
    /// The layer that decided.
    pub layer: LayerSource,
    /// What makes the answer stricter than it may look: an option that does more than it seems, a
    /// command that a word may become.
    pub note: Option<String>,
}

/// The answer of one layer to one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LayerDecision {
    pub(crate) action: Action,
    pub(crate) rule: String,
    pub(crate) span: Option<Span>,
    pub(crate) layer: LayerSource,
    pub(crate) note: Option<String>,
}

impl Verdict {
    /// The verdict of a call with these parts; one without any part does nothing.
    pub(crate) fn of(reasons: Vec<VerdictReason>) -> Self {
        let action = reasons.iter().map(|reason| reason.action).max().unwrap_or(Action::Allow);
        Self { action, reasons }
    }

    /// Whether a part has the answer of the whole.
    pub fn is_decided_by(&self, reason: &VerdictReason) -> bool {
        reason.action == self.action
    }
}

impl LayerDecision {
    /// The decision of a rule.
    pub(crate) fn by(rule: &PolicyRule, layer: LayerSource) -> Self {
        Self { action: rule.action, rule: rule.text.clone(), span: rule.span, layer, note: None }
    }

    /// What holds whatever the rules say.
    pub(crate) fn built_in(action: Action, why: impl Into<String>) -> Self {
        Self { action, rule: why.into(), span: None, layer: LayerSource::BuiltIn, note: None }
    }

    /// The stricter of two decisions; the first where both say the same.
    pub(crate) fn strictest(self, other: Self) -> Self {
        if other.action > self.action { other } else { self }
    }

    /// The decision about the part that was written as `segment`.
    pub(crate) fn about(self, segment: impl Into<String>) -> VerdictReason {
        let Self { action, rule, span, layer, note } = self;
        VerdictReason { segment: segment.into(), action, rule, span, layer, note }
    }
}
