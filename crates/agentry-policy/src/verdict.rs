//! The verdict about a call, and its reasons.

use agentry_text::Span;

use crate::{Action, LayerSource, PolicyRule};

/// The verdict about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The strictest verdict of all parts.
    pub action: Action,
    /// One entry per part of the call, in source order.
    pub reasons: Vec<VerdictReason>,
}

/// The reason for the verdict about one part of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictReason {
    /// The part, as written: one command of a line, one redirection.
    pub segment: String,
    /// The verdict about the part.
    pub action: Action,
    /// The rule that decided, or the built-in restriction.
    pub rule: String,
    /// Where the rule was written.
    pub span: Option<Span>,
    /// The layer that decided.
    pub layer: LayerSource,
    /// Why the verdict is stricter than it may look: an option that does more than expected, a command that
    /// a word may become.
    pub note: Option<String>,
}

/// The verdict of one layer about one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LayerDecision {
    pub(crate) action: Action,
    pub(crate) rule: String,
    pub(crate) span: Option<Span>,
    pub(crate) layer: LayerSource,
    pub(crate) note: Option<String>,
}

impl Verdict {
    /// Makes the verdict of a call with these parts; without parts it does nothing, and is allowed.
    pub(crate) fn of(reasons: Vec<VerdictReason>) -> Self {
        let action = reasons.iter().map(|reason| reason.action).max().unwrap_or(Action::Allow);
        Self { action, reasons }
    }

    /// Whether a part has the same verdict as the whole call.
    pub fn is_decided_by(&self, reason: &VerdictReason) -> bool {
        reason.action == self.action
    }
}

impl LayerDecision {
    /// Makes the decision of a rule.
    pub(crate) fn by(rule: &PolicyRule, layer: LayerSource) -> Self {
        Self { action: rule.action, rule: rule.text.clone(), span: rule.span, layer, note: None }
    }

    /// Makes a decision that does not depend on the rules.
    pub(crate) fn built_in(action: Action, why: impl Into<String>) -> Self {
        Self { action, rule: why.into(), span: None, layer: LayerSource::BuiltIn, note: None }
    }

    /// Returns the stricter of two decisions; the first one if both are equally strict.
    pub(crate) fn strictest(self, other: Self) -> Self {
        if other.action > self.action { other } else { self }
    }

    /// Turns the decision into the reason for the part `segment`.
    pub(crate) fn about(self, segment: impl Into<String>) -> VerdictReason {
        let Self { action, rule, span, layer, note } = self;
        VerdictReason { segment: segment.into(), action, rule, span, layer, note }
    }
}
