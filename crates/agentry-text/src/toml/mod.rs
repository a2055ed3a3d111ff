//! TOML 1.1: read into the one tree, and written from plain data.

mod depth;
mod emit;
mod parse;
#[cfg(test)]
mod tests;
mod words;

pub use emit::emit;
pub use parse::parse;

use crate::diagnostic::Severity;
use crate::rule::{Example, Rule};

/// Every rule about how TOML is written.
pub const RULES: &[&Rule] = &[&TOML_SYNTAX];

/// Text that is not TOML.
pub static TOML_SYNTAX: Rule = Rule {
    code: "AG0061",
    name: "toml-syntax",
    severity: Severity::Error,
    why: "A file that is not TOML is refused by every reader, and guessing what was meant could \
          change what the agent may do.",
    bad: Example::Files(&[
        ("helper/agent.toml", "name = helper\ndescription = \"Answers questions\"\n"),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
    good: Example::Files(&[
        ("helper/agent.toml", "name = \"helper\"\ndescription = \"Answers questions\"\n"),
        ("helper/system-prompt.md", "You answer questions.\n"),
    ]),
};
