//! ACL, the language of `agent.acl`: read into the one tree, and written from plain data.
//!
//! ```text
//! default_model = "openai/gpt-5"      an attribute; `:` may stand for `=`
//! providers "openai" {                a block with a label
//!   api_key = env("OPENAI_API_KEY")   a call
//!   headers = { "X-Team" = "docs" }   an object; commas are optional
//!   models "gpt-5" { }
//! }
//! ```
//!
//! Blocks of one name with labels become one map by label. The reference passes over what it does not
//! understand; this reader reports it.

mod body;
mod emit;
mod lex;
mod parse;
pub mod rules;
#[cfg(test)]
mod tests;

pub use emit::emit;
pub use rules::RULES;

use crate::diagnostic::Findings;
use crate::problems::Problems;
use crate::source::Source;
use crate::tree::Node;

/// Reads the whole of `source`.
pub fn parse(source: &Source, findings: &mut Findings) -> Node {
    let mut problems = Problems::default();
    let lexemes = lex::lex(source, &mut problems);
    let node = parse::Parser::new(source, &lexemes, &mut problems).document();
    problems.hand_over(findings);
    node
}
