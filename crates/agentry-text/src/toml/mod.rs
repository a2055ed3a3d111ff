//! TOML 1.1: parsed into the tree that all data languages share, and written from plain data.

mod depth;
mod emit;
mod error_text;
mod parse;
#[cfg(test)]
mod tests;

pub use emit::emit;
pub use parse::parse;

use crate::diagnostic::Severity;
use crate::rule::{LintRule, RuleExample};

/// Every rule about the syntax of TOML.
pub const RULES: &[&LintRule] = &[&TOML_SYNTAX];

/// Text that is not TOML.
pub static TOML_SYNTAX: LintRule = LintRule {
    code: "AG0061",
    name: "toml-syntax",
    severity: Severity::Error,
    why: "A file that is not TOML is refused by every reader, and guessing what was meant could \
          change what the agent may do.",
    bad: RuleExample::Files(&[
        ("helper/agent.toml", "name = helper\ndescription = \"Answers questions\"\n"),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
    good: RuleExample::Files(&[
        ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
};
