//! The rules about the syntax of ACL.

use crate::diagnostic::Severity::{Error, Warning};
use crate::rule::{LintRule, RuleExample};

/// Every rule about the syntax of ACL, in code order.
pub const RULES: &[&LintRule] = &[&ACL_SYNTAX, &ACL_UNCLOSED, &ACL_LONE_SLASH, &ACL_BROKEN_NAME];

/// Text that is not ACL.
pub static ACL_SYNTAX: LintRule = LintRule {
    code: "AG0063",
    name: "acl-syntax",
    severity: Error,
    why: "The reference reader passes over what it does not understand, so a slip silently removes \
          a setting. Here it is an error.",
    bad: RuleExample::Files(&[INSTRUCTIONS, ("helper/agent.acl", "max_tool_rounds 10\n")]),
    good: RuleExample::Files(&[INSTRUCTIONS, ("helper/agent.acl", "max_tool_rounds = 10\n")]),
};

/// A string, list, call or block that is never closed.
pub static ACL_UNCLOSED: LintRule = LintRule {
    code: "AG0064",
    name: "acl-unclosed",
    severity: Error,
    why: "What is never closed swallows the settings after it; the reference reader takes such a \
          file without a word.",
    bad: RuleExample::Files(&[INSTRUCTIONS, ("helper/agent.acl", "memory {\n  max_working = 5\n")]),
    good: RuleExample::Files(&[
        INSTRUCTIONS,
        ("helper/agent.acl", "memory {\n  max_working = 5\n}\n"),
    ]),
};

/// A single slash, which starts a comment.
pub static ACL_LONE_SLASH: LintRule = LintRule {
    code: "AG0065",
    name: "acl-lone-slash",
    severity: Warning,
    why: "One `/` outside of quotes starts a comment, so the rest of a path or of a model's name \
          that lacks its quotes is dropped.",
    bad: RuleExample::Files(&[
        INSTRUCTIONS,
        ("helper/agent.acl", "max_tool_rounds = 10 / a few\n"),
    ]),
    good: RuleExample::Files(&[
        INSTRUCTIONS,
        ("helper/agent.acl", "max_tool_rounds = 10 # a few\n"),
    ]),
};

/// A name that the reference splits.
pub static ACL_BROKEN_NAME: LintRule = LintRule {
    code: "AG0066",
    name: "acl-broken-name",
    severity: Warning,
    why: "A bare name holds letters, digits and `_`. The reference reader splits a name at `-` and \
          `.`, and loses the setting.",
    bad: RuleExample::Files(&[INSTRUCTIONS, ("helper/agent.acl", "max-tool-rounds = 10\n")]),
    good: RuleExample::Files(&[INSTRUCTIONS, ("helper/agent.acl", "max_tool_rounds = 10\n")]),
};

const INSTRUCTIONS: (&str, &str) = ("helper/instructions.md", "You answer questions.\n");
