//! The lint rules of a receipt.

use agentry_text::Severity::Warning;
use agentry_text::{LintRule, RuleExample};

use crate::agentfs::rules::{AGENT, PERSONA, PRINCIPLES};

/// Makes an agent with one receipt.
macro_rules! receipt {
    ($text:literal) => {
        RuleExample::Files(&[
            ("helper/agent.json", AGENT),
            ("helper/persona.md", PERSONA),
            ("helper/principles.md", PRINCIPLES),
            ("helper/runs/1/receipts/first.yaml", $text),
        ])
    };
}

/// An id of a wrong form.
pub(in crate::agentfs) static ODD_RECEIPT_ID: LintRule = LintRule {
    code: "AG6071",
    name: "odd-receipt-id",
    severity: Warning,
    why: "Receipts are sorted and found by their ids, which hold the date and the time: \
          `rcpt_YYYYMMDD_HHMMSS_xxxxxx`.",
    bad: receipt!("receipt_id: receipt-1\n"),
    good: receipt!("receipt_id: rcpt_20260115_143022_abc123\n"),
};

/// A timestamp that is not a valid time.
pub(in crate::agentfs) static RECEIPT_TIME: LintRule = LintRule {
    code: "AG6072",
    name: "receipt-without-time",
    severity: Warning,
    why: "Receipts stand in the order of time; one whose time cannot be read has no place in it.",
    bad: receipt!("receipt:\n  type: self-evolution\n  timestamp: this morning\n"),
    good: receipt!("receipt:\n  type: self-evolution\n  timestamp: 2026-01-15T10:30:00Z\n"),
};

/// Totals that differ from the list.
pub(in crate::agentfs) static COUNTS_DIFFER: LintRule = LintRule {
    code: "AG6073",
    name: "receipt-counts-differ",
    severity: Warning,
    why: "A receipt is what others rely on to know what an agent changed in itself; totals that \
          do not fit the list mean that something is missing from one of them.",
    bad: receipt!(
        "receipt:\n  type: self-evolution\n  timestamp: 2026-01-15T10:30:00Z\n  learning_items:\n  \
         - {content: Short answers, status: applied}\n  metadata: {total_items: 2, applied: 1}\n"
    ),
    good: receipt!(
        "receipt:\n  type: self-evolution\n  timestamp: 2026-01-15T10:30:00Z\n  learning_items:\n  \
         - {content: Short answers, status: applied}\n  metadata: {total_items: 1, applied: 1}\n"
    ),
};
